//! Logarithms, and inverse hyperbolic functions.

use std::f64::consts::{LN_2, LOG2_E, LOG10_2, LOG10_E};

/// The bits of `sqrt(1/2)`, the smallest factor into which an argument is split.
const SMALLEST_FACTOR: u64 = 0x3fe6_a09e_667f_3bcd;

/// An exponent and a factor `m` in `[sqrt(1/2), sqrt(2))`, where `x = 2^k * m`, for positive and normal numbers.
#[cfg_attr(debug_assertions, inline)]
#[cfg_attr(not(debug_assertions), inline(always))]
fn split(x: f64) -> (f64, f64) {
    // The exponents of `f64` are below 2^11. Unsigned, because AVX2 shifts no signed 64-bit integers.
    const BIAS: u64 = 1 << 11;
    const TWO_POW_52: u64 = 0x4330_0000_0000_0000;
    let bits = x.to_bits();
    let exponent = (bits.wrapping_sub(SMALLEST_FACTOR).wrapping_add(BIAS << 52)) >> 52;
    let factor = f64::from_bits(bits.wrapping_sub(exponent << 52).wrapping_add(BIAS << 52));
    let exponent = f64::from_bits(TWO_POW_52 | exponent) - (4_503_599_627_370_496.0 + BIAS as f64);
    (exponent, factor)
}

/// The natural logarithm of `1 + x` for `1 + x` in `[sqrt(1/2), sqrt(2))`, relative error 7e-16.
#[cfg_attr(debug_assertions, inline)]
#[cfg_attr(not(debug_assertions), inline(always))]
fn near_one(x: f64) -> f64 {
    // ln(1 + x) = 2 atanh(s)
    let s = x / (2.0 + x);
    let square = s * s;
    let series = polynomial!(
        square,
        [
            0.666_666_666_666_620_6,
            0.400_000_000_112_618_1,
            0.285_714_241_219_321_2,
            0.222_228_639_563_784_9,
            0.181_401_243_464_232_06,
            0.166_228_193_405_821_46,
        ],
    );
    2.0 * s + s * (square * series)
}

/// The result of a logarithm whose argument is not positive and finite.
#[cfg_attr(debug_assertions, inline)]
#[cfg_attr(not(debug_assertions), inline(always))]
fn with_special_values(x: f64, value: f64) -> f64 {
    let value = if x == f64::INFINITY { x } else { value };
    let value = if x == 0.0 { f64::NEG_INFINITY } else { value };
    if x >= 0.0 { value } else { f64::NAN }
}

#[cfg_attr(debug_assertions, inline)]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn ln(x: f64) -> f64 {
    let (exponent, factor) = split(x);
    with_special_values(x, exponent * LN_2 + near_one(factor - 1.0))
}

#[cfg_attr(debug_assertions, inline)]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn log2(x: f64) -> f64 {
    let (exponent, factor) = split(x);
    with_special_values(x, exponent + near_one(factor - 1.0) * LOG2_E)
}

#[cfg_attr(debug_assertions, inline)]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn log10(x: f64) -> f64 {
    let (exponent, factor) = split(x);
    with_special_values(x, exponent * LOG10_2 + near_one(factor - 1.0) * LOG10_E)
}

/// `ln(1 + x)`
#[cfg_attr(debug_assertions, inline)]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn ln_1p(x: f64) -> f64 {
    let sum = 1.0 + x;
    let (exponent, factor) = split(sum);
    // The sum is rounded, which matters only near 1.
    let less = if exponent == 0.0 { x } else { factor - 1.0 };
    let value = with_special_values(sum, exponent * LN_2 + near_one(less));
    // For the sign of a zero.
    if x == 0.0 { x } else { value }
}

#[cfg_attr(debug_assertions, inline)]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn asinh(x: f64) -> f64 {
    let size = x.abs();
    let square = size * size;
    let less = size + square / (1.0 + (square + 1.0).sqrt());
    // An infinite argument gives a NaN above.
    let less = if size == f64::INFINITY { size } else { less };
    ln_1p(less).copysign(x)
}

#[cfg_attr(debug_assertions, inline)]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn acosh(x: f64) -> f64 {
    let less = x - 1.0;
    let value = ln_1p(less + (less * (x + 1.0)).sqrt());
    if x >= 1.0 { value } else { f64::NAN }
}

#[cfg_attr(debug_assertions, inline)]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn atanh(x: f64) -> f64 {
    0.5 * ln_1p(2.0 * x / (1.0 - x))
}
