//! Host waits for work of a device. Each also returns the failure of watched work, which has then ended.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use quadrants_rhi::{self as rhi, DriverErrorKind, EventHandle, StreamHandle};

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
        let start = Instant::now();
        let waited = loop {
            let waited = self.device().synchronize();
            let refused = matches!(
                &waited,
                Err(rhi::Error::Driver(error)) if error.kind == DriverErrorKind::Capturing
            );
            if !refused || start.elapsed() > CAPTURE_LIMIT {
                break waited;
            }
            thread::sleep(CAPTURE_PAUSE);
        };
        self.observe(waited)?;
        self.watches.check()
    }
}

/// How long a wait for the device is repeated. The driver refuses it while another thread captures a stream of the
/// context, which usually takes microseconds.
const CAPTURE_LIMIT: Duration = Duration::from_secs(1);
const CAPTURE_PAUSE: Duration = Duration::from_micros(50);
