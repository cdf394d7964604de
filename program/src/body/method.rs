//! Method calls in kernels.
//!
//! One impl per method name and receiver type defines both what a call is in the IR and what it runs on the CPU. So IR
//! and CPU body cannot resolve a call differently: neither depends on the traits in the caller's scope.

use std::ops::{Add, Deref, Mul, Sub};

pub use quadrants_ir::source::Callee;
use quadrants_ir::source::Source;
use quadrants_ir::types::name_number;

use super::{
    Arguments, Probe, SiteTable, check_site, divisor_of, element_ref::ElementRef, failure::opaque,
};
use crate::{Element, Float, KernelValue, Matrix, Number, Signed, Vector, f16};

/// A type with a method or associated function that kernels can call. `NAME` is the number of its name.
///
/// # Safety
/// Implement it by `#[func]` alone. `SOURCE` is the IR's side of what [`Method::call`] and [`Function::call`] do for
/// the same name; proofs that are made on the one are used by the other. `MUTATES` is true where that changes its
/// receiver.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no such method in kernels",
    label = "not a method or function that kernels can call",
    note = "kernels have methods of numbers, arrays, `Vector` and `Matrix`, and those of `impl` blocks with `#[func]`; \
            a type parameter has those of its bounds (`Number`, `Signed`, `Float`, `Int`, or a trait with `#[func]`)"
)]
pub unsafe trait HasMethod<const NAME: u64> {
    /// The type of the result.
    type Output;

    /// The source of a func, and its table of [sites](super::SiteTable); none of what is built in.
    const SOURCE: Option<(&'static Source, &'static [u128])>;

    /// What a call of it is to the IR.
    const CALLEE: Callee = match Self::SOURCE {
        Some((source, _)) => Callee::Func(source),
        None => Callee::Builtin,
    };

    /// The identities of the types at its sites.
    const IDENTITIES: &'static [u128] = match Self::SOURCE {
        Some((_, identities)) => identities,
        None => &[],
    };

    /// Whether the method takes `&mut self`.
    const MUTATES: bool;

    /// Evaluates the source of the method, so that an error in the method is reported only there: see
    /// [`gate`](super::gate).
    const OK: bool = {
        let _ = Self::CALLEE;
        true
    };

    /// What a call is in the IR; a function of [`CALLEE`](Self::CALLEE).
    #[must_use]
    fn callee() -> Callee {
        Self::CALLEE
    }
}

/// A method, for arguments of the types in the tuple `Args`.
///
/// # Safety
/// As [`HasMethod`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no such method in kernels, with these arguments",
    label = "not a method that kernels can call"
)]
pub unsafe trait Method<const NAME: u64, Args>: HasMethod<NAME> {
    /// Calls the method.
    #[track_caller]
    fn call(this: &mut Self, args: Args) -> Self::Output;
}

/// An associated function, for arguments of the types in the tuple `Args`. A method is one too; its first argument is
/// the receiver.
///
/// # Safety
/// As [`HasMethod`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no such function in kernels, with these arguments",
    label = "not a function that kernels can call"
)]
pub unsafe trait Function<const NAME: u64, Args>: HasMethod<NAME> {
    /// Calls the function.
    #[track_caller]
    fn call(args: Args) -> Self::Output;
}

/// Implemented by the type that `#[func]` emits under the name of a func.
///
/// # Safety
/// Only `#[func]` may implement it: the type's associated functions must be the func's source and body.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a func",
    label = "kernels can call only functions with `#[func]`"
)]
pub unsafe trait Func {
    /// Referenced by callers to require the implementation.
    const IS: () = ();
}

/// Calls a method on a value that is not a local or element. The method must not take `&mut self`: the change would be
/// lost.
#[inline(always)]
#[track_caller]
pub fn call<const NAME: u64, T: Method<NAME, A>, A>(mut this: T, args: A) -> T::Output {
    const {
        assert!(
            !T::MUTATES,
            "a method that takes `&mut self` must be called on a local or an element"
        );
    }
    T::call(&mut this, args)
}

/// Calls an associated function of the type `T`, which a pattern identifies.
#[inline(always)]
#[track_caller]
pub fn call_associated<const NAME: u64, T: Function<NAME, A>, A>(_of: fn(T), args: A) -> T::Output {
    T::call(args)
}

