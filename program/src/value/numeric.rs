//! Numeric traits for generic kernels and funcs: [`Number`], [`Signed`], [`Float`], [`Int`].
//!
//! Their methods have the names and meanings of the primitive types' own, so that code for a type parameter reads like
//! code for `f32`. Conversions are those of `as`.

use std::{
    fmt::Debug,
    ops::{
        Add, AddAssign, BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Div,
        DivAssign, Mul, MulAssign, Neg, Not, Rem, RemAssign, Shl, ShlAssign, Shr, ShrAssign, Sub,
        SubAssign,
    },
};

use quadrants_ir::types::name_number;

use super::{
    accumulate::{Accumulate, AccumulateBits, AccumulateMinMax},
    callable::{Function, HasMethod, Method},
};
use crate::{Element, KernelValue};

/// Traits that state the kernel methods of a group of types.
macro_rules! with_methods {
    ($(#[$meta:meta])* $name:ident: $($method:ident($($ty:ty),*) -> $result:ty,)*) => {
        $(#[$meta])*
        pub trait $name: Sized $(
            + HasMethod<{ name_number(stringify!($method)) }, Output = $result>
            + Method<{ name_number(stringify!($method)) }, ($($ty,)*)>
            + Function<{ name_number(stringify!($method)) }, (Self, $($ty,)*)>
        )* {}
    };
}

with_methods! {
    /// The ordering methods of integers in kernels; on the host they are those of `Ord`.
    Ordered: min(Self) -> Self, max(Self) -> Self, clamp(Self, Self) -> Self,
}

with_methods! {
    /// The sign methods of signed numbers in kernels.
    WithSign: abs() -> Self, signum() -> Self,
}

macro_rules! ordered {
    ($($ty:ident)*) => {$(impl Ordered for $ty {})*};
}

ordered!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

/// A number in kernels: `f32`, `f64` or an integer of up to 64 bits.
///
/// # Examples
/// ```
/// use quadrants_program::Number;
/// fn mean<T: Number>(a: T, b: T) -> T {
///     (a + b) / T::from_i32(2)
/// }
/// assert_eq!((mean(1.0, 2.0), mean(3, 6)), (1.5, 4));
/// assert_eq!((u8::from_f32(1e9), 2.75_f64.to_i32()), (255, 2));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number type of kernels",
    label = "not a number",
    note = "number types are `f32`, `f64` and integers of up to 64 bits; \
            bound a type parameter by `Number`, `Float` or `Int`"
)]
pub trait Number:
    Element
    + KernelValue
    + PartialOrd
    + Debug
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + RemAssign
    + Accumulate
    + AccumulateMinMax
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The smallest finite value.
    const MIN: Self;
    /// The largest finite value.
    const MAX: Self;

    /// `value as Self`
    #[must_use]
    fn from_f32(value: f32) -> Self;
    /// `value as Self`
    #[must_use]
    fn from_f64(value: f64) -> Self;
    /// `value as Self`
    #[must_use]
    fn from_i32(value: i32) -> Self;
    /// `value as Self`
    #[must_use]
    fn from_i64(value: i64) -> Self;
    /// `value as Self`
    #[must_use]
    fn from_u32(value: u32) -> Self;
    /// `value as Self`
    #[must_use]
    fn from_u64(value: u64) -> Self;
    /// `value as Self`
    #[must_use]
    fn from_usize(value: usize) -> Self;
    /// `self as f32`
    #[must_use]
    fn to_f32(self) -> f32;
    /// `self as f64`
    #[must_use]
    fn to_f64(self) -> f64;
    /// `self as i32`
    #[must_use]
    fn to_i32(self) -> i32;
    /// `self as i64`
    #[must_use]
    fn to_i64(self) -> i64;
    /// `self as u32`
    #[must_use]
    fn to_u32(self) -> u32;
    /// `self as u64`
    #[must_use]
    fn to_u64(self) -> u64;
    /// `self as usize`
    #[must_use]
    fn to_usize(self) -> usize;
}

/// A signed number: `f32`, `f64` or a signed integer.
pub trait Signed: Number + WithSign + Neg<Output = Self> {
    /// The absolute value.
    #[must_use]
    fn abs(self) -> Self;
    /// The sign as a number, as by the type's own `signum`.
    #[must_use]
    fn signum(self) -> Self;
}

