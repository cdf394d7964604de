//! How the report of a record changes hands: a kernel that found it empty fills it, and of those who ask for it one takes
//! it out.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use quadrants_ir::abi::ErrorRecord;

use crate::sync::AtomicU32;

/// Takes a report out; where several threads ask, for one of them. The stream must be drained, so that a record that is
/// claimed is full.
pub(crate) fn take<R>(state: &AtomicU32, read: impl FnOnce() -> R) -> Option<R> {
    let (full, claimed) = (ErrorRecord::FULL, ErrorRecord::CLAIMED);
    // Claimed again while it is read, so that no other thread takes it and no kernel writes it.
    state.compare_exchange(full, claimed, Acquire, Relaxed).ok()?;
    let record = read();
    state.store(ErrorRecord::EMPTY, Release);
    Some(record)
}
