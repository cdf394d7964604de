//! Arithmetic, comparison, logic and bit operations of every type.

use quadrants_tests::{TestBackend, on_all_backends};

use super::{Array, Same, differential, source};

macro_rules! numbers {
    ($($name:ident: $ty:ident;)*) => {$(
        source! { $name;
            fn run(
                a: $ty,
                x: &Tensor<$ty, 1>,
                y: &Tensor<$ty, 1>,
                values: &mut Tensor<$ty, 2>,
                flags: &mut Tensor<bool, 2>,
            ) {
                for i in 0..x.len() {
                    let p = x[i];
                    let q = y[i];
                    values[[i, 0]] = p + q;
                    values[[i, 1]] = p - q;
                    values[[i, 2]] = p * q;
                    values[[i, 3]] = p / q;
                    values[[i, 4]] = p % q;
                    values[[i, 5]] = p.min(q);
                    values[[i, 6]] = p.max(q);
                    let mut v = p;
                    v += a;
                    v *= q;
                    v -= a;
                    v /= a;
                    v %= q;
                    values[[i, 7]] = v;
                    values[[i, 8]] += p;
                    values[[i, 8]] *= a;
                    values[[i, 8]] -= p;
                    values[[i, 8]] /= a;
                    values[[i, 8]] %= q;
                    flags[[i, 0]] = p < q;
                    flags[[i, 1]] = p <= q;
                    flags[[i, 2]] = p > q;
                    flags[[i, 3]] = p >= q;
                    flags[[i, 4]] = p == q;
                    flags[[i, 5]] = p != q;
                }
            }
        }
    )*};
}

numbers! {
    of_f32: f32;
    of_f64: f64;
    of_i32: i32;
    of_i64: i64;
    of_u32: u32;
    of_u64: u64;
    of_usize: usize;
}

macro_rules! integers {
    ($($name:ident: $ty:ident;)*) => {$(
        source! { $name;
            fn run(
                x: &Tensor<$ty, 1>,
                y: &Tensor<$ty, 1>,
                by: &Tensor<u32, 1>,
                values: &mut Tensor<$ty, 2>,
            ) {
                for i in 0..x.len() {
                    let p = x[i];
                    let q = y[i];
                    values[[i, 0]] = p & q;
                    values[[i, 1]] = p | q;
                    values[[i, 2]] = p ^ q;
                    values[[i, 3]] = !p;
                    values[[i, 4]] = p << by[i];
                    values[[i, 5]] = p >> by[i];
                    values[[i, 6]] = p.wrapping_add(q);
                    values[[i, 7]] = p.wrapping_sub(q);
                    values[[i, 8]] = p.wrapping_mul(q);
                    let mut v = p;
                    v ^= 0x55;
                    v <<= 3;
                    v |= q;
                    v >>= 1 + (by[i] & 3);
                    v &= !6;
                    values[[i, 9]] = v;
                    values[[i, 10]] ^= p;
                    values[[i, 10]] |= 1 << 20;
                    values[[i, 10]] &= 0xffff_fff0;
                    values[[i, 10]] >>= 2usize;
                    values[[i, 10]] <<= 1i64;
                }
            }
        }
    )*};
}

integers! {
    bits_of_i64: i64;
    bits_of_u32: u32;
    bits_of_u64: u64;
    bits_of_usize: usize;
}

source! { bits_of_i32;
    fn run(x: &Tensor<i32, 1>, y: &Tensor<i32, 1>, by: &Tensor<u32, 1>, values: &mut Tensor<i32, 2>) {
        for i in 0..x.len() {
            values[[i, 0]] = (x[i] & y[i]) | (x[i] ^ !y[i]);
            values[[i, 1]] = x[i] << by[i];
            values[[i, 2]] = x[i] >> by[i];
            values[[i, 3]] = x[i].wrapping_mul(y[i]).wrapping_add(x[i]).wrapping_sub(-7);
            values[[i, 4]] = -(x[i] >> 1);
            values[[i, 5]] = (x[i] >> 1).abs();
            values[[i, 6]] = -0x10 + 0b101 - 0o17 + 1_000;
        }
    }
}

source! { bools;
    fn run(p: bool, x: &Tensor<bool, 1>, y: &Tensor<bool, 1>, values: &mut Tensor<bool, 2>) {
        for i in 0..x.len() {
            values[[i, 0]] = x[i] && y[i];
            values[[i, 1]] = x[i] || y[i];
            values[[i, 2]] = !x[i];
            values[[i, 3]] = x[i] & y[i] | p;
            values[[i, 4]] = x[i] ^ y[i] ^ p;
            values[[i, 5]] = x[i] == y[i];
            values[[i, 6]] = x[i] != p;
            values[[i, 7]] = if x[i] { y[i] } else { p };
            let mut v = x[i];
            v |= y[i];
            v &= p;
            v ^= true;
            values[[i, 8]] = v;
        }
    }
}

