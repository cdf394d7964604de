//! Sine, cosine and tangent.

use super::nearest;

/// `2/π`, without such multiples of 4 as only change a quarter turn by a multiple of 4, as a sum of three numbers: the
/// product of an `f32` and each of the first two is exact. The first row is for arguments below 2^48, and each of the
/// others for a range of a factor of 2^24. Arguments from 2^24 are integers, so that a multiple of 4 may be left out;
/// from 2^48, they are multiples of 2^24, and so on.
#[allow(clippy::excessive_precision)]
const TWO_OVER_PI: [[f64; 3]; 5] = [
    [0.6366197690367699, 3.3308114738561656e-09, 2.276010073078396e-18],
    [-3.392209180219652e-08, 2.937095537534198e-16, 2.8376220177865265e-25],
    [2.937095479631555e-16, 6.074026479468182e-24, 1.018166438749971e-32],
    [3.254380504578513e-23, 1.0455615999716603e-30, 2.5184173833409495e-39],
    [2.4711388756602014e-29, 2.51841727849303e-39, 1.04847919443423e-46],
];

/// The number of quarter turns of an angle, modulo 4, in the lowest bits, and the rest in quarter turns, in ±0.51.
#[cfg_attr(debug_assertions, inline)]
#[cfg_attr(not(debug_assertions), inline(always))]
fn reduce(x: f32) -> (u64, f64) {
    if x.abs() < 1_048_576.0 {
        let x = f64::from(x);
        let [row, ..] = TWO_OVER_PI;
        let first = x * row[0];
        let (whole, bits) = nearest(first);
        (bits, (first - whole) + (x * row[1] + x * row[2]))
    } else {
        reduce_large(x)
    }
}

#[cfg_attr(debug_assertions, inline)]
#[cfg_attr(not(debug_assertions), inline(always))]
fn reduce_large(x: f32) -> (u64, f64) {
    let size = x.abs();
    // Selected by masks: LLVM would turn conditions into branches, which it does not vectorize.
    let masks = [48, 72, 96, 120].map(|exponent: u32| {
        let is_above = size >= f32::from_bits((exponent + 127) << 23);
        u64::from(is_above).wrapping_neg()
    });
    let factor = |column: usize| {
        let mut bits = TWO_OVER_PI[0][column].to_bits();
        for (mask, rows) in masks.into_iter().zip(TWO_OVER_PI.windows(2)) {
            bits ^= (rows[0][column].to_bits() ^ rows[1][column].to_bits()) & mask;
        }
        f64::from_bits(bits)
    };
    let x = f64::from(x);
    let [first, second, third] = [x * factor(0), x * factor(1), x * factor(2)];
    let (first_whole, first_bits) = nearest(first);
    let (second_whole, second_bits) = nearest(second);
    let (first, second) = (first - first_whole, second - second_whole);
    let (both_whole, both_bits) = nearest(first + second);
    // Exact where the sum is small.
    let rest = ((first - both_whole) + second) + third;
    (first_bits.wrapping_add(second_bits).wrapping_add(both_bits), rest)
}

/// Sine and cosine of the rest of an angle, in quarter turns.
#[cfg_attr(debug_assertions, inline)]
#[cfg_attr(not(debug_assertions), inline(always))]
fn in_quarter(rest: f64) -> (f64, f64) {
    let square = rest * rest;
    // sin(π/2 t) / t for t up to 0.5625, relative error 1.5e-11
    let sin = polynomial!(
        square,
        [
            1.570_796_326_771_398_2,
            -0.645_964_093_877_966_2,
            7.969_253_588_159_242e-2,
            -4.680_962_482_178_232e-3,
            1.575_985_998_306_355e-4,
        ],
    );
    // cos(π/2 t), relative error 3.2e-13
    let cos = polynomial!(
        square,
        [
            1.0,
            -1.233_700_550_093_863_4,
            0.253_669_506_091_747_5,
            -2.086_345_534_072_818_5e-2,
            9.191_031_055_165_105e-4,
            -2.475_799_592_124_306_4e-5,
        ],
    );
    (rest * sin, cos)
}

#[cfg_attr(debug_assertions, inline)]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn sin_cos(x: f32) -> (f64, f64) {
    const SIGN: u64 = 1 << 63;
    let (quarter, rest) = reduce(x);
    let (sin, cos) = in_quarter(rest);
    let is_odd = quarter & 1 != 0;
    let (first, second) = if is_odd { (cos, sin) } else { (sin, cos) };
    // The sine is negative in quarters 2 and 3, the cosine in 1 and 2.
    let sin_sign = (quarter << 62) & SIGN;
    let cos_sign = (quarter.wrapping_add(1) << 62) & SIGN;
    (f64::from_bits(first.to_bits() ^ sin_sign), f64::from_bits(second.to_bits() ^ cos_sign))
}

#[cfg_attr(debug_assertions, inline)]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn tan(x: f32) -> f64 {
    let (sin, cos) = sin_cos(x);
    sin / cos
}
