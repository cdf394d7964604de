//! Reductions in CPU bodies: loops in which all iterations combine a value into one element by an atomic operation.
//!
//! Each chunk of such a loop combines its values in registers. After the loop, the launching thread combines the
//! results of the chunks in their order, and then once, atomically, into the element. This changes the order of the
//! operations, which is unspecified for atomics anyway, but it is the same in identical launches. Sums of floats in a
//! `strict` kernel keep the atomics.

use super::{accumulate::Accumulator, parallel::Chunk, partial::Partial, view::Elements};
use crate::value::{
    accumulate::{Accumulate, AccumulateBits, AccumulateMinMax},
    atomic::{AtomicAdd, AtomicBits, AtomicMinMax},
};

/// Splits a chunk from `begin` to before `end` into strips of `W` iterations; the last strip may be shorter.
#[inline(always)]
pub fn strips<I: super::LoopInt, const W: usize>(
    begin: I,
    end: I,
) -> impl Iterator<Item = (I, I)> + use<I, W> {
    let (steps, width) = (begin.steps(end), W as u64);
    (0..steps.div_ceil(width)).map(
        #[inline(always)]
        move |strip| {
            let from = begin.forward(strip * width);
            (from, from.forward((steps - strip * width).min(width)))
        },
    )
}

macro_rules! reductions {
    ($($part:ident, $combine:ident, $finish:ident, $total:ident, $atomic:ident, $bound:ident, $values:ident, $what:literal,
        |$strict:ident| $ordered:expr, $identity:expr, $function:ident;)*) => {$(
        #[doc = concat!("No ", $what, " yet.")]
        #[inline(always)]
        #[must_use]
        pub fn $part<T: $values, const W: usize>() -> Partial<T, W> {
            // A constant, copied as a whole: LLVM does not keep in registers an array that is initialized element by
            // element.
            Partial(const { [$identity; W] })
        }

        #[doc = concat!("An iteration's part in the ", $what, ".")]
        #[inline(always)]
        #[track_caller]
        pub fn $combine<const STRICT: bool, I, P>(lane: &mut P::Element, tensor: &P, index: I, value: P::Element)
        where
            P: Elements<I, Element: $bound>,
        {
            let $strict = STRICT;
            if $ordered {
                super::$atomic(tensor.element_ref(index), value);
            } else {
                tensor.check(index);
                *lane = lane.$function(value);
            }
        }

        #[doc = concat!("The ", $what, " of a chunk.")]
        #[inline(always)]
        pub fn $finish<T: $values, const W: usize>(
            (part, rest): (Partial<T, W>, Partial<T, W>),
            into: &Accumulator<T>,
            chunk: Chunk,
        ) {
            into.add(chunk, part.total(rest, T::$function), T::$function);
        }

        #[doc = concat!("Combines the ", $what, " of all chunks into the element.")]
        #[inline(always)]
        pub fn $total<const STRICT: bool, I, P>(from: Accumulator<P::Element>, tensor: &P, index: I)
        where
            P: Elements<I, Element: $bound>,
        {
            let $strict = STRICT;
            // A sum that has been added in order has no parts.
            if !($ordered)
                && let Some(total) = from.total(P::Element::$function)
            {
                // The index may be out of range: an iteration that used it has reported that.
                super::$atomic(tensor.element_ref_or_none(index), total);
            }
        }
    )*};
}

reductions! {
    partial_add, reduce_add, finish_add, total_add, atomic_add, AtomicAdd, Accumulate, "sum",
        |strict| strict && <P::Element as Accumulate>::IS_FLOAT, T::NO_SUM, accumulated;
    partial_min, reduce_min, finish_min, total_min, atomic_min, AtomicMinMax, AccumulateMinMax, "minimum",
        |_strict| false, T::NO_MINIMUM, least_of;
    partial_max, reduce_max, finish_max, total_max, atomic_max, AtomicMinMax, AccumulateMinMax, "maximum",
        |_strict| false, T::NO_MAXIMUM, greatest_of;
    partial_and, reduce_and, finish_and, total_and, atomic_and, AtomicBits, AccumulateBits, "bitwise and",
        |_strict| false, T::ALL_BITS, bits_and;
    partial_or, reduce_or, finish_or, total_or, atomic_or, AtomicBits, AccumulateBits, "bitwise or",
        |_strict| false, T::NO_BITS, bits_or;
    partial_xor, reduce_xor, finish_xor, total_xor, atomic_xor, AtomicBits, AccumulateBits, "bitwise exclusive or",
        |_strict| false, T::NO_BITS, bits_xor;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_cover_a_chunk_once() {
        for end in [-7_i32, 0, 1, 25, 26, 120] {
            let visited: Vec<i32> =
                strips::<_, 32>(-6, end).flat_map(|(from, to)| from..to).collect();
            assert_eq!(visited, (-6..end).collect::<Vec<_>>());
            assert!(strips::<_, 32>(-6, end).all(|(from, to)| to - from <= 32));
        }
    }

    #[test]
    fn empty_partial_results_are_identities() {
        let empty = partial_add::<f32, 64>().total(partial_add(), f32::accumulated);
        assert_eq!(empty.to_bits(), (-0.0_f32).to_bits());
        assert_eq!(partial_min::<i64, 32>().total(partial_min(), |a, b| a.min(b)), i64::MAX);
        let (mut part, mut rest) = (partial_max::<u32, 32>(), partial_max());
        part.lanes().zip([3, 9, 4]).for_each(|(lane, value)| *lane = value.max(*lane));
        *rest.lane(31) = 7;
        assert_eq!(part.total(rest, |a, b| a.max(b)), 9);
    }
}
