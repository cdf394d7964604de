//! Collectives of thread blocks on the CPU: reductions, scans, shuffles and votes at the end of a phase.
//!
//! The phase runs as a loop over the threads that collects one value of each in [`Contributions`].

use std::ops::Index;

use quadrants_ir::collective::{self, WARP};

use crate::{
    device_error::{Bounded, check_index},
    value::{atomic::Combine, element::Element},
};

/// The values that the threads of a block contribute to a collective, in thread order.
#[derive(Debug)]
pub struct Contributions<T> {
    values: Vec<T>,
}

/// One value per thread of a block. A thread reads its own value in later phases: `sums[t]`.
#[derive(Clone, Debug)]
pub struct PerThread<T> {
    values: Vec<T>,
}

impl<T> Contributions<T> {
    /// The values of `threads` threads.
    #[inline(always)]
    #[must_use]
    pub fn new(threads: usize, mut of: impl FnMut(usize) -> T) -> Self {
        let mut values = Vec::with_capacity(threads);
        // Not `collect`: each element would be counted, which LLVM does not vectorize.
        for (thread, slot) in values.spare_capacity_mut().iter_mut().take(threads).enumerate() {
            slot.write(of(thread));
        }
        // SAFETY: there is room for as many values, and all of them have been written.
        unsafe { values.set_len(threads) };
        Self { values }
    }

    #[inline(always)]
    fn shuffled(self, from: impl Fn(usize) -> u64) -> PerThread<T>
    where
        T: Copy,
    {
        let Self { mut values } = self;
        let from: Vec<u64> = (0..values.len()).map(|thread| from(thread % WARP)).collect();
        collective::shuffle(&mut values, &from);
        PerThread { values }
    }

    /// For each thread, the value of the lane whose number differs in the bits of `mask`.
    #[inline(always)]
    #[must_use]
    pub fn shuffle_xor(self, mask: usize) -> PerThread<T>
    where
        T: Copy,
    {
        self.shuffled(|lane| (lane ^ mask) as u64)
    }

    /// For each thread, the value of the lane `by` lower, as CUDA's `__shfl_up_sync`. A lane without one keeps its
    /// value.
    #[inline(always)]
    #[must_use]
    pub fn shuffle_up(self, by: usize) -> PerThread<T>
    where
        T: Copy,
    {
        self.shuffled(|lane| lane.checked_sub(by).unwrap_or(lane) as u64)
    }

    /// For each thread, the value of the lane `by` higher, as CUDA's `__shfl_down_sync`. A lane without one keeps its
    /// value.
    #[inline(always)]
    #[must_use]
    pub fn shuffle_down(self, by: usize) -> PerThread<T>
    where
        T: Copy,
    {
        self.shuffled(|lane| lane.saturating_add(by) as u64)
    }
}

impl<T: Copy> Contributions<(T, usize)> {
    /// For each thread, the value of the lane that it names.
    #[inline(always)]
    #[must_use]
    pub fn shuffle(self) -> PerThread<T> {
        let (mut values, from): (Vec<T>, Vec<u64>) =
            self.values.into_iter().map(|(value, from)| (value, from as u64)).unzip();
        collective::shuffle(&mut values, &from);
        PerThread { values }
    }
}

impl Contributions<bool> {
    /// Whether all threads vote true.
    #[inline(always)]
    #[must_use]
    pub fn all(self) -> bool {
        self.values.iter().all(|vote| *vote)
    }

    /// Whether any thread votes true.
    #[inline(always)]
    #[must_use]
    pub fn any(self) -> bool {
        self.values.iter().any(|vote| *vote)
    }

    /// For each thread, a bit mask of the lanes of its warp that vote true.
    #[inline(always)]
    #[must_use]
    pub fn ballot(self) -> PerThread<u32> {
        let mut values = vec![0; self.values.len()];
        for (warp, bits) in values.chunks_mut(WARP).zip(collective::ballots(&self.values)) {
            warp.fill(bits);
        }
        PerThread { values }
    }
}

/// As [`collective::scan`], for values whose result does not depend on the order of operations.
#[inline(always)]
fn scan_in_order<T: Copy>(values: &mut [T], identity: Option<T>, combine: impl Fn(T, T) -> T) {
    let Some(first) = values.first() else { return };
    let (mut sum, from) = match identity {
        Some(identity) => (identity, 0),
        None => (*first, 1),
    };
    for value in &mut values[from..] {
        let next = combine(sum, *value);
        *value = if identity.is_some() { sum } else { next };
        sum = next;
    }
}

