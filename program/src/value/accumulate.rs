//! The operations by which iterations combine values: in locals, lanes, elements and the threads of a block.

use quadrants_ir::ExactFloat;

/// A type that loops can sum up.
#[diagnostic::on_unimplemented(
    message = "the iterations of a parallel loop cannot add up values of type `{Self}`",
    note = "supported types: numbers but `f16`, vectors, matrices and complex numbers"
)]
pub trait Accumulate: Copy {
    /// The identity of addition.
    #[doc(hidden)]
    const NO_SUM: Self;
    /// Whether the order of additions changes the sum.
    #[doc(hidden)]
    const IS_FLOAT: bool;
    /// The sum; wraps for integers.
    #[doc(hidden)]
    fn accumulated(self, other: Self) -> Self;
    /// The difference; wraps for integers.
    #[doc(hidden)]
    fn reduced_by(self, other: Self) -> Self;
}

/// A type of whose values loops can find the smallest and the largest one.
#[diagnostic::on_unimplemented(
    message = "the iterations of a parallel loop cannot find the minimum or maximum of values of type `{Self}`",
    note = "supported types: numbers but `f16`, and vectors"
)]
pub trait AccumulateMinMax: Copy {
    /// The identity of the minimum.
    #[doc(hidden)]
    const NO_MINIMUM: Self;
    /// The identity of the maximum.
    #[doc(hidden)]
    const NO_MAXIMUM: Self;
    /// The minimum. Of a number and a NaN, the number; −0 is less than +0.
    #[doc(hidden)]
    fn least_of(self, other: Self) -> Self;
    /// The maximum. Of a number and a NaN, the number; −0 is less than +0.
    #[doc(hidden)]
    fn greatest_of(self, other: Self) -> Self;
}

/// A type whose bits loops can combine.
#[diagnostic::on_unimplemented(
    message = "the iterations of a parallel loop cannot combine the bits of values of type `{Self}`",
    note = "supported types: integers and `bool`"
)]
pub trait AccumulateBits: Copy {
    /// The identity of and.
    #[doc(hidden)]
    const ALL_BITS: Self;
    /// The identity of or, and of exclusive or.
    #[doc(hidden)]
    const NO_BITS: Self;
    /// Bitwise and.
    #[doc(hidden)]
    fn bits_and(self, other: Self) -> Self;
    /// Bitwise or.
    #[doc(hidden)]
    fn bits_or(self, other: Self) -> Self;
    /// Bitwise exclusive or.
    #[doc(hidden)]
    fn bits_xor(self, other: Self) -> Self;
}

macro_rules! sums {
    ($($ty:ty)*, $zero:literal, $is_float:literal, $plus:expr, $minus:expr) => {$(
        impl Accumulate for $ty {
            const NO_SUM: Self = $zero;
            const IS_FLOAT: bool = $is_float;
            #[inline(always)]
            fn accumulated(self, other: Self) -> Self {
                $plus(self, other)
            }
            #[inline(always)]
            fn reduced_by(self, other: Self) -> Self {
                $minus(self, other)
            }
        }
    )*};
}

sums!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize, 0, false, Self::wrapping_add, Self::wrapping_sub);
sums!(f32 f64, -0.0, true, std::ops::Add::add, std::ops::Sub::sub);

macro_rules! extrema {
    ($($ty:ty)*, $no_minimum:expr, $no_maximum:expr, $min:path, $max:path) => {$(
        impl AccumulateMinMax for $ty {
            const NO_MINIMUM: Self = $no_minimum;
            const NO_MAXIMUM: Self = $no_maximum;
            #[inline(always)]
            fn least_of(self, other: Self) -> Self {
                $min(self, other)
            }
            #[inline(always)]
            fn greatest_of(self, other: Self) -> Self {
                $max(self, other)
            }
        }
    )*};
}

extrema!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize, Self::MAX, Self::MIN, Ord::min, Ord::max);
extrema!(f32 f64, Self::NAN, Self::NAN, ExactFloat::minimum_number, ExactFloat::maximum_number);

macro_rules! bits {
    ($($ty:ty)*, $zeros:literal) => {$(
        impl AccumulateBits for $ty {
            const ALL_BITS: Self = !$zeros;
            const NO_BITS: Self = $zeros;
            #[inline(always)]
            fn bits_and(self, other: Self) -> Self {
                self & other
            }
            #[inline(always)]
            fn bits_or(self, other: Self) -> Self {
                self | other
            }
            #[inline(always)]
            fn bits_xor(self, other: Self) -> Self {
                self ^ other
            }
        }
    )*};
}

bits!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize, 0);
bits!(bool, false);
