//! Method calls in kernels. One impl per method name and receiver type says both what the call is to the IR and what
//! it runs on the CPU, so that the two cannot resolve a call differently: neither asks for the methods that are in the
//! caller's scope.

use std::ops::{Add, Deref, Mul, Sub};

pub use quadrants_ir::source::Callee;
use quadrants_ir::types::name_number;

use super::{Probe, divisor_of, element_ref::ElementRef, failure::opaque};
use crate::{Element, Float, KernelValue, Matrix, Number, Signed, Vector, f16};

/// A type with a method, or an associated function, that kernels can call: the one whose name has this number.
///
/// # Safety
/// Implement it by `#[func]` alone. `CALLEE` is the IR's side of what [`Method::call`] and [`Function::call`] do for
/// the same name; proofs that are made on the one are used by the other. `MUTATES` is true where that changes its
/// receiver.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no such method in kernels",
    label = "no method or function that kernels can call",
    note = "kernels have methods of numbers, arrays, `Vector` and `Matrix`, and those of `impl` blocks with `#[func]`; \
            a type parameter has those of its bounds (`Number`, `Signed`, `Float`, `Int`, or a trait with `#[func]`)"
)]
pub unsafe trait HasMethod<const NAME: u64> {
    /// The type of its value.
    type Output;

    /// What a call of it is to the IR.
    const CALLEE: Callee;

    /// Whether it takes `&mut self`.
    const MUTATES: bool;

    /// Depends on the source, so that what is wrong with the method is said of it alone: see
    /// [`gate`](super::gate).
    const OK: bool = {
        let _ = Self::CALLEE;
        true
    };

    /// What a call of it is to the IR.
    #[must_use]
    fn callee() -> Callee {
        Self::CALLEE
    }
}

/// The method of this name, called with arguments of these types, a tuple.
///
/// # Safety
/// As [`HasMethod`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no such method in kernels, with these arguments",
    label = "no method that kernels can call"
)]
pub unsafe trait Method<const NAME: u64, Args>: HasMethod<NAME> {
    /// Calls it.
    #[track_caller]
    fn call(this: &mut Self, args: Args) -> Self::Output;
}

/// The associated function of this name, called with arguments of these types, a tuple. A method is one too, whose
/// first argument is the receiver.
///
/// # Safety
/// As [`HasMethod`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no such function in kernels, with these arguments",
    label = "no function that kernels can call"
)]
pub unsafe trait Function<const NAME: u64, Args>: HasMethod<NAME> {
    /// Calls it.
    #[track_caller]
    fn call(args: Args) -> Self::Output;
}

/// Proof that a type was emitted beside a func of the same name.
///
/// # Safety
/// Implement it by `#[func]` alone: the type's associated functions are the func's source and body.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no func",
    label = "kernels call functions with `#[func]` alone"
)]
pub unsafe trait Func {
    /// Says that it is one.
    const IS: () = ();
}

/// Calls a method on a value, which it must not change: a change would be lost.
#[inline(always)]
#[track_caller]
pub fn call<const NAME: u64, T: Method<NAME, A>, A>(mut this: T, args: A) -> T::Output {
    const {
        assert!(!T::MUTATES, "a method that takes `&mut self` is called on a local or an element");
    }
    T::call(&mut this, args)
}

/// Calls an associated function of the type that a pattern is of.
#[inline(always)]
#[track_caller]
pub fn call_associated<const NAME: u64, T: Function<NAME, A>, A>(_of: fn(T), args: A) -> T::Output {
    T::call(args)
}

/// Calls a method on a copy of its receiver, which [`write_back`] and [`write_back_local`] may write back.
#[inline(always)]
#[track_caller]
pub fn call_in_place<const NAME: u64, T: Method<NAME, A>, A>(this: &mut T, args: A) -> T::Output {
    T::call(this, args)
}

/// Reads the receiver of a method once more, where the method changes it where it is: its arguments come before.
#[inline(always)]
pub fn reload_receiver<const NAME: u64, T: HasMethod<NAME>>(receiver: &mut T, now: T) {
    if T::MUTATES {
        *receiver = now;
    }
}

/// Puts the receiver of a method back to the element that it came from, where the method may have changed it.
#[inline(always)]
pub fn write_back<const NAME: u64, T: HasMethod<NAME> + KernelValue>(
    place: ElementRef<T>,
    receiver: T,
) {
    if T::MUTATES {
        place.write(receiver);
    }
}

/// Puts the receiver of a method back to the local that it came from, where the method may have changed it.
#[inline(always)]
pub fn write_back_local<const NAME: u64, T: HasMethod<NAME>>(local: &mut T, receiver: T) {
    if T::MUTATES {
        *local = receiver;
    }
}

/// What a call of a method of the type that a probe found is to the IR. What rustc found the call to give, in the copy that
/// is never called, is of the type that the method gives: so that both speak of the same types from there on.
#[must_use]
pub const fn method_of<const NAME: u64, T: HasMethod<NAME, Output = R>, R>(
    _receiver: &Probe<T>,
    _result: &Probe<R>,
) -> fn() -> Callee {
    T::callee
}

/// As [`method_of`], of a function of the type `T`.
#[must_use]
pub const fn function_of<const NAME: u64, T: HasMethod<NAME, Output = R>, R>(
    _result: &Probe<R>,
) -> fn() -> Callee {
    T::callee
}

