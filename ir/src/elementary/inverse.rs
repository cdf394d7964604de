//! Inverse trigonometric functions.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

/// The angle of a point, from -π to π.
#[cfg_attr(debug_assertions, inline)]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn atan2(y: f64, x: f64) -> f64 {
    /// `tan(π/8)`
    const EIGHTH: f64 = 0.414_213_562_373_095_03;
    let (high, wide) = (y.abs(), x.abs());
    // The angle from the nearest of 0, π/4 and π/2 is at most π/8.
    let is_steep = high * EIGHTH > wide;
    let is_flat = high < wide * EIGHTH;
    let numerator = if is_flat { high } else { high - wide };
    let denominator = if is_flat { wide } else { high + wide };
    let numerator = if is_steep { -wide } else { numerator };
    let denominator = if is_steep { high } else { denominator };
    let base = if is_flat { 0.0 } else { FRAC_PI_4 };
    let base = if is_steep { FRAC_PI_2 } else { base };
    let tangent = numerator / denominator;
    // Of two infinities the angle is π/4, of two zeros 0.
    let tangent = if high == f64::INFINITY && wide == f64::INFINITY { 0.0 } else { tangent };
    let is_zero = high == 0.0 && wide == 0.0;
    let tangent = if is_zero { 0.0 } else { tangent };
    let base = if is_zero { 0.0 } else { base };
    let square = tangent * tangent;
    // (atan(t) / t - 1) / t^2 for t up to tan(π/8), relative error of atan 3e-12.
    let series = polynomial!(
        square,
        [
            -0.333_333_333_314_822_6,
            0.199_999_989_344_295_97,
            -0.142_856_136_626_690_57,
            0.111_075_234_893_893_84,
            -9.029_299_665_574_09e-2,
            7.136_951_991_402_146e-2,
            -4.046_366_737_531_542e-2,
        ],
    );
    let angle = base + (tangent + tangent * (square * series));
    let angle = if x.is_sign_negative() { PI - angle } else { angle };
    angle.copysign(y)
}

#[cfg_attr(debug_assertions, inline)]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn asin(x: f64) -> f64 {
    atan2(x, ((1.0 - x) * (1.0 + x)).sqrt())
}

#[cfg_attr(debug_assertions, inline)]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn acos(x: f64) -> f64 {
    atan2(((1.0 - x) * (1.0 + x)).sqrt(), x)
}
