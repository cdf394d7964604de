//! The uses of a buffer that later ones may have to be ordered behind: by whom, of which bytes, and how.

use std::{cell::UnsafeCell, fmt, panic::Location};

use crate::{Stamp, StridedRange};

/// A use of some bytes of a buffer by a launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Use {
    /// Where the launch stands in its stream.
    pub stamp: Stamp,
    /// The bytes.
    pub bytes: StridedRange,
    /// Whether it writes them.
    pub writes: bool,
    /// Who it is.
    pub by: Origin,
}

/// Who uses a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Origin {
    /// The kernel's number.
    pub kernel: u32,
    /// Which parameter the buffer is given for.
    pub parameter: usize,
    /// Where the launch is written.
    pub at: &'static Location<'static>,
}

/// The uses of a buffer that are still of interest.
///
/// Who keeps them looks at those of several buffers at once, under a lock of their own that orders them all: a lock for
/// each buffer would cost more than all the rest.
#[derive(Default)]
pub struct AccessHistory(UnsafeCell<Vec<Use>>);

// SAFETY: what is within is plain data, and is reached by the unsafe methods alone, whose callers take turns.
unsafe impl Sync for AccessHistory {}

impl Use {
    /// Whether the two may not run at the same time.
    #[must_use]
    pub fn conflicts_with(&self, other: &Self) -> bool {
        (self.writes || other.writes) && self.bytes.overlap(&other.bytes)
    }

    /// Whether it is the same read again, in the same stream.
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
    /// Shows all uses.
    ///
    /// # Safety
    /// All calls of the methods of one value take turns: by one lock that is held for each. `see` calls none.
    #[inline]
    pub unsafe fn each(&self, see: impl FnMut(&Use)) {
        // SAFETY: nobody else is within, by the caller's promise.
        let uses = unsafe { &*self.0.get() };
        uses.iter().for_each(see);
    }

    /// Puts a use. Those go that say nothing any more: what `complete` knows to be over, and what the new one stands
    /// for, because it uses the same bytes at least as much and `ordered` says that it comes behind.
    ///
    /// # Safety
    /// As for [`each`](Self::each), of `complete` and `ordered`.
    #[inline]
    pub unsafe fn put(
        &self,
        new: Use,
        complete: impl Fn(Stamp) -> bool,
        ordered: impl Fn(Stamp) -> bool,
    ) {
        // SAFETY: nobody else is within, by the caller's promise.
        let uses = unsafe { &mut *self.0.get() };
        let same_stream = |old: &Use| old.stamp.stream == new.stamp.stream;
        let stands = |old: &Use| match (old.writes, new.writes) {
            // Another thread has launched meanwhile, and was faster here.
            _ if same_stream(old) && old.stamp.sequence > new.stamp.sequence => false,
            (_, true) => ordered(old.stamp),
            // What reads on another stream stays: a later write comes behind both, or is told of it.
            (false, false) => same_stream(old),
            (true, false) => false,
        };
        // Most launches are those of the last round: nothing is different but when. (A write clears away what it comes
        // behind.)
        if let Some(old) = uses.iter_mut().find(|old| new.repeats(old)) {
            old.stamp.sequence = old.stamp.sequence.max(new.stamp.sequence);
            return;
        }
        if let [only] = &mut uses[..]
            && only.bytes == new.bytes
            && stands(only)
        {
            *only = new;
            return;
        }
        uses.retain(|old| !(complete(old.stamp) || new.bytes.cover(&old.bytes) && stands(old)));
        uses.push(new);
    }
}

impl fmt::Debug for AccessHistory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Uses").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    fn a_use(stream: u32, sequence: u64, bytes: Range<usize>, writes: bool) -> Use {
        let by = Origin { kernel: 0, parameter: 0, at: Location::caller() };
        Use { stamp: Stamp { stream, sequence }, bytes: bytes.into(), writes, by }
    }

    fn stamps(uses: &AccessHistory) -> Vec<(u32, u64)> {
        let mut all = Vec::new();
        // SAFETY: one thread has it.
        unsafe { uses.each(|one| all.push((one.stamp.stream, one.stamp.sequence))) };
        all
    }

    #[test]
    fn a_write_stands_for_what_it_comes_behind_and_a_read_for_older_reads_of_its_stream() {
        let uses = AccessHistory::default();
        // SAFETY: one thread has it.
        let put = |new, complete: &dyn Fn(Stamp) -> bool, ordered: &dyn Fn(Stamp) -> bool| unsafe {
            uses.put(new, complete, ordered);
        };
        let never = |_: Stamp| false;
        let own = |stream| move |stamp: Stamp| stamp.stream == stream;
        put(a_use(1, 1, 0..8, true), &never, &own(1));
        put(a_use(2, 1, 0..8, false), &never, &own(2));
        put(a_use(2, 2, 0..8, false), &never, &own(2));
        assert_eq!(stamps(&uses), [(1, 1), (2, 2)], "one stream's later read stands for both");
        put(a_use(1, 2, 0..4, true), &never, &own(1));
        assert_eq!(
            stamps(&uses),
            [(1, 1), (2, 2), (1, 2)],
            "of the bytes behind it nothing is said"
        );
        put(a_use(1, 3, 0..8, true), &never, &|_| true);
        assert_eq!(stamps(&uses), [(1, 3)]);
        put(a_use(2, 3, 8..9, false), &|stamp: Stamp| stamp.stream == 1, &never);
        assert_eq!(stamps(&uses), [(2, 3)], "what is over goes");
    }

    #[test]
    fn the_newest_use_of_a_stream_is_kept_whoever_comes_first() {
        for writes in [false, true] {
            let uses = AccessHistory::default();
            for (sequence, bytes) in [(1, 0..8), (5, 0..8), (4, 0..8), (3, 0..16)] {
                // SAFETY: one thread has it.
                unsafe { uses.put(a_use(1, sequence, bytes, writes), |_| false, |_| true) };
            }
            assert_eq!(stamps(&uses)[0], (1, 5));
        }
    }

    #[test]
    fn two_reads_and_two_ranges_are_no_conflict() {
        let read = a_use(1, 1, 0..8, false);
        assert!(!read.conflicts_with(&a_use(2, 1, 0..8, false)));
        assert!(read.conflicts_with(&a_use(2, 1, 7..8, true)));
        assert!(!read.conflicts_with(&a_use(2, 1, 8..16, true)));
        assert!(!read.conflicts_with(&a_use(2, 1, 0..0, true)));
    }
}
