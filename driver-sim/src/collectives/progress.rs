//! Lets threads wait for calls of others: those of ranks, and the creation of communicators.

use std::time::Instant;

use parking_lot::{Condvar, Mutex};

/// The number of changes so far that a waiting thread may need.
static CHANGES: Mutex<u64> = Mutex::new(0);
static CHANGED: Condvar = Condvar::new();

/// The number of changes so far. A thread takes it before it looks whether it must wait, so that it misses none.
pub(crate) fn now() -> u64 {
    *CHANGES.lock()
}

/// Repeats what waits. Called after every change that may let a wait go on.
pub(crate) fn changed() {
    *CHANGES.lock() += 1;
    CHANGED.notify_all();
}

/// Waits until there are more changes than `seen`. Returns whether there are. No world may be locked.
pub(crate) fn wait_for_change(seen: u64, end: Instant) -> bool {
    let mut changes = CHANGES.lock();
    while *changes == seen {
        if CHANGED.wait_until(&mut changes, end).timed_out() {
            return *changes != seen;
        }
    }
    // Changes that do not concern this wait must not make it last forever.
    Instant::now() < end
}