/// Calls an associated function of a type whose argument types are those at a site.
#[inline(always)]
#[track_caller]
pub fn function<const NAME: u64, T, A, S, const IX: usize>(args: A) -> T::Output
where
    T: Function<NAME, A>,
    A: Arguments,
    S: SiteTable,
{
    const { check_site::<S, IX>(A::TYPE_IDENTITY) }
    T::call(args)
}

/// Calls a method on a copy of its receiver, which [`write_back`] or [`write_back_local`] stores afterwards.
#[inline(always)]
#[track_caller]
pub fn call_in_place<const NAME: u64, T: Method<NAME, A>, A>(this: &mut T, args: A) -> T::Output {
    T::call(this, args)
}

/// Reads the receiver again after the arguments were evaluated, if the method changes it in place.
#[inline(always)]
pub fn reload_receiver<const NAME: u64, T: HasMethod<NAME>>(receiver: &mut T, now: T) {
    if T::MUTATES {
        *receiver = now;
    }
}

/// Writes the receiver of a method back to its element, if the method takes `&mut self`.
#[inline(always)]
pub fn write_back<const NAME: u64, T: HasMethod<NAME> + KernelValue>(
    element: ElementRef<T>,
    receiver: T,
) {
    if T::MUTATES {
        element.write(receiver);
    }
}

/// Writes the receiver of a method back to its local, if the method takes `&mut self`.
#[inline(always)]
pub fn write_back_local<const NAME: u64, T: HasMethod<NAME>>(local: &mut T, receiver: T) {
    if T::MUTATES {
        *local = receiver;
    }
}

/// What a method call is in the IR, for the receiver type that a probe inferred. It also requires that the type rustc
/// inferred for the call's result is the method's output type, so that IR and rustc agree on all types that depend on
/// it.
#[must_use]
pub const fn method_of<const NAME: u64, T: HasMethod<NAME, Output = R>, R>(
    _receiver: &Probe<T>,
    _result: &Probe<R>,
) -> fn() -> Callee {
    T::callee
}

/// As [`method_of`], of a function of the type `T`, with the identity of its arguments' types.
#[must_use]
pub const fn function_of<const NAME: u64, T, R, A: Arguments>(
    _result: &Probe<R>,
) -> (fn() -> Callee, u128)
where
    T: Function<NAME, A> + HasMethod<NAME, Output = R>,
{
    (T::callee, A::TYPE_IDENTITY)
}

/// Rejects structs that derive `KernelValue` and implement `Deref`: for a private field, `value.field` could mean a
/// field of the target. For such a struct, this impl overlaps with the one that the derive emits.
pub trait ValuesDoNotDeref {}

impl<T: Deref> ValuesDoNotDeref for T {}

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
    #[inline(always)]
    fn from_f32(value: f32) -> Self {
        f16::from_f32(value)
    }
    #[inline(always)]
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
    #[inline(always)]
    fn to_f32(self) -> f32 {
        Number::to_f32(self)
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        Number::to_f64(self)
    }
}

impl ToFloat for f16 {
    #[inline(always)]
    fn to_f32(self) -> f32 {
        f16::to_f32(self)
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f16::to_f64(self)
    }
}

/// `a == b` in kernels: compares scalars by `==`, and aggregates scalar by scalar. It ignores the user's `PartialEq`.
#[inline(always)]
#[must_use]
pub fn equal<T: KernelValue>(a: T, b: T) -> bool {
    a.kernel_eq(b)
}

/// Implements [`HasMethod`], [`Method`] and [`Function`] for built-in methods.
macro_rules! builtin {
    ($([$($generic:tt)*] $of:ty: $name:ident($this:ident $(, $arg:ident: $ty:ty)*) -> $out:ty = $body:expr;)*) => {$(
        // SAFETY: the IR defines the method of this name as this one, and it does not change its receiver.
        #[diagnostic::do_not_recommend]
        unsafe impl<$($generic)*> HasMethod<{ name_number(stringify!($name)) }> for $of {
            type Output = $out;
            const SOURCE: Option<(&'static Source, &'static [u128])> = None;
            const MUTATES: bool = false;
        }
        // SAFETY: as above.
        #[diagnostic::do_not_recommend]
        unsafe impl<$($generic)*> Method<{ name_number(stringify!($name)) }, ($($ty,)*)> for $of {
            #[inline(always)]
            #[track_caller]
            fn call(this: &mut Self, ($($arg,)*): ($($ty,)*)) -> $out {
                let $this = *this;
                $body
            }
        }
        // SAFETY: as above.
        #[diagnostic::do_not_recommend]
        unsafe impl<$($generic)*> Function<{ name_number(stringify!($name)) }, (Self, $($ty,)*)> for $of {
            #[inline(always)]
            #[track_caller]
            fn call(($this, $($arg,)*): (Self, $($ty,)*)) -> $out {
                $body
            }
        }
    )*};
}

