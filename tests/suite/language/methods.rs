//! Methods that are made of other operations match std bit for bit.

use quadrants as qd;
use quadrants_tests::{TestBackend, on_all_backends};

use super::{Array, Same, differential, source};

macro_rules! floats {
    ($($name:ident: $ty:ident, $bits:ident;)*) => {$(
        source! { $name;
            fn run(
                x: &Tensor<$ty, 1>,
                y: &Tensor<$ty, 1>,
                values: &mut Tensor<$ty, 2>,
                bits: &mut Tensor<$bits, 2>,
                flags: &mut Tensor<bool, 2>,
            ) {
                for i in 0..x.len() {
                    let p = x[i];
                    let q = y[i];
                    values[[i, 0]] = p.recip();
                    values[[i, 1]] = p.fract();
                    values[[i, 2]] = p.trunc();
                    values[[i, 3]] = p.clamp(-1.5, 2.0);
                    values[[i, 4]] = p.signum();
                    values[[i, 5]] = p.copysign(q);
                    values[[i, 6]] = p.rem_euclid(q);
                    values[[i, 7]] = p.to_radians();
                    values[[i, 8]] = p.to_degrees();
                    values[[i, 9]] = $ty::from_bits(p.to_bits() ^ 1);
                    values[[i, 10]] = $ty::from(i as u8) + 2.5;
                    bits[[i, 0]] = p.to_bits();
                    // The bits of a NaN that is computed are the device's own.
                    bits[[i, 1]] = if p.is_nan() { 0 } else { (p * q).to_bits() >> 3 };
                    flags[[i, 0]] = p.is_nan();
                    flags[[i, 1]] = p.is_finite();
                    flags[[i, 2]] = p.is_infinite();
                    flags[[i, 3]] = p.is_sign_negative();
                    flags[[i, 4]] = p.is_sign_positive() && !q.is_nan();
                }
            }
        }
    )*};
}

floats! {
    of_f32: f32, u32;
    of_f64: f64, u64;
}

macro_rules! functions {
    ($($name:ident: $ty:ident;)*) => {$(
        source! { $name;
            fn run(x: &Tensor<$ty, 1>, values: &mut Tensor<$ty, 2>) {
                for i in 0..x.len() {
                    let p = x[i];
                    values[[i, 0]] = p.exp2();
                    values[[i, 1]] = (p + 3.0).log2();
                    values[[i, 2]] = (p + 3.0).log10();
                    values[[i, 3]] = p.cbrt();
                    values[[i, 4]] = (p * 0.4).asin();
                    values[[i, 5]] = (p * 0.4).acos();
                    values[[i, 6]] = p.atan();
                    values[[i, 7]] = p.sinh();
                    values[[i, 8]] = p.cosh();
                    values[[i, 9]] = p.hypot(1.5);
                }
            }
        }
    )*};
}

functions! {
    functions_of_f32: f32;
    functions_of_f64: f64;
}

macro_rules! integers {
    ($($name:ident: $ty:ident;)*) => {$(
        source! { $name;
            fn run(
                x: &Tensor<$ty, 1>,
                y: &Tensor<$ty, 1>,
                n: &Tensor<u32, 1>,
                values: &mut Tensor<$ty, 2>,
                counts: &mut Tensor<u32, 2>,
            ) {
                for i in 0..x.len() {
                    let p = x[i];
                    let q = y[i];
                    values[[i, 0]] = p.rotate_left(n[i]);
                    values[[i, 1]] = p.rotate_right(n[i]);
                    values[[i, 2]] = p.wrapping_neg();
                    values[[i, 3]] = p.wrapping_shl(n[i]);
                    values[[i, 4]] = p.wrapping_shr(n[i]);
                    values[[i, 5]] = p.saturating_add(q);
                    values[[i, 6]] = p.saturating_sub(q);
                    values[[i, 7]] = p.rem_euclid(7);
                    values[[i, 8]] = (p % 5).pow(n[i] % 9);
                    values[[i, 9]] = p.clamp(3, 1000);
                    values[[i, 10]] = 2 * $ty::pow(3, 4);
                    counts[[i, 0]] = p.count_ones();
                    counts[[i, 1]] = p.leading_zeros();
                    counts[[i, 2]] = p.trailing_zeros();
                    counts[[i, 3]] = (p.abs_diff(q) % 1000) as u32;
                }
            }
        }
    )*};
}

integers! {
    of_i32: i32;
    of_i64: i64;
    of_u32: u32;
    of_u64: u64;
    of_usize: usize;
}

