//! Elementary functions of kernels on the CPU and in the interpreter: `sin`, `exp`, `powf`, ….
//!
//! For `f32` they are computed in `f64` by additions, multiplications, divisions, square roots and selections only, so
//! that LLVM vectorizes loops that call them. Calls of the C library would prevent that. Results differ from the exact
//! value by at most 0.502 units in the last place (ULP), those of `log` by 2.5, and are the same on every machine, at
//! every instruction level and in the interpreter. For `f64` they are the functions of std.
//!
//! The coefficients of the polynomials were computed with Sollya (`fpminimax`); see the functions for their ranges and
//! errors. Special values (zeros, infinities, NaNs) are those of std, that is of C's Annex F.

/// A polynomial by Estrin's scheme, from the constant coefficient to the last: less latency than Horner's rule.
macro_rules! polynomial {
    ($x:expr, [$($coefficient:expr),+ $(,)?] $(,)?) => {{
        let x: f64 = $x;
        let square = x * x;
        polynomial!(@quads x square square * square, $($coefficient),+)
    }};
    (@quads $x:ident $square:ident $fourth:expr, $a:expr, $b:expr, $c:expr, $d:expr, $($rest:expr),+) => {
        polynomial!(@up_to_four $x $square, $a, $b, $c, $d)
            + polynomial!(@up_to_four $x $square, $($rest),+) * ($fourth)
    };
    (@up_to_four $x:ident $square:ident, $a:expr, $b:expr, $c:expr, $d:expr) => {
        ($a + $b * $x) + ($c + $d * $x) * $square
    };
    (@up_to_four $x:ident $square:ident, $a:expr, $b:expr, $c:expr) => {
        ($a + $b * $x) + $c * $square
    };
    (@up_to_four $x:ident $square:ident, $a:expr, $b:expr) => {
        $a + $b * $x
    };
    (@up_to_four $x:ident $square:ident, $a:expr) => {
        $a
    };
}

mod exponential;
mod inverse;
mod logarithm;
mod power;
#[cfg(test)]
mod tests;
mod trigonometric;

use std::hint::black_box;

/// Elementary functions with one result for each argument, on every machine for `f32`.
///
/// The names are those of std. Call them as `Elementary::sin(x)`: methods of the primitive types take precedence.
#[allow(missing_docs)] // the functions of std
pub trait Elementary: Copy {
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
    fn cbrt(self) -> Self;
    fn hypot(self, other: Self) -> Self;
    fn powf(self, exponent: Self) -> Self;
}

/// Implements [`Elementary`] for `f32` by functions of `f64`, and for `f64` by those of std.
macro_rules! elementary {
    ($($name:ident($this:ident $(, $arg:ident)*) -> $out:ty = $in_f64:expr;)*) => {
        impl Elementary for f32 {$(
            #[cfg_attr(debug_assertions, inline)]
            #[cfg_attr(not(debug_assertions), inline(always))]
            fn $name(self $(, $arg: Self)*) -> $out {
                let $this = self;
                $in_f64
            }
        )*}
        // Opaque: LLVM would turn `x.powf(2.0)` into `x * x`, and fold calls with constant arguments, which differs in
        // the last bit from what the library's function returns.
        impl Elementary for f64 {$(
            #[inline(always)]
            fn $name(self $(, $arg: Self)*) -> $out {
                f64::$name(black_box(self) $(, black_box($arg))*)
            }
        )*}
    };
}

elementary! {
    sin(x) -> Self = trigonometric::sin_cos(x).0 as f32;
    cos(x) -> Self = trigonometric::sin_cos(x).1 as f32;
    sin_cos(x) -> (Self, Self) = {
        let (sin, cos) = trigonometric::sin_cos(x);
        (sin as f32, cos as f32)
    };
    tan(x) -> Self = trigonometric::tan(x) as f32;
    asin(x) -> Self = inverse::asin(x.into()) as f32;
    acos(x) -> Self = inverse::acos(x.into()) as f32;
    atan(x) -> Self = inverse::atan2(x.into(), 1.0) as f32;
    atan2(y, x) -> Self = inverse::atan2(y.into(), x.into()) as f32;
    sinh(x) -> Self = exponential::sinh(x.into()) as f32;
    cosh(x) -> Self = exponential::cosh(x.into()) as f32;
    tanh(x) -> Self = exponential::tanh(x.into()) as f32;
    asinh(x) -> Self = logarithm::asinh(x.into()) as f32;
    acosh(x) -> Self = logarithm::acosh(x.into()) as f32;
    atanh(x) -> Self = logarithm::atanh(x.into()) as f32;
    exp(x) -> Self = exponential::exp(x.into()) as f32;
    exp2(x) -> Self = exponential::exp2(x.into()) as f32;
    exp_m1(x) -> Self = exponential::exp_m1(x.into()) as f32;
    ln(x) -> Self = logarithm::ln(x.into()) as f32;
    ln_1p(x) -> Self = logarithm::ln_1p(x.into()) as f32;
    // As std defines it.
    log(x, base) -> Self = Elementary::ln(x) / Elementary::ln(base);
    log2(x) -> Self = logarithm::log2(x.into()) as f32;
    log10(x) -> Self = logarithm::log10(x.into()) as f32;
    cbrt(x) -> Self = power::cbrt(x.into()) as f32;
    hypot(x, other) -> Self = power::hypot(x.into(), other.into()) as f32;
    powf(x, exponent) -> Self = power::powf(x.into(), exponent) as f32;
}

/// `1.5 * 2^52`. A sum with it is rounded to an integer, which is in the low bits of the sum, in two's complement.
const ROUNDING: f64 = 6_755_399_441_055_744.0;

/// The nearest integer of a number below 2^51, and its low bits.
#[cfg_attr(debug_assertions, inline)]
#[cfg_attr(not(debug_assertions), inline(always))]
fn nearest(x: f64) -> (f64, u64) {
    let sum = x + ROUNDING;
    (sum - ROUNDING, sum.to_bits())
}