/// Built-in methods of numbers that call the standard library's method of the same name.
macro_rules! from_std {
    ([$($number:ident)*] $methods:tt) => {$( from_std!(one $number $methods); )*};
    (one $number:ident {$($name:ident($($arg:ident: $ty:ty),*) -> $out:ty;)*}) => {
        builtin! {$( [] $number: $name(this $(, $arg: $ty)*) -> $out = $number::$name(this $(, $arg)*); )*}
    };
}

from_std! { [f32 f64] {
    abs() -> Self; sqrt() -> Self; floor() -> Self; ceil() -> Self; round() -> Self; trunc() -> Self;
    fract() -> Self; recip() -> Self; signum() -> Self; to_radians() -> Self; to_degrees() -> Self;
    powi(exponent: i32) -> Self; min(other: Self) -> Self; max(other: Self) -> Self;
    copysign(sign: Self) -> Self; mul_add(factor: Self, add: Self) -> Self; rem_euclid(by: Self) -> Self;
    is_nan() -> bool; is_finite() -> bool; is_infinite() -> bool; is_sign_negative() -> bool;
    is_sign_positive() -> bool;
} }

from_std! { [f16] {
    signum() -> Self; copysign(sign: Self) -> Self; is_nan() -> bool; is_finite() -> bool; is_infinite() -> bool;
    is_sign_negative() -> bool; is_sign_positive() -> bool; to_bits() -> u16;
} }

from_std! { [i8 i16 i32 i64 u8 u16 u32 u64 usize] {
    wrapping_add(other: Self) -> Self; wrapping_sub(other: Self) -> Self; wrapping_mul(other: Self) -> Self;
    wrapping_neg() -> Self; wrapping_shl(count: u32) -> Self; wrapping_shr(count: u32) -> Self;
    saturating_add(other: Self) -> Self; saturating_sub(other: Self) -> Self; rotate_left(count: u32) -> Self;
    rotate_right(count: u32) -> Self; count_ones() -> u32; leading_zeros() -> u32; trailing_zeros() -> u32;
    pow(exponent: u32) -> Self;
} }

from_std! { [i8 i16 i32 i64] {
    abs() -> Self; signum() -> Self; is_positive() -> bool; is_negative() -> bool;
} }

from_std! { [u8 u16 u32 u64 usize] { is_power_of_two() -> bool; } }

/// Built-in methods of numbers with a definition of their own.
macro_rules! defined_here {
    ([$($number:ident)*] $methods:tt) => {$( defined_here!(one $number $methods); )*};
    (one $number:ident {$($name:ident($this:ident $(, $arg:ident: $ty:ty)*) -> $out:ty = $body:expr;)*}) => {
        builtin! {$( [] $number: $name($this $(, $arg: $ty)*) -> $out = $body; )*}
    };
}

defined_here! { [f32 f64] {
    clamp(this, low: Self, high: Self) -> Self = super::clamped(this, low, high);
    // Opaque: what LLVM folds at compile time can differ in the last bit from the library's result at run time.
    cbrt(this) -> Self = opaque(this).cbrt();
    sin(this) -> Self = opaque(this).sin();
    cos(this) -> Self = opaque(this).cos();
    tan(this) -> Self = opaque(this).tan();
    asin(this) -> Self = opaque(this).asin();
    acos(this) -> Self = opaque(this).acos();
    atan(this) -> Self = opaque(this).atan();
    sinh(this) -> Self = opaque(this).sinh();
    cosh(this) -> Self = opaque(this).cosh();
    tanh(this) -> Self = opaque(this).tanh();
    exp(this) -> Self = opaque(this).exp();
    exp2(this) -> Self = opaque(this).exp2();
    ln(this) -> Self = opaque(this).ln();
    log2(this) -> Self = opaque(this).log2();
    log10(this) -> Self = opaque(this).log10();
    atan2(this, x: Self) -> Self = opaque(this).atan2(opaque(x));
    hypot(this, other: Self) -> Self = opaque(this).hypot(opaque(other));
    powf(this, exponent: Self) -> Self = opaque(this).powf(opaque(exponent));
} }

