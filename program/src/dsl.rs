//! The functions and types that kernels name: `stream_parallel`, `block_for`, `ndrange` and the atomics.
//!
//! All items are ordinary Rust, so that rustc type-checks a kernel as written. In the CPU body and in the IR, the macro
//! replaces them.

mod blocks;
pub(crate) mod collective;

use std::ops::Range;

pub use crate::value::{
    accumulate::{Accumulate, AccumulateBits, AccumulateMinMax},
    atomic::{AtomicAdd, AtomicBits, AtomicExchange, AtomicMinMax, Combine},
};
pub use blocks::{Block, SharedArray, block_for};
pub use collective::PerThread;

use quadrants_ir::abi::MAX_RANK;

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

/// The index space of a loop over one to six dimensions. The last dimension varies fastest.
///
/// The argument is an array or tuple of extents, `ndrange([h, w])` or `ndrange(tensor.shape())`, or of ranges,
/// `ndrange((1..h - 1, 1..w - 1))`.
///
/// In a parallel loop over more than three dimensions, the last three are those of the threads; each thread runs the
/// others in order.
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

/// An argument of [`ndrange`]: an array or tuple of extents or of ranges.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the index space of a loop",
    label = "not extents or ranges",
    note = "`ndrange` takes an array or tuple of one to six extents or ranges"
)]
pub trait IndexSpace {
    /// The integer type of the indices.
    type Int: LoopInt;
    /// The type of an index: one integer, or a tuple of integers.
    type Item;
    #[doc(hidden)]
    type Ranges: AsRef<[Range<Self::Int>]>;
    #[doc(hidden)]
    fn ranges(self) -> Self::Ranges;
    #[doc(hidden)]
    fn item(at: &[Self::Int; MAX_RANK]) -> Self::Item;
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
    ranges: D::Ranges,
    next: Option<[D::Int; MAX_RANK]>,
}

/// The number of blocks of a [`block_for`] and the type of a block's index: `usize`, or an array with one number per
/// dimension.
#[diagnostic::on_unimplemented(
    message = "the number of blocks must be a `usize` or an array of up to three, not `{Self}`",
    label = "not a number of blocks"
)]
pub trait Grid: Copy {
    /// The numbers of a block by which messages name it.
    #[doc(hidden)]
    fn numbers(self) -> Vec<i64>;
}

impl Grid for usize {
    fn numbers(self) -> Vec<i64> {
        vec![self as i64]
    }
}

impl<const N: usize> Grid for [usize; N] {
    fn numbers(self) -> Vec<i64> {
        self.iter().map(|number| *number as i64).collect()
    }
}

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
    std::mem::replace(element, element.accumulated(value))
}

/// Stores the smaller of an element and `value`, and returns the old value. In a kernel the operation is atomic
/// (relaxed). Of a number and a NaN it stores the number, and −0 is less than +0, as for `min` of floats in kernels.
pub fn atomic_min<T: AtomicMinMax>(element: &mut T, value: T) -> T {
    std::mem::replace(element, element.least_of(value))
}

/// Stores the larger of an element and `value`, and returns the old value. In a kernel the operation is atomic
/// (relaxed). Of a number and a NaN it stores the number, and −0 is less than +0, as for `max` of floats in kernels.
pub fn atomic_max<T: AtomicMinMax>(element: &mut T, value: T) -> T {
    std::mem::replace(element, element.greatest_of(value))
}

/// Stores the bitwise and of an element and `value`, and returns the old value. In a kernel the operation is atomic
/// (relaxed).
pub fn atomic_and<T: AtomicBits>(element: &mut T, value: T) -> T {
    std::mem::replace(element, element.bits_and(value))
}

/// Stores the bitwise or of an element and `value`, and returns the old value. In a kernel the operation is atomic
/// (relaxed), so that any number of iterations can set a flag: `qd::atomic_or(&mut changed[0], true)`.
///
/// # Examples
/// ```
/// use quadrants_program::dsl::atomic_or;
/// let mut flags = 0b0101;
/// assert_eq!((atomic_or(&mut flags, 0b0011), flags), (0b0101, 0b0111));
/// ```
pub fn atomic_or<T: AtomicBits>(element: &mut T, value: T) -> T {
    std::mem::replace(element, element.bits_or(value))
}

/// Stores the bitwise exclusive or of an element and `value`, and returns the old value. In a kernel the operation is
/// atomic (relaxed).
pub fn atomic_xor<T: AtomicBits>(element: &mut T, value: T) -> T {
    std::mem::replace(element, element.bits_xor(value))
}

/// Stores `value` in an element and returns the old value. In a kernel the operation is atomic (relaxed). If the index
/// is out of range, nothing is stored, the result is zero, and the launch reports an error.
///
/// # Examples
/// ```
/// use quadrants_program::dsl::atomic_exchange;
/// let mut owner = 3;
/// assert_eq!((atomic_exchange(&mut owner, 8), owner), (3, 8));
/// ```
pub fn atomic_exchange<T: AtomicExchange>(element: &mut T, value: T) -> T {
    std::mem::replace(element, value)
}

/// Stores `value` in an element if the element has the bits of `expected`, and returns the old value. In a kernel the
/// operation is atomic (relaxed). If the index is out of range, nothing is stored, the result is zero, and the launch
/// reports an error.
///
/// Floats are compared by their bits: −0 is not +0, and a NaN is equal to itself.
///
/// # Examples
/// ```
/// use quadrants_program::dsl::atomic_compare_exchange;
/// let mut slot = 0;
/// assert_eq!((atomic_compare_exchange(&mut slot, 0, 7), slot), (0, 7));
/// assert_eq!((atomic_compare_exchange(&mut slot, 0, 9), slot), (7, 7));
/// ```
pub fn atomic_compare_exchange<T: AtomicExchange>(element: &mut T, expected: T, value: T) -> T {
    let old = *element;
    if old.same_bits(expected) {
        *element = value;
    }
    old
}

