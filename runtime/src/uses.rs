//! The uses of a buffer that later ones may have to be ordered behind: by whom, of which bytes, and how.

use std::panic::Location;

use parking_lot::Mutex;

use crate::{Pieces, Stamp};

/// A use of some bytes of a buffer by a launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Use {
    /// Where the launch stands in its stream.
    pub stamp: Stamp,
    /// The bytes.
    pub bytes: Pieces,
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
#[derive(Debug, Default)]
pub struct Uses(Mutex<Vec<Use>>);

impl Use {
    /// Whether the two may not run at the same time.
    #[must_use]
    pub fn conflicts_with(&self, bytes: &Pieces, writes: bool) -> bool {
        (self.writes || writes) && self.bytes.overlap(bytes)
    }
}

impl Uses {
    /// Shows all uses.
    pub fn each(&self, see: impl FnMut(&Use)) {
        self.0.lock().iter().for_each(see);
    }

    /// Puts a use. Those go that say nothing any more: what `complete` knows to be over, and what the new one stands
    /// for, because it uses the same bytes at least as much and `ordered` says that it comes behind.
    pub fn put(&self, new: Use, complete: impl Fn(Stamp) -> bool, ordered: impl Fn(Stamp) -> bool) {
        let mut uses = self.0.lock();
        uses.retain(|old| {
            let covered = new.bytes.cover(&old.bytes);
            // What reads on another stream stays: a later write comes behind both, or is told of it.
            let stands = match (old.writes, new.writes) {
                (_, true) => ordered(old.stamp),
                (false, false) => old.stamp.stream == new.stamp.stream,
                (true, false) => false,
            };
            !(complete(old.stamp) || covered && stands)
        });
        uses.push(new);
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

    fn stamps(uses: &Uses) -> Vec<(u32, u64)> {
        let mut all = Vec::new();
        uses.each(|one| all.push((one.stamp.stream, one.stamp.sequence)));
        all
    }

    #[test]
    fn a_write_stands_for_what_it_comes_behind_and_a_read_for_older_reads_of_its_stream() {
        let uses = Uses::default();
        let never = |_| false;
        let own = |stream| move |stamp: Stamp| stamp.stream == stream;
        uses.put(a_use(1, 1, 0..8, true), never, own(1));
        uses.put(a_use(2, 1, 0..8, false), never, own(2));
        uses.put(a_use(2, 2, 0..8, false), never, own(2));
        assert_eq!(stamps(&uses), [(1, 1), (2, 2)], "one stream's later read stands for both");
        uses.put(a_use(1, 2, 0..4, true), never, own(1));
        assert_eq!(
            stamps(&uses),
            [(1, 1), (2, 2), (1, 2)],
            "of the bytes behind it nothing is said"
        );
        uses.put(a_use(1, 3, 0..8, true), never, |_| true);
        assert_eq!(stamps(&uses), [(1, 3)]);
        uses.put(a_use(2, 3, 8..9, false), |stamp| stamp.stream == 1, never);
        assert_eq!(stamps(&uses), [(2, 3)], "what is over goes");
    }

    #[test]
    fn two_reads_and_two_ranges_are_no_conflict() {
        let read = a_use(1, 1, 0..8, false);
        assert!(!read.conflicts_with(&(0..8).into(), false));
        assert!(read.conflicts_with(&(7..8).into(), true));
        assert!(!read.conflicts_with(&(8..16).into(), true));
        assert!(!read.conflicts_with(&(0..0).into(), true));
    }
}
