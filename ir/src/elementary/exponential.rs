//! Powers of two and of e, and hyperbolic functions.

use std::f64::consts::LOG2_E;

use super::nearest;

/// `2^k`, and `2^r - 1` for the rest `r` of the exponent, where `x = k + r`. The exponent is limited to ±400, whose
/// powers are 0 and infinite as `f32`.
#[cfg_attr(debug_assertions, inline)]
#[cfg_attr(not(debug_assertions), inline(always))]
fn split(x: f64) -> (f64, f64) {
    // Comparisons that keep NaN.
    let x = if x > 400.0 { 400.0 } else { x };
    let x = if x < -400.0 { -400.0 } else { x };
    let (whole, bits) = nearest(x);
    let rest = x - whole;
    let scale = f64::from_bits(bits.wrapping_add(1023) << 52);
    // (2^r - 1) / r in ±1/2, relative error 4.5e-12.
    let quotient = polynomial!(
        rest,
        [
            0.693_147_180_556_876_6,
            0.240_226_506_964_891_65,
            5.550_410_906_006_919e-2,
            9.618_128_942_528_904e-3,
            1.333_347_881_424_188_2e-3,
            1.540_362_959_049_196_8e-4,
            1.530_360_984_007_859_5e-5,
            1.321_547_685_766_559e-6,
        ],
    );
    (scale, rest * quotient)
}

/// `2^x`
#[cfg_attr(debug_assertions, inline)]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn exp2(x: f64) -> f64 {
    let (scale, rest) = split(x);
    scale * rest + scale
}

/// `e^x`
#[cfg_attr(debug_assertions, inline)]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn exp(x: f64) -> f64 {
    exp2(x * LOG2_E)
}

/// `e^x - 1`
#[cfg_attr(debug_assertions, inline)]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn exp_m1(x: f64) -> f64 {
    let (scale, rest) = split(x * LOG2_E);
    let value = scale * rest + (scale - 1.0);
    // For the sign of a zero.
    if x == 0.0 { x } else { value }
}

#[cfg_attr(debug_assertions, inline)]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn sinh(x: f64) -> f64 {
    let less = exp_m1(x.abs());
    (0.5 * (less + less / (less + 1.0))).copysign(x)
}

#[cfg_attr(debug_assertions, inline)]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn cosh(x: f64) -> f64 {
    let power = exp(x.abs());
    0.5 * (power + 1.0 / power)
}

#[cfg_attr(debug_assertions, inline)]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn tanh(x: f64) -> f64 {
    let less = exp_m1(2.0 * x.abs());
    (less / (less + 2.0)).copysign(x)
}
