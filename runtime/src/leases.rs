//! Leases of pooled streams and events, and the statistics of the pools.

use std::sync::Arc;

use quadrants_rhi::{self as rhi, EventHandle, StreamHandle, StreamOptions};

use crate::{Context, Result, raw_stream::destroy_stream};

/// Counters of the pools of a context.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct PoolStatistics {
    /// Streams created so far.
    pub streams_created: u64,
    /// Streams destroyed so far: returned to a full pool, returned with work that nothing waits for, or trimmed.
    pub streams_destroyed: u64,
    /// Idle streams in the pool.
    pub streams_idle: usize,
    /// The largest number of streams in use at once.
    pub streams_peak: usize,
    /// Events created so far.
    pub events_created: u64,
    /// Events destroyed so far.
    pub events_destroyed: u64,
    /// Idle events in the pool.
    pub events_idle: usize,
    /// The largest number of events in use at once.
    pub events_peak: usize,
    /// Bytes of pinned staging memory, in use or idle.
    pub staging_bytes: usize,
    /// Bytes of idle pinned staging memory.
    pub staging_bytes_idle: usize,
    /// The largest number of bytes of pinned staging memory at once.
    pub staging_bytes_peak: usize,
    /// Bytes of device memory of dropped tensors that later tensors may get: 64 MiB at most. [`Context::trim_pools`]
    /// frees it, and so does an allocation for which there is not enough memory.
    pub memory_bytes_cached: usize,
    /// The number of blocks of this memory: 4096 at most.
    pub memory_blocks_cached: usize,
}

/// A lease of a pooled event. Dropping it returns the event; waits that were enqueued on it stay in effect.
#[derive(Debug)]
pub struct EventLease {
    context: Arc<Context>,
    handle: EventHandle,
}

impl EventLease {
    /// The event's handle.
    #[must_use]
    pub fn handle(&self) -> EventHandle {
        self.handle
    }

    /// Ends the lease without returning the event; [`from_handle`](Self::from_handle) continues it.
    pub(crate) fn into_handle(self) -> EventHandle {
        let mut this = std::mem::ManuallyDrop::new(self);
        // SAFETY: the value is not used or dropped afterwards.
        unsafe { std::ptr::drop_in_place(&raw mut this.context) };
        this.handle
    }

    /// The lease of an event from [`into_handle`](Self::into_handle) of the same context.
    pub(crate) fn from_handle(context: &Arc<Context>, handle: EventHandle) -> Self {
        Self { context: context.clone(), handle }
    }
}

impl Drop for EventLease {
    fn drop(&mut self) {
        self.context.return_event(self.handle);
    }
}

/// A lease of a pooled stream.
///
/// Dropping it returns the stream. If the stream has work that nothing waits for
/// ([`set_unjoined`](Self::set_unjoined)), the drop waits for the work and destroys the stream, so that it cannot delay
/// its next user.
#[derive(Debug)]
pub struct StreamLease {
    context: Arc<Context>,
    handle: StreamHandle,
    unjoined: bool,
    busy: bool,
}

impl StreamLease {
    /// The stream's handle.
    #[must_use]
    pub fn handle(&self) -> StreamHandle {
        self.handle
    }

    /// Whether the stream has work that nothing waits for.
    #[must_use]
    pub fn is_unjoined(&self) -> bool {
        self.unjoined
    }

    /// Sets whether the stream has work that nothing waits for.
    pub fn set_unjoined(&mut self, unjoined: bool) {
        self.unjoined = unjoined;
    }

    /// Sets whether the stream may have pending work that something waits for. A busy stream would delay its next user,
    /// so the pool gives it out only if there is no other.
    pub fn set_busy(&mut self, busy: bool) {
        self.busy = busy;
    }
}

impl Drop for StreamLease {
    fn drop(&mut self) {
        let device = self.context.device();
        if !self.unjoined {
            if let Some(handle) = self.context.streams.put(self.handle, self.busy) {
                // SAFETY: the lease was exclusive; enqueued work still runs.
                self.context.destroyed(unsafe { destroy_stream(&**device, handle) });
            }
            return;
        }
        self.context.streams.discarded();
        // SAFETY: the lease is exclusive, and the stream is not used afterwards.
        unsafe {
            self.context.destroyed(device.stream_synchronize(self.handle));
            self.context.destroyed(destroy_stream(&**device, self.handle));
        }
    }
}

impl Context {
    /// Leases an event from the pool. Creates one if the pool is empty.
    ///
    /// # Errors
    /// The device's error if creating an event fails.
    pub fn lease_event(self: &Arc<Self>) -> Result<EventLease> {
        let handle = self.events.take_or(|| self.new_event())?;
        Ok(EventLease { context: self.clone(), handle })
    }

    /// Ends the lease of an event whose handle [`EventLease::into_handle`] returned.
    pub(crate) fn return_event(&self, handle: EventHandle) {
        if let Some(handle) = self.events.put(handle, false) {
            // SAFETY: the lease was exclusive; waits that were enqueued on the event keep their record.
            self.destroyed(unsafe { self.device().destroy_event(handle) });
        }
    }

    /// Leases a non-blocking stream from the pool. Creates one if the pool is empty.
    ///
    /// # Errors
    /// The device's error if creating a stream fails.
    pub fn lease_stream(self: &Arc<Self>) -> Result<StreamLease> {
        let make = || self.observe(self.device().create_stream(StreamOptions::default()));
        let handle = self.streams.take_or(make)?;
        Ok(StreamLease { context: self.clone(), handle, unjoined: false, busy: false })
    }

    /// The counters of the pools.
    #[must_use]
    pub fn pool_statistics(&self) -> PoolStatistics {
        let staging = self.staging.counts();
        let memory = self.blocks.counts();
        let streams = self.streams.state.lock();
        let events = self.events.state.lock();
        PoolStatistics {
            streams_created: streams.created,
            streams_destroyed: streams.destroyed,
            streams_idle: streams.idle.len(),
            streams_peak: streams.peak,
            events_created: events.created,
            events_destroyed: events.destroyed,
            events_idle: events.idle.len(),
            events_peak: events.peak,
            staging_bytes: staging.bytes,
            staging_bytes_idle: staging.idle_bytes,
            staging_bytes_peak: staging.peak,
            memory_bytes_cached: memory.bytes,
            memory_blocks_cached: memory.blocks,
        }
    }

    /// Destroys all idle objects of the pools, and frees the memory that is kept of dropped buffers. Errors become
    /// deferred errors.
    pub fn trim_pools(self: &Arc<Self>) {
        let device = self.device();
        // First, because they return events to their pool.
        self.drop_idle_owners();
        self.empty_block_cache();
        while self.reclaim_staging(false).unwrap_or_else(|error| {
            self.defer(error);
            false
        }) {}
        // SAFETY: only the pools have idle handles. Work that is enqueued on a stream still runs, waits on an event
        // keep their record, and the copies through idle staging memory are complete.
        unsafe {
            for stream in self.streams.drain() {
                self.destroyed(destroy_stream(&**device, stream));
            }
            for event in self.events.drain() {
                self.destroyed(device.destroy_event(event));
            }
            for block in self.staging.drain() {
                self.destroyed(device.free_pinned(block));
            }
        }
    }

    /// Keeps the error of a destruction as a deferred error.
    pub(crate) fn destroyed(&self, result: rhi::Result<()>) {
        if let Err(error) = self.observe(result) {
            self.defer(error);
        }
    }
}
