//! Vector clocks: the operations that are complete, in every schedule, before an operation starts.

use crate::op_id::OpId;

/// A world, and how often it was reset: then the numbers of its operations begin again.
pub(crate) type WorldKey = (u16, u64);

/// For each stream, its youngest operation that is complete. Operations are numbered across all streams, so the number
/// of an operation is also a time of its stream.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Clock {
    /// All operations up to this one are complete.
    floor: OpId,
    /// Sorted by stream; only operations above the floor.
    latest: Vec<(u64, OpId)>,
    /// The same for operations of other worlds, which have numbers of their own. These clocks have no others in turn.
    others: Vec<(WorldKey, Clock)>,
}

/// An operation as a time of its stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Epoch {
    /// The number of the stream.
    pub(crate) sequence: u64,
    pub(crate) op: OpId,
}

impl Clock {
    /// The youngest complete operation of a stream; 0 if none is known.
    pub(crate) fn latest(&self, sequence: u64) -> OpId {
        let at = self.latest.binary_search_by_key(&sequence, |entry| entry.0);
        at.map_or(0, |at| self.latest[at].1).max(self.floor)
    }

    pub(crate) fn covers(&self, epoch: Epoch) -> bool {
        epoch.op <= self.floor || self.latest(epoch.sequence) >= epoch.op
    }

    pub(crate) fn advance(&mut self, Epoch { sequence, op }: Epoch) {
        if op <= self.floor {
            return;
        }
        match self.latest.binary_search_by_key(&sequence, |entry| entry.0) {
            Ok(at) => self.latest[at].1 = self.latest[at].1.max(op),
            Err(at) => self.latest.insert(at, (sequence, op)),
        }
    }

    /// Marks all operations up to `op` as complete.
    pub(crate) fn advance_to(&mut self, op: OpId) {
        self.floor = self.floor.max(op);
        let floor = self.floor;
        self.latest.retain(|entry| entry.1 > floor);
    }

    /// Marks everything as complete that the other clock has as complete.
    pub(crate) fn join(&mut self, other: &Self) {
        self.join_own(other);
        for (world, part) in &other.others {
            self.of(*world).join_own(part);
        }
    }

    /// As [`join`](Self::join), for a clock of world `from`; this one is of world `own`.
    pub(crate) fn join_from(&mut self, own: WorldKey, from: WorldKey, other: &Self) {
        self.of(from).join_own(other);
        for (world, part) in &other.others {
            if *world == own { self.join_own(part) } else { self.of(*world).join_own(part) }
        }
    }

    /// What is complete in other worlds.
    pub(crate) fn others(&self) -> &[(WorldKey, Self)] {
        &self.others
    }

    fn of(&mut self, world: WorldKey) -> &mut Self {
        let at = self.others.iter().position(|(other, _)| *other == world).unwrap_or_else(|| {
            self.others.push((world, Self::default()));
            self.others.len() - 1
        });
        &mut self.others[at].1
    }

    fn join_own(&mut self, other: &Self) {
        self.advance_to(other.floor);
        for &(sequence, op) in &other.latest {
            self.advance(Epoch { sequence, op });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_join_contains_both_clocks() {
        let epoch = |sequence, op| Epoch { sequence, op };
        let (mut a, mut b) = (Clock::default(), Clock::default());
        a.advance(epoch(1, 10));
        a.advance(epoch(3, 12));
        b.advance(epoch(1, 4));
        b.advance(epoch(2, 11));
        b.advance_to(7);
        assert!(b.covers(epoch(1, 4)) && b.covers(epoch(9, 7)) && !b.covers(epoch(1, 8)));
        a.join(&b);
        assert!(
            [(1, 10), (2, 11), (3, 12)].iter().all(|&(sequence, op)| a.covers(epoch(sequence, op)))
        );
        assert!(!a.covers(epoch(1, 11)) && !a.covers(epoch(4, 8)));
        assert_eq!((a.latest(2), a.latest(4)), (11, 7));
    }

    #[test]
    fn what_a_world_knows_of_another_one_returns_to_it() {
        let epoch = |sequence, op| Epoch { sequence, op };
        let (mut zero, mut one, mut later) = (Clock::default(), Clock::default(), Clock::default());
        zero.advance(epoch(1, 10));
        one.advance(epoch(1, 3));
        one.join_from((1, 0), (0, 0), &zero);
        assert!(!one.covers(epoch(1, 10)), "an operation of another world");
        later.join_from((0, 0), (1, 0), &one);
        assert!(later.covers(epoch(1, 10)) && !later.covers(epoch(1, 11)));
    }
}
