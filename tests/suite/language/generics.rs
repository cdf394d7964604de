//! Kernels and funcs that are generic over types and constants.

use quadrants::{self as qd, Number as _};
use quadrants_tests::{TestBackend, on_all_backends};

use super::{Array, Same, differential, source};

#[qd::func]
fn axpy<T: qd::Number>(a: T, x: T, y: T) -> T {
    a * x + y
}

/// Its argument to the power of a constant, by a func that is generic too.
#[qd::func]
fn power<const N: u32>(x: f32) -> f32 {
    let mut y = 1.0;
    for _ in 0..N {
        y = axpy(x, y, 0.0);
    }
    y
}

#[qd::func]
fn half<T>(x: T) -> T
where
    T: qd::Float,
{
    T::from_f64(0.1) * x + T::from_f32(0.1) * x.abs().sqrt().max(T::ONE) + T::sin(x) * T::PI
        - T::from_usize(2) / T::from_i32(-3)
}

#[qd::func]
fn turned<T: qd::Float>(x: T) -> T {
    let (sine, cosine) = x.sin_cos();
    let small = sine * T::from_f32(0.5);
    let sum = sine.exp_m1() + cosine.abs().ln_1p() + small.asinh() + small.atanh();
    let steps = x.div_euclid(T::from_f32(0.7)).midpoint(x.round_ties_even());
    sum + (x.abs() + T::from_f32(1.5)).acosh() + (x.abs() + T::ONE).log(T::E) + steps
}

#[qd::func]
fn convert<A: qd::Number, B: qd::Number>(x: A) -> B {
    B::from_f64(x.to_f64())
}

#[qd::func]
fn bits<T: qd::Int>(x: T) -> u32 {
    let mut y = x & T::from_i32(0x5f) | T::ONE;
    y <<= 2u32;
    let z =
        y.midpoint(x).max(T::ZERO).isqrt().div_euclid(T::from_i32(3)).swap_bytes().reverse_bits();
    y ^= z & T::from_u32(z.count_zeros() + x.max(T::ONE).ilog2());
    if T::MAX > y { (y ^ T::MIN).count_ones() + T::BITS } else { 0 }
}

source! { of_funcs;
    fn run(
        x: &Tensor<f32, 1>,
        n: &Tensor<i32, 1>,
        floats: &mut Tensor<f32, 2>,
        doubles: &mut Tensor<f64, 2>,
        ints: &mut Tensor<i32, 2>,
    ) {
        for i in 0..x.len() {
            floats[[i, 0]] = axpy(2.0, x[i], 0.5);
            floats[[i, 1]] = power::<3>(x[i]) + power::<0>(x[i]);
            floats[[i, 2]] = half(x[i]);
            floats[[i, 3]] = convert(n[i]);
            floats[[i, 4]] = axpy::<f32>(x[i], 3.0, convert::<_, f32>(x[i].to_i32()));
            doubles[[i, 0]] = axpy(2.0, x[i].to_f64(), 0.5);
            doubles[[i, 1]] = half(x[i] as f64);
            doubles[[i, 2]] = f64::from_f32(0.1);
            doubles[[i, 3]] = turned(x[i] as f64);
            ints[[i, 0]] = axpy(3, n[i], -4);
            ints[[i, 1]] = bits(n[i]) as i32 + 100 * bits(n[i] as u8) as i32;
            ints[[i, 2]] = convert::<f32, i32>(x[i] * 10.0);
        }
    }
}

source! { of_types;
    fn run<T: qd::Float>(a: T, x: &Tensor<T, 1>, y: &mut Tensor<T, 1>) {
        let two = T::from_f32(2.0);
        for i in 0..x.len() {
            y[i] = half(axpy(a, x[i], y[i] / two));
        }
    }
}

mod on_tensors {
    use quadrants::{self as qd, Tensor};

    #[qd::func]
    fn window<T: qd::Number, const N: usize>(of: &Tensor<T, 1>, from: usize) -> T {
        let mut values = [T::ZERO; N];
        for k in 0..N {
            values[k] = of[(from + k) % of.len()];
        }
        let mut sum = T::ZERO;
        for k in 0..N {
            sum += values[N - 1 - k] * T::from_usize(k + 1);
        }
        sum
    }

