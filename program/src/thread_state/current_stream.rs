//! The current stream of a thread. Scopes nest; at the end of one, the stream before it is current again.
//!
//! The scopes of a thread are a linked list through the stack frames of their `with_scope` calls. The thread-local has
//! no destructor, so that the destructors of other thread-locals can still launch.

use std::{
    cell::Cell,
    ptr,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use quadrants_runtime as rt;

use crate::state::{ProgramInner, StreamState};

thread_local! {
    static INNERMOST: Cell<*const StreamScope> = const { Cell::new(ptr::null()) };
}

struct StreamScope {
    program: *const Arc<ProgramInner>,
    stream: *const Arc<StreamState>,
    outer: *const StreamScope,
}

/// Makes the outer scope the innermost again, on every exit path.
struct StreamScopeGuard(*const StreamScope);

impl Drop for StreamScopeGuard {
    fn drop(&mut self) {
        INNERMOST.set(self.0);
    }
}

/// Runs `body` with `stream` as the thread's current stream of `program`.
pub(crate) fn with_scope<R>(
    program: &Arc<ProgramInner>,
    stream: &Arc<StreamState>,
    body: impl FnOnce() -> R,
) -> R {
    let scope = StreamScope { program, stream, outer: INNERMOST.get() };
    let _guard = StreamScopeGuard(scope.outer);
    INNERMOST.set(&raw const scope);
    body()
}

/// Calls `then` with this thread's current stream of `program`, or of any program where none is given.
#[inline]
pub(crate) fn with_current<R>(
    program: Option<&Arc<ProgramInner>>,
    then: impl FnOnce(Option<(&Arc<ProgramInner>, &Arc<StreamState>)>) -> R,
) -> R {
    let (mut next, mut current) = (INNERMOST.get(), None);
    // SAFETY: a scope is on the list while `with_scope` runs, whose frame has it and whose arguments it points to.
    // Both are below this frame on the same stack until `then` has returned.
    while let Some(scope) = unsafe { next.as_ref() } {
        // SAFETY: as above.
        let (of, stream) = unsafe { (&*scope.program, &*scope.stream) };
        if program.is_none_or(|program| Arc::ptr_eq(of, program)) {
            current = Some((of, stream));
            break;
        }
        next = scope.outer;
    }
    then(current)
}

/// Calls `then` with the current stream of the program, or its default stream.
pub(crate) fn with_current_or_default<R>(
    program: &Arc<ProgramInner>,
    then: impl FnOnce(&Arc<StreamState>) -> R,
) -> R {
    with_current(Some(program), |current| {
        then(current.map_or(&program.default, |(_, stream)| stream))
    })
}

/// Calls `then` with the stream that probably uses a new tensor first: the current one, or the default stream of a
/// program that never had another one.
pub(crate) fn with_likely<R>(
    program: &Arc<ProgramInner>,
    then: impl FnOnce(Option<&rt::Stream>) -> R,
) -> R {
    with_current(Some(program), |current| {
        let stream = match current {
            Some((_, stream)) => Some(stream),
            None if program.shared.has_streams.load(Relaxed) => None,
            None => Some(&program.default),
        };
        then(stream.map(|stream| &*stream.stream))
    })
}