macro_rules! combinations {
    ($($reduce:ident, $scan:ident, $exclusive:ident, $combine:ident, $identity:ident, $what:literal;)*) => {
        impl<T: Combine> Contributions<T> {$(
            #[doc = concat!("The ", $what, " of all values.")]
            #[inline(always)]
            #[must_use]
            pub fn $reduce(mut self) -> T {
                match T::IS_FLOAT {
                    true => collective::reduce(&mut self.values, T::$identity, T::$combine),
                    false => self.values.into_iter().fold(T::$identity, T::$combine),
                }
            }

            #[doc = concat!("The ", $what, " of the values up to each thread's.")]
            #[inline(always)]
            #[must_use]
            pub fn $scan(mut self) -> PerThread<T> {
                match T::IS_FLOAT {
                    true => collective::scan(&mut self.values, None, T::$combine),
                    false => scan_in_order(&mut self.values, None, T::$combine),
                }
                PerThread { values: self.values }
            }

            #[doc = concat!("The ", $what, " of the values before each thread's.")]
            #[inline(always)]
            #[must_use]
            pub fn $exclusive(mut self) -> PerThread<T> {
                match T::IS_FLOAT {
                    true => collective::scan(&mut self.values, Some(T::$identity), T::$combine),
                    false => {
                        scan_in_order(&mut self.values, Some(T::$identity), T::$combine);
                    }
                }
                PerThread { values: self.values }
            }
        )*}
    };
}

combinations! {
    reduce_add, scan_add, exclusive_scan_add, accumulated, ZERO, "sum";
    reduce_min, scan_min, exclusive_scan_min, least_of, LARGEST, "smallest";
    reduce_max, scan_max, exclusive_scan_max, greatest_of, SMALLEST, "largest";
}

impl<T> Bounded<usize> for PerThread<T> {
    #[inline(always)]
    #[track_caller]
    fn bounded(&self, thread: usize) -> usize {
        check_index(thread, self.values.len())
    }
}

impl<T: Element> Index<usize> for PerThread<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, thread: usize) -> &T {
        &self.values[thread]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contributions<T>(values: impl IntoIterator<Item = T>) -> Contributions<T> {
        Contributions { values: values.into_iter().collect() }
    }

    #[test]
    fn integer_reductions_and_scans_equal_sequential_ones() {
        for count in [1, 2, 31, 32, 33, 64, 100, 1024] {
            let value = |at: i32| (at * 37) % 101 - 50;
            let values: Vec<i32> = (0..count).map(value).collect();
            assert_eq!(contributions(values.clone()).reduce_add(), values.iter().sum::<i32>());
            assert_eq!(contributions(values.clone()).reduce_min(), *values.iter().min().unwrap());
            let scanned = contributions(values.clone()).scan_add();
            let before = contributions(values.clone()).exclusive_scan_max();
            for at in 0..values.len() {
                assert_eq!(scanned[at], values[..=at].iter().sum::<i32>());
                assert_eq!(before[at], values[..at].iter().copied().max().unwrap_or(i32::MIN));
            }
        }
    }

    #[test]
    fn floats_are_combined_in_the_documented_order() {
        let values: Vec<f32> = (0..40).map(|at| 1.0 / (at as f32 + 0.7)).collect();
        let tree = |values: &[f32]| {
            let mut values = values.to_vec();
            for distance in [16, 8, 4, 2, 1] {
                for at in 0..distance {
                    if at + distance < values.len() {
                        values[at] += values[at + distance];
                    }
                }
            }
            values[0]
        };
        let expected = tree(&values[..32]) + tree(&values[32..]);
        assert_eq!(contributions(values.clone()).reduce_add().to_bits(), expected.to_bits());
        // The first four of a scan: pairs, then pairs of pairs.
        let scanned = contributions(values.clone()).scan_add();
        assert_eq!(scanned[2].to_bits(), (values[0] + (values[1] + values[2])).to_bits());
        let four = (values[0] + values[1]) + (values[2] + values[3]);
        assert_eq!(scanned[3].to_bits(), four.to_bits());
    }

    #[test]
    fn shuffles_stay_within_warps_and_blocks() {
        let numbers = || contributions(0..40);
        assert_eq!(numbers().shuffle_xor(1)[39], 38);
        assert_eq!((numbers().shuffle_xor(16)[5], numbers().shuffle_xor(16)[35]), (21, 35));
        assert_eq!((numbers().shuffle_up(3)[32], numbers().shuffle_up(3)[36]), (32, 33));
        assert_eq!((numbers().shuffle_down(usize::MAX)[7], numbers().shuffle_down(3)[6]), (7, 9));
        let reversed = contributions((0..40).map(|at| (at, 31 - at % 32))).shuffle();
        assert_eq!((reversed[0], reversed[31], reversed[33], reversed[39]), (31, 0, 33, 39));
    }

    #[test]
    fn ballots_are_bit_masks_of_warps() {
        let votes = contributions((0..40).map(|at| at % 3 == 0)).ballot();
        assert_eq!((votes[0], votes[39]), (0x4924_9249, 0b1001_0010));
        assert!(
            contributions((0..40).map(|at| at == 39)).any() && !contributions([true, false]).all()
        );
    }
}
