//! Powers, roots and distances.

use super::{exponential::exp2, logarithm::log2};

#[cfg_attr(debug_assertions, inline)]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn cbrt(x: f64) -> f64 {
    exp2(log2(x.abs()) * (1.0 / 3.0)).copysign(x)
}

#[cfg_attr(debug_assertions, inline)]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn hypot(x: f64, y: f64) -> f64 {
    // Squares of `f32` are exact and normal as `f64`.
    let value = (x * x + y * y).sqrt();
    // Also if the other one is NaN.
    if x.abs() == f64::INFINITY || y.abs() == f64::INFINITY { f64::INFINITY } else { value }
}

#[cfg_attr(debug_assertions, inline)]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn powf(x: f64, exponent: f32) -> f64 {
    let size = x.abs();
    // The error of the logarithm, 7e-16, becomes one of the product's size, at most 150.
    let value = exp2(log2(size) * f64::from(exponent));
    // Numbers from 2^24 are even integers.
    let is_large = exponent.abs() >= 16_777_216.0;
    let integer = exponent as i32;
    let is_integer = is_large || integer as f32 == exponent;
    let is_odd = !is_large && is_integer && integer & 1 != 0;
    let value = if is_odd { value.copysign(x) } else { value };
    let has_no_value = x < 0.0 && size != f64::INFINITY && !is_integer;
    let value = if has_no_value { f64::NAN } else { value };
    let is_one = x == 1.0 || exponent == 0.0 || size == 1.0 && exponent.abs() == f32::INFINITY;
    if is_one { 1.0 } else { value }
}
