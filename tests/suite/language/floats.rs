//! The methods of floats.

use quadrants::{self as qd, Tensor};
use quadrants_tests::{
    TestBackend::{self, Cpu},
    on_all_backends,
};

use super::{Array, Same, differential, source};

macro_rules! methods {
    ($($exact:ident, $close:ident: $ty:ident;)*) => {$(
        // What IEEE fixes to the last bit.
        source! { $exact;
            fn run(x: &Tensor<$ty, 1>, y: &Tensor<$ty, 1>, out: &mut Tensor<$ty, 2>, is: &mut Tensor<bool, 2>) {
                for i in 0..x.len() {
                    let p = x[i];
                    let q = y[i];
                    out[[i, 0]] = p.abs();
                    out[[i, 1]] = p.floor();
                    out[[i, 2]] = p.ceil();
                    out[[i, 3]] = p.round();
                    out[[i, 4]] = p.sqrt();
                    out[[i, 5]] = p.mul_add(q, 0.1);
                    out[[i, 6]] = -p;
                    out[[i, 7]] = p / q;
                    out[[i, 8]] = p + q;
                    out[[i, 9]] = $ty::abs(q);
                    out[[i, 10]] = p.round_ties_even();
                    out[[i, 11]] = p.div_euclid(q);
                    out[[i, 12]] = p.midpoint(q);
                    out[[i, 13]] = p.midpoint($ty::MAX) + $ty::midpoint(q, $ty::MIN);
                    out[[i, 14]] = $ty::MIN.midpoint(p);
                    is[[i, 0]] = p < q;
                    is[[i, 1]] = p <= q;
                    is[[i, 2]] = p > q;
                    is[[i, 3]] = p >= q;
                    is[[i, 4]] = p == q;
                    is[[i, 5]] = p != q;
                }
            }
        }

        // What libraries round differently.
        source! { $close;
            fn run(x: &Tensor<$ty, 1>, y: &Tensor<$ty, 1>, out: &mut Tensor<$ty, 2>) {
                for i in 0..x.len() {
                    let p = x[i];
                    let q = y[i];
                    out[[i, 0]] = p.sin();
                    out[[i, 1]] = p.cos();
                    out[[i, 2]] = (p * 0.3).tan();
                    out[[i, 3]] = p.exp();
                    out[[i, 4]] = q.ln();
                    out[[i, 5]] = q.powf(p);
                    out[[i, 6]] = q.powi(3) + p.powi(-2) * 0.5 + q.powi(0);
                    out[[i, 7]] = p.atan2(q);
                    out[[i, 8]] = q.atan2(-p);
                    out[[i, 9]] = p.tanh();
                    out[[i, 10]] = p.min(q);
                    out[[i, 11]] = p.max(q);
                    out[[i, 12]] = $ty::powf(q, 0.5) * $ty::max(p, q);
                    let (sine, cosine) = p.sin_cos();
                    out[[i, 13]] = sine;
                    out[[i, 14]] = cosine + $ty::sin_cos(q).0 * 2.0;
                    out[[i, 15]] = p.exp_m1();
                    out[[i, 16]] = q.ln_1p();
                    out[[i, 17]] = p.asinh();
                    out[[i, 18]] = (q + 1.0).acosh();
                    out[[i, 19]] = (p * 0.15).atanh();
                    out[[i, 20]] = q.log(3.0) + $ty::log(2.0, q + 2.0);
                }
            }
        }
    )*};
}

methods! {
    exact_f32, close_f32: f32;
    exact_f64, close_f64: f64;
}

macro_rules! special_values {
    ($($name:ident: $ty:ident;)*) => {$(
        source! { $name;
            fn run(x: &Tensor<$ty, 1>, out: &mut Tensor<$ty, 2>) {
                for i in 0..x.len() {
                    let p = x[i];
                    let both = p.sin_cos();
                    out[[i, 0]] = both.0;
                    out[[i, 1]] = both.1;
                    out[[i, 2]] = p.exp_m1();
                    out[[i, 3]] = p.ln_1p();
                    out[[i, 4]] = p.asinh();
                    out[[i, 5]] = p.acosh();
                    out[[i, 6]] = p.atanh();
                    out[[i, 7]] = p.log(2.0);
                    out[[i, 8]] = $ty::log(8.0, p);
                }
            }
        }
    )*};
}

special_values! {
    special_f32: f32;
    special_f64: f64;
}

source! { literals;
    fn run(x: &Tensor<f32, 1>, out: &mut Tensor<f32, 1>) {
        for i in 0..x.len() {
            out[i] = x[i].max(0.0).min(1.0) + 1.0 - 0.5f32;
            out[i] -= (2 as f32) / 8.0;
            out[i] += 1e-3 * 0.0 + 3f32;
        }
    }
}

