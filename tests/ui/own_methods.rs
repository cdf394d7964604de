//! Methods that have the name of a built-in one, funcs that are none, and what only `unsafe` may claim.

use quadrants::{self as qd, Tensor, Vector};

trait Own: Sized {
    fn abs_diff(self, _other: Self) -> u64 {
        7
    }
    fn to_usize(self) -> usize {
        1 << 40
    }
    fn len(self) -> usize {
        1 << 40
    }
    fn sqrt(self) -> f32 {
        7.0
    }
    fn splat(_value: f32) -> Self;
}

trait OfVectors<T>: Sized {
    fn norm(self) -> T;
    fn sum(self) -> T;
    fn zero() -> Self;
}

#[qd::kernel]
fn difference<T: qd::Int + Own>(a: T, b: T, x: &mut Tensor<f32, 1>) {
    for i in 0..1 {
        x[i + a.abs_diff(b) as usize] = 1.0;
    }
}

#[qd::kernel]
fn converted<T: qd::KernelValue + Own>(a: T, x: &mut Tensor<f32, 1>) {
    for i in 0..1 {
        x[i + a.to_usize()] = 1.0;
    }
}

#[qd::kernel]
fn counted<T: qd::KernelValue + Own>(a: T, x: &mut Tensor<f32, 1>) {
    for i in 0..1 {
        x[i + a.len()] = 1.0;
    }
}

#[qd::func]
fn root<T: qd::KernelValue + Own>(a: T) -> f32 {
    a.sqrt()
}

#[qd::func]
fn length<T: qd::KernelValue>(v: Vector<T, 2>) -> T
where
    Vector<T, 2>: OfVectors<T>,
{
    v.norm()
}

#[qd::func]
fn by_path<T: qd::KernelValue + Own>(a: T) -> f32 {
    T::sqrt(a)
}

#[qd::func]
trait Pick {
    fn pick(self, i: usize) -> usize;
}

#[derive(Clone, Copy, qd::KernelValue)]
struct S(u32);

#[qd::func]
impl S {
    fn pick(self, i: usize) -> usize {
        i
    }

    fn __func_pick(self, i: usize) -> usize {
        i
    }
}

#[derive(Clone, Copy, qd::KernelValue)]
struct Chosen(u32);

#[qd::func]
impl Chosen {
    fn pick(self, i: usize) -> usize {
        i
    }
}

impl Pick for Chosen {
    fn pick(self, i: usize) -> usize {
        i + (1 << 40)
    }
}

#[derive(Clone, Copy, qd::KernelValue)]
struct Outer {
    value: u32,
}

impl std::ops::Deref for Outer {
    type Target = u32;
    fn deref(&self) -> &u32 {
        &self.value
    }
}

#[allow(non_camel_case_types)]
struct forged {}

impl forged {
    fn __call(i: usize) -> usize {
        i + (1 << 40)
    }
}

fn forged(i: usize) -> usize {
    i
}

#[qd::kernel]
fn calls_what_is_no_func(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[forged(i)] = 1.0;
    }
}

struct Forged;

impl qd::macro_support::body::Body for Forged {
    const NAME: &'static str = "forged";
    fn ir() -> Result<qd::ir::Kernel, qd::BoxError> {
        unreachable!()
    }
    fn run<L: qd::macro_support::body::Level, const WIDE: usize>(
        _: &qd::macro_support::body::Cx<'_, L>,
    ) {
    }
}

impl qd::macro_support::body::HasMethod<0> for S {
    const CALLEE: qd::macro_support::body::Callee = qd::macro_support::body::Callee::Builtin;
    const MUTATES: bool = false;
}

fn main() {}
