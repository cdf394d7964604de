//! Streams: explicit ones, the default one, and foreign ones.

use std::{
    sync::{
        Arc,
        atomic::{
            AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    thread,
};

use quadrants_rhi::{EventHandle, Severity, StreamHandle, StreamOptions};

use crate::{Context, Result, Stamp, context::destroy_stream};

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
/// Dropping it waits for its work: what the work used may go only then. While panicking it does not wait,
/// but leaves an event behind the work, which frees and host reads are ordered behind.
#[derive(Debug)]
pub struct Stream {
    context: Arc<Context>,
    handle: StreamHandle,
    id: u32,
    origin: StreamOrigin,
    enqueued: AtomicU64,
    completed: AtomicU64,
}

impl Stream {
    /// Creates a non-blocking stream.
    ///
    /// # Errors
    /// What the device returns.
    pub fn new(context: &Arc<Context>, options: StreamOptions) -> Result<Arc<Self>> {
        context.check()?;
        let handle = context.observe(context.device().create_stream(options))?;
        Ok(Self::register(context, handle, StreamOrigin::Owned))
    }

    /// The device's default stream.
    #[must_use]
    pub fn default_of(context: &Arc<Context>) -> Arc<Self> {
        Self::register(context, StreamHandle::DEFAULT, StreamOrigin::Default)
    }

    /// Wraps a stream that was made elsewhere.
    ///
    /// # Safety
    /// `handle` is a stream of this context, and stays alive as long as the wrapper.
    #[must_use]
    pub unsafe fn from_raw(context: &Arc<Context>, handle: StreamHandle) -> Arc<Self> {
        Self::register(context, handle, StreamOrigin::Foreign)
    }

    fn register(context: &Arc<Context>, handle: StreamHandle, origin: StreamOrigin) -> Arc<Self> {
        let stream = Arc::new(Self {
            context: context.clone(),
            handle,
            id: context.next_stream_id(),
            origin,
            enqueued: AtomicU64::new(0),
            completed: AtomicU64::new(0),
        });
        context.register(&stream);
        stream
    }

    /// The context.
    #[must_use]
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The driver's handle.
    #[must_use]
    pub fn handle(&self) -> StreamHandle {
        self.handle
    }

    /// The stream's number within its context; never reused.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Who made it.
    #[must_use]
    pub fn origin(&self) -> StreamOrigin {
        self.origin
    }

    /// Takes the next position. Call it behind enqueueing the work that it stands for: taken before, a
    /// wait of another thread in between would show it complete while the work is not enqueued yet.
    pub fn next_stamp(&self) -> Stamp {
        // Release, with the acquiring loads below: who sees the position waits for the work too.
        Stamp { stream: self.id, sequence: self.enqueued.fetch_add(1, Release) + 1 }
    }

    /// Whether a synchronization has already shown the work up to `sequence` complete.
    #[must_use]
    pub fn is_complete(&self, sequence: u64) -> bool {
        self.completed.load(Relaxed) >= sequence
    }

    /// Whether all work enqueued so far is complete.
    ///
    /// # Errors
    /// The failure of earlier work.
    pub fn query(&self) -> Result<bool> {
        self.context.check()?;
        let upto = self.enqueued.load(Acquire);
        // SAFETY: the handle is live as long as self.
        let done =
            self.context.observe(unsafe { self.context.device().stream_query(self.handle) })?;
        if done {
            self.completed.fetch_max(upto, Relaxed);
        }
        Ok(done)
    }

    /// Waits for all work enqueued so far.
    ///
    /// # Errors
    /// The failure of earlier work.
    pub fn synchronize(&self) -> Result<()> {
        self.context.check()?;
        let upto = self.enqueued.load(Acquire);
        // SAFETY: the handle is live as long as self.
        let waited = unsafe { self.context.device().stream_synchronize(self.handle) };
        self.context.observe(waited)?;
        self.completed.fetch_max(upto, Relaxed);
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
        let device = self.context.device();
        let mark = if thread::panicking() { self.mark().ok() } else { None };
        // SAFETY: the handle is live until the destruction below, and nothing uses it afterwards: the
        // context finds streams only by live `Arc`s.
        unsafe {
            let waited = match mark {
                Some(_) => Ok(()),
                None => self.context.observe(device.stream_synchronize(self.handle)),
            };
            let destroyed = if self.origin == StreamOrigin::Owned {
                self.context.observe(destroy_stream(&**device, self.handle))
            } else {
                Ok(())
            };
            for error in [waited, destroyed].into_iter().filter_map(Result::err) {
                // A lost context, or a driver that shuts down with the process, leaves nothing to
                // give back, and every call says so already.
                if error.severity() != Severity::ContextLost {
                    self.context.defer(error);
                }
            }
        }
        match mark {
            Some(mark) => self.context.retire_unfinished(self.id, mark),
            None => self.context.retire(self.id),
        }
    }
}
