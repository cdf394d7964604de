//! A device context with everything that is shared by what lives in it.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use quadrants_rhi::{self as rhi, Device, EventOptions, Severity, StreamHandle, StreamOptions};
use smallvec::SmallVec;

use crate::{
    Error, Result, Stamp,
    handle_pool::HandlePool,
    staging::StagingPool,
    stream_registry::{PendingWork, StreamRegistry},
};

/// Of streams, up to where their work is over, or comes before something.
pub type Completed = SmallVec<[Stamp; 4]>;

/// A device, its pools, its internal streams and the list of its live streams.
///
/// Owned by everything made from it: a context goes last.
pub struct Context {
    device: Arc<dyn Device>,
    lost: OnceLock<rhi::Error>,
    deferred: Mutex<Vec<Error>>,
    pub(crate) events: HandlePool<rhi::EventHandle>,
    pub(crate) streams: HandlePool<StreamHandle>,
    pub(crate) staging: StagingPool,
    pub(crate) live: StreamRegistry,
    allocate_on: StreamHandle,
    free_on: StreamHandle,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("device", &self.device).finish_non_exhaustive()
    }
}

impl Context {
    /// A context over an open device.
    ///
    /// # Errors
    /// What creating the two internal streams returns; [`Error::ContextLost`] where the device's context was lost
    /// before.
    pub fn new(device: Arc<dyn Device>) -> Result<Arc<Self>> {
        let failed = |error: rhi::Error| match error.severity() {
            Severity::ContextLost => Error::ContextLost { cause: Box::new(error) },
            _ => Error::Device(error),
        };
        let allocate_on = device.create_stream(StreamOptions::default()).map_err(failed)?;
        let free_on = match device.create_stream(StreamOptions::default()) {
            Ok(stream) => stream,
            Err(error) => {
                // SAFETY: made above and never used.
                let _ = unsafe { destroy_stream(&*device, allocate_on) };
                return Err(failed(error));
            }
        };
        Ok(Arc::new(Self {
            device,
            lost: OnceLock::new(),
            deferred: Mutex::new(Vec::new()),
            events: HandlePool::of_events(),
            streams: HandlePool::of_streams(),
            staging: StagingPool::default(),
            live: StreamRegistry::default(),
            allocate_on,
            free_on,
        }))
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    /// Waits for all work on all streams.
    ///
    /// # Errors
    /// The failure of earlier work.
    pub fn synchronize(&self) -> Result<()> {
        self.check()?;
        self.live.waiting(|| self.observe(self.device.synchronize()))
    }

    /// Whether the context is lost, and every call says so.
    #[must_use]
    #[inline]
    pub fn is_lost(&self) -> bool {
        self.lost.get().is_some()
    }

    /// Refuses when the context is lost.
    ///
    /// # Errors
    /// [`Error::ContextLost`] with the first cause.
    #[inline]
    pub fn check(&self) -> Result<()> {
        match self.lost.get() {
            None => Ok(()),
            Some(cause) => Err(Error::lost(cause)),
        }
    }

    /// Makes the device's context current on this thread until the result is dropped, so that calls need not
    /// ask.
    ///
    /// # Errors
    /// What the device returns.
    ///
    /// # Safety
    /// As for [`rhi::Current::enter`].
    #[inline]
    pub unsafe fn make_current(&self) -> Result<rhi::Current<'_>> {
        // SAFETY: the caller's promise.
        match unsafe { rhi::Current::enter(&*self.device) } {
            Ok(current) => Ok(current),
            Err(error) => self.observe(Err(error)),
        }
    }

