//! The values of a parallel loop with a step or in reverse: `(a..b).step_by(n)`, `(a..b).rev()`.

use std::ops::{Range, RangeInclusive};

use super::LoopInt;

/// The values of a range at equal distances. Parallel loops run over their positions.
#[derive(Clone, Copy, Debug)]
pub struct SteppedRange<I> {
    first: I,
    step: u64,
    down: bool,
    len: u64,
}

/// A range of integers, half-open or inclusive.
pub trait IntRange {
    /// The integer type.
    type Int: LoopInt;
    /// The first value.
    fn first(&self) -> Self::Int;
    /// The last value; unspecified if the range is empty.
    fn last(&self) -> Self::Int;
    /// The number of values, saturating: the inclusive range of all 64-bit integers has one more than `u64::MAX`.
    fn count(&self) -> u64;
}

impl<I: LoopInt> IntRange for Range<I> {
    type Int = I;
    #[inline(always)]
    fn first(&self) -> I {
        self.start
    }
    #[inline(always)]
    fn last(&self) -> I {
        self.start.forward(self.count().wrapping_sub(1))
    }
    #[inline(always)]
    fn count(&self) -> u64 {
        self.start.steps(self.end)
    }
}

impl<I: LoopInt> IntRange for RangeInclusive<I> {
    type Int = I;
    #[inline(always)]
    fn first(&self) -> I {
        *self.start()
    }
    #[inline(always)]
    fn last(&self) -> I {
        *self.end()
    }
    #[inline(always)]
    fn count(&self) -> u64 {
        if self.start() <= self.end() {
            self.start().steps(*self.end()).saturating_add(1)
        } else {
            0
        }
    }
}

impl<I: LoopInt> SteppedRange<I> {
    /// Every `step`-th value of `range`: ascending from its first, or descending from its last (`down`). A step of 0
    /// gives an infinite length, which the loop reports as a bounds error.
    #[inline(always)]
    #[must_use]
    pub fn new(range: impl IntRange<Int = I>, step: usize, down: bool) -> Self {
        let (length, step) = (range.count(), step as u64);
        let first = if down { range.last() } else { range.first() };
        let len = if step == 0 { u64::MAX } else { length.div_ceil(step) };
        Self { first, step, down, len }
    }

    /// The number of values.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // emitted code uses `len` only
    pub fn len(&self) -> u64 {
        self.len
    }

    /// The value at position `nth`, from 0.
    #[inline(always)]
    #[must_use]
    pub fn at(&self, nth: u64) -> I {
        let distance = nth.wrapping_mul(self.step);
        self.first.forward(if self.down { distance.wrapping_neg() } else { distance })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all<I: LoopInt>(range: SteppedRange<I>) -> Vec<I> {
        (0..range.len()).map(|nth| range.at(nth)).collect()
    }

    #[test]
    fn values_equal_those_of_std_iterators() {
        for (a, b) in [(0, 0), (0, 1), (-7, 8), (3, 12), (5, 2), (i32::MIN, i32::MIN + 5)] {
            for step in 1..5 {
                let up: Vec<i32> = (a..b).step_by(step).collect();
                let through: Vec<i32> = (a..=b).step_by(step).collect();
                assert_eq!(
                    all(SteppedRange::new(a..=b, step, false)),
                    through,
                    "{a}..={b} by {step}"
                );
                let down: Vec<i32> = (a..b).rev().step_by(step).collect();
                assert_eq!(all(SteppedRange::new(a..b, step, false)), up, "{a}..{b} by {step}");
                assert_eq!(all(SteppedRange::new(a..b, step, true)), down, "{a}..{b} by {step}");
            }
        }
        assert_eq!(all(SteppedRange::new(0u64..u64::MAX, 1 << 63, false)), [0, 1 << 63]);
        assert_eq!(
            all(SteppedRange::new(i32::MAX - 1..=i32::MAX, 1, true)),
            [i32::MAX, i32::MAX - 1]
        );
        assert_eq!(
            all(SteppedRange::new(u64::MAX - 1..=u64::MAX, 1, false)),
            [u64::MAX - 1, u64::MAX]
        );
        // One more value than `u64` can count.
        assert_eq!(all(SteppedRange::new(i64::MIN..=i64::MAX, usize::MAX, true)), [i64::MAX]);
        assert_eq!(all(SteppedRange::new(i64::MIN..=i64::MAX, usize::MAX, false)), [i64::MIN]);
        assert_eq!(SteppedRange::new(0u64..3, 0, false).len(), u64::MAX);
    }
}
