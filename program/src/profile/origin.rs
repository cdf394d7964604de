//! The origin of the operation that a thread is about to enqueue, for the recording device: the ids and names that the
//! calls of a device do not contain.
//!
//! All streams and events of the CPU have the handle 0, and the launch of a graph does not name its nodes.

use std::{
    cell::{Cell, RefCell},
    sync::Arc,
};

use super::session::GraphContents;

thread_local! {
    static STREAM: Cell<u32> = const { Cell::new(0) };
    static EVENT: Cell<u64> = const { Cell::new(0) };
    static GRAPH: RefCell<Option<Arc<GraphContents>>> = const { RefCell::new(None) };
}

/// Restores what was set before, on every exit path.
#[derive(Debug)]
pub(crate) struct OriginGuard {
    stream: u32,
    event: u64,
}

impl Drop for OriginGuard {
    fn drop(&mut self) {
        STREAM.set(self.stream);
        EVENT.set(self.event);
    }
}

/// Until the guard is dropped, calls of this thread are for the stream with this id, and for this event.
pub(crate) fn enter(stream: u32, event: u64) -> OriginGuard {
    OriginGuard { stream: STREAM.replace(stream), event: EVENT.replace(event) }
}

/// Forgets the graph again.
#[derive(Debug)]
pub(crate) struct GraphGuard(());

impl Drop for GraphGuard {
    fn drop(&mut self) {
        GRAPH.replace(None);
    }
}

/// Until the guard is dropped, this thread launches the graph with these contents.
pub(crate) fn enter_graph(contents: Arc<GraphContents>) -> GraphGuard {
    GRAPH.replace(Some(contents));
    GraphGuard(())
}

/// The id of the stream; 0 where none is set.
pub(super) fn stream() -> u32 {
    STREAM.get()
}

/// The number of the event; 0 where none is set.
pub(super) fn event() -> u64 {
    EVENT.get()
}

pub(super) fn graph() -> Option<Arc<GraphContents>> {
    GRAPH.with_borrow(Clone::clone)
}
