//! The built-in methods and associated functions of kernels, of numbers, arrays, [`Vector`] and [`Matrix`].
//!
//! Each list of implementations is also a table of [`Builtin`]s, from which the book's reference page is made.

use std::{
    cmp::Ordering,
    ops::{Add, Mul, Sub},
};

use half::f16;
use quadrants_ir::{ExactFloat, elementary::Elementary, source::EmittedSource, types::name_number};

use super::failure::clamped;
use crate::{
    Element, Float, KernelValue, Matrix, Number, Signed, Vector,
    device_error::divisor_of,
    value::{
        atomic::Combine,
        callable::{Function, HasMethod, Method},
        identity::Identity,
    },
};

/// A built-in method or associated function, as the source of this module declares it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Builtin {
    /// The types that have it, separated by spaces, or one generic type.
    pub of: &'static str,
    /// The generic parameters of the type.
    pub generics: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The parameters after `self`.
    pub parameters: &'static str,
    /// The type of its value.
    pub result: &'static str,
}

/// All built-in methods, by groups of types.
pub const BUILTIN_METHODS: [&[Builtin]; 10] = [
    FLOATS_AS_STD,
    FLOATS,
    HALVES,
    INTEGERS_AS_STD,
    INTEGERS,
    SIGNED,
    SIGNED_ROOT,
    UNSIGNED_AS_STD,
    UNSIGNED,
    OTHERS,
];

/// The functions of `f16` that convert from other floats.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no such function in kernels",
    label = "not `f16`"
)]
pub trait FromFloat: Sized {
    /// The nearest `f16`.
    fn from_f32(value: f32) -> Self;
    /// The nearest `f16`.
    fn from_f64(value: f64) -> Self;
}

impl FromFloat for f16 {
    #[cfg_attr(debug_assertions, inline)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn from_f32(value: f32) -> Self {
        f16::from_f32(value)
    }
    #[cfg_attr(debug_assertions, inline)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn from_f64(value: f64) -> Self {
        f16::from_f64(value)
    }
}

/// The conversions that [`Number`]s share with `f16`, which is not a [`Number`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no conversion of this name in kernels",
    label = "not a number",
    note = "numbers have conversions; bound a type parameter by `Number`, `Float` or `Int`"
)]
pub trait ToFloat: Sized {
    /// `self as f32`
    fn to_f32(self) -> f32;
    /// `self as f64`
    fn to_f64(self) -> f64;
}

impl<T: Number> ToFloat for T {
    #[cfg_attr(debug_assertions, inline)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn to_f32(self) -> f32 {
        Number::to_f32(self)
    }
    #[cfg_attr(debug_assertions, inline)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn to_f64(self) -> f64 {
        Number::to_f64(self)
    }
}

impl ToFloat for f16 {
    #[cfg_attr(debug_assertions, inline)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn to_f32(self) -> f32 {
        f16::to_f32(self)
    }
    #[cfg_attr(debug_assertions, inline)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn to_f64(self) -> f64 {
        f16::to_f64(self)
    }
}

/// The table of methods that several types have.
macro_rules! table {
    ($of:expr, { $($name:ident($($arg:ident: $ty:ty),*) -> $out:ty;)* }) => { &[$(
        Builtin {
            of: $of,
            generics: "",
            name: stringify!($name),
            parameters: stringify!($($arg: $ty),*),
            result: stringify!($out),
        },
    )*] };
    ($of:expr, { $($name:ident($this:ident $(, $arg:ident: $ty:ty)*) -> $out:ty = $body:expr;)* }) => {
        table!($of, { $($name($($arg: $ty),*) -> $out;)* })
    };
}

