//! The vocabulary of kernels besides Rust itself: `stream_parallel`, `block_for`, `ndrange` and the atomics.
//!
//! All items are ordinary Rust, so that rustc type-checks a kernel as written. In the CPU body and in the IR, the macro
//! replaces them.

mod blocks;

use std::{
    ops::Range,
    sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed},
};

pub use blocks::{Block, PerThread, SharedArray, block_for};

use quadrants_ir::ExactFloat;

use crate::Element;

/// A block of a kernel that runs concurrently with the other `stream_parallel` blocks of the kernel.
///
/// Consecutive blocks form a *region*. On a GPU each block runs on a stream of its own: the streams wait for the
/// launch's stream before the region, and the launch's stream waits for them after it. Loops within one block run in
/// order. Blocks that access the same element, one of them writing, are a compile error or a rejected launch.
///
/// Write it as a statement at the top level of a kernel:
///
/// ```text
/// #[qd::kernel]
/// fn step(a: &mut Tensor<f32, 1>, b: &mut Tensor<f32, 1>) {
///     qd::stream_parallel(|| {
///         for i in 0..a.len() {
///             a[i] *= 0.5;
///         }
///     });
///     qd::stream_parallel(|| {
///         for i in 0..b.len() {
///             b[i] += 1.0;
///         }
///     });
/// }
/// ```
///
/// It is a tuple struct and not a function because emitted code uses the name in a pattern, to check that it means this
/// crate's item.
#[allow(non_camel_case_types)] // written as a function
#[derive(Debug)]
pub struct stream_parallel<F: FnOnce()>(#[doc(hidden)] pub F);

/// The index space of a parallel loop over one to three dimensions. The last dimension varies fastest.
///
/// The argument is an array of extents, `ndrange([h, w])` or `ndrange(tensor.shape())`, or an array or tuple of ranges,
/// `ndrange((1..h - 1, 1..w - 1))`.
///
/// # Examples
/// ```
/// use quadrants_program::dsl::ndrange;
/// let visited: Vec<(usize, usize)> = ndrange((1..3, 5..7)).into_iter().collect();
/// assert_eq!(visited, [(1, 5), (1, 6), (2, 5), (2, 6)]);
/// ```
#[allow(non_camel_case_types)] // written as a function
#[derive(Clone, Debug)]
pub struct ndrange<D>(#[doc(hidden)] pub D);

/// An argument of [`ndrange`]: an array of extents, or an array or tuple of ranges.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the index space of a loop",
    label = "not extents or ranges",
    note = "`ndrange` takes an array of one to three extents, or an array or tuple of ranges"
)]
pub trait IndexSpace {
    /// The integer type of the indices.
    type Int: LoopInt;
    /// The type of an index: one integer, or a tuple of integers.
    type Item;
    #[doc(hidden)]
    type Bounds: AsRef<[Range<Self::Int>]>;
    #[doc(hidden)]
    fn bounds(self) -> Self::Bounds;
    #[doc(hidden)]
    fn item(at: &[Self::Int; 3]) -> Self::Item;
}

/// An integer type that parallel loops can use as their index.
pub trait LoopInt: Element + PartialOrd {
    #[doc(hidden)]
    const ZERO: Self;
    /// The number of steps from `self` to `end`; 0 if `end` is not greater.
    #[doc(hidden)]
    fn steps(self, end: Self) -> u64;
    /// `self + steps`. The caller guarantees that the sum is in range.
    #[doc(hidden)]
    fn forward(self, steps: u64) -> Self;
}

/// The iterator over the indices of an [`ndrange`].
#[derive(Debug)]
pub struct Indices<D: IndexSpace> {
    bounds: D::Bounds,
    next: Option<[D::Int; 3]>,
}

/// A type that [`atomic_add`] supports: `f32`, `f64`, `i32`, `i64`, `u32`, `u64`, `usize`.
#[diagnostic::on_unimplemented(message = "`atomic_add` is not defined for `{Self}`")]
pub trait AtomicAdd: Element {
    #[doc(hidden)]
    const IS_FLOAT: bool;
    /// The identity of addition.
    #[doc(hidden)]
    const IDENTITY: Self;
    #[doc(hidden)]
    fn plus(self, value: Self) -> Self;
    /// # Safety
    /// `element` must be valid for atomic reads and writes.
    #[doc(hidden)]
    unsafe fn fetch_add(element: *mut Self, value: Self) -> Self;
}

/// A type that [`atomic_min`] and [`atomic_max`] support: `i32`, `i64`, `u32`, `u64`, `usize`.
#[diagnostic::on_unimplemented(
    message = "`atomic_min` and `atomic_max` are not defined for `{Self}`",
    note = "supported types: `i32`, `i64`, `u32`, `u64`, `usize`"
)]
pub trait AtomicMinMax: Element + Ord {
    #[doc(hidden)]
    const SMALLEST: Self;
    #[doc(hidden)]
    const LARGEST: Self;
    /// # Safety
    /// `element` must be valid for atomic reads and writes.
    #[doc(hidden)]
    unsafe fn fetch_min(element: *mut Self, value: Self) -> Self;
    /// # Safety
    /// `element` must be valid for atomic reads and writes.
    #[doc(hidden)]
    unsafe fn fetch_max(element: *mut Self, value: Self) -> Self;
}

