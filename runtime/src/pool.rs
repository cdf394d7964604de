//! Pools of streams and events, and the leases that give them back on every path.

use std::sync::Arc;

use quadrants_rhi::{self as rhi, EventHandle, StreamHandle, StreamOptions};

use crate::{Context, Result, context::destroy_stream, handle_pool::HandlePool};

/// So many idle streams and events are kept: more than a program uses at once that does not make new ones all
/// the time. Those beyond are destroyed when they come back.
const STREAMS_AT_MOST: usize = 64;
const EVENTS_AT_MOST: usize = 1024;

/// What the pools made, hold, and gave up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct PoolStatistics {
    /// Streams created so far.
    pub streams_created: u64,
    /// Streams destroyed so far: those that came back to a full pool, with work that nothing is ordered
    /// behind, or were trimmed.
    pub streams_destroyed: u64,
    /// Streams idle in the pool.
    pub streams_idle: usize,
    /// The most streams that were out at once.
    pub streams_peak: usize,
    /// Events created so far.
    pub events_created: u64,
    /// Events destroyed so far.
    pub events_destroyed: u64,
    /// Events idle in the pool.
    pub events_idle: usize,
    /// The most events that were out at once.
    pub events_peak: usize,
    /// Bytes of page-locked memory that copies are staged through, idle or not.
    pub staging_bytes: usize,
    /// Those that are idle.
    pub staging_bytes_idle: usize,
    /// The most that there were.
    pub staging_bytes_peak: usize,
}

impl HandlePool<StreamHandle> {
    pub(crate) fn of_streams() -> Self {
        Self::new(STREAMS_AT_MOST)
    }
}

impl HandlePool<EventHandle> {
    pub(crate) fn of_events() -> Self {
        Self::new(EVENTS_AT_MOST)
    }
}

/// An event from the pool, given back when dropped. Waits enqueued on it keep their record.
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
}

impl Drop for EventLease {
    fn drop(&mut self) {
        if let Some(handle) = self.context.events.put(self.handle, false) {
            // SAFETY: leased to us alone until now; waits enqueued on it keep their record.
            self.context.destroyed(unsafe { self.context.device().destroy_event(handle) });
        }
    }
}

/// A stream from the pool. It goes back idle or ordered; a stream with work that nobody waits for
/// is waited for and destroyed instead, so that it can delay no stranger.
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

    /// Whether the stream has work that nothing is ordered behind.
    #[must_use]
    pub fn is_unjoined(&self) -> bool {
        self.unjoined
    }

    /// Says that the stream has, or no longer has, work that nothing is ordered behind.
    pub fn set_unjoined(&mut self, unjoined: bool) {
        self.unjoined = unjoined;
    }

    /// Says that the stream may have unfinished work, though something is ordered behind it. Such a stream would
    /// delay whoever gets it next, and is handed out only where there is no other.
    pub fn set_busy(&mut self, busy: bool) {
        self.busy = busy;
    }
}

impl Drop for StreamLease {
    fn drop(&mut self) {
        let device = self.context.device();
        if !self.unjoined {
            if let Some(handle) = self.context.streams.put(self.handle, self.busy) {
                // SAFETY: leased to us alone until now; what is enqueued on it still runs.
                self.context.destroyed(unsafe { destroy_stream(&**device, handle) });
            }
            return;
        }
        self.context.streams.lost();
        // SAFETY: the stream is leased to us alone and is not used afterwards.
        unsafe {
            self.context.destroyed(device.stream_synchronize(self.handle));
            self.context.destroyed(destroy_stream(&**device, self.handle));
        }
    }
}

impl Context {
    /// An event from the pool, or a new one.
    ///
    /// # Errors
    /// What creating an event returns.
    pub fn lease_event(self: &Arc<Self>) -> Result<EventLease> {
        let handle = match self.events.take() {
            Some(handle) => handle,
            None => {
                let handle = self.new_event()?;
                self.events.made();
                handle
            }
        };
        Ok(EventLease { context: self.clone(), handle })
    }

    /// A stream from the pool, or a new non-blocking one.
    ///
    /// # Errors
    /// What creating a stream returns.
    pub fn lease_stream(self: &Arc<Self>) -> Result<StreamLease> {
        let handle = match self.streams.take() {
            Some(handle) => handle,
            None => {
                let handle = self.observe(self.device().create_stream(StreamOptions::default()))?;
                self.streams.made();
                handle
            }
        };
        Ok(StreamLease { context: self.clone(), handle, unjoined: false, busy: false })
    }

    /// What the pools made, hold, and gave up.
    #[must_use]
    pub fn pool_statistics(&self) -> PoolStatistics {
        let staging = self.staging.counts();
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
        }
    }

    /// Destroys what lies idle in the pools. An error is kept as a deferred one.
    pub fn trim_pools(&self) {
        let device = self.device();
        // SAFETY: idle handles are the pools' alone. What is enqueued on a stream still runs, waits on an
        // event keep their record, and the copies through idle staging memory are complete.
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

    /// Keeps the error of giving something back.
    pub(crate) fn destroyed(&self, result: rhi::Result<()>) {
        if let Err(error) = self.observe(result) {
            self.defer(error);
        }
    }
}
