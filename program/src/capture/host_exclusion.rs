//! Turns at memory that graphs keep, where kernels run on the thread that launches them.
//!
//! A tensor that a graph writes was borrowed by `&mut` when it was captured, and is marked then. So whoever uses it
//! later knows of the mark, and one who does not can only read what graphs only read.

use parking_lot::{Mutex, MutexGuard};
use quadrants_runtime::Buffer;

use crate::launch::arguments::TensorArg;

/// Who uses marked memory, one after another.
#[derive(Debug)]
pub(crate) struct HostExclusion {
    /// Whether kernels run on the thread that launches them.
    on: bool,
    turn: Mutex<()>,
}

impl HostExclusion {
    pub(crate) fn new(asynchronous: bool) -> Self {
        Self { on: !asynchronous, turn: Mutex::new(()) }
    }

    /// Whether anybody takes turns.
    pub(super) fn are_taken(&self) -> bool {
        self.on
    }

    /// Whether a launch by itself takes a turn.
    #[inline]
    pub(crate) fn are_due(&self, tensors: &[TensorArg<'_>]) -> bool {
        let marked =
            |tensor: &TensorArg<'_>| tensor.core().is_some_and(|core| core.buffer.is_shared());
        self.on && tensors.iter().any(marked)
    }

    /// For a launch by itself.
    #[inline]
    pub(crate) fn of_launch(&self, tensors: &[TensorArg<'_>]) -> Option<MutexGuard<'_, ()>> {
        self.are_due(tensors).then(|| self.turn.lock())
    }

    /// For a copy of the host's.
    pub(crate) fn of_copy(&self, buffer: &Buffer) -> Option<MutexGuard<'_, ()>> {
        (self.on && buffer.is_shared()).then(|| self.turn.lock())
    }

    /// For a graph's launch.
    pub(super) fn of_graph(&self) -> Option<MutexGuard<'_, ()>> {
        self.on.then(|| self.turn.lock())
    }
}