/// A struct that derives `KernelValue` must not implement `Deref`: where a field is private, `value.field` could mean the
/// target's. This impl overlaps with the one that the derive emits for such a struct.
pub trait ValuesDoNotDeref {}

impl<T: Deref> ValuesDoNotDeref for T {}

/// The conversions that `f16` has too, which is no [`Number`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no conversion of this name in kernels",
    label = "not a number",
    note = "numbers have conversions; a type parameter is one by `T: Number`, `Float` or `Int`"
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

/// `a == b` in kernels: of numbers as theirs is, of aggregates by their numbers. A user's `PartialEq` is not asked.
#[inline(always)]
#[must_use]
pub fn equal<T: KernelValue>(a: T, b: T) -> bool {
    a.kernel_eq(b)
}

/// The built-in methods of types: an impl of [`HasMethod`], [`Method`] and [`Function`] each.
macro_rules! builtin {
    ($([$($generic:tt)*] $of:ty: $name:ident($this:ident $(, $arg:ident: $ty:ty)*) -> $out:ty = $body:expr;)*) => {$(
        // SAFETY: the IR's method of this name is defined to be this one, and neither changes its receiver.
        #[diagnostic::do_not_recommend]
        unsafe impl<$($generic)*> HasMethod<{ name_number(stringify!($name)) }> for $of {
            type Output = $out;
            const CALLEE: Callee = Callee::Builtin;
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

/// The built-in methods of each of some numbers, by their own definition.
macro_rules! of_numbers {
    ([$($number:ident)*] $methods:tt) => {$( of_numbers!(one $number $methods); )*};
    (one $number:ident {$($name:ident($($arg:ident: $ty:ty),*) -> $out:ty;)*}) => {
        builtin! {$( [] $number: $name(this $(, $arg: $ty)*) -> $out = $number::$name(this $(, $arg)*); )*}
    };
}

of_numbers! { [f32 f64] {
    abs() -> Self; sqrt() -> Self; floor() -> Self; ceil() -> Self; round() -> Self; trunc() -> Self;
    fract() -> Self; recip() -> Self; signum() -> Self; to_radians() -> Self; to_degrees() -> Self;
    powi(exponent: i32) -> Self; min(other: Self) -> Self; max(other: Self) -> Self;
    copysign(sign: Self) -> Self; mul_add(factor: Self, add: Self) -> Self; rem_euclid(by: Self) -> Self;
    is_nan() -> bool; is_finite() -> bool; is_infinite() -> bool; is_sign_negative() -> bool;
    is_sign_positive() -> bool;
} }

of_numbers! { [f16] {
    signum() -> Self; copysign(sign: Self) -> Self; is_nan() -> bool; is_finite() -> bool; is_infinite() -> bool;
    is_sign_negative() -> bool; is_sign_positive() -> bool; to_bits() -> u16;
} }

of_numbers! { [i8 i16 i32 i64 u8 u16 u32 u64 usize] {
    wrapping_add(other: Self) -> Self; wrapping_sub(other: Self) -> Self; wrapping_mul(other: Self) -> Self;
    wrapping_neg() -> Self; wrapping_shl(count: u32) -> Self; wrapping_shr(count: u32) -> Self;
    saturating_add(other: Self) -> Self; saturating_sub(other: Self) -> Self; rotate_left(count: u32) -> Self;
    rotate_right(count: u32) -> Self; count_ones() -> u32; leading_zeros() -> u32; trailing_zeros() -> u32;
    pow(exponent: u32) -> Self;
} }

of_numbers! { [i8 i16 i32 i64] {
    abs() -> Self; signum() -> Self; is_positive() -> bool; is_negative() -> bool;
} }

of_numbers! { [u8 u16 u32 u64 usize] { is_power_of_two() -> bool; } }

/// The built-in methods that are defined here.
macro_rules! of_each {
    ([$($number:ident)*] $methods:tt) => {$( of_each!(one $number $methods); )*};
    (one $number:ident {$($name:ident($this:ident $(, $arg:ident: $ty:ty)*) -> $out:ty = $body:expr;)*}) => {
        builtin! {$( [] $number: $name($this $(, $arg: $ty)*) -> $out = $body; )*}
    };
}

of_each! { [f32 f64] {
    clamp(this, low: Self, high: Self) -> Self = super::clamped(this, low, high);
    // What LLVM computes ahead of constants can differ in the last bit from what the library gives at run time.
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

of_each! { [i8 i16 i32 i64 u8 u16 u32 u64 usize] {
    min(this, other: Self) -> Self = Ord::min(this, other);
    max(this, other: Self) -> Self = Ord::max(this, other);
    clamp(this, low: Self, high: Self) -> Self = super::clamped(this, low, high);
    // As `/` and `%`: a divisor of zero is a device error, and what does not fit wraps.
    rem_euclid(this, by: Self) -> Self = this.rem_euclid(divisor_of(&this, by));
} }

of_each! { [u8 u16 u32 u64 usize] {
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

/// The built-in functions of types.
macro_rules! functions {
    ($([$($generic:tt)*] $of:ty: $name:ident($($arg:ident: $ty:ty),*);)*) => {$(
        // SAFETY: the IR's function of this name is defined to be this one.
        #[diagnostic::do_not_recommend]
        unsafe impl<$($generic)*> HasMethod<{ name_number(stringify!($name)) }> for $of {
            type Output = Self;
            const CALLEE: Callee = Callee::Builtin;
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