macro_rules! numbers {
    ($($ty:ident)*) => {$(
        impl Number for $ty {
            const ZERO: Self = 0 as Self;
            const ONE: Self = 1 as Self;
            const MIN: Self = <$ty>::MIN;
            const MAX: Self = <$ty>::MAX;
            numbers!(
                from: from_f32 f32, from_f64 f64, from_i32 i32, from_i64 i64, from_u32 u32, from_u64 u64,
                from_usize usize
            );
            numbers!(to: to_f32 f32, to_f64 f64, to_i32 i32, to_i64 i64, to_u32 u32, to_u64 u64, to_usize usize);
        }
    )*};
    (from: $($name:ident $other:ident),*) => {$(
        #[inline(always)]
        fn $name(value: $other) -> Self {
            value as Self
        }
    )*};
    (to: $($name:ident $other:ident),*) => {$(
        #[inline(always)]
        fn $name(self) -> $other {
            self as $other
        }
    )*};
}

numbers!(f32 f64 i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

macro_rules! signed {
    ($($ty:ident)*) => {$(
        impl WithSign for $ty {}
        impl Signed for $ty {
            #[inline(always)]
            fn abs(self) -> Self {
                self.abs()
            }
            #[inline(always)]
            fn signum(self) -> Self {
                self.signum()
            }
        }
    )*};
}

signed!(f32 f64 i8 i16 i32 i64 isize);

/// A trait whose methods are those of the primitive types, and its implementations.
macro_rules! methods {
    (
        $(#[$meta:meta])*
        pub trait $name:ident: [$($bound:tt)*] for $types:tt;
        $($(#[$const_meta:meta])* const $constant:ident: $of:ty = $from:tt;)*
        $(fn $method:ident(self $(, $arg:ident: $ty:ty)*) -> $result:ty;)*
    ) => {
        $(#[$meta])*
        pub trait $name: $($bound)* $(
            + HasMethod<{ name_number(stringify!($method)) }, Output = $result>
            + Method<{ name_number(stringify!($method)) }, ($($ty,)*)>
            + Function<{ name_number(stringify!($method)) }, (Self, $($ty,)*)>
        )* {
            $($(#[$const_meta])* const $constant: $of;)*
            $(
                #[doc = concat!("The number's own `", stringify!($method), "`.")]
                #[must_use]
                fn $method(self $(, $arg: $ty)*) -> $result;
            )*
        }
        methods!(each $name for $types; [$($constant: $of = $from;)*] [$($method($($arg: $ty),*) -> $result;)*]);
    };
    (each $name:ident for [$($number:ident)*]; $constants:tt $methods:tt) => {
        $(methods!(one $name for $number; $constants $methods);)*
    };
    (
        one $name:ident for $number:ident;
        [$($constant:ident: $of:ty = $from:tt;)*]
        [$($method:ident($($arg:ident: $ty:ty),*) -> $result:ty;)*]
    ) => {
        impl $name for $number {
            $(const $constant: $of = methods!(constant $from $number $constant);)*
            $(
                #[inline(always)]
                fn $method(self $(, $arg: $ty)*) -> $result {
                    <$number>::$method(self $(, $arg)*)
                }
            )*
        }
    };
    (constant own $number:ident $constant:ident) => { <$number>::$constant };
    (constant consts $number:ident $constant:ident) => { std::$number::consts::$constant };
}

methods! {
    /// A floating-point number: `f32` or `f64`.
    ///
    /// On the host, the methods are those of std. Kernels may round the last bits of functions such as `sin` or
    /// `exp_m1` differently. `asinh` and `acosh` of numbers above half of [`MAX`](Number::MAX) are infinite in std, and
    /// may be finite in kernels.
    ///
    /// # Examples
    /// ```
    /// use quadrants_program::Float;
    /// fn area<T: Float>(radius: T) -> T {
    ///     T::PI * radius.powi(2)
    /// }
    /// assert_eq!(area(1.0_f32), std::f32::consts::PI);
    /// ```
    pub trait Float: [Signed] for [f32 f64];
    /// The ratio of a circle's circumference to its diameter.
    const PI: Self = consts;
    /// Euler's number.
    const E: Self = consts;
    /// The difference between 1 and the next larger number.
    const EPSILON: Self = own;
    /// The smallest positive normal number.
    const MIN_POSITIVE: Self = own;
    /// Positive infinity.
    const INFINITY: Self = own;
    /// Not a number.
    const NAN: Self = own;
    fn sqrt(self) -> Self;
    fn cbrt(self) -> Self;
    fn sin(self) -> Self;
    fn cos(self) -> Self;
    fn sin_cos(self) -> (Self, Self);
    fn tan(self) -> Self;
    fn asin(self) -> Self;
    fn acos(self) -> Self;
    fn atan(self) -> Self;
    fn atan2(self, x: Self) -> Self;
    fn sinh(self) -> Self;
    fn cosh(self) -> Self;
    fn tanh(self) -> Self;
    fn asinh(self) -> Self;
    fn acosh(self) -> Self;
    fn atanh(self) -> Self;
    fn exp(self) -> Self;
    fn exp2(self) -> Self;
    fn exp_m1(self) -> Self;
    fn ln(self) -> Self;
    fn ln_1p(self) -> Self;
    fn log(self, base: Self) -> Self;
    fn log2(self) -> Self;
    fn log10(self) -> Self;
    fn powf(self, exponent: Self) -> Self;
    fn powi(self, exponent: i32) -> Self;
    fn hypot(self, other: Self) -> Self;
    fn mul_add(self, factor: Self, add: Self) -> Self;
    fn recip(self) -> Self;
    fn div_euclid(self, by: Self) -> Self;
    fn midpoint(self, other: Self) -> Self;
    fn min(self, other: Self) -> Self;
    fn max(self, other: Self) -> Self;
    fn clamp(self, low: Self, high: Self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn round(self) -> Self;
    fn round_ties_even(self) -> Self;
    fn trunc(self) -> Self;
    fn fract(self) -> Self;
    fn copysign(self, sign: Self) -> Self;
    fn to_radians(self) -> Self;
    fn to_degrees(self) -> Self;
    fn is_nan(self) -> bool;
    fn is_finite(self) -> bool;
    fn is_infinite(self) -> bool;
    fn is_sign_negative(self) -> bool;
    fn is_sign_positive(self) -> bool;
}

methods! {
    /// An integer of up to 64 bits. `min`, `max` and `clamp` come from `Ord`.
    ///
    /// In kernels a zero divisor is a device error, and overflow of these methods wraps; that of `pow` is checked on
    /// the CPU where overflow checks are on. What panics in std otherwise has a fixed value in kernels: `ilog2` of zero
    /// or of a negative number is `u32::MAX`, and `isqrt` of a negative number is 0.
    ///
    /// # Examples
    /// ```
    /// use quadrants_program::Int;
    /// fn next_multiple<T: Int>(n: T, of: T) -> T {
    ///     (n + of - T::ONE) / of * of
    /// }
    /// assert_eq!((next_multiple(5_u8, 4), next_multiple(-5_i64, 4)), (8, 0));
    /// ```
    pub trait Int: [
        Number
            + Ord
            + Ordered
            + Not<Output = Self>
            + BitAnd<Output = Self>
            + BitOr<Output = Self>
            + BitXor<Output = Self>
            + Shl<u32, Output = Self>
            + Shr<u32, Output = Self>
            + BitAndAssign
            + BitOrAssign
            + BitXorAssign
            + AccumulateBits
            + ShlAssign<u32>
            + ShrAssign<u32>
    ] for [i8 i16 i32 i64 isize u8 u16 u32 u64 usize];
    /// The number of bits.
    const BITS: u32 = own;
    fn wrapping_add(self, other: Self) -> Self;
    fn wrapping_sub(self, other: Self) -> Self;
    fn wrapping_mul(self, other: Self) -> Self;
    fn wrapping_neg(self) -> Self;
    fn wrapping_shl(self, count: u32) -> Self;
    fn wrapping_shr(self, count: u32) -> Self;
    fn saturating_add(self, other: Self) -> Self;
    fn saturating_sub(self, other: Self) -> Self;
    fn rotate_left(self, count: u32) -> Self;
    fn rotate_right(self, count: u32) -> Self;
    fn swap_bytes(self) -> Self;
    fn reverse_bits(self) -> Self;
    fn count_ones(self) -> u32;
    fn count_zeros(self) -> u32;
    fn leading_ones(self) -> u32;
    fn leading_zeros(self) -> u32;
    fn trailing_ones(self) -> u32;
    fn trailing_zeros(self) -> u32;
    fn div_euclid(self, other: Self) -> Self;
    fn rem_euclid(self, other: Self) -> Self;
    fn midpoint(self, other: Self) -> Self;
    fn ilog2(self) -> u32;
    fn isqrt(self) -> Self;
    fn pow(self, exponent: u32) -> Self;
}
