//! What the chunks of parallel loops combine: into a local of the kernel, as in `sum += x[i];`, or into an element of a
//! tensor (see [`reduce`](super::reduce)).
//!
//! Each chunk of the loop combines its values in the lanes of a [`Partial`], and leaves one result in an
//! [`Accumulator`]. After the loop, the launching thread combines these in the order of the chunks. So the result does
//! not depend on which thread ran a chunk when.

use parking_lot::Mutex;
use smallvec::SmallVec;

use super::{parallel::Chunk, partial::Partial};
use crate::value::accumulate::{Accumulate, AccumulateBits, AccumulateMinMax};

/// The results of the chunks of a loop so far: each with the number of its chunk, in any order.
#[derive(Debug)]
pub struct Accumulator<T>(Mutex<SmallVec<[(usize, T); 4]>>);

impl<T> Default for Accumulator<T> {
    #[inline(always)]
    fn default() -> Self {
        Self(Mutex::new(SmallVec::new()))
    }
}

impl<T: Copy> Accumulator<T> {
    /// No results.
    #[inline(always)]
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the result of a part of a chunk, unless this is an inspection. The parts of a chunk come in order.
    #[inline(always)]
    pub(super) fn add(&self, chunk: Chunk, value: T, combine: impl Fn(T, T) -> T) {
        if !chunk.check_mode.is_inspection() {
            self.add_result(chunk, value, combine);
        }
    }

    #[inline]
    fn add_result(&self, chunk: Chunk, value: T, combine: impl Fn(T, T) -> T) {
        let mut parts = self.0.lock();
        // From the end: the other parts of the chunk are recent.
        match parts.iter_mut().rev().find(|(number, _)| *number == chunk.id.number) {
            Some((_, part)) => *part = combine(*part, value),
            None => parts.push((chunk.id.number, value)),
        }
    }

    /// All results combined, in the order of the chunks.
    #[inline]
    pub(super) fn total(self, combine: impl Fn(T, T) -> T) -> Option<T> {
        let mut parts = self.0.into_inner();
        parts.sort_unstable_by_key(|(number, _)| *number);
        parts.into_iter().map(|(_, value)| value).reduce(combine)
    }
}

/// Subtracts an iteration's value from its lane of a sum.
#[inline(always)]
pub fn local_sub<T: Accumulate>(lane: &mut T, value: T) {
    *lane = lane.reduced_by(value);
}

macro_rules! combinations {
    ($($combine:ident, $finish_vis:vis $finish:ident, $total:ident, $bound:ident, $what:literal, $function:path;)*) => {$(
        #[doc = concat!("Combines an iteration's value into its lane of the ", $what, ".")]
        #[inline(always)]
        pub fn $combine<T: $bound>(lane: &mut T, value: T) {
            *lane = $function(*lane, value);
        }

        #[doc = concat!("The ", $what, " of a chunk.")]
        #[inline(always)]
        $finish_vis fn $finish<const STRICT: bool, T: $bound, const W: usize>(
            (part, rest): (Partial<T, W>, Partial<T, W>),
            into: &Accumulator<T>,
            chunk: Chunk,
        ) {
            into.add(chunk, part.total(rest, $function), $function);
        }

        #[doc = concat!("Combines the ", $what, " of all chunks with the local.")]
        #[inline(always)]
        pub fn $total<T: $bound>(from: Accumulator<T>, local: T) -> T {
            from.total($function).map_or(local, |total| $function(local, total))
        }
    )*};
}

combinations! {
    local_add, add_up, local_total_add, Accumulate, "sum", T::accumulated;
    local_min, pub local_finish_min, local_total_min, AccumulateMinMax, "minimum", T::least_of;
    local_max, pub local_finish_max, local_total_max, AccumulateMinMax, "maximum", T::greatest_of;
    local_and, pub local_finish_and, local_total_and, AccumulateBits, "bitwise and", T::bits_and;
    local_or, pub local_finish_or, local_total_or, AccumulateBits, "bitwise or", T::bits_or;
    local_xor, pub local_finish_xor, local_total_xor, AccumulateBits, "bitwise exclusive or", T::bits_xor;
}

/// Combines the sum of a chunk into the local. In a `strict` kernel, a sum of floats does not compile.
#[inline(always)]
pub fn local_finish_add<const STRICT: bool, T: Accumulate, const W: usize>(
    parts: (Partial<T, W>, Partial<T, W>),
    into: &Accumulator<T>,
    chunk: Chunk,
) {
    const {
        assert!(
            !(STRICT && T::IS_FLOAT),
            "this loop sums up floats in an unspecified order, which a `strict` kernel does not allow: put `#[qd::serial]` on the loop, or use `atomic_add` on an element of a tensor"
        );
    }
    add_up::<STRICT, T, W>(parts, into, chunk);
}
