//! A seeded generator of random numbers.

use std::ops::Range;

use smallvec::SmallVec;

/// The state of a seeded generator (splitmix64).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// A number below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        if from.is_empty() {
            return None;
        }
        from.get(self.below(from.len() as u64) as usize)
    }

    /// The numbers below `count`, split into a few ranges in random order.
    pub(crate) fn pieces(&mut self, count: u64) -> SmallVec<[Range<u64>; 1]> {
        let cuts = self.below(4);
        let mut ends: SmallVec<[u64; 5]> =
            (0..cuts).map(|_| self.below(count.max(1))).chain([0, count]).collect();
        ends.sort_unstable();
        let mut pieces: SmallVec<[Range<u64>; 1]> =
            ends.windows(2).map(|ends| ends[0]..ends[1]).collect();
        for last in (1..pieces.len()).rev() {
            pieces.swap(last, self.below(last as u64 + 1) as usize);
        }
        pieces
    }
}

pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
