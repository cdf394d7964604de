//! Plain reductions in bodies: a loop whose iterations all combine into one element. A piece of the loop combines by
//! itself, and then into the element, atomically and once.
//!
//! That reorders the combinations, as atomics do anyway; additions of floats are left alone in a strict kernel. Where
//! indices are checked, the atomics stay: an iteration reports its own index.

use super::view::Places;
use crate::dsl::{AtomicAdd, AtomicMinMax};

/// So many iterations in a row combine each for themselves: sums of floats have an order, which would keep a
/// processor from adding several at once.
const LANES: usize = 32;

/// What a piece of a loop has combined. Each operation has a value that combines with any value to that value.
pub struct Part<T>([T; LANES]);

impl<T: Copy> Part<T> {
    /// Places for the iterations of a strip.
    #[inline(always)]
    pub fn lanes(&mut self) -> std::slice::IterMut<'_, T> {
        self.0.iter_mut()
    }

    #[inline(always)]
    fn total(self, combine: impl Fn(T, T) -> T) -> T {
        let mut values = self.0;
        let mut count = LANES;
        while count > 1 {
            count /= 2;
            for at in 0..count {
                values[at] = combine(values[at], values[at + count]);
            }
        }
        values[0]
    }
}

/// The strips of a piece from `begin` to before `end`, which have as many iterations as there are lanes, but for
/// the last.
#[inline(always)]
pub fn strips<I: super::LoopInt>(begin: I, end: I) -> impl Iterator<Item = (I, I)> {
    let steps = begin.steps(end);
    (0..steps.div_ceil(LANES as u64)).map(
        #[inline(always)]
        move |strip| {
            let from = begin.forward(strip * LANES as u64);
            (from, from.forward((steps - strip * LANES as u64).min(LANES as u64)))
        },
    )
}

macro_rules! reductions {
    ($($part:ident, $combine:ident, $finish:ident, $atomic:ident, $bound:ident, $what:literal,
        |$strict:ident| $ordered:expr, $none:expr, |$a:ident, $b:ident| $combined:expr;)*) => {$(
        #[doc = concat!("No ", $what, " yet.")]
        #[inline(always)]
        #[must_use]
        pub fn $part<T: $bound>() -> Part<T> {
            Part([$none; LANES])
        }

        #[doc = concat!("An iteration's part in the ", $what, ".")]
        #[inline(always)]
        #[track_caller]
        pub fn $combine<const STRICT: bool, I, P>(lane: &mut P::Element, tensor: &P, index: I, value: P::Element)
        where
            P: Places<I, Element: $bound>,
        {
            let $strict = STRICT;
            if P::CHECKED || $ordered {
                super::$atomic(tensor.place(index), value);
            } else {
                let ($a, $b) = (*lane, value);
                *lane = $combined;
            }
        }

        #[doc = concat!("Combines the ", $what, " of a piece into the element.")]
        #[inline(always)]
        pub fn $finish<const STRICT: bool, I, P>(part: Part<P::Element>, tensor: &P, index: I)
        where
            P: Places<I, Element: $bound>,
        {
            let $strict = STRICT;
            if !(P::CHECKED || $ordered) {
                // The element may not be there, where no iteration wanted it.
                super::$atomic(tensor.place_within(index), part.total(|$a, $b| $combined));
            }
        }
    )*};
}

reductions! {
    part_add, reduce_add, finish_add, atomic_add, AtomicAdd, "sum",
        |strict| strict && <P::Element as AtomicAdd>::IS_FLOAT, T::NOTHING, |a, b| a.plus(b);
    part_min, reduce_min, finish_min, atomic_min, AtomicMinMax, "minimum",
        |_strict| false, T::LARGEST, |a, b| a.min(b);
    part_max, reduce_max, finish_max, atomic_max, AtomicMinMax, "maximum",
        |_strict| false, T::SMALLEST, |a, b| a.max(b);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_cover_a_piece_once() {
        for end in [-7_i32, 0, 1, 25, 26, 120] {
            let visited: Vec<i32> = strips(-6, end).flat_map(|(from, to)| from..to).collect();
            assert_eq!(visited, (-6..end).collect::<Vec<_>>());
            assert!(strips(-6, end).all(|(from, to)| to - from <= LANES as i32));
        }
    }

    #[test]
    fn parts_of_nothing_change_nothing() {
        assert_eq!(part_add::<f32>().total(|a, b| a.plus(b)).to_bits(), (-0.0_f32).to_bits());
        assert_eq!(part_min::<i64>().total(|a, b| a.min(b)), i64::MAX);
        let mut part = part_max::<u32>();
        part.lanes().zip([3, 9, 4]).for_each(|(lane, value)| *lane = value.max(*lane));
        assert_eq!(part.total(|a, b| a.max(b)), 9);
    }
}