macro_rules! all_integers {
    ($($name:ident: $ty:ident;)*) => {$(
        source! { $name;
            fn run(
                x: &Tensor<$ty, 1>,
                y: &Tensor<$ty, 1>,
                values: &mut Tensor<$ty, 2>,
                counts: &mut Tensor<u32, 2>,
            ) {
                for i in 0..x.len() {
                    let p = x[i];
                    let q = y[i];
                    values[[i, 0]] = p.swap_bytes();
                    values[[i, 1]] = p.reverse_bits();
                    values[[i, 2]] = p.midpoint(q);
                    values[[i, 3]] = $ty::midpoint(q, 3);
                    values[[i, 4]] = p.div_euclid(q / 2 * 2 + 1);
                    values[[i, 5]] = p.max(0).isqrt();
                    values[[i, 6]] = 2 * $ty::isqrt(q & 127);
                    counts[[i, 0]] = p.count_zeros();
                    counts[[i, 1]] = p.max(1).ilog2();
                    counts[[i, 3]] = p.leading_ones() * 100 + q.trailing_ones();
                    counts[[i, 2]] = p.swap_bytes().reverse_bits().count_zeros() + q.max(7).ilog2();
                }
            }
        }
    )*};
}

all_integers! {
    all_i8: i8;
    all_i16: i16;
    all_i32: i32;
    all_i64: i64;
    all_u8: u8;
    all_u16: u16;
    all_u32: u32;
    all_u64: u64;
    all_usize: usize;
}

macro_rules! unsigned_integers {
    ($($name:ident: $ty:ident;)*) => {$(
        source! { $name;
            fn run(
                x: &Tensor<$ty, 1>,
                y: &Tensor<$ty, 1>,
                values: &mut Tensor<$ty, 2>,
                flags: &mut Tensor<bool, 2>,
            ) {
                for i in 0..x.len() {
                    let p = x[i];
                    let q = y[i];
                    // None of these overflow, because plain Rust may panic then.
                    values[[i, 0]] = (p / 2 + 1).next_power_of_two();
                    values[[i, 1]] = (q / 3).next_power_of_two();
                    values[[i, 2]] = (p / 2).next_multiple_of(q / 2 + 1);
                    values[[i, 3]] = $ty::next_multiple_of(q / 2, 5);
                    flags[[i, 0]] = p.is_multiple_of(q);
                    flags[[i, 1]] = q.is_multiple_of(3);
                    flags[[i, 2]] = p.is_multiple_of(0) || $ty::is_multiple_of(0, q);
                }
            }
        }
    )*};
}

unsigned_integers! {
    unsigned_u8: u8;
    unsigned_u16: u16;
    unsigned_u32: u32;
    unsigned_u64: u64;
    unsigned_usize: usize;
}

source! { one_sign;
    fn run(x: &Tensor<i32, 1>, y: &Tensor<u32, 1>, values: &mut Tensor<i32, 2>) {
        for i in 0..x.len() {
            let p = x[i];
            let q = y[i];
            values[[i, 0]] = p.signum() * 100 + p.is_positive() as i32 + p.is_negative() as i32 * 2;
            values[[i, 1]] = (p.unsigned_abs() / 2) as i32;
            values[[i, 2]] = q.div_ceil(10) as i32;
            values[[i, 3]] = q.is_power_of_two() as i32;
            values[[i, 4]] = (p / 4).rem_euclid(-7);
            values[[i, 5]] = y[i.saturating_sub(1)] as i32;
        }
    }
}

#[on_all_backends]
fn float_methods_match_std_bit_for_bit(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    macro_rules! run {
        ($name:ident: $ty:ident) => {
            let x = [0.0, -0.0, 1.0, -1.0, 2.5, -7.25, 1e9, $ty::INFINITY, $ty::NAN, 1e-40];
            let y = [1.5, -2.0, 2.5, 2.5, -3.0, 3.0, 7.0, 2.0, 1.0, -0.0];
            let (x, y) = (Array::of(&x), Array::of(&y));
            let n = x.len();
            let (values, bits) = (Array::zeros([n, 11]), Array::zeros([n, 2]));
            let flags = Array::zeros([n, 5]);
            differential!(&on.program, $name [] [x, y] [values, bits, flags]);
        };
    }
    run!(of_f32: f32);
    run!(of_f64: f64);
    let x = [-2.0, -1.3, -0.5, 0.0, 0.1, 0.75, 1.0, 2.4];
    let of_f32 = (Array::of(&x.map(|x| x as f32)), Array::zeros([x.len(), 10]));
    let (x32, values) = of_f32;
    differential!(&on.program, functions_of_f32 [] [x32] [values] within 1e-5);
    let (x, values) = (Array::of(&x), Array::zeros([x.len(), 10]));
    differential!(&on.program, functions_of_f64 [] [x] [values] within 1e-12);
    Ok(())
}

