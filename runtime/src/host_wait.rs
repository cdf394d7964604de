//! Waits of the host for work of a device. Each also returns the failure of watched work, which has ended then.

use std::sync::Arc;

use quadrants_rhi::{EventHandle, StreamHandle};

use crate::{Context, Result, watch::Watch};

impl Context {
    /// Registers a watch, until it is dropped.
    pub fn watch(&self, watch: &Arc<impl Watch + 'static>) {
        self.watches.add(watch);
    }

    /// Waits for all work of a stream.
    ///
    /// # Safety
    /// The stream is live.
    #[inline]
    pub(crate) unsafe fn wait_for_stream(&self, stream: StreamHandle) -> Result<()> {
        // SAFETY: by the caller.
        self.observe(unsafe { self.device().stream_synchronize(stream) })?;
        self.watches.check()
    }

    /// Waits for the latest record of an event.
    ///
    /// # Safety
    /// The event is live.
    #[inline]
    pub(crate) unsafe fn wait_for_event(&self, event: EventHandle) -> Result<()> {
        // SAFETY: by the caller.
        self.observe(unsafe { self.device().event_synchronize(event) })?;
        self.watches.check()
    }

    /// Waits for all work of the device.
    pub(crate) fn wait_for_device(&self) -> Result<()> {
        self.observe(self.device().synchronize())?;
        self.watches.check()
    }
}
