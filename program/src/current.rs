//! The thread's current stream: a stack per thread, so that scopes nest and restore.

use std::{cell::RefCell, sync::Arc};

use crate::{program::ProgramInner, stream::StreamState};

thread_local! {
    static SCOPES: RefCell<Vec<(Arc<ProgramInner>, Arc<StreamState>)>> =
        const { RefCell::new(Vec::new()) };
}

/// An entered scope; leaving restores the stream that was current before.
pub(crate) struct Scope {
    depth: usize,
}

impl Scope {
    pub(crate) fn enter(program: &Arc<ProgramInner>, stream: &Arc<StreamState>) -> Self {
        SCOPES.with_borrow_mut(|scopes| {
            scopes.push((program.clone(), stream.clone()));
            Self { depth: scopes.len() - 1 }
        })
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        // Out of the borrow before they are dropped: the last handle of a stream waits for its work.
        let left = SCOPES.with_borrow_mut(|scopes| scopes.split_off(self.depth));
        drop(left);
    }
}

/// The current stream of `program` on this thread, or of any program where none is given.
pub(crate) fn current(
    program: Option<&Arc<ProgramInner>>,
) -> Option<(Arc<ProgramInner>, Arc<StreamState>)> {
    SCOPES.with_borrow(|scopes| {
        scopes
            .iter()
            .rev()
            .find(|(of, _)| program.is_none_or(|program| Arc::ptr_eq(of, program)))
            .cloned()
    })
}