/// A type that block collectives combine: `f32`, `f64`, `i32`, `i64`, `u32`, `u64`, `usize`.
#[diagnostic::on_unimplemented(
    message = "the threads of a block cannot combine values of type `{Self}`",
    note = "supported types: `f32`, `f64`, `i32`, `i64`, `u32`, `u64`, `usize`"
)]
pub trait Combine: AtomicAdd {
    #[doc(hidden)]
    const ZERO: Self;
    #[doc(hidden)]
    const SMALLEST: Self;
    #[doc(hidden)]
    const LARGEST: Self;
    #[doc(hidden)]
    fn smaller(self, other: Self) -> Self;
    #[doc(hidden)]
    fn larger(self, other: Self) -> Self;
}

/// The number of blocks of a [`block_for`] and the type of a block's index: `usize`, or an array with one number per
/// dimension.
#[diagnostic::on_unimplemented(
    message = "the number of blocks must be a `usize` or an array of up to three, not `{Self}`",
    label = "not a number of blocks"
)]
pub trait Grid: Copy {}

impl Grid for usize {}

impl<const N: usize> Grid for [usize; N] {}

/// Adds `value` to an element and returns the old value. In a kernel the operation is atomic (relaxed). Integers wrap.
///
/// Iterations may update the same element only by atomics, for instance `qd::atomic_add(&mut histogram[bin], 1)`. The
/// order of updates is unspecified, so sums of floats may differ between runs in their last bits. If an index is out of
/// range, nothing is added, the result is zero, and the launch reports an error.
///
/// # Examples
/// ```
/// use quadrants_program::dsl::atomic_add;
/// let mut x = 3;
/// assert_eq!((atomic_add(&mut x, 4), x), (3, 7)); // outside of kernels: an ordinary addition
/// ```
pub fn atomic_add<T: AtomicAdd>(element: &mut T, value: T) -> T {
    std::mem::replace(element, element.plus(value))
}

/// Stores the smaller of an element and `value`, and returns the old value. In a kernel the operation is atomic
/// (relaxed).
pub fn atomic_min<T: AtomicMinMax>(element: &mut T, value: T) -> T {
    std::mem::replace(element, value.min(*element))
}

/// Stores the larger of an element and `value`, and returns the old value. In a kernel the operation is atomic
/// (relaxed).
pub fn atomic_max<T: AtomicMinMax>(element: &mut T, value: T) -> T {
    std::mem::replace(element, value.max(*element))
}

impl<D: IndexSpace> IntoIterator for ndrange<D> {
    type Item = D::Item;
    type IntoIter = Indices<D>;
    fn into_iter(self) -> Indices<D> {
        let bounds = self.0.bounds();
        let ranges = bounds.as_ref();
        let nonempty = ranges.iter().all(|range| range.start < range.end);
        let first = std::array::from_fn(|k| ranges.get(k).map_or(D::Int::ZERO, |r| r.start));
        Indices { bounds, next: nonempty.then_some(first) }
    }
}

impl<D: IndexSpace> Iterator for Indices<D> {
    type Item = D::Item;
    fn next(&mut self) -> Option<D::Item> {
        let at = self.next?;
        self.next = None;
        let mut next = at;
        for (k, range) in self.bounds.as_ref().iter().enumerate().rev() {
            next[k] = next[k].forward(1);
            if next[k] < range.end {
                self.next = Some(next);
                break;
            }
            next[k] = range.start;
        }
        Some(D::item(&at))
    }
}

macro_rules! index_spaces {
    ($($rank:literal, $item:ty, |$at:ident| $make:expr => {$($space:ty: |$given:ident| $bounds:expr;)*})*) => {$($(
        impl<I: LoopInt> IndexSpace for $space {
            type Int = I;
            type Item = $item;
            type Bounds = [Range<I>; $rank];
            #[inline(always)]
            fn bounds(self) -> [Range<I>; $rank] {
                let $given = self;
                $bounds
            }
            fn item($at: &[I; 3]) -> $item {
                $make
            }
        }
    )*)*};
}

index_spaces! {
    1, I, |at| at[0] => {
        [I; 1]: |extents| extents.map(|end| I::ZERO..end);
        [Range<I>; 1]: |ranges| ranges;
    }
    2, (I, I), |at| (at[0], at[1]) => {
        [I; 2]: |extents| extents.map(|end| I::ZERO..end);
        [Range<I>; 2]: |ranges| ranges;
        (Range<I>, Range<I>): |ranges| [ranges.0, ranges.1];
    }
    3, (I, I, I), |at| (at[0], at[1], at[2]) => {
        [I; 3]: |extents| extents.map(|end| I::ZERO..end);
        [Range<I>; 3]: |ranges| ranges;
        (Range<I>, Range<I>, Range<I>): |ranges| [ranges.0, ranges.1, ranges.2];
    }
}

