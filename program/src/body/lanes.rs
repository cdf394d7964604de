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

/// Iteration number `lane` of the strip that begins with `from`.
#[inline(always)]
#[must_use]
pub fn lane_of<I: LoopInt>(from: I, lane: usize) -> I {
    from.forward(lane as u64)
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
}