    /// Passes a device result on, and remembers the first error that means the context is lost.
    ///
    /// # Errors
    /// The error given; as [`Error::ContextLost`] where it says that the context is.
    #[inline]
    pub fn observe<T>(&self, result: rhi::Result<T>) -> Result<T> {
        match result {
            Ok(value) => Ok(value),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// As [`observe`](Self::observe) of an error.
    #[cold]
    pub fn failed(&self, error: rhi::Error) -> Error {
        if error.severity() == Severity::ContextLost {
            Error::lost(self.lost.get_or_init(|| error))
        } else {
            Error::Device(error)
        }
    }

    /// Keeps an error that its place cannot return, as a drop cannot. Not one that says that the context is
    /// lost, or that the driver shuts down with the process: every call says so already.
    pub fn defer(&self, error: impl Into<Error>) {
        let error = error.into();
        if error.severity() == Severity::ContextLost {
            return;
        }
        tracing::warn!(%error, "an error outside any call");
        self.deferred.lock().push(error);
    }

    /// Takes the errors kept by [`defer`](Self::defer), oldest first.
    #[must_use]
    pub fn take_deferred_errors(&self) -> Vec<Error> {
        std::mem::take(&mut *self.deferred.lock())
    }

    /// The internal stream that allocations and first fills run on. It never waits for user work.
    pub(crate) fn allocate_on(&self) -> StreamHandle {
        self.allocate_on
    }

    /// The internal stream that frees run on, so that a drop delays no user's stream.
    pub(crate) fn free_on(&self) -> StreamHandle {
        self.free_on
    }

    /// Makes `waiter` wait for the work behind `stamps`. The host waits for nothing. Gives what comes before the waiter's
    /// next work: of each stream as far as it was given work, or no further than the stamp where that is known to be
    /// complete.
    ///
    /// # Errors
    /// What recording or waiting for an event returns.
    ///
    /// # Safety
    /// `waiter` is a live stream of this context.
    pub unsafe fn order_behind(
        self: &Arc<Self>,
        waiter: StreamHandle,
        stamps: impl IntoIterator<Item = Stamp>,
    ) -> Result<Completed> {
        let asynchronous = self.device.capabilities().asynchronous;
        let mut over = Completed::new();
        for stamp in stamps {
            let stream = match self.live.find(stamp) {
                None => {
                    over.push(stamp);
                    continue;
                }
                Some(PendingWork::Stream(stream)) => stream,
                Some(PendingWork::Event(mark)) => {
                    over.push(stamp);
                    // SAFETY: the context keeps the event; the waiter is live by this function's contract.
                    self.observe(unsafe { self.device.stream_wait_event(waiter, mark) })?;
                    continue;
                }
            };
            over.push(stream.newest());
            if !asynchronous || stream.handle() == waiter {
                continue;
            }
            let event = self.lease_event()?;
            // SAFETY: the event is leased, the lease keeps the stream, the waiter is live by
            // this function's contract. The wait keeps the record, so the event may be reused.
            unsafe {
                self.observe(self.device.event_record(event.handle(), stream.handle()))?;
                self.observe(self.device.stream_wait_event(waiter, event.handle()))?;
            }
        }
        Ok(over)
    }

    pub(crate) fn new_event(&self) -> Result<rhi::EventHandle> {
        self.observe(self.device.create_event(EventOptions::default()))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let device = &*self.device;
        let ignore = |result: rhi::Result<()>| {
            if let Err(error) = result
                && error.severity() != Severity::ContextLost
            {
                tracing::warn!(%error, "closing a context");
            }
        };
        let (kept, marks) = self.live.drain();
        let ours = self.streams.drain().into_iter().chain([self.allocate_on]);
        let ours: Vec<_> = ours.chain(kept).chain([self.free_on]).collect();
        // What HIP's driver does with the commands of a stream that is destroyed, it does not promise.
        for handle in &ours {
            // SAFETY: pooled and internal streams, and those that could not be waited for when they were
            // dropped, are ours alone.
            ignore(unsafe { device.stream_synchronize(*handle) });
        }
        for handle in ours {
            // SAFETY: as above, and nothing else is left that could use them.
            ignore(unsafe { destroy_stream(device, handle) });
        }
        for handle in self.events.drain().into_iter().chain(marks) {
            // SAFETY: pooled events and the marks of gone streams are ours alone.
            ignore(unsafe { device.destroy_event(handle) });
        }
        for pinned in self.staging.drain() {
            // SAFETY: pooled staging memory is idle: its lease ended after its copy was complete.
            ignore(unsafe { device.free_pinned(pinned) });
        }
    }
}

/// Destroys a stream that is not the default one; the CPU's streams all are.
///
/// # Safety
/// As for [`Device::destroy_stream`], except that the default stream is let be.
pub(crate) unsafe fn destroy_stream(device: &dyn Device, handle: StreamHandle) -> rhi::Result<()> {
    if handle == StreamHandle::DEFAULT {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    unsafe { device.destroy_stream(handle) }
}
