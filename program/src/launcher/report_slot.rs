//! The protocol of an error record: a kernel that finds it empty fills it, and one of the host threads that look takes
//! the report.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use quadrants_ir::abi::ErrorRecord;

use crate::sync::AtomicU32;

/// Takes the report; of several threads, only one gets it. The stream must be drained, so that a claimed record is
/// full.
pub(crate) fn take<R>(state: &AtomicU32, read: impl FnOnce() -> R) -> Option<R> {
    let (full, claimed) = (ErrorRecord::FULL, ErrorRecord::CLAIMED);
    // Claimed while it is read, so that no other thread takes it and no kernel writes it.
    state.compare_exchange(full, claimed, Acquire, Relaxed).ok()?;
    let record = read();
    state.store(ErrorRecord::EMPTY, Release);
    Some(record)
}