macro_rules! powers {
    ($($constant:ident, $given:ident: $ty:ident;)*) => {$(
        #[qd::kernel(strict)]
        fn $constant(x: &Tensor<$ty, 1>, out: &mut Tensor<$ty, 2>) {
            for i in 0..x.len() {
                let two = 2.0;
                out[[i, 0]] = x[i].powf(0.5);
                out[[i, 1]] = x[i].powf(two);
                out[[i, 2]] = $ty::powf(x[i], -1.0);
                out[[i, 3]] = (two + two).powf(x[i]);
                out[[i, 4]] = $ty::powf(0.5, x[i]);
            }
        }

        #[qd::kernel(strict)]
        fn $given(a: [$ty; 5], x: &Tensor<$ty, 1>, out: &mut Tensor<$ty, 2>) {
            for i in 0..x.len() {
                out[[i, 0]] = x[i].powf(a[0]);
                out[[i, 1]] = x[i].powf(a[1]);
                out[[i, 2]] = x[i].powf(a[2]);
                out[[i, 3]] = a[3].powf(x[i]);
                out[[i, 4]] = a[4].powf(x[i]);
            }
        }
    )*};
}

powers! {
    powers_f32, given_powers_f32: f32;
    powers_f64, given_powers_f64: f64;
}

/// LLVM evaluates some powers at compile time, the interpreter calls the library. Only optimized code shows a
/// difference.
#[on_all_backends]
fn powi_of_constants_equals_powi_of_arguments(backend: TestBackend) -> quadrants::Result<()> {
    const N: usize = 20_000;
    let Some(on) = backend.open() else { return Ok(()) };
    if backend != Cpu && on.world.is_none() {
        // Device compilers may differ.
        return Ok(());
    }
    macro_rules! check {
        ($constant:ident $given:ident $ty:ident) => {{
            let x: Vec<$ty> = (0..N).map(|i| i as $ty * 7.3e-4 + 1e-3).collect();
            let x = on.program.tensor_from(&x, [N])?;
            let mut constant = on.program.zeros::<$ty, 2>([N, 5])?;
            let mut given = on.program.zeros::<$ty, 2>([N, 5])?;
            $constant(&x, &mut constant).launch()?;
            $given([0.5, 2.0, -1.0, 4.0, 0.5], &x, &mut given).launch()?;
            let bits = |out: Vec<$ty>| out.into_iter().map($ty::to_bits).collect::<Vec<_>>();
            assert!(bits(constant.to_vec()?) == bits(given.to_vec()?));
        }};
    }
    check!(powers_f32 given_powers_f32 f32);
    check!(powers_f64 given_powers_f64 f64);
    Ok(())
}

const SPECIAL: [f64; 16] = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    0.499_999_97,
    1e-30,
    8_388_609.0,
    -123.456,
    1e30,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    f64::MIN_POSITIVE,
];

#[on_all_backends]
fn ieee_operations_match_bit_for_bit(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let pairs: Vec<(f64, f64)> =
        SPECIAL.iter().flat_map(|x| SPECIAL.iter().map(|y| (*x, *y))).collect();
    let (x, y): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
    let narrow = |v: &[f64]| v.iter().map(|v| *v as f32).collect::<Vec<f32>>();
    let (a, b) = (Array::of(&narrow(&x)), Array::of(&narrow(&y)));
    let (out, is) = (Array::zeros([x.len(), 15]), Array::zeros([x.len(), 6]));
    differential!(&on.program, exact_f32 [] [a, b] [out, is]);
    let (x, y) = (Array::of(&x), Array::of(&y));
    let out = Array::zeros([x.len(), 15]);
    differential!(&on.program, exact_f64 [] [x, y] [out, is]);
    Ok(())
}

#[on_all_backends]
fn library_functions_match_within_tolerance(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x: Vec<f64> = (0..64).map(|k| f64::from(k) * 0.173 - 5.1).collect();
    let y: Vec<f64> = (0..64).map(|k| f64::from(k) * 0.11 + 0.05).collect();
    let narrow = |v: &[f64]| v.iter().map(|v| *v as f32).collect::<Vec<f32>>();
    let (a, b) = (Array::of(&narrow(&x)), Array::of(&narrow(&y)));
    let out = Array::zeros([x.len(), 21]);
    differential!(&on.program, close_f32 [] [a, b] [out] within 1e-5);
    let (x, y) = (Array::of(&x), Array::of(&y));
    let out = Array::zeros([x.len(), 21]);
    differential!(&on.program, close_f64 [] [x, y] [out] within 1e-12);
    Ok(())
}

