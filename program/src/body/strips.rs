//! Strips: iterations of a loop that run side by side in SIMD lanes. Each local is an array with one element per
//! iteration.
//!
//! The macro decides which loops run in strips. The functions here give LLVM what it needs to vectorize them: constant
//! trip counts, inlined closures, and loops that are not merged.

use std::{hint::black_box, mem::MaybeUninit};

use super::LoopInt;

/// The first iteration of each whole strip of `W` iterations from `begin`. Advances `begin` past the last whole strip.
#[inline(always)]
pub fn whole_strips<I: LoopInt, const W: usize>(
    begin: &mut I,
    end: I,
) -> impl Iterator<Item = I> + use<I, W> {
    let first = *begin;
    let strips = first.steps(end) / W as u64;
    *begin = first.forward(strips * W as u64);
    (0..strips).map(
        #[inline(always)]
        move |strip| first.forward(strip * W as u64),
    )
}

/// Where the strip of `W` iterations from `begin` ends, if there are as many.
#[inline(always)]
#[must_use]
pub fn strip_end<I: LoopInt, const W: usize>(begin: I, end: I) -> Option<I> {
    if begin.steps(end) >= W as u64 { Some(begin.forward(W as u64)) } else { None }
}

/// A range without `MARGIN` iterations at each end.
#[inline(always)]
#[must_use]
pub fn without_ends<I: LoopInt, const MARGIN: usize>(begin: I, end: I) -> (I, I) {
    match begin.steps(end).checked_sub(2 * MARGIN as u64) {
        Some(steps) => {
            let from = begin.forward(MARGIN as u64);
            (from, from.forward(steps))
        }
        None => (end, end),
    }
}

/// The iterations of a row that are less than `bound`.
#[inline(always)]
#[must_use]
pub fn below<I: LoopInt>((begin, end): (I, I), bound: I) -> (I, I) {
    let end = if bound < end { bound } else { end };
    (begin, if end < begin { begin } else { end })
}

/// The iterations of a row that are at most `bound`.
#[inline(always)]
#[must_use]
pub fn at_most<I: LoopInt>((begin, end): (I, I), bound: I) -> (I, I) {
    if bound < begin {
        (begin, begin)
    } else if bound < end {
        // Not above `end`, so it does not overflow.
        (begin, bound.forward(1))
    } else {
        (begin, end)
    }
}

/// The iterations of a row that are at least `bound`.
#[inline(always)]
#[must_use]
pub fn at_least<I: LoopInt>((begin, end): (I, I), bound: I) -> (I, I) {
    let begin = if bound > begin { bound } else { begin };
    (if begin > end { end } else { begin }, end)
}

/// The iterations of a row that are greater than `bound`.
#[inline(always)]
#[must_use]
pub fn above<I: LoopInt>((begin, end): (I, I), bound: I) -> (I, I) {
    if bound < begin {
        (begin, end)
    } else if bound < end {
        (bound.forward(1), end)
    } else {
        (end, end)
    }
}

/// The iteration of a row that is equal to `bound`, if there is one.
#[inline(always)]
#[must_use]
pub fn only<I: LoopInt>(row: (I, I), bound: I) -> (I, I) {
    at_most(at_least(row, bound), bound)
}

/// Iteration number `lane` of the strip that begins with `from`.
#[inline(always)]
#[must_use]
pub fn lane_of<I: LoopInt>(from: I, lane: usize) -> I {
    from.forward(lane as u64)
}

/// Whether the numbers of the first and the last of `W` iterations are as far apart as these. A number that wrapped
/// between is smaller than the first.
#[inline(always)]
#[must_use]
pub fn are_successive<I: LoopInt, const W: usize>(first: I, last: I) -> bool {
    first.steps(last) == W as u64 - 1
}

/// The values of a local in the iterations of a strip.
#[inline(always)]
#[must_use]
pub fn lanes<T: Copy, const W: usize>(value: impl Fn(usize) -> T) -> [T; W] {
    let mut values = [const { MaybeUninit::uninit() }; W];
    // Not `array::from_fn`: its guard against panics keeps LLVM from vectorizing.
    for (lane, slot) in values.iter_mut().enumerate() {
        slot.write(value(lane));
    }
    // SAFETY: all elements are initialized, and an array of `MaybeUninit<T>` has the layout of an array of `T`.
    unsafe { std::mem::transmute_copy(&values) }
}

/// Separates the outer loop of a strip from the loop over its lanes. Without a barrier in each round, LLVM merges the
/// two loops, does not unroll the result, and keeps the locals in memory.
#[inline(always)]
pub fn optimization_barrier() {
    black_box(());
}

/// Returns the value. LLVM cannot combine it with the values of other iterations into a vector.
#[inline(always)]
#[must_use]
pub fn scalar<T: Copy + 'static>(value: T) -> T {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::{any::TypeId, arch::asm};
        macro_rules! in_a_register {
            ($float:ty) => {
                if TypeId::of::<T>() == TypeId::of::<$float>() {
                    // SAFETY: the types are equal; the assembly is empty and leaves the register as it is.
                    return unsafe {
                        let mut float: $float = std::mem::transmute_copy(&value);
                        asm!("/* {0} */", inout(xmm_reg) float, options(pure, nomem, nostack, preserves_flags));
                        std::mem::transmute_copy(&float)
                    };
                }
            };
        }
        in_a_register!(f32);
        in_a_register!(f64);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_strips_and_the_rest_cover_the_range() {
        for end in [-7_i32, -6, 0, 1, 2, 25, 26, 120] {
            let mut rest = -6;
            let mut visited: Vec<i32> = whole_strips::<_, 8>(&mut rest, end)
                .flat_map(|from| lanes::<_, 8>(|lane| lane_of(from, lane)))
                .collect();
            assert!((end - rest).max(0) < 8);
            visited.extend(rest..end);
            assert_eq!(visited, (-6..end).collect::<Vec<_>>());
        }
    }

    #[test]
    fn numbers_that_wrap_are_not_successive() {
        assert!(are_successive::<_, 8>(-4_i8, 3));
        assert!(are_successive::<_, 128>(128_u8, 255));
        assert!(!are_successive::<_, 8>(3_u32, 9));
        assert!(!are_successive::<_, 8>(250_u8, 1));
        assert!(!are_successive::<_, 8>(i32::MAX, i32::MIN + 6));
    }

    #[test]
    fn the_ends_of_a_range_are_left_out() {
        assert_eq!(without_ends::<_, 3>(-2_i8, 9), (1, 6));
        assert_eq!(without_ends::<_, 3>(4_usize, 10), (7, 7));
        assert_eq!(without_ends::<_, 3>(4_usize, 9), (9, 9));
        assert_eq!(without_ends::<_, 0>(i64::MIN, 5), (i64::MIN, 5));
        assert_eq!(strip_end::<_, 8>(4_u8, 11), None);
        assert_eq!(strip_end::<_, 8>(-4_i32, 4), Some(4));
    }
}
