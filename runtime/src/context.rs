//! [`Context`]: a device with the pools, the stream registry and the error state that its objects share.

use std::sync::{
    Arc, OnceLock,
    atomic::{
        AtomicU8,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use parking_lot::Mutex;
use quadrants_rhi::{self as rhi, Device, EventOptions, Severity, StreamHandle, StreamOptions};
use smallvec::SmallVec;

use crate::{
    Error, Result, Stamp,
    block_cache::BlockCache,
    error::creation_error,
    fill_streams::{AwaitedFills, FillStreams},
    handle_pool::{HandlePool, MAX_IDLE_EVENTS, MAX_IDLE_STREAMS},
    pending_owners::PendingOwners,
    raw_stream::destroy_stream,
    staging_pool::StagingPool,
    stream_registry::{PendingWork, StreamRegistry},
    watch::Watches,
};

/// Per stream, the position up to which its work is complete, or is ordered before some other work.
pub type Completed = SmallVec<[Stamp; 4]>;

/// A device with its pools, its internal streams and its stream registry.
///
/// Every object of a context owns an `Arc` of it, so the context is dropped last.
pub struct Context {
    device: Arc<dyn Device>,
    /// Receives the calls to the device while [`INTERPOSED`] is set: see [`interpose`](Self::interpose).
    interposer: OnceLock<Arc<dyn Device>>,
    /// [`LOST`] and [`INTERPOSED`].
    special: AtomicU8,
    lost: OnceLock<rhi::Error>,
    deferred: Mutex<Vec<Error>>,
    pub(crate) watches: Watches,
    pub(crate) events: HandlePool<rhi::EventHandle>,
    pub(crate) streams: HandlePool<StreamHandle>,
    pub(crate) staging: StagingPool,
    pub(crate) blocks: BlockCache,
    pub(crate) owners: PendingOwners,
    pub(crate) registry: StreamRegistry,
    /// The internal streams of allocations and first fills. They never wait for the user's work.
    pub(crate) fill_streams: FillStreams,
    /// The internal stream of frees. It waits for the user's streams, so that a drop delays none of them.
    pub(crate) free_on: StreamHandle,
    /// The first fills after which frees run already.
    pub(crate) fills_before_frees: AwaitedFills,
}

/// The context is lost.
const LOST: u8 = 1;
/// Calls go through the interposer.
const INTERPOSED: u8 = 2;

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("device", &self.device).finish_non_exhaustive()
    }
}

impl Context {
    /// Makes a context of an open device.
    ///
    /// # Errors
    /// The device's error if creating an internal stream fails; [`Error::ContextLost`] if the device's context was lost
    /// before.
    pub fn new(device: Arc<dyn Device>) -> Result<Arc<Self>> {
        let registry = StreamRegistry::default();
        let fill_streams = FillStreams::new(&*device, &registry)?;
        let free_on = match device.create_stream(StreamOptions::default()) {
            Ok(stream) => stream,
            Err(error) => {
                let _ = fill_streams.destroy(&*device);
                return Err(creation_error(error));
            }
        };
        // Blocking frees wait for the work that uses the memory anyway, and the CPU has none in flight.
        let capabilities = device.capabilities();
        let blocks =
            BlockCache::new(capabilities.asynchronous && capabilities.stream_ordered_memory);
        Ok(Arc::new(Self {
            device,
            interposer: OnceLock::new(),
            special: AtomicU8::new(0),
            lost: OnceLock::new(),
            deferred: Mutex::new(Vec::new()),
            watches: Watches::default(),
            events: HandlePool::new(MAX_IDLE_EVENTS),
            streams: HandlePool::new(MAX_IDLE_STREAMS),
            staging: StagingPool::default(),
            blocks,
            owners: PendingOwners::default(),
            registry,
            fill_streams,
            free_on,
            fills_before_frees: AwaitedFills::default(),
        }))
    }

    /// The device, or its [interposer](Self::interpose) if one is active.
    #[must_use]
    #[inline]
    pub fn device(&self) -> &Arc<dyn Device> {
        if self.is_interposed() { self.interposer() } else { &self.device }
    }