#[on_all_backends]
fn integer_methods_match_std_bit_for_bit(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    macro_rules! run {
        ($name:ident: $ty:ident) => {
            let x = [0, 1, 5, 1000, $ty::MAX, $ty::MIN, $ty::MAX / 3, $ty::MAX - 7];
            let y = [7, $ty::MAX, 3, $ty::MIN, 1, 1, $ty::MAX / 2, $ty::MAX];
            let n = [0, 1, 31, 32, 33, $ty::BITS - 1, $ty::BITS, 5];
            let (x, y, n) = (Array::of(&x), Array::of(&y), Array::of(&n));
            let (values, counts) = (Array::zeros([x.len(), 11]), Array::zeros([x.len(), 4]));
            differential!(&on.program, $name [] [x, y, n] [values, counts]);
        };
    }
    run!(of_i32: i32);
    run!(of_i64: i64);
    run!(of_u32: u32);
    run!(of_u64: u64);
    run!(of_usize: usize);
    let x = Array::of(&[0, 1, -1, 7, -9, 1 << 20, i32::MIN, i32::MAX]);
    let y = Array::of(&[0, 1, 10, 11, 64, 99, 1 << 31, u32::MAX]);
    let values = Array::zeros([x.len(), 6]);
    differential!(&on.program, one_sign [] [x, y] [values]);
    Ok(())
}

#[on_all_backends]
fn methods_of_all_integers_match_std_bit_for_bit(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    macro_rules! values {
        ($ty:ident) => {{
            let (min, max) = ($ty::MIN, $ty::MAX);
            let mut x = vec![min, max, min + 1, max - 1, max / 2, max / 2 + 1, !0, 0, 1, 2, 3];
            // Squares and their neighbours.
            let root = max.isqrt();
            for k in [2, 5, root / 3, root / 2, root - 1, root] {
                x.extend([k * k - 1, k * k, k * k + 1]);
            }
            x.extend((0..20).map(|k| max / 19 * k ^ (k << 2)));
            let n = x.len();
            // Each value with several others.
            let pairs = (0..n * 5).map(|i| (x[i % n], x[(i % n * 3 + i / n * 7 + 1) % n]));
            let (x, y): (Vec<_>, Vec<_>) = pairs.unzip();
            (Array::of(&x), Array::of(&y))
        }};
    }
    macro_rules! run {
        ($name:ident: $ty:ident) => {
            let (x, y) = values!($ty);
            // Plain Rust panics for a quotient that overflows.
            let pairs = (0..x.len()).map(|i| (x[i], y[i]));
            let pairs = pairs.filter(|(x, y)| x.checked_div_euclid(y / 2 * 2 + 1).is_some());
            let (x, y): (Vec<_>, Vec<_>) = pairs.unzip();
            let n = x.len();
            let (x, y) = (Array::of(&x), Array::of(&y));
            let (values, counts) = (Array::zeros([n, 7]), Array::zeros([n, 4]));
            differential!(&on.program, $name [] [x, y] [values, counts]);
        };
    }
    run!(all_i8: i8);
    run!(all_i16: i16);
    run!(all_i32: i32);
    run!(all_i64: i64);
    run!(all_u8: u8);
    run!(all_u16: u16);
    run!(all_u32: u32);
    run!(all_u64: u64);
    run!(all_usize: usize);
    macro_rules! run {
        ($name:ident: $ty:ident) => {
            let (x, y) = values!($ty);
            let (values, flags) = (Array::zeros([x.len(), 4]), Array::zeros([x.len(), 3]));
            differential!(&on.program, $name [] [x, y] [values, flags]);
        };
    }
    run!(unsigned_u8: u8);
    run!(unsigned_u16: u16);
    run!(unsigned_u32: u32);
    run!(unsigned_u64: u64);
    run!(unsigned_usize: usize);
    Ok(())
}

