//! Parallel loops that combine values into a local of the kernel, as in `sum += x[i];`.
//!
//! Each piece of the loop combines its values in the lanes of a [`Partial`], and then once into the [`Accumulator`]
//! that stands for the local during the loop. The order of pieces is unspecified.

use parking_lot::Mutex;

use super::reduce::Partial;
use crate::dsl::{Accumulate, AccumulateBits, AccumulateMinMax};

/// A local that a parallel loop combines values into.
#[derive(Debug)]
pub struct Accumulator<T>(Mutex<T>);

impl<T: Copy> Accumulator<T> {
    /// Begins with the local's value.
    #[inline(always)]
    pub fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// The combined value.
    #[inline(always)]
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }

    #[inline(always)]
    fn combine(&self, value: T, combine: impl Fn(T, T) -> T) {
        let mut total = self.0.lock();
        *total = combine(*total, value);
    }
}

/// Subtracts an iteration's value from its lane of a sum.
#[inline(always)]
pub fn local_sub<T: Accumulate>(lane: &mut T, value: T) {
    *lane = lane.reduced_by(value);
}

macro_rules! combinations {
    ($($combine:ident, $finish_vis:vis $finish:ident, $bound:ident, $what:literal, $function:path;)*) => {$(
        #[doc = concat!("Combines an iteration's value into its lane of the ", $what, ".")]
        #[inline(always)]
        pub fn $combine<T: $bound>(lane: &mut T, value: T) {
            *lane = $function(*lane, value);
        }

        #[doc = concat!("Combines the ", $what, " of a piece into the local.")]
        #[inline(always)]
        $finish_vis fn $finish<const STRICT: bool, T: $bound, const W: usize>(
            (part, rest): (Partial<T, W>, Partial<T, W>),
            into: &Accumulator<T>,
        ) {
            into.combine(part.total(rest, $function), $function);
        }
    )*};
}

combinations! {
    local_add, add_up, Accumulate, "sum", T::accumulated;
    local_min, pub local_finish_min, AccumulateMinMax, "minimum", T::least_of;
    local_max, pub local_finish_max, AccumulateMinMax, "maximum", T::greatest_of;
    local_and, pub local_finish_and, AccumulateBits, "bitwise and", T::bits_and;
    local_or, pub local_finish_or, AccumulateBits, "bitwise or", T::bits_or;
    local_xor, pub local_finish_xor, AccumulateBits, "bitwise exclusive or", T::bits_xor;
}

/// Combines the sum of a piece into the local. In a `strict` kernel, a sum of floats does not compile.
#[inline(always)]
pub fn local_finish_add<const STRICT: bool, T: Accumulate, const W: usize>(
    parts: (Partial<T, W>, Partial<T, W>),
    into: &Accumulator<T>,
) {
    const {
        assert!(
            !(STRICT && T::IS_FLOAT),
            "this loop sums up floats in an unspecified order, which a `strict` kernel does not allow: put `#[qd::serial]` on the loop, or use `atomic_add` on an element of a tensor"
        );
    }
    add_up::<STRICT, T, W>(parts, into);
}