    /// The device itself. For calls that are made only while the context [is ordinary](Self::is_ordinary).
    #[must_use]
    #[inline]
    pub fn direct_device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    #[cold]
    fn interposer(&self) -> &Arc<dyn Device> {
        self.interposer.get().unwrap_or(&self.device)
    }

    /// Activates or deactivates an interposer: a device that forwards all calls to the context's own, and may record
    /// them. The first device is kept for all later times; `make` makes it of the context's own device.
    ///
    /// Calls of [`direct_device`](Self::direct_device) bypass it.
    pub fn interpose(&self, on: bool, make: impl FnOnce(&Arc<dyn Device>) -> Arc<dyn Device>) {
        if on {
            self.interposer.get_or_init(|| make(&self.device));
            self.special.fetch_or(INTERPOSED, Release);
        } else {
            self.special.fetch_and(!INTERPOSED, Release);
        }
    }

    /// Whether an [interposer](Self::interpose) is active.
    #[must_use]
    #[inline]
    pub fn is_interposed(&self) -> bool {
        self.special.load(Acquire) & INTERPOSED != 0
    }

    /// Whether the context is neither lost nor interposed: one test for paths that must be short.
    #[must_use]
    #[inline]
    pub fn is_ordinary(&self) -> bool {
        self.special.load(Relaxed) == 0
    }

    /// Waits until all work of all streams is complete.
    ///
    /// # Errors
    /// The failure of earlier work.
    pub fn synchronize(self: &Arc<Self>) -> Result<()> {
        self.check()?;
        let (retired, cached) = (self.staging.retired(), self.blocks.numbers());
        self.registry.synchronize_with(|| self.wait_for_device())?;
        self.reclaim_complete_staging(retired);
        self.complete_blocks_before(cached);
        self.drop_idle_owners();
        Ok(())
    }

    /// Whether the context is lost. Every later call then returns [`Error::ContextLost`].
    #[must_use]
    #[inline]
    pub fn is_lost(&self) -> bool {
        self.lost.get().is_some()
    }

    /// Returns an error if the context is lost.
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