impl<D: IndexSpace> IntoIterator for ndrange<D> {
    type Item = D::Item;
    type IntoIter = Indices<D>;
    fn into_iter(self) -> Indices<D> {
        let ranges = self.0.ranges();
        let of_axes = ranges.as_ref();
        let nonempty = of_axes.iter().all(|range| range.start < range.end);
        let first = std::array::from_fn(|k| of_axes.get(k).map_or(D::Int::ZERO, |r| r.start));
        Indices { ranges, next: nonempty.then_some(first) }
    }
}

impl<D: IndexSpace> Iterator for Indices<D> {
    type Item = D::Item;
    fn next(&mut self) -> Option<D::Item> {
        let at = self.next?;
        self.next = None;
        let mut next = at;
        for (k, range) in self.ranges.as_ref().iter().enumerate().rev() {
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
    ($($rank:literal, $item:ty, |$at:ident| $make:expr => {$($space:ty: |$given:ident| $ranges:expr;)*})*) => {$($(
        impl<I: LoopInt> IndexSpace for $space {
            type Int = I;
            type Item = $item;
            type Ranges = [Range<I>; $rank];
            #[inline(always)]
            fn ranges(self) -> [Range<I>; $rank] {
                let $given = self;
                $ranges
            }
            fn item($at: &[I; MAX_RANK]) -> $item {
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
        (I, I): |ends| [I::ZERO..ends.0, I::ZERO..ends.1];
        (Range<I>, Range<I>): |ranges| [ranges.0, ranges.1];
    }
    3, (I, I, I), |at| (at[0], at[1], at[2]) => {
        [I; 3]: |extents| extents.map(|end| I::ZERO..end);
        [Range<I>; 3]: |ranges| ranges;
        (I, I, I): |ends| [I::ZERO..ends.0, I::ZERO..ends.1, I::ZERO..ends.2];
        (Range<I>, Range<I>, Range<I>): |ranges| [ranges.0, ranges.1, ranges.2];
    }
    4, (I, I, I, I), |at| (at[0], at[1], at[2], at[3]) => {
        [I; 4]: |extents| extents.map(|end| I::ZERO..end);
        [Range<I>; 4]: |ranges| ranges;
        (I, I, I, I): |ends| [I::ZERO..ends.0, I::ZERO..ends.1, I::ZERO..ends.2, I::ZERO..ends.3];
        (Range<I>, Range<I>, Range<I>, Range<I>): |ranges| ranges.into();
    }
    5, (I, I, I, I, I), |at| (at[0], at[1], at[2], at[3], at[4]) => {
        [I; 5]: |extents| extents.map(|end| I::ZERO..end);
        [Range<I>; 5]: |ranges| ranges;
        (I, I, I, I, I): |ends| [I::ZERO..ends.0, I::ZERO..ends.1, I::ZERO..ends.2, I::ZERO..ends.3, I::ZERO..ends.4];
        (Range<I>, Range<I>, Range<I>, Range<I>, Range<I>): |ranges| ranges.into();
    }
    6, (I, I, I, I, I, I), |at| (at[0], at[1], at[2], at[3], at[4], at[5]) => {
        [I; 6]: |extents| extents.map(|end| I::ZERO..end);
        [Range<I>; 6]: |ranges| ranges;
        (I, I, I, I, I, I): |ends| [I::ZERO..ends.0, I::ZERO..ends.1, I::ZERO..ends.2, I::ZERO..ends.3, I::ZERO..ends.4, I::ZERO..ends.5];
        (Range<I>, Range<I>, Range<I>, Range<I>, Range<I>, Range<I>): |ranges| ranges.into();
    }
}

macro_rules! loop_ints {
    ($($int:ty)*) => {$(
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
    )*};
}

loop_ints!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

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
        assert_eq!(ndrange([2, 1, 3, 1, 2, 2]).into_iter().count(), 24);
        let last = ndrange((0..2, 1..3, 0..1, 4..6)).into_iter().last();
        assert_eq!(last, Some((1, 2, 0, 5)));
    }

    #[test]
    fn steps_do_not_overflow() {
        assert_eq!(i32::MIN.steps(i32::MAX), u64::from(u32::MAX));
        assert_eq!(i64::MIN.steps(i64::MAX), u64::MAX);
        assert_eq!(5_u32.steps(5), 0);
        assert_eq!(i32::MIN.forward(u64::from(u32::MAX)), i32::MAX);
        assert_eq!((i8::MIN.steps(i8::MAX), (-100_i8).forward(200), 3_u16.steps(3)), (255, 100, 0));
    }

    #[test]
    fn atomics_outside_of_kernels_return_the_old_element() {
        let mut x = 3_i32;
        assert_eq!((atomic_add(&mut x, i32::MAX), atomic_max(&mut x, 7)), (3, i32::MIN + 2));
        assert_eq!((atomic_min(&mut x, 1), x), (7, 1));
        let mut y = f32::NAN;
        assert!(atomic_min(&mut y, 2.0).is_nan());
        assert_eq!((atomic_max(&mut y, f32::NAN), atomic_min(&mut y, -1.0), y), (2.0, 2.0, -1.0));
        let mut zero = 0.0_f64;
        atomic_min(&mut zero, -0.0);
        assert_eq!(zero.to_bits(), (-0.0_f64).to_bits());
        assert_eq!(atomic_compare_exchange(&mut zero, 0.0, 1.0).to_bits(), (-0.0_f64).to_bits());
        assert_eq!((atomic_exchange(&mut zero, 5.0), zero), (-0.0, 5.0));
    }
}
