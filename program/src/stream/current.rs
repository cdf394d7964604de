//! The thread's current stream: scopes nest, and leaving one makes the previous stream current again.
//!
//! The scopes of a thread are a list through the stack frames of those who entered them. A thread-local that
//! owns nothing has no destructor, so that the destructors of other thread-locals may launch too.

use std::{cell::Cell, ptr, sync::Arc};

use crate::{program::ProgramInner, stream::StreamState};

thread_local! {
    static INNERMOST: Cell<*const Scope> = const { Cell::new(ptr::null()) };
}

struct Scope {
    program: *const Arc<ProgramInner>,
    stream: *const Arc<StreamState>,
    outer: *const Scope,
}

/// Makes the outer scope the innermost again, on every way out.
struct Leave(*const Scope);

impl Drop for Leave {
    fn drop(&mut self) {
        INNERMOST.set(self.0);
    }
}

/// Runs `body` with `stream` as the thread's current stream of `program`.
pub(crate) fn within<R>(
    program: &Arc<ProgramInner>,
    stream: &Arc<StreamState>,
    body: impl FnOnce() -> R,
) -> R {
    let scope = Scope { program, stream, outer: INNERMOST.get() };
    let _leave = Leave(scope.outer);
    INNERMOST.set(&raw const scope);
    body()
}

/// Gives `then` the current stream of `program` on this thread, or of any program where none is given.
#[inline]
pub(crate) fn with_current<R>(
    program: Option<&Arc<ProgramInner>>,
    then: impl FnOnce(Option<(&Arc<ProgramInner>, &Arc<StreamState>)>) -> R,
) -> R {
    let (mut at, mut found) = (INNERMOST.get(), None);
    // SAFETY: a scope is on the list while `within` runs, whose frame holds it and whose arguments it
    // names; both are below this one's on the same stack until `then` has returned.
    while let Some(scope) = unsafe { at.as_ref() } {
        // SAFETY: as above.
        let (of, stream) = unsafe { (&*scope.program, &*scope.stream) };
        if program.is_none_or(|program| Arc::ptr_eq(of, program)) {
            found = Some((of, stream));
            break;
        }
        at = scope.outer;
    }
    then(found)
}
