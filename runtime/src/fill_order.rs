//! The order of the first fill of a buffer before its first use.

use std::sync::{
    Arc,
    atomic::Ordering::{Acquire, Release},
};

use quadrants_rhi::StreamHandle;

use crate::{Context, EventLease, Result, Stamp, Stream, fill_streams::AwaitedFills};

impl Context {
    /// Orders later work of `stream` after the first fill `fill`; `event` is behind it, if it is on a stream of the
    /// user. The host does not wait. Returns whether the fill is known to be complete.
    ///
    /// # Errors
    /// The device's error.
    pub(crate) fn make_stream_wait_for_fill(
        self: &Arc<Self>,
        fill: Stamp,
        event: Option<&EventLease>,
        stream: &Stream,
    ) -> Result<bool> {
        self.check()?;
        if self.registry.is_complete(fill) {
            return Ok(true);
        }
        let awaited = &stream.awaited_fills;
        // Before a wait, because only the last fill on a stream of the user is remembered: a stream that uses the fills
        // of several streams in turn would wait for them at each launch.
        if awaited.is_time_for_query() && self.is_fill_complete(fill, event)? {
            return Ok(true);
        }
        let waits = match event {
            Some(event) => self.order_after_user_fill((fill, event), stream)?,
            // SAFETY: the handle lives as long as the stream is borrowed.
            None => unsafe { self.order_after_internal_fill(fill, stream.handle(), awaited)? },
        };
        if waits {
            // The wait is work of the stream.
            let _ = stream.next_stamp();
        }
        Ok(false)
    }

    /// Makes later work of `stream` wait for a fill on another stream of the user, unless it does already. Returns
    /// whether a wait was enqueued.
    fn order_after_user_fill(
        &self,
        (fill, event): (Stamp, &EventLease),
        stream: &Stream,
    ) -> Result<bool> {
        let awaited = &stream.awaited_fills;
        if fill.stream == stream.id() || awaited.covers(fill) {
            return Ok(false);
        }
        // SAFETY: until the guard is dropped, this thread only calls this device.
        let _current = unsafe { self.make_current()? };
        // SAFETY: the event is leased, and the stream lives as long as its borrow.
        let waited = unsafe { self.device().stream_wait_event(stream.handle(), event.handle()) };
        self.observe(waited)?;
        awaited.add(fill);
        Ok(true)
    }

    /// Whether a fill is complete, by a query of the event after it, or else of its stream.
    ///
    /// # Errors
    /// The failure of earlier work.
    pub(crate) fn is_fill_complete(&self, fill: Stamp, event: Option<&EventLease>) -> Result<bool> {
        let Some(event) = event else {
            return self.registry.query(fill, |handle| {
                // SAFETY: the stream is leased.
                self.observe(unsafe { self.device().stream_query(handle) })
            });
        };
        // SAFETY: the event is leased.
        let complete = self.observe(unsafe { self.device().event_query(event.handle()) })?;
        if complete {
            self.registry.complete([fill]);
        }
        Ok(complete)
    }

    /// Orders the next free after the first fill `fill`.
    ///
    /// # Errors
    /// The device's error.
    pub(crate) fn order_fill_before_free(self: &Arc<Self>, fill: Stamp) -> Result<()> {
        // SAFETY: the internal stream lives as long as the context.
        unsafe { self.order_after_internal_fill(fill, self.free_on, &self.fills_before_frees)? };
        Ok(())
    }

    /// Orders later work of `stream` after `fill`, unless it is already: `awaited` belongs to the stream. Returns
    /// whether a wait was enqueued.
    ///
    /// # Safety
    /// `stream` is a live stream of this context.
    pub(crate) unsafe fn order_after_internal_fill(
        self: &Arc<Self>,
        fill: Stamp,
        stream: StreamHandle,
        awaited: &AwaitedFills,
    ) -> Result<bool> {
        let index = self.fill_streams.index_of(fill.stream);
        let position = index.map(|index| &awaited.positions[index]);
        if position.is_some_and(|position| position.load(Acquire) >= fill.sequence) {
            return Ok(false);
        }
        // SAFETY: by the caller.
        let ordered = unsafe { self.order_after(stream, [fill])? };
        if let (Some(position), Some(newest)) = (position, ordered.first()) {
            // Release pairs with the acquire load above: a thread that skips its wait because of this enqueues its
            // launch after the wait.
            position.fetch_max(newest.sequence, Release);
        }
        Ok(true)
    }
}
