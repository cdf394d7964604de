//! Work that uses memory of two contexts: it is ordered with the streams of both by events.

use std::mem::forget;

use crate::{Context, Result, Stream};

/// Waits for the work of a stream when it is dropped: its order after that work is not known.
struct Unordered<'a>(&'a Stream);

impl Drop for Unordered<'_> {
    fn drop(&mut self) {
        // If this fails, its context is lost, and the failure is returned by every later call.
        let _ = self.0.synchronize();
    }
}

impl Context {
    /// Whether streams of this context can wait for events of the other one, and copies from its memory need no host.
    #[must_use]
    pub fn is_peer(&self, other: &Self) -> bool {
        self.direct_device().is_peer(&**other.direct_device())
    }
}

/// Calls `enqueue`, which enqueues work on `target` that uses memory of both contexts. The work comes after all work
/// that is enqueued on either stream, and before all that is enqueued later on either. The host does not wait.
///
/// After an error, and where `enqueue` panics, the host has waited for what was enqueued.
///
/// # Errors
/// Those of the devices, and those of `enqueue`.
///
/// # Panics
/// Where `enqueue` does.
pub fn enqueue_between(
    source: &Stream,
    target: &Stream,
    enqueue: impl FnOnce() -> Result<()>,
) -> Result<()> {
    source.context().check()?;
    target.context().check()?;
    if !source.context().device().capabilities().asynchronous {
        // The work of both is complete when a call returns.
        return enqueue();
    }
    let (ready, done) = (source.context().lease_event()?, target.context().lease_event()?);
    order(source, target, &ready)?;
    let unordered = Unordered(target);
    enqueue()?;
    order(target, source, &done)?;
    forget(unordered);
    Ok(())
}

/// Makes later work of `waiter` wait for all work of `stream`, by an event of its context.
fn order(stream: &Stream, waiter: &Stream, event: &crate::EventLease) -> Result<()> {
    let (of, by) = (stream.context(), waiter.context());
    // SAFETY: the streams live as long as their borrows, and the event is leased. The contexts are peers, or the same.
    // The wait keeps the record, so that the event may be used again.
    unsafe {
        of.observe(of.device().event_record(event.handle(), stream.handle()))?;
        by.observe(by.device().stream_wait_event(waiter.handle(), event.handle()))
    }
}
