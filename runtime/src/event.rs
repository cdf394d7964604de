//! [`Event`]: an owned event.

use std::sync::Arc;

use quadrants_rhi::{EventHandle, EventOptions};

use crate::{Context, Error, Result, Stream};

/// An event: a marker in a stream that other streams and the host can wait for. Dropping it destroys it.
#[derive(Debug)]
pub struct Event {
    context: Arc<Context>,
    handle: EventHandle,
}

impl Event {
    /// Creates an event.
    ///
    /// # Errors
    /// The device's error.
    pub fn new(context: &Arc<Context>, options: EventOptions) -> Result<Self> {
        context.check()?;
        let handle = context.observe(context.device().create_event(options))?;
        Ok(Self { context: context.clone(), handle })
    }

    /// The driver's handle; 0 on the CPU.
    #[must_use]
    pub fn handle(&self) -> EventHandle {
        self.handle
    }

    /// Records all work that was enqueued on `stream` before this call.
    ///
    /// # Errors
    /// [`Error::OtherContext`], or the device's error.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        self.same_context(stream)?;
        // SAFETY: the handles live as long as their owners.
        let result = unsafe { self.context.device().event_record(self.handle, stream.handle()) };
        self.context.observe(result)
    }

    /// Makes later work of `stream` wait for the latest record. The host does not wait.
    ///
    /// # Errors
    /// [`Error::OtherContext`], or the device's error.
    pub fn wait(&self, stream: &Stream) -> Result<()> {
        self.same_context(stream)?;
        // SAFETY: the handles live as long as their owners.
        let result =
            unsafe { self.context.device().stream_wait_event(stream.handle(), self.handle) };
        self.context.observe(result)
    }

    /// Whether the latest record is complete; true if the event was never recorded.
    ///
    /// # Errors
    /// The failure of earlier work.
    pub fn query(&self) -> Result<bool> {
        self.context.check()?;
        // SAFETY: the handle lives as long as `self`.
        self.context.observe(unsafe { self.context.device().event_query(self.handle) })
    }

    /// Waits until the latest record is complete.
    ///
    /// # Errors
    /// The failure of earlier work.
    pub fn synchronize(&self) -> Result<()> {
        self.context.check()?;
        // SAFETY: the handle lives as long as `self`.
        unsafe { self.context.wait_for_event(self.handle) }
    }

    /// The milliseconds from the record of `start` to the record of this event. Both must be timing events with
    /// complete records.
    ///
    /// # Errors
    /// [`Error::OtherContext`], or the device's error.
    pub fn elapsed_ms_since(&self, start: &Event) -> Result<f32> {
        self.context.check()?;
        if !Arc::ptr_eq(&self.context, &start.context) {
            return Err(Error::OtherContext { what: "the start event" });
        }
        // SAFETY: the handles live as long as their owners.
        let result = unsafe { self.context.device().event_elapsed_ms(start.handle, self.handle) };
        self.context.observe(result)
    }

    fn same_context(&self, stream: &Stream) -> Result<()> {
        self.context.check()?;
        if Arc::ptr_eq(&self.context, stream.context()) {
            Ok(())
        } else {
            Err(Error::OtherContext { what: "the stream" })
        }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: nothing uses the handle afterwards; enqueued waits keep their record.
        self.context.destroyed(unsafe { self.context.device().destroy_event(self.handle) });
    }
}
