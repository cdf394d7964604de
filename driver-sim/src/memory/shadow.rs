//! Shadow memory: the latest accesses of each byte of a block.

use std::{collections::BTreeMap, ops::Range};

use smallvec::SmallVec;

use super::AccessKind;
use crate::clock::{Clock, Epoch};

/// The latest accesses of a block's bytes.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    /// Disjoint segments by start.
    segments: BTreeMap<usize, Segment>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Segment {
    end: usize,
    last: Last,
}

/// The latest accesses of a byte: one write, and the newest read and atomic of each stream since then.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Last {
    write: Option<(Epoch, AccessKind)>,
    reads: SmallVec<[Epoch; 2]>,
    atomics: SmallVec<[Epoch; 2]>,
}

impl Shadow {
    /// Records an access of an operation. Calls a function with each earlier access that conflicts with it and is not
    /// complete in `clock`.
    pub(crate) fn touch(
        &mut self,
        range: Range<usize>,
        access: AccessKind,
        by: Epoch,
        clock: &Clock,
        mut conflict: impl FnMut(Range<usize>, Epoch, AccessKind),
    ) {
        self.split(range.start);
        self.split(range.end);
        self.fill_gaps(range.clone());
        for (&start, segment) in self.segments.range_mut(range.clone()) {
            segment.last.conflicts(access, clock, |epoch, earlier| {
                conflict(start..segment.end, epoch, earlier);
            });
            segment.last.note(access, by);
        }
        self.merge(range);
    }

    /// Calls a function with each access that is not complete in `clock`.
    pub(crate) fn unknown(
        &self,
        clock: &Clock,
        mut found: impl FnMut(Range<usize>, Epoch, AccessKind),
    ) {
        for (&start, segment) in &self.segments {
            let range = start..segment.end;
            segment.last.conflicts(AccessKind::Free, clock, |epoch, access| {
                found(range.clone(), epoch, access);
            });
        }
    }

    pub(crate) fn clear(&mut self) {
        self.segments.clear();
    }

    fn split(&mut self, at: usize) {
        let Some((_, segment)) = self.segments.range_mut(..at).next_back() else { return };
        if segment.end > at {
            let rest = Segment { end: segment.end, last: segment.last.clone() };
            segment.end = at;
            self.segments.insert(at, rest);
        }
    }

    /// Makes segments of bytes that were not accessed yet.
    fn fill_gaps(&mut self, range: Range<usize>) {
        let mut at = range.start;
        let mut gaps: SmallVec<[Range<usize>; 4]> = SmallVec::new();
        for (&start, segment) in self.segments.range(range.clone()) {
            if at < start {
                gaps.push(at..start);
            }
            at = segment.end;
        }
        if at < range.end {
            gaps.push(at..range.end);
        }
        for gap in gaps {
            self.segments.insert(gap.start, Segment { end: gap.end, last: Last::default() });
        }
    }

    /// Merges equal neighbours, from the segment before the range to the one after it.
    fn merge(&mut self, range: Range<usize>) {
        let before = self.segments.range(..range.start).next_back().map(|(&start, _)| start);
        let mut at = before.unwrap_or(range.start);
        while let Some(end) = self.segments.get(&at).map(|segment| segment.end) {
            let equal =
                self.segments.get(&end).is_some_and(|next| next.last == self.segments[&at].last);
            if equal {
                let end_of_next = self.segments.remove(&end).map_or(end, |next| next.end);
                if let Some(segment) = self.segments.get_mut(&at) {
                    segment.end = end_of_next;
                }
            } else if end > range.end {
                return;
            } else {
                at = end;
            }
        }
    }
}

impl Last {
    fn conflicts(
        &self,
        access: AccessKind,
        clock: &Clock,
        mut found: impl FnMut(Epoch, AccessKind),
    ) {
        if let Some((epoch, write)) = self.write.filter(|(epoch, _)| !clock.covers(*epoch)) {
            found(epoch, write);
        }
        let unknown = |epochs: &SmallVec<[Epoch; 2]>| -> SmallVec<[Epoch; 2]> {
            epochs.iter().copied().filter(|epoch| !clock.covers(*epoch)).collect()
        };
        if access != AccessKind::Read {
            unknown(&self.reads).into_iter().for_each(|epoch| found(epoch, AccessKind::Read));
        }
        if access != AccessKind::Atomic {
            unknown(&self.atomics).into_iter().for_each(|epoch| found(epoch, AccessKind::Atomic));
        }
    }

    fn note(&mut self, access: AccessKind, by: Epoch) {
        let newest = |epochs: &mut SmallVec<[Epoch; 2]>| match epochs
            .iter_mut()
            .find(|epoch| epoch.sequence == by.sequence)
        {
            Some(epoch) => *epoch = by,
            None => epochs.push(by),
        };
        match access {
            AccessKind::Read => newest(&mut self.reads),
            AccessKind::Atomic => newest(&mut self.atomics),
            write => {
                *self = Self { write: Some((by, write)), ..Self::default() };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(
        shadow: &mut Shadow,
        range: Range<usize>,
        access: AccessKind,
        by: Epoch,
    ) -> Vec<(usize, AccessKind)> {
        let mut found = Vec::new();
        let mut clock = Clock::default();
        clock.advance(by);
        shadow.touch(range, access, by, &clock, |range, _, earlier| {
            found.push((range.len(), earlier));
        });
        found
    }

    #[test]
    fn bytes_keep_their_own_history_and_equal_neighbours_are_one() {
        let [one, two, three] = [1, 2, 3].map(|sequence| Epoch { sequence, op: sequence });
        let mut shadow = Shadow::default();
        for at in (0..100).step_by(4) {
            assert_eq!(touch(&mut shadow, at..at + 4, AccessKind::Write, one), []);
        }
        assert_eq!(shadow.segments.len(), 1);
        assert_eq!(touch(&mut shadow, 40..60, AccessKind::Read, two), [(20, AccessKind::Write)]);
        assert_eq!(shadow.segments.len(), 3);
        assert_eq!(touch(&mut shadow, 100..120, AccessKind::Read, two), []);
        let both = touch(&mut shadow, 50..110, AccessKind::Write, three);
        assert_eq!(
            both,
            [
                (10, AccessKind::Write),
                (10, AccessKind::Read),
                (40, AccessKind::Write),
                (10, AccessKind::Read)
            ]
        );
        assert_eq!(touch(&mut shadow, 0..40, AccessKind::Write, one), []);
    }

    #[test]
    fn reads_do_not_race_with_reads_nor_atomics_with_atomics() {
        let [one, two, three] = [1, 2, 3].map(|sequence| Epoch { sequence, op: sequence });
        for kind in [AccessKind::Read, AccessKind::Atomic] {
            let mut shadow = Shadow::default();
            assert_eq!(touch(&mut shadow, 0..8, kind, one), []);
            assert_eq!(touch(&mut shadow, 0..8, kind, two), []);
            assert_eq!(touch(&mut shadow, 0..8, AccessKind::Free, three), [(8, kind); 2]);
        }
        let mut shadow = Shadow::default();
        touch(&mut shadow, 0..8, AccessKind::Read, one);
        assert_eq!(touch(&mut shadow, 0..8, AccessKind::Atomic, two), [(8, AccessKind::Read)]);
    }
}