macro_rules! integers {
    ($($int:ty, $atomic:ident;)*) => {$(
        impl LoopInt for $int {
            const ZERO: Self = 0;
            #[inline(always)]
            fn steps(self, end: Self) -> u64 {
                if self < end { end.wrapping_sub(self) as u64 & u64::MAX >> (64 - Self::BITS) } else { 0 }
            }
            #[inline(always)]
            fn forward(self, steps: u64) -> Self {
                self.wrapping_add(steps as Self)
            }
        }

        impl AtomicAdd for $int {
            const IS_FLOAT: bool = false;
            const IDENTITY: Self = 0;
            #[inline(always)]
            fn plus(self, value: Self) -> Self {
                self.wrapping_add(value)
            }
            #[inline(always)]
            unsafe fn fetch_add(element: *mut Self, value: Self) -> Self {
                // SAFETY: the caller's promise.
                unsafe { $atomic::from_ptr(element) }.fetch_add(value, Relaxed)
            }
        }

        impl AtomicMinMax for $int {
            const SMALLEST: Self = Self::MIN;
            const LARGEST: Self = Self::MAX;
            #[inline(always)]
            unsafe fn fetch_min(element: *mut Self, value: Self) -> Self {
                // SAFETY: the caller's promise.
                unsafe { $atomic::from_ptr(element) }.fetch_min(value, Relaxed)
            }
            #[inline(always)]
            unsafe fn fetch_max(element: *mut Self, value: Self) -> Self {
                // SAFETY: the caller's promise.
                unsafe { $atomic::from_ptr(element) }.fetch_max(value, Relaxed)
            }
        }
    )*};
}

macro_rules! floats {
    ($($float:ty, $atomic:ident;)*) => {$(
        impl AtomicAdd for $float {
            const IS_FLOAT: bool = true;
            const IDENTITY: Self = -0.0;
            #[inline(always)]
            fn plus(self, value: Self) -> Self {
                self + value
            }
            #[inline(always)]
            unsafe fn fetch_add(element: *mut Self, value: Self) -> Self {
                // SAFETY: the caller's promise; the integer has the float's size and alignment.
                let bits = unsafe { $atomic::from_ptr(element.cast()) };
                let mut old = bits.load(Relaxed);
                loop {
                    let new = (Self::from_bits(old) + value).to_bits();
                    match bits.compare_exchange_weak(old, new, Relaxed, Relaxed) {
                        Ok(_) => return Self::from_bits(old),
                        Err(now) => old = now,
                    }
                }
            }
        }
    )*};
}

integers! {
    i32, AtomicI32;
    i64, AtomicI64;
    u32, AtomicU32;
    u64, AtomicU64;
    usize, AtomicUsize;
}

floats! {
    f32, AtomicU32;
    f64, AtomicU64;
}

macro_rules! combine {
    ($($ty:ty, $zero:literal, $smallest:expr, $largest:expr, $min:path, $max:path;)*) => {$(
        impl Combine for $ty {
            const ZERO: Self = $zero;
            const SMALLEST: Self = $smallest;
            const LARGEST: Self = $largest;
            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                $min(self, other)
            }
            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                $max(self, other)
            }
        }
    )*};
}

combine! {
    i32, 0, Self::MIN, Self::MAX, Ord::min, Ord::max;
    i64, 0, Self::MIN, Self::MAX, Ord::min, Ord::max;
    u32, 0, Self::MIN, Self::MAX, Ord::min, Ord::max;
    u64, 0, Self::MIN, Self::MAX, Ord::min, Ord::max;
    usize, 0, Self::MIN, Self::MAX, Ord::min, Ord::max;
    f32, 0.0, Self::NEG_INFINITY, Self::INFINITY, ExactFloat::minimum_number, ExactFloat::maximum_number;
    f64, 0.0, Self::NEG_INFINITY, Self::INFINITY, ExactFloat::minimum_number, ExactFloat::maximum_number;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_index_varies_fastest() {
        let visited: Vec<(usize, usize, usize)> = ndrange([2, 1, 2]).into_iter().collect();
        assert_eq!(visited, [(0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 0, 1)]);
        assert_eq!(ndrange([3_i32]).into_iter().collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(ndrange([-1..1, 4..4]).into_iter().count(), 0);
        assert_eq!(ndrange((0..2, 0..3, 0..4)).into_iter().count(), 24);
    }

    #[test]
    fn steps_do_not_overflow() {
        assert_eq!(i32::MIN.steps(i32::MAX), u64::from(u32::MAX));
        assert_eq!(i64::MIN.steps(i64::MAX), u64::MAX);
        assert_eq!(5_u32.steps(5), 0);
        assert_eq!(i32::MIN.forward(u64::from(u32::MAX)), i32::MAX);
    }

    #[test]
    fn atomics_outside_of_kernels_return_the_old_element() {
        let mut x = 3_i32;
        assert_eq!((atomic_add(&mut x, i32::MAX), atomic_max(&mut x, 7)), (3, i32::MIN + 2));
        assert_eq!((atomic_min(&mut x, 1), x), (7, 1));
    }
}