/// What panics in std, at least in debug builds: overflow wraps, and what does not exist has a fixed value.
#[on_all_backends]
fn integer_methods_without_a_result_have_fixed_values(
    backend: TestBackend,
) -> quadrants::Result<()> {
    use quadrants::{self as qd, Tensor};

    #[qd::kernel]
    fn signed<T: qd::Int>(x: &Tensor<T, 1>, out: &mut Tensor<T, 2>, logs: &mut Tensor<u32, 1>) {
        for i in 0..x.len() {
            out[[i, 0]] = x[i].isqrt();
            out[[i, 1]] = x[i].div_euclid(T::ZERO - T::ONE);
            logs[i] = x[i].ilog2();
        }
    }

    let Some(on) = backend.open() else { return Ok(()) };
    macro_rules! run_signed {
        ($($ty:ident)*) => {$(
            let x = on.program.tensor_from(&[0, -1, $ty::MIN, $ty::MIN + 1], [4])?;
            let mut out = on.program.zeros([4, 2])?;
            let mut logs = on.program.zeros([4])?;
            signed(&x, &mut out, &mut logs).launch()?;
            assert_eq!(out.to_vec()?, [0, 0, 0, 1, 0, $ty::MIN, 0, $ty::MAX]);
            assert_eq!(logs.to_vec()?, [u32::MAX; 4]);
        )*};
    }
    run_signed!(i8 i16 i32 i64);
    macro_rules! run_unsigned {
        ($($ty:ident)*) => {$({
            #[qd::kernel]
            fn unsigned(x: &Tensor<$ty, 1>, out: &mut Tensor<$ty, 2>, logs: &mut Tensor<u32, 1>) {
                for i in 0..x.len() {
                    out[[i, 0]] = x[i].next_power_of_two();
                    out[[i, 1]] = x[i].next_multiple_of(2);
                    logs[i] = x[i].ilog2();
                }
            }
            let (max, top) = ($ty::MAX, $ty::MAX / 2 + 1);
            let x = on.program.tensor_from(&[0, max, top + 1, top], [4])?;
            let mut out = on.program.zeros([4, 2])?;
            let mut logs = on.program.zeros([4])?;
            unsigned(&x, &mut out, &mut logs).launch()?;
            assert_eq!(out.to_vec()?, [1, 0, 0, 0, 0, top + 2, top, top]);
            let top = $ty::BITS - 1;
            assert_eq!(logs.to_vec()?, [u32::MAX, top, top, top]);
        })*};
    }
    run_unsigned!(u8 u16 u32 u64 usize);
    Ok(())
}

/// A zero divisor is a device error by way of a method too.
#[on_all_backends]
fn division_methods_report_zero_divisors(backend: TestBackend) -> quadrants::Result<()> {
    use quadrants::{self as qd, Tensor};

    #[qd::kernel]
    fn by_zero(d: i32, out: &mut Tensor<i32, 1>) {
        for i in 0..out.len() {
            out[i] = (i as i32).rem_euclid(d);
        }
    }
    let line = line!() - 3;

    #[qd::kernel]
    fn quotient_by_zero(d: i32, out: &mut Tensor<i32, 1>) {
        for i in 0..out.len() {
            out[i] = (i as i32 - 2).div_euclid(d);
        }
    }
    let quotient_line = line!() - 3;

    #[qd::kernel]
    fn multiple_of_zero(d: u8, out: &mut Tensor<i32, 1>) {
        for i in 0..out.len() {
            out[i] = (i as u8).next_multiple_of(d) as i32;
        }
    }
    let multiple_line = line!() - 3;

    let Some(on) = backend.open() else { return Ok(()) };
    let mut out = on.program.zeros([5])?;
    by_zero(3, &mut out).launch()?;
    assert_eq!(out.to_vec()?, [0, 1, 2, 0, 1]);
    quotient_by_zero(2, &mut out).launch()?;
    assert_eq!(out.to_vec()?, [-1, -1, 0, 0, 1]);
    multiple_of_zero(3, &mut out).launch()?;
    assert_eq!(out.to_vec()?, [0, 3, 3, 3, 6]);
    let check =
        |launched: quadrants::Result<()>, line| match launched.and_then(|()| on.program.sync()) {
            Err(qd::Error::Kernel(error)) => {
                assert_eq!(error.line, line);
                assert!(matches!(error.cause, qd::KernelErrorCause::DivideByZero));
            }
            other => panic!("{other:?}"),
        };
    check(by_zero(0, &mut out).launch(), line);
    check(quotient_by_zero(0, &mut out).launch(), quotient_line);
    check(multiple_of_zero(0, &mut out).launch(), multiple_line);
    Ok(())
}