    /// Makes the device's context current on this thread until the result is dropped, so that device calls need not
    /// query it.
    ///
    /// # Errors
    /// The device's error.
    ///
    /// # Safety
    /// As for [`rhi::Current::enter`].
    #[inline]
    pub unsafe fn make_current(&self) -> Result<rhi::Current<'_>> {
        // SAFETY: the caller guarantees the conditions of `Current::enter`.
        match unsafe { rhi::Current::enter(&*self.device) } {
            Ok(current) => Ok(current),
            Err(error) => self.observe(Err(error)),
        }
    }

    /// Converts the result of a device call, and remembers the first error that loses the context.
    ///
    /// # Errors
    /// The given error, or [`Error::ContextLost`] if its severity is that.
    #[inline]
    pub fn observe<T>(&self, result: rhi::Result<T>) -> Result<T> {
        match result {
            Ok(value) => Ok(value),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Converts an error as [`observe`](Self::observe) does.
    #[cold]
    pub fn failed(&self, error: rhi::Error) -> Error {
        if error.severity() == Severity::ContextLost {
            let lost = Error::lost(self.lost.get_or_init(|| error));
            self.special.fetch_or(LOST, Release);
            lost
        } else {
            Error::Device(error)
        }
    }

    /// Keeps an error that its origin cannot return, such as a drop. Errors that the context is lost or that the driver
    /// is shutting down are not kept, because every call returns them.
    pub fn defer(&self, error: impl Into<Error>) {
        let error = error.into();
        if error.severity() == Severity::ContextLost {
            return;
        }
        tracing::warn!(%error, "an error that no call could return; see `take_deferred_errors`");
        self.deferred.lock().push(error);
    }

    /// Takes the deferred errors, oldest first; see [`defer`](Self::defer).
    #[must_use]
    pub fn take_deferred_errors(&self) -> Vec<Error> {
        std::mem::take(&mut *self.deferred.lock())
    }

    /// Makes the next work of `waiter` wait for the work of `stamps`. The host does not wait.
    ///
    /// Returns what the next work of `waiter` is ordered after: for each stream all work that was enqueued before this
    /// call, or the stamp if its work is known to be complete.
    ///
    /// # Errors
    /// The device's error if recording or waiting for an event fails.
    ///
    /// # Safety
    /// `waiter` is a live stream of this context.
    pub unsafe fn order_after(
        self: &Arc<Self>,
        waiter: StreamHandle,
        stamps: impl IntoIterator<Item = Stamp>,
    ) -> Result<Completed> {
        let asynchronous = self.device.capabilities().asynchronous;
        let mut before = Completed::new();
        for stamp in stamps {
            let stream = match self.registry.find(stamp) {
                None => {
                    before.push(stamp);
                    continue;
                }
                Some(PendingWork::Stream(stream)) => stream,
                Some(PendingWork::Event(event)) => {
                    before.push(stamp);
                    // SAFETY: the registry keeps the event; the caller guarantees that the waiter is live.
                    self.observe(unsafe { self.device().stream_wait_event(waiter, event) })?;
                    continue;
                }
            };
            before.push(stream.newest);
            if !asynchronous || stream.handle == waiter {
                continue;
            }
            let event = self.lease_event()?;
            // SAFETY: the event and the stream are leased, and the caller guarantees that the waiter is live. The wait
            // keeps the record, so the event may be reused.
            unsafe {
                self.observe(self.device().event_record(event.handle(), stream.handle))?;
                self.observe(self.device().stream_wait_event(waiter, event.handle()))?;
            }
        }
        Ok(before)
    }

    /// What a stream of this handle is for. Of streams with one handle, as on the CPU, the answer is for one of them.
    #[must_use]
    pub fn stream_use(&self, handle: StreamHandle) -> StreamUse {
        if handle == self.free_on && handle != StreamHandle::DEFAULT {
            return StreamUse::Frees;
        }
        match self.registry.find_handle(handle) {
            Some((id, true)) => StreamUse::Launches(id),
            Some((_, false)) => StreamUse::Fills,
            None => StreamUse::Pooled,
        }
    }

    pub(crate) fn new_event(&self) -> Result<rhi::EventHandle> {
        self.observe(self.device.create_event(EventOptions::default()))
    }
}

/// What a stream of a context is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StreamUse {
    /// The launches of the stream with this id.
    Launches(u32),
    /// Allocations, first fills and uploads.
    Fills,
    /// Frees.
    Frees,
    /// Whatever it is leased for: a worker stream of a region.
    Pooled,
}

impl Drop for Context {
    fn drop(&mut self) {
        // Before the waits below, which complete these frees.
        self.empty_block_cache();
        let (owners, owner_events) = self.remaining_owners();
        let device = &*self.device;
        let ignore = |result: rhi::Result<()>| {
            if let Err(error) = result
                && error.severity() != Severity::ContextLost
            {
                tracing::warn!(%error, "an object of a closed context could not be destroyed");
            }
        };
        let (streams, events) = self.registry.remaining();
        // The streams of first fills are registered.
        let ours = self.streams.drain().into_iter();
        let ours: Vec<_> = ours.chain(streams).chain([self.free_on]).collect();
        // HIP does not document what happens to the pending work of a destroyed stream.
        for handle in &ours {
            // SAFETY: only the context uses pooled and internal streams, and streams that could not be waited for when
            // they were dropped.
            ignore(unsafe { device.stream_synchronize(*handle) });
        }
        for handle in ours {
            // SAFETY: as above; nothing uses the stream afterwards.
            ignore(unsafe { destroy_stream(device, handle) });
        }
        // All work was waited for.
        drop(owners);
        for handle in self.events.drain().into_iter().chain(events).chain(owner_events) {
            // SAFETY: only the context uses pooled events and the events of retired streams.
            ignore(unsafe { device.destroy_event(handle) });
        }
        while let Some(entry) = self.staging.take_in_flight() {
            // SAFETY: the pool owns the event and the block. The copies are complete: internal and pooled streams were
            // waited for above, and other streams when they were dropped.
            unsafe {
                ignore(device.destroy_event(entry.event));
                ignore(device.free_pinned(entry.block.0));
            }
        }
        for pinned in self.staging.drain() {
            // SAFETY: pooled staging memory is idle: its lease ended after its copy was complete.
            ignore(unsafe { device.free_pinned(pinned) });
        }
    }
}
