//! Scatters in CPU bodies: loops that combine values into elements of a tensor that the iterations choose, as in
//! `atomic_add(&mut bins[x[i]], 1);`.
//!
//! Where the tensor is small compared with the loop, each chunk of the loop combines into a copy of its own (a private
//! copy), without atomic operations. After the loop, the launching thread combines the copies in the order of the
//! chunks, and the result with the tensor's elements. Elsewhere the operations stay atomic. Sums of floats in a
//! `strict` kernel do too.

use parking_lot::Mutex;
use smallvec::SmallVec;

use super::{chunking::ChunkId, element_ref::ElementRef, parallel::Chunk, view::View};
use crate::value::{
    accumulate::Accumulate,
    atomic::{AtomicAdd, AtomicBits, AtomicMinMax},
    element::Element,
};

/// A chunk has a private copy if it has at least this number of iterations for each element of the tensor: filling the
/// copy and combining it then take a small part of the time.
const ITERATIONS_PER_ELEMENT: u64 = 4;

/// Shorter chunks have no private copy.
const MIN_ITERATIONS: u64 = 1 << 10;

/// Larger tensors have no private copies: these should stay in the second-level cache.
const MAX_BYTES: usize = 1 << 18;

/// The private copies of a tensor in a loop.
#[derive(Debug)]
pub struct Scatter<T>(Mutex<SmallVec<[PrivateCopy<T>; 4]>>);

/// The number of a chunk, and its private copy. A vector, because a pointer into it stays valid when the vector moves.
type PrivateCopy<T> = (usize, Vec<T>);

impl<T> Default for Scatter<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Scatter<T> {
    /// No copies.
    #[inline(always)]
    #[must_use]
    pub fn new() -> Self {
        Self(Mutex::new(SmallVec::new()))
    }
}

impl<T: Element> Scatter<T> {
    /// The tensor for a part of a chunk, and whether it is a private copy, whose elements start with `identity`.
    ///
    /// Inlined, because LLVM must see that the view has the check mode of the chunk.
    #[inline(always)]
    fn view<const N: usize>(
        &self,
        tensor: View<T, N>,
        chunk: Chunk,
        identity: T,
    ) -> (View<T, N>, bool) {
        if chunk.check_mode.is_inspection() {
            return (tensor, false);
        }
        match self.copy(tensor.len(), chunk.id, identity) {
            // SAFETY: the copy has an element for each of the tensor's, stays where it is until the loop has ended, and
            // is accessed only by the thread that runs the chunk.
            Some(first) => (unsafe { tensor.with_memory(first) }, true),
            None => (tensor, false),
        }
    }

    /// The private copy of a chunk, if it gets one.
    fn copy(
        &self,
        len: usize,
        ChunkId { number, iterations }: ChunkId,
        identity: T,
    ) -> Option<*mut T> {
        let is_small = len.saturating_mul(size_of::<T>()) <= MAX_BYTES
            && iterations >= (len as u64).saturating_mul(ITERATIONS_PER_ELEMENT)
            && iterations >= MIN_ITERATIONS;
        if !is_small {
            return None;
        }
        let mut copies = self.0.lock();
        // From the end: the other parts of the chunk are recent.
        let known = copies.iter_mut().rev().find(|(known, _)| *known == number);
        Some(match known {
            Some((_, copy)) => copy.as_mut_ptr(),
            None => {
                let mut copy = vec![identity; len];
                let first = copy.as_mut_ptr();
                copies.push((number, copy));
                first
            }
        })
    }

    /// Combines the copies, in the order of their chunks, and passes each element with its number to `apply`.
    fn total(self, combine: impl Fn(T, T) -> T, apply: impl Fn(usize, T)) {
        let mut copies = self.0.into_inner();
        copies.sort_unstable_by_key(|(number, _)| *number);
        let Some(((_, total), others)) = copies.split_first_mut() else { return };
        for (_, copy) in others.iter() {
            for (sum, value) in total.iter_mut().zip(copy.iter()) {
                *sum = combine(*sum, *value);
            }
        }
        total.iter().enumerate().for_each(|(at, value)| apply(at, *value));
    }
}

macro_rules! scatters {
    ($($begin:ident, $combine:ident, $total:ident, $atomic:ident, $bound:ident, $what:literal,
        |$strict:ident| $ordered:expr, $identity:ident, $function:ident;)*) => {$(
        #[doc = concat!("The tensor that a part of a chunk combines the ", $what, " into, and whether it is a private copy.")]
        #[inline(always)]
        pub fn $begin<const STRICT: bool, T: $bound + Element, const N: usize>(
            scatter: &Scatter<T>,
            tensor: View<T, N>,
            chunk: Chunk,
        ) -> (View<T, N>, bool) {
            let $strict = STRICT;
            if $ordered { (tensor, false) } else { scatter.view(tensor, chunk, T::$identity) }
        }

        #[doc = concat!("An iteration's part in the ", $what, " of an element.")]
        #[inline(always)]
        pub fn $combine<T: $bound + Element>(is_private: bool, element: ElementRef<T>, value: T) {
            if is_private {
                element.write(element.read().$function(value));
            } else {
                super::$atomic(element, value);
            }
        }

        #[doc = concat!("Combines the private copies of the ", $what, " with the tensor.")]
        #[inline(always)]
        pub fn $total<T: $bound + Element, const N: usize>(scatter: Scatter<T>, tensor: View<T, N>) {
            scatter.total(T::$function, |at, value| {
                super::$atomic(tensor.at_flat(at), value);
            });
        }
    )*};
}

scatters! {
    scatter_begin_add, scatter_add, scatter_total_add, atomic_add, AtomicAdd, "sums",
        |strict| strict && <T as Accumulate>::IS_FLOAT, NO_SUM, accumulated;
    scatter_begin_min, scatter_min, scatter_total_min, atomic_min, AtomicMinMax, "minima",
        |_strict| false, NO_MINIMUM, least_of;
    scatter_begin_max, scatter_max, scatter_total_max, atomic_max, AtomicMinMax, "maxima",
        |_strict| false, NO_MAXIMUM, greatest_of;
    scatter_begin_and, scatter_and, scatter_total_and, atomic_and, AtomicBits, "bitwise ands",
        |_strict| false, ALL_BITS, bits_and;
    scatter_begin_or, scatter_or, scatter_total_or, atomic_or, AtomicBits, "bitwise ors",
        |_strict| false, NO_BITS, bits_or;
    scatter_begin_xor, scatter_xor, scatter_total_xor, atomic_xor, AtomicBits, "bitwise exclusive ors",
        |_strict| false, NO_BITS, bits_xor;
}