/// Implements [`HasMethod`], [`Method`] and [`Function`] for built-in methods.
macro_rules! builtin {
    ($table:ident: $([$($generic:tt)*] $of:ty: $name:ident($this:ident $(, $arg:ident: $ty:ty)*) -> $out:ty = $body:expr;)*) => {
        const $table: &[Builtin] = &[$(
            Builtin {
                of: stringify!($of),
                generics: stringify!($($generic)*),
                name: stringify!($name),
                parameters: stringify!($($arg: $ty),*),
                result: stringify!($out),
            },
        )*];
        builtin! { $([$($generic)*] $of: $name($this $(, $arg: $ty)*) -> $out = $body;)* }
    };
    ($([$($generic:tt)*] $of:ty: $name:ident($this:ident $(, $arg:ident: $ty:ty)*) -> $out:ty = $body:expr;)*) => {$(
        // SAFETY: the IR defines the method of this name as this one, and it does not change its receiver.
        #[diagnostic::do_not_recommend]
        unsafe impl<$($generic)*> HasMethod<{ name_number(stringify!($name)) }> for $of {
            type Output = $out;
            const SOURCE: Option<(&'static EmittedSource, &'static [&'static Identity])> = None;
            const MUTATES: bool = false;
        }
        // SAFETY: as above.
        #[diagnostic::do_not_recommend]
        unsafe impl<$($generic)*> Method<{ name_number(stringify!($name)) }, ($($ty,)*)> for $of {
            #[cfg_attr(debug_assertions, inline)]
            #[cfg_attr(not(debug_assertions), inline(always))]
            #[track_caller]
            fn call(this: &mut Self, ($($arg,)*): ($($ty,)*)) -> $out {
                let $this = *this;
                $body
            }
        }
        // SAFETY: as above.
        #[diagnostic::do_not_recommend]
        unsafe impl<$($generic)*> Function<{ name_number(stringify!($name)) }, (Self, $($ty,)*)> for $of {
            #[cfg_attr(debug_assertions, inline)]
            #[cfg_attr(not(debug_assertions), inline(always))]
            #[track_caller]
            fn call(($this, $($arg,)*): (Self, $($ty,)*)) -> $out {
                $body
            }
        }
    )*};
}

/// Built-in methods of numbers that call the standard library's method of the same name.
macro_rules! from_std {
    ($table:ident: [$($number:ident)*] $methods:tt) => {
        const $table: &[Builtin] = table!(concat!($(stringify!($number), " "),*), $methods);
        $( from_std!(one $number $methods); )*
    };
    (one $number:ident {$($name:ident($($arg:ident: $ty:ty),*) -> $out:ty;)*}) => {
        builtin! {$( [] $number: $name(this $(, $arg: $ty)*) -> $out = $number::$name(this $(, $arg)*); )*}
    };
}

from_std! { FLOATS_AS_STD: [f32 f64] {
    abs() -> Self; sqrt() -> Self; floor() -> Self; ceil() -> Self; round() -> Self; round_ties_even() -> Self; trunc() -> Self;
    fract() -> Self; recip() -> Self; signum() -> Self; to_radians() -> Self; to_degrees() -> Self;
    copysign(sign: Self) -> Self; mul_add(factor: Self, add: Self) -> Self;
    div_euclid(by: Self) -> Self; rem_euclid(by: Self) -> Self; midpoint(other: Self) -> Self;
    is_nan() -> bool; is_finite() -> bool; is_infinite() -> bool; is_sign_negative() -> bool;
    is_sign_positive() -> bool;
} }

from_std! { HALVES: [f16] {
    signum() -> Self; copysign(sign: Self) -> Self; is_nan() -> bool; is_finite() -> bool; is_infinite() -> bool;
    is_sign_negative() -> bool; is_sign_positive() -> bool; to_bits() -> u16;
} }

from_std! { INTEGERS_AS_STD: [i8 i16 i32 i64 isize u8 u16 u32 u64 usize] {
    wrapping_add(other: Self) -> Self; wrapping_sub(other: Self) -> Self; wrapping_mul(other: Self) -> Self;
    wrapping_neg() -> Self; wrapping_shl(count: u32) -> Self; wrapping_shr(count: u32) -> Self;
    saturating_add(other: Self) -> Self; saturating_sub(other: Self) -> Self; rotate_left(count: u32) -> Self;
    rotate_right(count: u32) -> Self; swap_bytes() -> Self; reverse_bits() -> Self; count_ones() -> u32;
    count_zeros() -> u32; leading_ones() -> u32; leading_zeros() -> u32; trailing_ones() -> u32;
    trailing_zeros() -> u32; midpoint(other: Self) -> Self;
    pow(exponent: u32) -> Self;
} }

from_std! { SIGNED: [i8 i16 i32 i64 isize] {
    abs() -> Self; signum() -> Self; is_positive() -> bool; is_negative() -> bool;
} }

from_std! { UNSIGNED_AS_STD: [u8 u16 u32 u64 usize] { is_power_of_two() -> bool; is_multiple_of(by: Self) -> bool; } }

/// Built-in methods of numbers with a definition of their own.
macro_rules! defined_here {
    ($table:ident: [$($number:ident)*] $methods:tt) => {
        const $table: &[Builtin] = table!(concat!($(stringify!($number), " "),*), $methods);
        $( defined_here!(one $number $methods); )*
    };
    (one $number:ident {$($name:ident($this:ident $(, $arg:ident: $ty:ty)*) -> $out:ty = $body:expr;)*}) => {
        builtin! {$( [] $number: $name($this $(, $arg: $ty)*) -> $out = $body; )*}
    };
}

defined_here! { FLOATS: [f32 f64] {
    min(this, other: Self) -> Self = this.minimum_number(other);
    max(this, other: Self) -> Self = this.maximum_number(other);
    powi(this, exponent: i32) -> Self = this.power(exponent);
    clamp(this, low: Self, high: Self) -> Self = clamped(this, low, high);
    cbrt(this) -> Self = Elementary::cbrt(this);
    sin(this) -> Self = Elementary::sin(this);
    cos(this) -> Self = Elementary::cos(this);
    sin_cos(this) -> (Self, Self) = Elementary::sin_cos(this);
    tan(this) -> Self = Elementary::tan(this);
    asin(this) -> Self = Elementary::asin(this);
    acos(this) -> Self = Elementary::acos(this);
    atan(this) -> Self = Elementary::atan(this);
    sinh(this) -> Self = Elementary::sinh(this);
    cosh(this) -> Self = Elementary::cosh(this);
    tanh(this) -> Self = Elementary::tanh(this);
    asinh(this) -> Self = Elementary::asinh(this);
    acosh(this) -> Self = Elementary::acosh(this);
    atanh(this) -> Self = Elementary::atanh(this);
    exp(this) -> Self = Elementary::exp(this);
    exp2(this) -> Self = Elementary::exp2(this);
    exp_m1(this) -> Self = Elementary::exp_m1(this);
    ln(this) -> Self = Elementary::ln(this);
    ln_1p(this) -> Self = Elementary::ln_1p(this);
    log(this, base: Self) -> Self = Elementary::log(this, base);
    log2(this) -> Self = Elementary::log2(this);
    log10(this) -> Self = Elementary::log10(this);
    atan2(this, x: Self) -> Self = Elementary::atan2(this, x);
    hypot(this, other: Self) -> Self = Elementary::hypot(this, other);
    powf(this, exponent: Self) -> Self = Elementary::powf(this, exponent);
    total_cmp(this, other: Self) -> Ordering = this.total_cmp(&other);
} }

defined_here! { INTEGERS: [i8 i16 i32 i64 isize u8 u16 u32 u64 usize] {
    min(this, other: Self) -> Self = Ord::min(this, other);
    max(this, other: Self) -> Self = Ord::max(this, other);
    clamp(this, low: Self, high: Self) -> Self = clamped(this, low, high);
    cmp(this, other: Self) -> Ordering = Ord::cmp(&this, &other);
    // 2^32 - 1 if there is no logarithm.
    ilog2(this) -> u32 = this.checked_ilog2().unwrap_or(u32::MAX);
    // As `/` and `%`: a zero divisor is a device error, and overflow wraps.
    div_euclid(this, by: Self) -> Self = this.div_euclid(divisor_of(&this, by));
    rem_euclid(this, by: Self) -> Self = this.rem_euclid(divisor_of(&this, by));
} }

defined_here! { SIGNED_ROOT: [i8 i16 i32 i64 isize] {
    // 0 if there is no root.
    isqrt(this) -> Self = this.checked_isqrt().unwrap_or(0);
} }

defined_here! { UNSIGNED: [u8 u16 u32 u64 usize] {
    isqrt(this) -> Self = this.isqrt();
    // Overflow wraps.
    next_power_of_two(this) -> Self = this.checked_next_power_of_two().unwrap_or(0);
    next_multiple_of(this, by: Self) -> Self = match this % divisor_of(&this, by) {
        0 => this,
        rest => this.wrapping_add(by - rest),
    };
    div_ceil(this, by: Self) -> Self = this.div_ceil(divisor_of(&this, by));
} }

builtin! {
    OTHERS:
    [] i8: abs_diff(this, other: Self) -> u8 = this.abs_diff(other);
    [] i16: abs_diff(this, other: Self) -> u16 = this.abs_diff(other);
    [] i32: abs_diff(this, other: Self) -> u32 = this.abs_diff(other);
    [] i64: abs_diff(this, other: Self) -> u64 = this.abs_diff(other);
    [] isize: abs_diff(this, other: Self) -> usize = this.abs_diff(other);
    [] u8: abs_diff(this, other: Self) -> u8 = this.abs_diff(other);
    [] u16: abs_diff(this, other: Self) -> u16 = this.abs_diff(other);
    [] u32: abs_diff(this, other: Self) -> u32 = this.abs_diff(other);
    [] u64: abs_diff(this, other: Self) -> u64 = this.abs_diff(other);
    [] usize: abs_diff(this, other: Self) -> usize = this.abs_diff(other);
    [] i8: unsigned_abs(this) -> u8 = this.unsigned_abs();
    [] i16: unsigned_abs(this) -> u16 = this.unsigned_abs();
    [] i32: unsigned_abs(this) -> u32 = this.unsigned_abs();
    [] i64: unsigned_abs(this) -> u64 = this.unsigned_abs();
    [] isize: unsigned_abs(this) -> usize = this.unsigned_abs();
    [] f32: to_bits(this) -> u32 = this.to_bits();
    [] f64: to_bits(this) -> u64 = this.to_bits();

    [] Ordering: is_eq(this) -> bool = this.is_eq();
    [] Ordering: is_ne(this) -> bool = this.is_ne();
    [] Ordering: is_lt(this) -> bool = this.is_lt();
    [] Ordering: is_gt(this) -> bool = this.is_gt();
    [] Ordering: is_le(this) -> bool = this.is_le();
    [] Ordering: is_ge(this) -> bool = this.is_ge();
    [] Ordering: reverse(this) -> Self = this.reverse();
    [] Ordering: then(this, other: Self) -> Self = this.then(other);

    [T: KernelValue, const N: usize] [T; N]: len(_this) -> usize = N;
    [T: Element, const N: usize] Vector<T, N>: len(_this) -> usize = N;
    [T: Element + Mul<Output = T> + Add<Output = T>, const N: usize]
        Vector<T, N>: dot(this, other: Self) -> T = this.dot(other);
    [T: Element + Mul<Output = T> + Add<Output = T>, const N: usize]
        Vector<T, N>: norm_squared(this) -> T = this.norm_squared();
    [T: Element + Mul<Output = T> + Add<Output = T>, const N: usize]
        Vector<T, N>: sum(this) -> T = this.sum();
    [T: Element + Mul<Output = T> + Add<Output = T>, const N: usize]
        Vector<T, N>: component_mul(this, other: Self) -> Self = this.component_mul(other);
    [T: Combine, const N: usize] Vector<T, N>: min(this, other: Self) -> Self = this.min(other);
    [T: Combine, const N: usize] Vector<T, N>: max(this, other: Self) -> Self = this.max(other);
    [T: Float, const N: usize] Vector<T, N>: norm(this) -> T = this.norm();
    [T: Float, const N: usize] Vector<T, N>: normalized(this) -> Self = this.normalized();
    [T: Element + Mul<Output = T> + Sub<Output = T>]
        Vector<T, 3>: cross(this, other: Self) -> Self = this.cross(other);
    [T: Signed, const R: usize, const C: usize]
        Matrix<T, R, C>: transpose(this) -> Matrix<T, C, R> = this.transpose();
    [T: Signed, const N: usize] Matrix<T, N, N>: trace(this) -> T = this.trace();
    [T: Signed] Matrix<T, 2, 2>: determinant(this) -> T = this.determinant();
    [T: Signed] Matrix<T, 3, 3>: determinant(this) -> T = this.determinant();
    [T: Signed] Matrix<T, 4, 4>: determinant(this) -> T = this.determinant();
    [T: Signed] Matrix<T, 2, 2>: inverse(this) -> Self = this.inverse();
    [T: Signed] Matrix<T, 3, 3>: inverse(this) -> Self = this.inverse();
    [T: Signed] Matrix<T, 4, 4>: inverse(this) -> Self = this.inverse();
}

/// Implements [`HasMethod`] and [`Function`] for built-in associated functions.
macro_rules! functions {
    ($table:ident: $([$($generic:tt)*] $of:ty: $name:ident($($arg:ident: $ty:ty),*);)*) => {
        /// All built-in associated functions.
        pub const $table: &[Builtin] = &[$(
            Builtin {
                of: stringify!($of),
                generics: stringify!($($generic)*),
                name: stringify!($name),
                parameters: stringify!($($arg: $ty),*),
                result: "Self",
            },
        )*];
        $(
        // SAFETY: the IR defines the function of this name as this one.
        #[diagnostic::do_not_recommend]
        unsafe impl<$($generic)*> HasMethod<{ name_number(stringify!($name)) }> for $of {
            type Output = Self;
            const SOURCE: Option<(&'static EmittedSource, &'static [&'static Identity])> = None;
            const MUTATES: bool = false;
        }
        // SAFETY: as above.
        #[diagnostic::do_not_recommend]
        unsafe impl<$($generic)*> Function<{ name_number(stringify!($name)) }, ($($ty,)*)> for $of {
            #[cfg_attr(debug_assertions, inline)]
            #[cfg_attr(not(debug_assertions), inline(always))]
            fn call(($($arg,)*): ($($ty,)*)) -> Self {
                Self::$name($($arg),*)
            }
        }
        )*
    };
}

functions! {
    BUILTIN_FUNCTIONS:
    [] f16: from_bits(bits: u16);
    [] f32: from_bits(bits: u32);
    [] f64: from_bits(bits: u64);
    [T: Element, const N: usize] Vector<T, N>: splat(value: T);
    [T: Element, const N: usize] Vector<T, N>: zero();
    [T: Signed, const R: usize, const C: usize] Matrix<T, R, C>: zero();
    [T: Signed, const N: usize] Matrix<T, N, N>: identity();
    [T: Signed, const N: usize] Matrix<T, N, N>: diagonal(value: T);
}