#[on_all_backends]
fn library_functions_of_special_values_match(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x =
        [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    let narrow = Array::of(&x.map(|x| x as f32));
    let out = Array::zeros([x.len(), 9]);
    differential!(&on.program, special_f32 [] [narrow] [out] within 1e-5);
    let wide = Array::of(&x);
    let out = Array::zeros([x.len(), 9]);
    differential!(&on.program, special_f64 [] [wide] [out] within 1e-12);
    Ok(())
}

#[on_all_backends]
fn float_literals_take_the_expected_type(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = Array::of(&[-1.0, 0.25, 0.75, 8.0]);
    let out = Array::zeros([x.len()]);
    differential!(&on.program, literals [] [x] [out]);
    Ok(())
}

/// Minima and maxima of zeros with signs, of operands that are known when the kernel is compiled and of others.
#[qd::kernel(strict)]
fn extrema_of_zeros(
    x: &Tensor<f32, 1>,
    y: &Tensor<f64, 1>,
    a: &mut Tensor<u32, 2>,
    b: &mut Tensor<u64, 2>,
) {
    for i in 0..x.len() {
        let (v, w) = (x[i], y[i]);
        a[[i, 0]] = v.max(0.0).to_bits();
        a[[i, 1]] = v.min(0.0).to_bits();
        a[[i, 2]] = (-v).max(v).to_bits();
        a[[i, 3]] = v.min(-0.0).to_bits();
        a[[i, 4]] = (1.0 / (-v).min(v)).to_bits();
        a[[i, 5]] = v.clamp(-0.0, 0.0).to_bits();
        b[[i, 0]] = w.max(0.0).to_bits();
        b[[i, 1]] = w.min(0.0).to_bits();
        b[[i, 2]] = (-w).max(w).to_bits();
        b[[i, 3]] = w.min(-0.0).to_bits();
    }
    qd::block_for(1, 32, |block| {
        let least = block.reduce_min(|t| if t % 2 == 0 { 0.0_f32 } else { -0.0 });
        let greatest = block.reduce_max(|t| if t % 2 == 0 { -0.0_f32 } else { 0.0 });
        block.each(|t| {
            if t == 0 {
                a[[0, 6]] = least.to_bits();
                a[[0, 7]] = greatest.to_bits();
            }
        });
    });
}

#[on_all_backends]
fn the_negative_zero_is_the_smaller_one(on: TestBackend) -> quadrants::Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let x = on.program.tensor_from(&[0.0_f32, -0.0], [2])?;
    let y = on.program.tensor_from(&[0.0_f64, -0.0], [2])?;
    let mut a = on.program.zeros::<u32, 2>([2, 8])?;
    let mut b = on.program.zeros::<u64, 2>([2, 4])?;
    extrema_of_zeros(&x, &y, &mut a, &mut b).launch()?;
    let minus = (-0.0_f32).to_bits();
    let infinity = f32::NEG_INFINITY.to_bits();
    let row = |input: f32| [0, input.to_bits(), 0, minus, infinity, input.to_bits()];
    let (a, b) = (a.to_vec()?, b.to_vec()?);
    assert_eq!(a[..6], row(0.0));
    assert_eq!(a[8..14], row(-0.0));
    assert_eq!(a[6..8], [minus, 0], "of a block");
    let minus = (-0.0_f64).to_bits();
    assert_eq!(b, [0, 0, 0, minus, 0, minus, 0, minus]);
    Ok(())
}

/// Powers that a compiler can compute: as bits, which overflow in between, are subnormal, or are rounded often.
#[qd::kernel(strict)]
fn known_powers(base: f32, x: &mut Tensor<u32, 1>, y: &mut Tensor<u64, 1>) {
    for i in 0..1_usize {
        x[i] = 1.3_f32.powi(17).to_bits();
        x[i + 1] = 1e20_f32.powi(-2).to_bits();
        x[i + 2] = 2.0_f32.powi(-149).to_bits();
        x[i + 3] = (-0.7_f32).powi(i32::MIN).to_bits();
        y[i] = 2.0_f64.powi(-1074).to_bits();
        y[i + 1] = 10.0_f64.powi(-310).to_bits();
        y[i + 2] = 1.1_f64.powi(-33).to_bits();
        for k in 0..20_i32 {
            x[i + 4 + k as usize] = 0.9_f32.powi(k - 10).to_bits();
            x[i + 24 + k as usize] = base.powi(k - 10).to_bits();
        }
    }
}

#[on_all_backends]
fn powers_of_constants_are_computed_by_squaring(on: TestBackend) -> quadrants::Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let mut x = on.program.zeros::<u32, 1>([44])?;
    let mut y = on.program.zeros::<u64, 1>([3])?;
    known_powers(0.9, &mut x, &mut y).launch()?;
    let (x, y) = (x.to_vec()?, y.to_vec()?);
    assert_eq!(x[..4], [1_118_634_519, 0, 0, f32::INFINITY.to_bits()]);
    assert_eq!(x[4..24], x[24..], "a constant base and an argument");
    assert_eq!(y[..2], [0, 0]);
    let by_squaring = 1.0 / {
        let base = std::hint::black_box(1.1_f64);
        let high = base * base * (base * base);
        let high = high * high;
        let high = high * high;
        base * (high * high)
    };
    assert_eq!(y[2], by_squaring.to_bits());
    Ok(())
}
