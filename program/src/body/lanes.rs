//! Iterations across SIMD lanes: a strip of them in step, with an array element per iteration for each local.
//!
//! What to run in strips, the macro decides. What is here makes LLVM see them as it must: constant numbers of
//! iterations, closures that are inlined, and loops that stay apart.

use std::{hint::black_box, mem::MaybeUninit};

use super::LoopInt;

/// The first iteration of each whole strip of `W` from `begin` on, which is moved behind the last of them.
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

/// An iteration of the strip that begins with `from`.
#[inline(always)]
#[must_use]
pub fn lane_of<I: LoopInt>(from: I, lane: usize) -> I {
    from.forward(lane as u64)
}

/// A local's values in the iterations of a strip.
#[inline(always)]
#[must_use]
pub fn lanes<T: Copy, const W: usize>(value: impl Fn(usize) -> T) -> [T; W] {
    let mut values = [const { MaybeUninit::uninit() }; W];
    // `array::from_fn` guards against panics with what keeps LLVM from vectorizing.
    for (lane, place) in values.iter_mut().enumerate() {
        place.write(value(lane));
    }
    // SAFETY: all elements are written, and an array of `MaybeUninit` is laid out as one of what is in them.
    unsafe { std::mem::transmute_copy(&values) }
}

/// Stands at the begin of each round that a strip goes through together. Where nothing else does, LLVM makes one loop
/// of the rounds and the lanes in them, which then is not unrolled, and the locals stay in memory.
#[inline(always)]
pub fn optimization_barrier() {
    black_box(());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_strips_and_the_rest_are_all() {
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
