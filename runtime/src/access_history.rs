//! The access history of a buffer: the earlier uses that later uses may have to be ordered after.

use std::{cell::UnsafeCell, fmt, panic::Location};

use crate::{Stamp, StridedRange};

/// A launch's use of some bytes of a buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BufferUse {
    /// The stamp of the launch.
    pub stamp: Stamp,
    /// The used bytes.
    pub bytes: StridedRange,
    /// Whether it writes the bytes.
    pub writes: bool,
    /// The launch.
    pub by: AccessOrigin,
}

/// The kernel, parameter and source location of a use.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AccessOrigin {
    /// The id of the kernel.
    pub kernel: u32,
    /// The index of the parameter that the buffer is passed for.
    pub parameter: usize,
    /// The source location of the launch.
    pub at: &'static Location<'static>,
}

/// The relevant earlier uses of a buffer.
///
/// It has no lock of its own: the caller examines several buffers at once under one lock. A lock per buffer would cost
/// more than the rest of the check.
#[derive(Default)]
pub struct AccessHistory(UnsafeCell<Vec<BufferUse>>);

// SAFETY: the contents are plain data. Only the unsafe methods access them, and their callers guarantee exclusion.
unsafe impl Sync for AccessHistory {}

impl BufferUse {
    /// Whether the two uses must be ordered: they share a byte, and one writes.
    #[must_use]
    pub fn conflicts_with(&self, other: &Self) -> bool {
        (self.writes || other.writes) && self.bytes.overlap(&other.bytes)
    }

    /// Whether `old` is an earlier run of the same read in the same stream.
    #[inline]
    fn repeats(&self, old: &Self) -> bool {
        self.stamp.stream == old.stamp.stream
            && !(self.writes || old.writes)
            && self.by.parameter == old.by.parameter
            && self.by.kernel == old.by.kernel
            && std::ptr::eq(self.by.at, old.by.at)
            && self.bytes == old.bytes
    }
}

impl AccessHistory {
    /// Calls `see` with each use.
    ///
    /// # Safety
    /// Calls of methods of one value are mutually exclusive, for example under a lock. `see` calls no method of it.
    #[inline]
    pub unsafe fn each(&self, see: impl FnMut(&BufferUse)) {
        // SAFETY: the caller guarantees that no other call accesses the contents.
        let uses = unsafe { &*self.0.get() };
        uses.iter().for_each(see);
    }

    /// Removes all uses.
    ///
    /// # Safety
    /// As for [`each`](Self::each).
    pub unsafe fn clear(&self) {
        // SAFETY: the caller guarantees that no other call accesses the contents.
        unsafe { (*self.0.get()).clear() };
    }

    /// Adds a use, and removes uses that are not relevant any more: those that are complete by `complete`, and those
    /// that the new use replaces, because it covers their bytes and is after them by `ordered`.
    ///
    /// # Safety
    /// As for [`each`](Self::each); neither `complete` nor `ordered` calls a method of this value.
    #[inline]
    pub unsafe fn put(
        &self,
        new: BufferUse,
        complete: impl Fn(Stamp) -> bool,
        ordered: impl Fn(Stamp) -> bool,
    ) {
        // SAFETY: the caller guarantees that no other call accesses the contents.
        let uses = unsafe { &mut *self.0.get() };
        let same_stream = |old: &BufferUse| old.stamp.stream == new.stamp.stream;
        let replaces = |old: &BufferUse| match (old.writes, new.writes) {
            // Another thread launched later and added its use first.
            _ if same_stream(old) && old.stamp.sequence > new.stamp.sequence => false,
            (_, true) => ordered(old.stamp),
            // A read on another stream stays: a later write must be ordered after both.
            (false, false) => same_stream(old),
            (true, false) => false,
        };
        // The common case: the same launch as before, with a newer stamp. (A write removes the uses it is ordered
        // after.)
        if let Some(old) = uses.iter_mut().find(|old| new.repeats(old)) {
            old.stamp.sequence = old.stamp.sequence.max(new.stamp.sequence);
            return;
        }
        if let [only] = &mut uses[..]
            && only.bytes == new.bytes
            && replaces(only)
        {
            *only = new;
            return;
        }
        uses.retain(|old| !(complete(old.stamp) || (new.bytes.cover(&old.bytes) && replaces(old))));
        uses.push(new);
    }
}

impl fmt::Debug for AccessHistory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessHistory").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    fn a_use(stream: u32, sequence: u64, bytes: Range<usize>, writes: bool) -> BufferUse {
        let by = AccessOrigin { kernel: 0, parameter: 0, at: Location::caller() };
        BufferUse { stamp: Stamp { stream, sequence }, bytes: bytes.into(), writes, by }
    }

    fn stamps(uses: &AccessHistory) -> Vec<(u32, u64)> {
        let mut all = Vec::new();
        // SAFETY: only this thread uses it.
        unsafe { uses.each(|one| all.push((one.stamp.stream, one.stamp.sequence))) };
        all
    }

    #[test]
    fn a_write_replaces_ordered_uses_and_a_read_replaces_older_reads_of_its_stream() {
        let uses = AccessHistory::default();
        // SAFETY: only this thread uses it.
        let put = |new, complete: &dyn Fn(Stamp) -> bool, ordered: &dyn Fn(Stamp) -> bool| unsafe {
            uses.put(new, complete, ordered);
        };
        let never = |_: Stamp| false;
        let own = |stream| move |stamp: Stamp| stamp.stream == stream;
        put(a_use(1, 1, 0..8, true), &never, &own(1));
        put(a_use(2, 1, 0..8, false), &never, &own(2));
        put(a_use(2, 2, 0..8, false), &never, &own(2));
        assert_eq!(
            stamps(&uses),
            [(1, 1), (2, 2)],
            "a later read of a stream replaces the earlier one"
        );
        put(a_use(1, 2, 0..4, true), &never, &own(1));
        assert_eq!(
            stamps(&uses),
            [(1, 1), (2, 2), (1, 2)],
            "bytes that the write does not cover stay"
        );
        put(a_use(1, 3, 0..8, true), &never, &|_| true);
        assert_eq!(stamps(&uses), [(1, 3)]);
        put(a_use(2, 3, 8..9, false), &|stamp: Stamp| stamp.stream == 1, &never);
        assert_eq!(stamps(&uses), [(2, 3)], "complete uses are removed");
    }

    #[test]
    fn the_newest_use_of_a_stream_is_kept_in_any_order_of_arrival() {
        for writes in [false, true] {
            let uses = AccessHistory::default();
            for (sequence, bytes) in [(1, 0..8), (5, 0..8), (4, 0..8), (3, 0..16)] {
                // SAFETY: only this thread uses it.
                unsafe { uses.put(a_use(1, sequence, bytes, writes), |_| false, |_| true) };
            }
            assert_eq!(stamps(&uses)[0], (1, 5));
        }
    }

    #[test]
    fn reads_and_disjoint_ranges_do_not_conflict() {
        let read = a_use(1, 1, 0..8, false);
        assert!(!read.conflicts_with(&a_use(2, 1, 0..8, false)));
        assert!(read.conflicts_with(&a_use(2, 1, 7..8, true)));
        assert!(!read.conflicts_with(&a_use(2, 1, 8..16, true)));
        assert!(!read.conflicts_with(&a_use(2, 1, 0..0, true)));
    }
}