const WEIGHTS: [u32; 4] = [1, 2, 3, 4];

/// Constants of a body that are computed from others.
#[qd::kernel]
fn by_constants(o: &mut qd::Tensor<u32, 1>) {
    const COUNT: usize = WEIGHTS.len();
    const LAST: u32 = WEIGHTS[COUNT - 1];
    for i in 0..o.len() {
        let mut sum = 0;
        for k in 0..COUNT {
            sum += WEIGHTS[k];
        }
        o[i] = sum + LAST * WEIGHTS.len() as u32;
    }
}

#[on_all_backends]
fn constants_may_be_computed_from_the_length_of_an_array(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut o = on.program.zeros([3])?;
    by_constants(&mut o).launch()?;
    assert_eq!(o.to_vec()?, [26; 3]);
    Ok(())
}

/// A place in a grid, with methods that are called on locals, loop variables and arguments.
#[derive(Clone, Copy, Debug, PartialEq, qd::KernelValue)]
struct Spot {
    row: usize,
    column: usize,
}

#[qd::func]
impl Spot {
    fn above(self) -> Self {
        Self { row: self.row - 1, column: self.column }
    }

    fn number(&self, size: Spot) -> usize {
        self.row * size.column + self.column
    }

    fn advance(&mut self, by: usize) {
        self.column += by;
    }
}

#[qd::func]
trait Around {
    fn around(self, n: usize) -> usize;
}

#[qd::func]
impl Around for usize {
    fn around(self, n: usize) -> usize {
        (self + 1) % n
    }
}

/// The race check follows the indices through methods and through parts of arguments.
#[qd::kernel]
fn by_methods(
    size: Spot,
    [first, second]: [usize; 2],
    x: &qd::Tensor<u32, 2>,
    flat: &mut qd::Tensor<u32, 1>,
    o: &mut qd::Tensor<u32, 2>,
) {
    for (row, column) in qd::ndrange((1..size.row, 0..size.column)) {
        let spot = Spot { row, column };
        let above = spot.above();
        o[[spot.row, spot.column]] = x[[above.row, above.column.around(size.column)]];
        flat[spot.number(size)] = x[[row, column]] + above.number(size) as u32;
        let mut next = spot;
        next.advance(first);
        flat[row * size.column + next.column - first] += second as u32;
    }
}

#[on_all_backends]
fn methods_of_places_keep_iterations_apart(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = on.program.tensor_from(&(0..20).collect::<Vec<u32>>(), [4, 5])?;
    let (mut flat, mut o) = (on.program.zeros([20])?, on.program.zeros([4, 5])?);
    by_methods(Spot { row: 4, column: 5 }, [2, 100], &x, &mut flat, &mut o).launch()?;
    let at = |k: u32| if k < 5 { 0 } else { k - 5 - k % 5 + (k % 5 + 1) % 5 };
    assert_eq!(o.to_vec()?, (0..20).map(at).collect::<Vec<_>>());
    let at = |k: u32| if k < 5 { 0 } else { k + k - 5 + 100 };
    assert_eq!(flat.to_vec()?, (0..20).map(at).collect::<Vec<_>>());
    // Smaller than the tensors.
    let launched = by_methods(Spot { row: 4, column: 4 }, [0, 1], &x, &mut flat, &mut o).launch();
    assert!(launched.is_ok(), "{launched:?}");
    Ok(())
}

const DIVISION: u32 = line!() + 6;

#[qd::func]
impl Spot {
    /// Fails at its own line, whoever calls it.
    fn share(self, n: usize) -> usize {
        self.row / n
    }
}

#[qd::kernel]
fn shares(o: &mut qd::Tensor<u32, 1>) {
    for i in 0..o.len() {
        let spot = Spot { row: 12, column: 0 };
        let first = spot.share(i + 1);
        o[i] = (first + spot.share(2 - i)) as u32;
    }
}

#[on_all_backends]
fn errors_in_a_method_are_located_in_the_method(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut o = on.program.zeros([2])?;
    shares(&mut o).launch()?;
    assert_eq!(o.to_vec()?, [18, 18]);
    let mut o = on.program.zeros([3])?;
    let failed = shares(&mut o).launch().and_then(|()| on.program.sync());
    let Err(qd::Error::Kernel(error)) = failed else { panic!("{failed:?}") };
    assert_eq!((error.line, &error.cause), (DIVISION, &qd::KernelErrorCause::DivideByZero));
    Ok(())
}