    #[qd::func]
    fn first<T: qd::Number>(of: &Tensor<T, 1>) -> T {
        of[0]
    }

    #[qd::func]
    fn both<T: qd::Number>(of: &Tensor<T, 1>, at: usize) -> T {
        window::<T, 2>(of, at) + first(of)
    }

    /// A kernel whose arguments do not determine all of its parameters.
    #[qd::kernel]
    pub(super) fn parts<const N: usize, T>(
        x: &Tensor<T, 1>,
        y: &mut Tensor<T, 1>,
        squares: &mut Tensor<T, 1>,
    ) -> T
    where
        T: qd::Number + Copy,
    {
        for i in 0..x.len() {
            let mut parts = [T::ZERO; N];
            for k in 0..N {
                parts[k] = x[i] * T::from_usize(k);
            }
            let v: qd::Vector<T, N> = qd::Vector(parts);
            y[i] = v[N - 1] + v[N / 2];
            squares[i] = v.dot(v);
        }
        T::from_usize(N)
    }

    #[qd::kernel]
    pub(super) fn windows<T: qd::Number>(x: &Tensor<T, 1>, y: &mut Tensor<T, 2>) {
        for i in 0..x.len() {
            y[[i, 0]] = window::<T, 3>(x, i);
            y[[i, 1]] = both(x, i);
        }
    }
}

/// A user trait as a bound of generic kernels.
#[qd::func]
trait Shape {
    const CORNERS: u32;
    fn area(self) -> f32;
    fn grow(&mut self, by: f32);
    fn unit(size: f32) -> Self;
}

#[derive(Clone, Copy, qd::KernelValue)]
struct Circle {
    radius: f32,
}

#[derive(Clone, Copy, qd::KernelValue)]
struct Sides<T> {
    a: T,
    b: T,
}

#[qd::func]
impl Shape for Circle {
    const CORNERS: u32 = 0;
    fn area(self) -> f32 {
        3.0 * self.radius * self.radius
    }
    fn grow(&mut self, by: f32) {
        self.radius += by;
    }
    fn unit(size: f32) -> Self {
        Self { radius: size }
    }
}

#[qd::func]
impl<T: qd::Float> Shape for Sides<T> {
    const CORNERS: u32 = 4;
    fn area(self) -> f32 {
        self.product().to_f32()
    }
    fn grow(&mut self, by: f32) {
        self.a += T::from_f32(by);
    }
    fn unit(size: f32) -> Self {
        Self::of(T::from_f32(size), T::ONE)
    }
}

#[qd::func]
impl<T: qd::Float> Sides<T> {
    fn of(a: T, b: T) -> Self {
        Self { a, b }
    }
    fn product(&self) -> T {
        self.a * self.b
    }
}

#[qd::func]
fn grown<S: Shape>(shape: S, by: f32) -> f32 {
    let mut shape = shape;
    shape.grow(by);
    shape.area() + S::unit(0.5).area() + S::CORNERS as f32
}

source! { of_shapes;
    fn run<S: Shape>(shape: S, x: &mut Tensor<f32, 1>) {
        for i in 0..x.len() {
            x[i] = grown(shape, i as f32) + grown(Sides { a: 1.0_f64, b: 2.0 }, 0.5);
            if i == 0 {
                x[i] += shape.area();
            }
        }
    }
}

#[on_all_backends]
fn user_traits_may_be_bounds(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = Array::zeros([4]);
    differential!(&on.program, of_shapes [Circle { radius: 2.0 }] [] [x]);
    differential!(&on.program, of_shapes [Sides { a: 1.5_f32, b: -2.0 }] [] [x]);
    Ok(())
}

