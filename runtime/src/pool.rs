//! Pools of streams and events, and the leases that give them back on every path.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use parking_lot::Mutex;
use quadrants_rhi::{EventHandle, StreamHandle, StreamOptions};

use crate::{Context, Result, context::destroy_stream};

/// Idle handles, last in first out: the one used last is the likeliest to be warm and idle.
#[derive(Debug)]
pub(crate) struct HandlePool<H> {
    idle: Mutex<Vec<H>>,
    created: AtomicU64,
}

pub(crate) struct PoolCounts {
    pub(crate) created: u64,
    pub(crate) idle: usize,
}

impl<H> Default for HandlePool<H> {
    fn default() -> Self {
        Self { idle: Mutex::new(Vec::new()), created: AtomicU64::new(0) }
    }
}

impl<H> HandlePool<H> {
    fn take(&self) -> Option<H> {
        self.idle.lock().pop()
    }

    fn put(&self, handle: H) {
        self.idle.lock().push(handle);
    }

    fn made(&self) {
        self.created.fetch_add(1, Relaxed);
    }

    pub(crate) fn drain(&self) -> Vec<H> {
        std::mem::take(&mut *self.idle.lock())
    }

    pub(crate) fn counts(&self) -> PoolCounts {
        PoolCounts { created: self.created.load(Relaxed), idle: self.idle.lock().len() }
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
        self.context.events.put(self.handle);
    }
}

/// A stream from the pool. It goes back idle or ordered; a stream with work that nobody waits for
/// is waited for and destroyed instead, so that it can delay no stranger.
#[derive(Debug)]
pub struct StreamLease {
    context: Arc<Context>,
    handle: StreamHandle,
    unjoined: bool,
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
}

impl Drop for StreamLease {
    fn drop(&mut self) {
        if !self.unjoined {
            self.context.streams.put(self.handle);
            return;
        }
        let device = self.context.device();
        // SAFETY: the stream is leased to us alone and is not used afterwards.
        let results = unsafe {
            [
                self.context.observe(device.stream_synchronize(self.handle)),
                self.context.observe(destroy_stream(&**device, self.handle)),
            ]
        };
        for error in results.into_iter().filter_map(Result::err) {
            self.context.defer(error);
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
        Ok(StreamLease { context: self.clone(), handle, unjoined: false })
    }
}
