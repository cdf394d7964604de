//! Whether a thread only launches, or is in a capture or a host-side region. One word, which the fast path of a launch
//! reads.

use std::{cell::Cell, marker::PhantomData};

thread_local! {
    /// The number of captures and regions that this thread is in.
    static OBSERVERS: Cell<usize> = const { Cell::new(0) };
}

/// Makes launches of this thread take the slow path until it is dropped.
#[derive(Debug)]
pub(crate) struct SlowPathGuard(PhantomData<*const ()>);

impl SlowPathGuard {
    pub(crate) fn begin() -> Self {
        OBSERVERS.set(OBSERVERS.get() + 1);
        Self(PhantomData)
    }
}

impl Drop for SlowPathGuard {
    fn drop(&mut self) {
        OBSERVERS.set(OBSERVERS.get() - 1);
    }
}

/// Whether this thread is in a capture or a region.
#[inline]
pub(crate) fn is_observed() -> bool {
    OBSERVERS.get() > 0
}