#[on_all_backends]
fn funcs_have_type_and_const_parameters(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = Array::of(&[-2.5_f32, -1.0, 0.0, 0.25, 3.0]);
    let n = Array::of(&[-100_i32, -1, 0, 7, 250]);
    let (floats, doubles) = (Array::zeros([5, 5]), Array::zeros([5, 4]));
    let ints = Array::zeros([5, 3]);
    differential!(&on.program, of_funcs [] [x, n] [floats, doubles, ints] within 1e-6);
    // They stay ordinary functions.
    assert_eq!((axpy(2, 3, 4), power::<2>(3.0)), (10, 9.0));
    Ok(())
}

#[on_all_backends]
fn each_monomorphization_is_a_separate_kernel(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    for _ in 0..2 {
        let (x, y) = (Array::of(&[1.0_f32, -2.0, 0.5]), Array::of(&[0.0_f32, 1.0, 2.0]));
        differential!(&on.program, of_types [1.5_f32] [x] [y] within 1e-6);
        let (x, y) = (Array::of(&[1.0_f64, -2.0, 0.5]), Array::of(&[0.0_f64, 1.0, 2.0]));
        differential!(&on.program, of_types [1.5_f64] [x] [y] within 1e-6);
    }
    Ok(())
}

#[on_all_backends]
fn kernels_have_const_parameters(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = on.program.tensor_from(&[1_i32, -2, 3], [3])?;
    let (mut y, mut squares) = (on.program.zeros([3])?, on.program.zeros([3])?);
    let n = on_tensors::parts::<4, _>(&x, &mut y, &mut squares).launch()?;
    assert_eq!((n, y.to_vec()?, squares.to_vec()?), (4, vec![5, -10, 15], vec![14, 56, 126]));
    let n = on_tensors::parts::<2, i32>(&x, &mut y, &mut squares).launch()?;
    assert_eq!((n, y.to_vec()?, squares.to_vec()?), (2, vec![2, -4, 6], vec![1, 4, 9]));
    Ok(())
}

#[on_all_backends]
fn generic_funcs_take_tensors(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = on.program.tensor_from(&[1_u32, 10, 100], [3])?;
    let mut y = on.program.zeros([3, 2])?;
    on_tensors::windows(&x, &mut y).launch()?;
    assert_eq!(y.to_vec()?, [123, 13, 231, 121, 312, 202]);
    let x = on.program.tensor_from(&[1.5_f64, 10.0, 100.0], [3])?;
    let mut y = on.program.zeros([3, 2])?;
    on_tensors::windows(&x, &mut y).launch()?;
    assert_eq!(y.to_vec()?, [124.5, 14.5, 231.5, 121.5, 313.0, 203.0]);
    Ok(())
}

#[derive(Clone, Copy, qd::KernelValue)]
struct Pair<T> {
    first: T,
    second: T,
}

#[qd::func]
impl<T: qd::Number> Pair<T> {
    fn of(first: T, second: T) -> Self {
        Pair { first, second }
    }

    fn origin() -> Self {
        Pair::of(T::from_i32(0), T::from_i32(0))
    }

    fn total(self) -> T {
        self.first + self.second
    }
}

mod inferred {
    use quadrants::{self as qd, Tensor};

    use super::Pair;

    #[qd::kernel]
    pub(super) fn totals(x: &Tensor<i64, 1>, y: &mut Tensor<i64, 1>, z: &mut Tensor<f32, 1>) {
        for i in 0..x.len() {
            let pair = Pair::of(x[i], 2);
            let mut origin: Pair<f32> = Pair::origin();
            origin.first += 0.5;
            y[i] = Pair::total(pair) * Pair::of(3, x[i]).first;
            z[i] = origin.total();
        }
    }
}

#[on_all_backends]
fn generic_arguments_of_a_type_are_inferred(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = on.program.tensor_from(&[1_i64, -2, 1 << 40], [3])?;
    let (mut y, mut z) = (on.program.zeros([3])?, on.program.zeros([3])?);
    inferred::totals(&x, &mut y, &mut z).launch()?;
    assert_eq!(y.to_vec()?, [1_i64, -2, 1 << 40].map(|x| Pair::of(x, 2).total() * 3));
    assert_eq!(z.to_vec()?, [0.5; 3]);
    Ok(())
}
