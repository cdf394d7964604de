//! Errors in units in the last place against `f64`, and special values against std.

use super::Elementary;

/// The largest error in ULP.
const LIMIT: f64 = 0.502;

type Unary = (&'static str, fn(f32) -> f32, fn(f64) -> f64, fn(f32) -> f32);
type Binary = (&'static str, fn(f32, f32) -> f32, fn(f64, f64) -> f64, fn(f32, f32) -> f32);

macro_rules! unary {
    ($($name:ident)*) => {
        [$((stringify!($name), <f32 as Elementary>::$name, f64::$name, f32::$name)),*]
    };
}

const UNARY: [Unary; 19] = unary!(
    sin cos tan asin acos atan sinh cosh tanh acosh atanh exp exp2 exp_m1 ln ln_1p log2 log10 cbrt
);

const BINARY: [Binary; 3] = [
    ("atan2", <f32 as Elementary>::atan2, f64::atan2, f32::atan2),
    ("hypot", <f32 as Elementary>::hypot, f64::hypot, f32::hypot),
    ("powf", <f32 as Elementary>::powf, f64::powf, f32::powf),
];

const SPECIAL: [f32; 23] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -2.0,
    3.0,
    -3.0,
    16_777_215.0,
    -16_777_217.0,
    f32::MIN_POSITIVE,
    -f32::MIN_POSITIVE,
    1e-45,
    -1e-45,
    f32::MAX,
    f32::MIN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    90.0,
    -104.0,
];

/// The error of a result in ULP of the exact one.
fn error(value: f32, exact: f64) -> f64 {
    let nearest = exact as f32;
    if value.is_nan() || nearest.is_nan() || value.is_infinite() || nearest.is_infinite() {
        let is_same = value == nearest || value.is_nan() && nearest.is_nan();
        return if is_same { 0.0 } else { f64::INFINITY };
    }
    let size = f64::from(nearest.abs().max(f32::MIN_POSITIVE));
    let spacing = 2f64.powi(size.log2().floor() as i32 - 23);
    (f64::from(value) - exact).abs() / spacing
}

fn is_full() -> bool {
    std::env::var_os("QUADRANTS_TEST_FULL").is_some()
}

/// Floats of all sizes and signs, whose bits are this far apart.
fn all(step: u32) -> impl Iterator<Item = f32> {
    (0..u32::MAX / step).map(move |k| f32::from_bits(k * step))
}

#[test]
fn errors_are_about_half_a_unit_in_the_last_place() {
    let step = if is_full() { 1021 } else { 65_521 };
    for (name, ours, exact, _) in UNARY {
        for x in all(step) {
            let (value, exact) = (ours(x), exact(x.into()));
            assert!(error(value, exact) <= LIMIT, "{name}({x:e}) = {value:e}, exactly {exact:e}");
        }
    }
    for (name, ours, exact, _) in BINARY {
        let steps = if is_full() { (2_097_143, 1_048_573) } else { (16_777_213, 8_388_593) };
        for x in all(steps.0) {
            for y in all(steps.1) {
                let (value, exact) = (ours(x, y), exact(x.into(), y.into()));
                assert!(
                    error(value, exact) <= LIMIT,
                    "{name}({x:e}, {y:e}) = {value:e}, exactly {exact:e}"
                );
            }
        }
    }
    // std computes these less accurately.
    for x in all(step) {
        let exact = f64::from(x).abs();
        let exact = (exact + exact * exact / (1.0 + exact.hypot(1.0))).ln_1p().copysign(x.into());
        assert!(x.is_infinite() || error(Elementary::asinh(x), exact) <= LIMIT, "asinh({x:e})");
    }
}

#[test]
fn special_values_are_those_of_std() {
    let same = |left: f32, right: f32| {
        left.is_nan() && right.is_nan()
            || (left - right).abs() <= right.abs() * f32::EPSILON
                && left.is_sign_negative() == right.is_sign_negative()
            || left == right && left.is_infinite()
    };
    for x in SPECIAL {
        for (name, ours, _, std) in UNARY {
            assert!(same(ours(x), std(x)), "{name}({x:e}): {:e}, {:e}", ours(x), std(x));
        }
        let (sin, cos) = Elementary::sin_cos(x);
        assert!(same(sin, x.sin()) && same(cos, x.cos()), "sin_cos({x})");
        for y in SPECIAL {
            for (name, ours, _, std) in BINARY {
                let (ours, std) = (ours(x, y), std(x, y));
                assert!(same(ours, std), "{name}({x:e}, {y:e}): {ours:e}, {std:e}");
            }
        }
    }
    assert!(Elementary::asinh(f32::INFINITY) == f32::INFINITY);
    assert!(Elementary::asinh(-0.0_f32).is_sign_negative());
}

#[test]
fn results_that_are_numbers_of_f32_are_exact() {
    for k in -149..128 {
        let power = 2f64.powi(k) as f32;
        assert_eq!(Elementary::log2(power), k as f32);
        assert_eq!(Elementary::exp2(k as f32), power);
    }
    for k in 0..10 {
        assert_eq!(Elementary::log10(10f32.powi(k)), k as f32);
        assert_eq!(Elementary::powf(10.0, k as f32), 10f32.powi(k));
    }
    for k in 1..200_u16 {
        let k = f32::from(k);
        assert_eq!(Elementary::cbrt(k * k * k), k);
        assert_eq!(Elementary::powf(k * k, 0.5), k);
        assert_eq!(Elementary::hypot(3.0 * k, 4.0 * k), 5.0 * k);
        assert_eq!(Elementary::log(k.powi(2), k + f32::from(k == 1.0)), 2.0 * f32::from(k != 1.0));
    }
}
