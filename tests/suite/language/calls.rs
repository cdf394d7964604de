//! Funcs of this and other modules, and constants through every kind of path.

use quadrants as qd;
use quadrants_tests::{TestBackend, on_all_backends};

use super::{Array, Same, differential, source};

const SCALE: f32 = 0.25;
static SHIFT: i32 = -7;

/// Constants by an associated path.
pub(crate) struct Limits;

impl Limits {
    /// A limit.
    pub(crate) const MOST: usize = 3;
    const BIG: u64 = 1 << 40;
}

mod elsewhere {
    use quadrants as qd;

    pub(crate) const OFFSET: i32 = 1000;

    #[qd::func]
    pub(crate) fn clamp(x: i32, low: i32, high: i32) -> i32 {
        if x < low {
            low
        } else if x > high {
            high
        } else {
            x
        }
    }

    pub(crate) mod deeper {
        use quadrants as qd;

        #[qd::func]
        pub(crate) fn digits(mut n: u64) -> i32 {
            let mut count = 1;
            while n > 9 {
                n /= 10;
                count += 1;
            }
            count
        }
    }
}

use elsewhere::deeper::digits as count_digits;

#[qd::func]
fn square(x: f32) -> f32 {
    x * x
}

#[qd::func]
#[allow(clippy::needless_return)] // it is what is tested
fn norm(x: f32, y: f32) -> f32 {
    let sum = square(x) + square(y);
    return sum * SCALE;
}

#[qd::func]
fn is_odd(x: i32) -> bool {
    x & 1 != 0
}

#[qd::func]
fn shadows(x: i32, mut y: i32) -> i32 {
    y += x;
    let x = y * 2;
    {
        let y = x + 1;
        if is_odd(y) { y } else { x }
    }
}

source! { funcs;
    fn run(x: &Tensor<i32, 1>, a: &mut Tensor<i32, 2>, b: &mut Tensor<f32, 1>) {
        for i in 0..x.len() {
            let y = 3;
            a[[i, 0]] = elsewhere::clamp(x[i], -y, y) * 10 + elsewhere::clamp(2, y, 9);
            a[[i, 1]] = elsewhere::deeper::digits(x[i].abs() as u64) + count_digits(Limits::BIG);
            a[[i, 2]] = shadows(shadows(x[i], y), shadows(y, 1)) + y;
            a[[i, 3]] = if is_odd(x[i]) && !is_odd(x[i] / 2) { 1 } else { 0 };
            b[i] = norm(norm(x[i] as f32, 2.0), square(x[i] as f32 * 0.5));
        }
    }
}

source! { constants;
    fn run(n: i32, a: &mut Tensor<i32, 1>, b: &mut Tensor<u64, 1>, c: &mut Tensor<f64, 1>) {
        for i in 0..Limits::MOST {
            a[i] = n + SHIFT + elsewhere::OFFSET * i as i32;
            b[i] = Limits::BIG + u64::MAX / 2 + usize::MAX as u64 / 3;
            c[i] = std::f64::consts::PI * SCALE as f64 + f32::EPSILON as f64;
        }
        a[3] = i32::MIN;
        a[4] = i32::MAX - n;
        b[3] = crate::language::calls::Limits::MOST as u64;
        c[3] = f64::INFINITY;
        c[4] = f64::MIN_POSITIVE;
    }
}

#[on_all_backends]
fn funcs_call_funcs(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = Array::of(&[-12345, -4, -3, -1, 0, 1, 2, 3, 5, 99, 100]);
    let (a, b) = (Array::zeros([x.len(), 4]), Array::zeros([x.len()]));
    differential!(&on.program, funcs [] [x] [a, b] within 1e-6);
    // They stay ordinary functions.
    assert_eq!((elsewhere::clamp(7, 1, 5), shadows(1, 2)), (5, 7));
    Ok(())
}

#[on_all_backends]
fn constants_resolve_through_every_kind_of_path(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let (a, b, c) = (Array::zeros([5]), Array::zeros([4]), Array::zeros([5]));
    differential!(&on.program, constants [41] [] [a, b, c]);
    Ok(())
}

mod on_tensors {
    use quadrants::{self as qd, Tensor};

    /// The sum of an element and its neighbours, a tensor of another rank among the arguments.
    #[qd::func]
    pub(super) fn around(t: &Tensor<f32, 1>, weights: &Tensor<f32, 2>, at: usize) -> f32 {
        let mut sum = 0.0;
        for k in 0..weights.shape()[1] {
            sum += weights[[0, k]] * t[(at + k + t.len() - 1) % t.len()];
        }
        sum
    }

    #[qd::func]
    fn put(to: &mut Tensor<f32, 1>, at: usize, value: f32) -> f32 {
        let old = to[at];
        to[at] = value;
        old
    }

    /// Passes tensors on.
    #[qd::func]
    fn moved(from: &Tensor<f32, 1>, weights: &Tensor<f32, 2>, to: &mut Tensor<f32, 1>, at: usize) {
        let value = around(from, weights, at);
        let old = put(to, at, value);
        to[at] += old;
    }

    #[qd::kernel]
    pub(super) fn blurred(
        from: &Tensor<f32, 1>,
        weights: &Tensor<f32, 2>,
        to: &mut Tensor<f32, 1>,
    ) {
        for i in 0..from.len() {
            // SAFETY: what the func writes is the element at `i`.
            unsafe { moved(from, weights, to, i) }
        }
    }

    #[qd::kernel]
    pub(super) fn gathered(
        from: &Tensor<f32, 1>,
        weights: &Tensor<f32, 2>,
        to: &mut Tensor<f32, 1>,
    ) {
        for i in 0..from.len() {
            #[allow(clippy::borrow_deref_ref, clippy::needless_borrow)] // every way to pass one
            let both = around(&from, weights, i) + around(&*from, &weights, 0);
            to[i] = both;
        }
    }

    #[qd::kernel]
    pub(super) fn out_of_range(from: &Tensor<f32, 1>, to: &mut Tensor<f32, 1>) {
        for i in 0..to.len() {
            to[i] = beyond(from, i);
        }
    }

    #[qd::func]
    fn beyond(t: &Tensor<f32, 1>, at: usize) -> f32 {
        t[at + 1] // here
    }

    pub(super) const LINE: u32 = line!() - 3;
}

#[on_all_backends]
fn funcs_take_tensors(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let from = on.program.tensor_from(&[1.0_f32, 2.0, 4.0, 8.0], [4])?;
    let weights = on.program.tensor_from(&[1.0_f32, 10.0, 100.0], [1, 3])?;
    let mut to = on.program.tensor_from(&[0.5_f32; 4], [4])?;
    on_tensors::blurred(&from, &weights, &mut to).launch()?;
    assert_eq!(to.to_vec()?, [218.5, 421.5, 842.5, 184.5]);
    on_tensors::gathered(&from, &weights, &mut to).launch()?;
    assert_eq!(to.to_vec()?, [436.0, 639.0, 1060.0, 402.0]);
    let failed = on_tensors::out_of_range(&from, &mut to).launch();
    let error = failed.and_then(|()| on.program.sync()).unwrap_err().to_string();
    assert!(error.contains("`from`") && error.contains(&on_tensors::LINE.to_string()), "{error}");
    Ok(())
}