#[on_all_backends]
fn arithmetic_and_comparison_of_every_type_match_rust(
    backend: TestBackend,
) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    macro_rules! run {
        ($name:ident, $a:expr, $x:expr, $y:expr) => {
            let (x, y) = (Array::of(&$x), Array::of(&$y));
            let (values, flags) = (Array::zeros([x.len(), 9]), Array::zeros([x.len(), 6]));
            differential!(&on.program, $name [$a] [x, y] [values, flags]);
        };
    }
    // Whole numbers and halves, so that contraction changes nothing.
    let (x, y) = ([-100.0, -7.0, 0.0, 0.5, 7.5, 100.0], [3.0, -2.0, 4.0, 0.5, -7.5, 0.25]);
    run!(of_f64, 2.0, x, y);
    run!(of_f32, 2.0, x.map(|x| x as f32), y.map(|y| y as f32));
    let (x, y) = ([-100, -7, 0, 7, 100, 5], [3, -2, 5, -7, 100, 1]);
    run!(of_i32, 2, x, y);
    run!(of_i64, 3_000_000_000, x.map(i64::from).map(|x| x << 20), y.map(i64::from));
    let (x, y) = ([100, 57, 9, 7, 100, 5], [3, 2, 5, 7, 100, 1]);
    run!(of_u32, 2, x.map(|x: u32| x << 16), y);
    run!(of_u64, 3, x.map(|x| u64::from(x) << 40), y.map(u64::from));
    run!(of_usize, 3, x.map(|x| (x as usize) << 40), y.map(|y| y as usize));
    Ok(())
}

#[on_all_backends]
fn bit_operations_and_wrapping_of_every_integer_match_rust(
    backend: TestBackend,
) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    macro_rules! run {
        ($name:ident: $ty:ident, $columns:literal) => {
            let x = Array::of(&[0, 1, 0x5a, $ty::MAX, $ty::MIN, $ty::MAX / 3]);
            let y = Array::of(&[7, $ty::MAX, 0x33, $ty::MAX, $ty::MAX - 1, $ty::MIN]);
            let by = Array::of(&[0, 1, 5, $ty::BITS - 1, 31, 4]);
            let values = Array::zeros([x.len(), $columns]);
            differential!(&on.program, $name [] [x, y, by] [values]);
        };
    }
    run!(bits_of_i32: i32, 7);
    run!(bits_of_i64: i64, 11);
    run!(bits_of_u32: u32, 11);
    run!(bits_of_u64: u64, 11);
    run!(bits_of_usize: usize, 11);
    Ok(())
}

#[on_all_backends]
fn boolean_logic_matches_rust(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = Array::of(&[false, false, true, true]);
    let y = Array::of(&[false, true, false, true]);
    for p in [false, true] {
        let values = Array::zeros([4, 9]);
        differential!(&on.program, bools [p] [x, y] [values]);
    }
    Ok(())
}

macro_rules! quotients {
    ($($name:ident: $ty:ident;)*) => {$(
        mod $name {
            use quadrants::{self as qd, Tensor};

            #[qd::func]
            fn halved(mut x: $ty, by: $ty) -> $ty {
                x /= by;
                x
            }

            #[qd::kernel]
            fn run(x: &Tensor<$ty, 1>, y: &Tensor<$ty, 1>, out: &mut Tensor<$ty, 2>) {
                for i in 0..x.len() {
                    let mut q = x[i];
                    out[[i, 0]] = x[i] / y[i];
                    out[[i, 1]] = x[i] % y[i];
                    out[[i, 2]] = x[i];
                    out[[i, 2]] /= y[i];
                    q %= y[i];
                    out[[i, 3]] = q;
                    out[[i, 4]] = halved(x[i], y[i]);
                    out[[i, 5]] = x[i].rem_euclid(y[i]);
                }
            }

            pub(super) fn check(program: &qd::Program) -> qd::Result<()> {
                let pairs = [($ty::MIN, -1), ($ty::MIN, 1), ($ty::MAX, -1), (7, -2), (-7, 2)];
                let x = program.tensor_from(&pairs.map(|pair| pair.0), [pairs.len()])?;
                let y = program.tensor_from(&pairs.map(|pair| pair.1), [pairs.len()])?;
                let mut out = program.zeros([pairs.len(), 6])?;
                run(&x, &y, &mut out).launch()?;
                let expected = pairs.map(|(x, y)| {
                    let (div, rem) = (x.wrapping_div(y), x.wrapping_rem(y));
                    [div, rem, div, rem, div, x.wrapping_rem_euclid(y)]
                });
                assert_eq!(out.to_vec()?, expected.concat());
                Ok(())
            }
        }
    )*};
}

quotients! {
    quotients_of_i8: i8;
    quotients_of_i16: i16;
    quotients_of_i32: i32;
    quotients_of_i64: i64;
}

#[on_all_backends]
fn an_overflowing_quotient_wraps(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    quotients_of_i8::check(&on.program)?;
    quotients_of_i16::check(&on.program)?;
    quotients_of_i32::check(&on.program)?;
    quotients_of_i64::check(&on.program)
}
