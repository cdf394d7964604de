//! Complex numbers, minima of vectors, and users' own types whose methods have the names of built-in ones.

use quadrants::{self as qd, Complex, KernelValue, Vector};
use quadrants_tests::{TestBackend, on_all_backends};

use super::{Array, Same, differential, source};

impl<T: Same> Same for Complex<T> {
    fn same(&self, other: &Self, tolerance: f64) -> bool {
        self.re.same(&other.re, tolerance) && self.im.same(&other.im, tolerance)
    }
}

impl Same for Vector<i32, 2> {
    fn same(&self, other: &Self, _: f64) -> bool {
        self == other
    }
}

const UNIT: Complex<f32> = Complex { re: 0.0, im: 1.0 };

source! { operators;
    fn run(s: f32, a: &Tensor<Complex<f32>, 1>, b: &Tensor<Complex<f32>, 1>, out: &mut Tensor<Complex<f32>, 2>) {
        for i in 0..a.len() {
            let (p, q) = (a[i], b[i]);
            out[[i, 0]] = p + q;
            out[[i, 1]] = p - q * 2.0;
            out[[i, 2]] = p * q;
            out[[i, 3]] = p / q;
            out[[i, 4]] = -p / s + UNIT;
            out[[i, 5]] = s * p + 0.5 * q;
            let mut z = Complex { re: s, im: -1.0 };
            z += p;
            z *= q;
            z -= UNIT;
            z /= p;
            z *= s;
            out[[i, 6]] = z;
            out[[i, 6]] /= 4.0;
            out[[i, 6]] += q;
            let (re, equal) = (z.re, p == q || p != p);
            out[[i, 7]] = Complex { re: if equal { 1.0 } else { re }, ..p };
            let mut orbit = Complex::<f32>::new(0.0, 0.0);
            for _ in 0..5 {
                orbit = orbit * orbit + p * 0.25;
            }
            out[[i, 8]] = orbit;
        }
    }
}

source! { functions;
    fn run(a: &Tensor<Complex<f64>, 1>, out: &mut Tensor<Complex<f64>, 2>) {
        for i in 0..a.len() {
            let z = a[i];
            out[[i, 0]] = z.conj() * z;
            out[[i, 1]] = Complex { re: z.norm_sqr(), im: z.abs() };
            out[[i, 2]] = Complex::<f64>::from_polar(z.abs(), z.arg());
            out[[i, 3]] = z.exp();
            out[[i, 4]] = Complex::<f64>::new(z.arg(), 0.0) - Complex { re: 1.0, im: 2.0 };
            out[[i, 5]] = Complex::new(1.0, 2.0) * qd::Complex::from_polar(z.abs(), 0.5);
            let unit = Complex::new(0.0, 1.0);
            out[[i, 6]] = unit * z;
        }
    }
}

source! { componentwise;
    fn run(a: &Tensor<Vector<f32, 3>, 1>, n: &Tensor<Vector<i32, 2>, 1>, out: &mut Tensor<Vector<f32, 3>, 2>, m: &mut Tensor<Vector<i32, 2>, 1>) {
        for i in 0..a.len() {
            let low = Vector([-1.0, -0.0, 2.0]);
            out[[i, 0]] = a[i].min(low);
            out[[i, 1]] = a[i].max(low).min(Vector::splat(5.0));
            out[[i, 2]] = Vector::<f32, 3>::max(a[i], low);
            m[i] = n[i].max(Vector([i as i32, -3])) + n[i].min(Vector([0, 7]));
        }
    }
}

/// A type with methods of the names of built-in ones, which mean something else.
#[derive(Clone, Copy, Debug, PartialEq, KernelValue)]
struct Interval {
    low: f32,
    high: f32,
}

#[qd::func]
impl Interval {
    fn norm(self) -> f32 {
        self.high - self.low
    }

    fn sum(self, other: Self) -> Self {
        Self { low: self.low + other.low, high: self.high + other.high }
    }

    fn exp(self) -> Self {
        Self { low: self.low * 10.0, high: self.high * 10.0 }
    }

    fn min(self) -> f32 {
        self.low
    }

    fn max(&self, other: f32, scale: f32) -> f32 {
        self.high * scale + other
    }

    fn len(self) -> i32 {
        7
    }

    fn conj(&mut self) {
        self.low = -self.low;
    }

    fn abs(self, by: Vector<f32, 2>) -> Vector<f32, 2> {
        by * self.norm()
    }

    fn is_nan(self) -> bool {
        self.low > self.high
    }
}

source! { own_names;
    fn run(x: &Tensor<f32, 1>, out: &mut Tensor<f32, 2>) {
        for i in 0..x.len() {
            let mut of = Interval { low: x[i], high: x[i] * x[i] };
            out[[i, 0]] = of.norm() + of.exp().norm();
            of = of.sum(Interval { low: 1.0, high: 2.0 });
            out[[i, 1]] = of.min() + of.max(3.0, 0.5) + of.len() as f32;
            of.conj();
            out[[i, 2]] = of.abs(Vector([1.0, 2.0]))[1] + of.low.abs() + of.high.exp().min(3.0);
            out[[i, 3]] = of.is_nan() as u32 as f32 + Vector([x[i], 1.0]).norm();
        }
    }
}

fn numbers<T>(make: impl Fn(f64, f64) -> T) -> Vec<T> {
    let parts = [-2.0, -0.5, 0.0, 0.25, 1.0, 3.5];
    parts.iter().flat_map(|re| parts.iter().map(|im| make(*re, *im))).collect()
}

#[on_all_backends]
fn complex_numbers_have_operators(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let a = Array::of(&numbers(|re, im| Complex { re: re as f32, im: im as f32 }));
    let b = Array::of(&numbers(|re, im| Complex { re: im as f32 + 0.125, im: re as f32 }));
    let none = Complex { re: 0.0, im: 0.0 };
    let out = Array::new(&vec![none; 9 * a.len()], [a.len(), 9]);
    differential!(&on.program, operators[1.5][a, b][out] within 1e-5);
    let a = Array::of(&numbers(|re, im| Complex { re, im }));
    let out = Array::new(&vec![Complex { re: 0.0, im: 0.0 }; 7 * a.len()], [a.len(), 7]);
    differential!(&on.program, functions[][a][out] within 1e-12);
    assert_eq!(Complex::new(3.0_f32, 4.0).abs(), 5.0);
    assert_eq!(2.0 * Complex { re: 1.0_f64, im: -1.0 }, Complex { re: 2.0, im: -2.0 });
    Ok(())
}

#[on_all_backends]
fn minima_of_vectors_are_componentwise(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let a = Array::of(&[Vector([0.0, 0.0, 9.0]), Vector([f32::NAN, -5.0, 1.0])]);
    let n = Array::of(&[Vector([4, -9]), Vector([-2, 8])]);
    let (out, m) = (Array::new(&[Vector([0.0; 3]); 6], [2, 3]), Array::of(&[Vector([0; 2]); 2]));
    differential!(&on.program, componentwise[][a, n][out, m]);
    Ok(())
}

#[on_all_backends]
fn own_methods_may_have_any_name(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = Array::of(&[-1.5, 0.0, 0.5, 2.0]);
    let out = Array::zeros([4, 4]);
    differential!(&on.program, own_names[][x][out] within 1e-6);
    Ok(())
}