defined_here! { [i8 i16 i32 i64 u8 u16 u32 u64 usize] {
    min(this, other: Self) -> Self = Ord::min(this, other);
    max(this, other: Self) -> Self = Ord::max(this, other);
    clamp(this, low: Self, high: Self) -> Self = super::clamped(this, low, high);
    // As `/` and `%`: a zero divisor is a device error, and overflow wraps.
    rem_euclid(this, by: Self) -> Self = this.rem_euclid(divisor_of(&this, by));
} }

defined_here! { [u8 u16 u32 u64 usize] {
    div_ceil(this, by: Self) -> Self = this.div_ceil(divisor_of(&this, by));
} }

builtin! {
    [] i8: abs_diff(this, other: Self) -> u8 = this.abs_diff(other);
    [] i16: abs_diff(this, other: Self) -> u16 = this.abs_diff(other);
    [] i32: abs_diff(this, other: Self) -> u32 = this.abs_diff(other);
    [] i64: abs_diff(this, other: Self) -> u64 = this.abs_diff(other);
    [] u8: abs_diff(this, other: Self) -> u8 = this.abs_diff(other);
    [] u16: abs_diff(this, other: Self) -> u16 = this.abs_diff(other);
    [] u32: abs_diff(this, other: Self) -> u32 = this.abs_diff(other);
    [] u64: abs_diff(this, other: Self) -> u64 = this.abs_diff(other);
    [] usize: abs_diff(this, other: Self) -> usize = this.abs_diff(other);
    [] i8: unsigned_abs(this) -> u8 = this.unsigned_abs();
    [] i16: unsigned_abs(this) -> u16 = this.unsigned_abs();
    [] i32: unsigned_abs(this) -> u32 = this.unsigned_abs();
    [] i64: unsigned_abs(this) -> u64 = this.unsigned_abs();
    [] f32: to_bits(this) -> u32 = this.to_bits();
    [] f64: to_bits(this) -> u64 = this.to_bits();

    [T: KernelValue, const N: usize] [T; N]: len(_this) -> usize = N;
    [T: Element + Mul<Output = T> + Add<Output = T>, const N: usize]
        Vector<T, N>: dot(this, other: Self) -> T = this.dot(other);
    [T: Element + Mul<Output = T> + Add<Output = T>, const N: usize]
        Vector<T, N>: norm_squared(this) -> T = this.norm_squared();
    [T: Element + Mul<Output = T> + Add<Output = T>, const N: usize]
        Vector<T, N>: sum(this) -> T = this.sum();
    [T: Element + Mul<Output = T> + Add<Output = T>, const N: usize]
        Vector<T, N>: component_mul(this, other: Self) -> Self = this.component_mul(other);
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
    ($([$($generic:tt)*] $of:ty: $name:ident($($arg:ident: $ty:ty),*);)*) => {$(
        // SAFETY: the IR defines the function of this name as this one.
        #[diagnostic::do_not_recommend]
        unsafe impl<$($generic)*> HasMethod<{ name_number(stringify!($name)) }> for $of {
            type Output = Self;
            const SOURCE: Option<(&'static Source, &'static [u128])> = None;
            const MUTATES: bool = false;
        }
        // SAFETY: as above.
        #[diagnostic::do_not_recommend]
        unsafe impl<$($generic)*> Function<{ name_number(stringify!($name)) }, ($($ty,)*)> for $of {
            #[inline(always)]
            fn call(($($arg,)*): ($($ty,)*)) -> Self {
                Self::$name($($arg),*)
            }
        }
    )*};
}

functions! {
    [] f16: from_bits(bits: u16);
    [] f32: from_bits(bits: u32);
    [] f64: from_bits(bits: u64);
    [T: Element, const N: usize] Vector<T, N>: splat(value: T);
    [T: Element, const N: usize] Vector<T, N>: zero();
    [T: Signed, const R: usize, const C: usize] Matrix<T, R, C>: zero();
    [T: Signed, const N: usize] Matrix<T, N, N>: identity();
    [T: Signed, const N: usize] Matrix<T, N, N>: diagonal(value: T);
}
