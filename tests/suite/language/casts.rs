//! Casts between all types, saturating as in Rust.

use quadrants_tests::{TestBackend, on_all_backends};

use super::{Array, Same, differential, source};

macro_rules! casts {
    ($($name:ident: $ty:ty;)*) => {$(
        source! { $name;
            fn run(
                x: &Tensor<$ty, 1>,
                a: &mut Tensor<i32, 1>,
                b: &mut Tensor<i64, 1>,
                c: &mut Tensor<u32, 1>,
                d: &mut Tensor<u64, 1>,
                e: &mut Tensor<usize, 1>,
                f: &mut Tensor<f32, 1>,
                g: &mut Tensor<f64, 1>,
            ) {
                for i in 0..x.len() {
                    a[i] = x[i] as i32;
                    b[i] = x[i] as i64;
                    c[i] = x[i] as u32;
                    d[i] = x[i] as u64;
                    e[i] = x[i] as usize;
                    f[i] = x[i] as f32;
                    g[i] = x[i] as f64;
                }
            }
        }
    )*};
}

casts! {
    from_f32: f32;
    from_f64: f64;
    from_i32: i32;
    from_i64: i64;
    from_u32: u32;
    from_u64: u64;
}

source! { from_bool;
    fn run(x: &Tensor<bool, 1>, a: &mut Tensor<i32, 1>, b: &mut Tensor<u64, 1>, c: &mut Tensor<i64, 1>) {
        for i in 0..x.len() {
            a[i] = x[i] as i32 - 2;
            b[i] = x[i] as u64 + !x[i] as u64 * 10;
            c[i] = (x[i] as u32 as i64) << 40;
        }
    }
}

#[on_all_backends]
fn casts_match_rust_for_all_types(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    macro_rules! run {
        ($name:ident, $values:expr) => {
            let x = Array::of(&$values);
            let n = [x.len()];
            let (a, b, c) = (Array::zeros(n), Array::zeros(n), Array::zeros(n));
            let (d, e, f, g) =
                (Array::zeros(n), Array::zeros(n), Array::zeros(n), Array::zeros(n));
            differential!(&on.program, $name [] [x] [a, b, c, d, e, f, g]);
        };
    }
    let floats = [
        0.0,
        -0.0,
        0.999_999,
        -0.999_999,
        1.5,
        -2.5,
        300.7,
        -1e4,
        2_147_483_648.0,
        -2_147_483_648.0,
        -2_147_483_904.0,
        4_294_967_296.0,
        9_223_372_036_854_775_808.0,
        -9_223_372_036_854_775_808.0,
        18_446_744_073_709_551_616.0,
        1e30,
        -1e30,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    run!(from_f32, floats.map(|x| x as f32));
    run!(from_f64, floats);
    run!(from_f64, [16_777_217.0, 1e300, -1e300, 1e-300, f64::MAX, 0.1, f64::MIN_POSITIVE]);
    run!(from_i32, [0, 1, -1, i32::MIN, i32::MAX, 16_777_217]);
    run!(from_i64, [0, -1, i64::MIN, i64::MAX, 1 << 31, 1 << 32, (1 << 53) + 1, -(1 << 33) - 1]);
    run!(from_u32, [0, 1, u32::MAX, 1 << 31, 16_777_217]);
    run!(from_u64, [0, 1, u64::MAX, 1 << 31, 1 << 32, 1 << 63, (1 << 53) + 1]);

    let x = Array::of(&[false, true]);
    let (a, b, c) = (Array::zeros([2]), Array::zeros([2]), Array::zeros([2]));
    differential!(&on.program, from_bool [] [x] [a, b, c]);
    Ok(())
}
