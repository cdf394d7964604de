//! Streams: explicit ones, the default one, and foreign ones.

use std::{sync::Arc, thread};

use quadrants_rhi::{DevicePtr, EventHandle, Severity, StreamHandle, StreamOptions};

use crate::{
    Context, Result, Stamp, context::destroy_stream, stamps::LAST_SEQUENCE,
    stream_registry::Position,
};

/// Who made a stream, and so who destroys it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StreamOrigin {
    /// Made here, destroyed here.
    Owned,
    /// The device's default stream, which nobody destroys.
    Default,
    /// Made elsewhere; its owner keeps it alive and destroys it.
    Foreign,
}

/// A stream with its count of enqueued work.
///
/// Dropping it waits for its stamped work, where no wait has shown it complete: what the work used may go only then.
/// While panicking, and where waiting fails, it leaves an event behind the work instead, which frees and host reads
/// are ordered behind. Either way nothing here uses the handle once the last owner is gone.
#[derive(Debug)]
pub struct Stream {
    context: Arc<Context>,
    handle: StreamHandle,
    id: u32,
    origin: StreamOrigin,
    position: Arc<Position>,
}

impl Stream {
    /// Creates a non-blocking stream.
    ///
    /// # Errors
    /// [`Error::TooManyStreams`](crate::Error::TooManyStreams), or what the device returns.
    pub fn new(context: &Arc<Context>, options: StreamOptions) -> Result<Arc<Self>> {
        context.check()?;
        Self::register(context, StreamOrigin::Owned, || {
            context.observe(context.device().create_stream(options))
        })
    }

    /// The device's default stream.
    ///
    /// # Errors
    /// [`Error::TooManyStreams`](crate::Error::TooManyStreams)
    pub fn default_of(context: &Arc<Context>) -> Result<Arc<Self>> {
        Self::register(context, StreamOrigin::Default, || Ok(StreamHandle::DEFAULT))
    }

    /// Wraps a stream that was made elsewhere.
    ///
    /// # Safety
    /// `handle` is a stream of this context, and stays alive as long as the wrapper.
    ///
    /// # Errors
    /// [`Error::TooManyStreams`](crate::Error::TooManyStreams)
    pub unsafe fn from_raw(context: &Arc<Context>, handle: StreamHandle) -> Result<Arc<Self>> {
        Self::register(context, StreamOrigin::Foreign, || Ok(handle))
    }

    fn register(
        context: &Arc<Context>,
        origin: StreamOrigin,
        make: impl FnOnce() -> Result<StreamHandle>,
    ) -> Result<Arc<Self>> {
        let (id, position) = context.live.number()?;
        let handle = make().inspect_err(|_| context.live.retire(id, &position))?;
        context.live.register(id, handle, &position);
        Ok(Arc::new(Self { context: context.clone(), handle, id, origin, position }))
    }

    /// The context.
    #[must_use]
    #[inline]
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The driver's handle.
    #[must_use]
    #[inline]
    pub fn handle(&self) -> StreamHandle {
        self.handle
    }

    /// The stream's number within its context. One that is gone gives it to a later stream.
    #[must_use]
    #[inline]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Who made it.
    #[must_use]
    #[inline]
    pub fn origin(&self) -> StreamOrigin {
        self.origin
    }

    /// Takes the next position. Call it behind enqueueing the work that it stands for: taken before, a
    /// wait of another thread in between would show it complete while the work is not enqueued yet.
    #[inline]
    pub fn next_stamp(&self) -> Stamp {
        Stamp { stream: self.id, sequence: self.position.advance() }
    }

    /// The stamp of the newest work.
    #[must_use]
    pub fn newest(&self) -> Stamp {
        Stamp { stream: self.id, sequence: self.position.enqueued().min(LAST_SEQUENCE) }
    }

    /// Whether `stamp` is one of this stream.
    #[must_use]
    pub fn issued(&self, stamp: Stamp) -> bool {
        stamp.stream == self.id && self.position.issued(stamp.sequence)
    }

    /// Whether a synchronization has already shown the work up to `sequence` complete.
    #[must_use]
    pub fn is_complete(&self, sequence: u64) -> bool {
        self.position.is_complete(sequence)
    }

    /// Whether a wait has already shown all stamped work complete.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.position.is_idle()
    }

    /// Copies device memory to the host behind everything enqueued so far, and waits for it.
    ///
    /// # Errors
    /// The failure of earlier work.
    ///
    /// # Safety
    /// `src` has as many bytes as `out`, and is live on this stream.
    pub unsafe fn read(&self, src: DevicePtr, out: &mut [u8]) -> Result<()> {
        let upto = self.position.enqueued();
        // SAFETY: the caller's promise; the handle is live as long as self.
        unsafe { self.context.read_on(src, out, self.handle)? };
        self.position.complete(upto);
        Ok(())
    }

    /// Whether all work enqueued so far is complete.
    ///
    /// # Errors
    /// The failure of earlier work.
    pub fn query(&self) -> Result<bool> {
        self.context.check()?;
        let upto = self.position.enqueued();
        // SAFETY: the handle is live as long as self.
        let done =
            self.context.observe(unsafe { self.context.device().stream_query(self.handle) })?;
        if done {
            self.position.complete(upto);
        }
        Ok(done)
    }

    /// Waits for all work enqueued so far.
    ///
    /// # Errors
    /// The failure of earlier work.
    pub fn synchronize(&self) -> Result<()> {
        self.context.check()?;
        let upto = self.position.enqueued();
        // SAFETY: the handle is live as long as self.
        let waited = unsafe { self.context.device().stream_synchronize(self.handle) };
        self.context.observe(waited)?;
        self.position.complete(upto);
        Ok(())
    }
}

impl Stream {
    /// An event behind all work enqueued so far; whoever gets it owns it.
    fn mark(&self) -> Result<EventHandle> {
        let mark = self.context.new_event()?;
        // SAFETY: the event was made above, and the handle is live as long as self.
        let recorded = unsafe { self.context.device().event_record(mark, self.handle) };
        if let Err(error) = self.context.observe(recorded) {
            // SAFETY: made above, and nothing waits for it.
            let _ = unsafe { self.context.device().destroy_event(mark) };
            return Err(error);
        }
        Ok(mark)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let (device, live) = (self.context.device(), &self.context.live);
        let mut wait_failed = false;
        let idle = self.is_idle();
        let mut mark = if thread::panicking() && !idle { self.mark().ok() } else { None };
        if mark.is_none() && !idle {
            // SAFETY: the handle is live until the destruction below.
            let waited = unsafe { device.stream_synchronize(self.handle) };
            if let Err(error) = self.context.observe(waited) {
                wait_failed = error.severity() != Severity::ContextLost;
                self.context.defer(error);
            }
        }
        if wait_failed {
            mark = self.mark().ok();
        }
        match mark {
            Some(mark) => live.retire_unfinished(self.id, mark),
            // Neither waited for nor marked: it stays on the list, and goes with the context.
            None if wait_failed && self.origin == StreamOrigin::Owned => return,
            None => live.retire(self.id, &self.position),
        }
        if self.origin == StreamOrigin::Owned {
            // SAFETY: ours, and off the list with nobody using it, so that nothing uses it afterwards.
            let destroyed = unsafe { destroy_stream(&**device, self.handle) };
            if let Err(error) = self.context.observe(destroyed) {
                self.context.defer(error);
            }
        }
    }
}
