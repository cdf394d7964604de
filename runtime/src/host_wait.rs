//! Waits of the host for work of a device.
//!
//! Usually a wait is one blocking call of the driver. Work of other code may never complete by itself: a collective
//! operation waits for devices of other processes. Such code registers a [`Watch`](crate::Watch). While one is
//! registered, the host polls instead: it queries whether the work is complete and calls the watches, which end work
//! that has failed.

use std::{
    hint,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use quadrants_rhi::{self as rhi, EventHandle, StreamHandle};

use crate::{Context, Result, watch::Watch};

/// How long a polling wait queries without sleeping: as long as a short kernel runs.
const SPIN: Duration = Duration::from_micros(100);

/// The longest sleep between two queries.
const MAX_SLEEP: Duration = Duration::from_micros(500);

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
        self.host_wait(
            || unsafe { self.device().stream_synchronize(stream) },
            || unsafe { self.device().stream_query(stream) },
        )
    }

    /// Waits for the latest record of an event.
    ///
    /// # Safety
    /// The event is live.
    #[inline]
    pub(crate) unsafe fn wait_for_event(&self, event: EventHandle) -> Result<()> {
        // SAFETY: by the caller.
        self.host_wait(
            || unsafe { self.device().event_synchronize(event) },
            || unsafe { self.device().event_query(event) },
        )
    }

    /// Waits for all work of the device.
    pub(crate) fn wait_for_device(&self) -> Result<()> {
        // Once no watched work is left, a blocking wait ends.
        let mut failure = None;
        let start = Instant::now();
        while self.is_watched() && !self.watches.poll(start.elapsed(), &mut failure) {
            pause(start.elapsed());
        }
        let waited = self.observe(self.device().synchronize());
        failure.map_or(waited, Err)
    }

    #[inline]
    fn is_watched(&self) -> bool {
        !self.watches.is_empty()
    }

    #[inline]
    fn host_wait(
        &self,
        wait: impl FnOnce() -> rhi::Result<()>,
        query: impl FnMut() -> rhi::Result<bool>,
    ) -> Result<()> {
        if self.is_watched() { self.poll(query) } else { self.observe(wait()) }
    }

    #[cold]
    fn poll(&self, mut is_complete: impl FnMut() -> rhi::Result<bool>) -> Result<()> {
        let mut failure = None;
        let start = Instant::now();
        while !self.observe(is_complete())? {
            let waited = start.elapsed();
            if waited > SPIN {
                self.watches.poll(waited, &mut failure);
            }
            pause(waited);
        }
        failure.map_or(Ok(()), Err)
    }
}

/// Lets other threads run, the longer the wait has lasted.
fn pause(waited: Duration) {
    match waited < SPIN {
        true => hint::spin_loop(),
        false => thread::sleep((waited / 16).min(MAX_SLEEP)),
    }
}
