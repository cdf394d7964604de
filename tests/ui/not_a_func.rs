//! Calls of functions and methods that kernels do not have: one message each, at the call.

use quadrants::{self as qd, Tensor};

fn plain(x: f32) -> f32 {
    x
}

fn sum<T: std::ops::Add<Output = T>>(a: T, b: T) -> T {
    a + b
}

fn of_tensor(x: &Tensor<f32, 1>, i: usize) -> f32 {
    i as f32 + x.len() as f32
}

mod module {
    pub fn helper(x: f32) -> f32 {
        x
    }
}

trait Trait {
    fn by_trait(self, by: f32) -> f32;
}

impl Trait for f32 {
    fn by_trait(self, by: f32) -> f32 {
        self * by
    }
}

#[qd::kernel]
fn caller(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = plain(x[i]) * 2.0;
    }
}

#[qd::kernel]
fn generic(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let y = sum(x[i], 1.0);
        x[i] = y.max(0.0);
    }
}

#[qd::kernel]
fn in_module(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = module::helper(x[i]);
    }
}

#[qd::kernel]
fn with_a_tensor(x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    for i in 0..y.len() {
        y[i] = of_tensor(x, i) + 1.0;
    }
}

#[qd::kernel]
fn of_std(x: &mut Tensor<i32, 1>) {
    for i in 0..x.len() {
        x[i] = std::cmp::max(x[i], 1);
    }
}

#[qd::kernel]
fn swaps(x: &mut Tensor<i32, 1>) {
    for i in 0..x.len() {
        let mut a = x[i];
        let mut b = 1;
        std::mem::swap(&mut a, &mut b);
        x[i] = a - b;
    }
}

use std::mem;

#[qd::kernel]
fn swaps_too(x: &mut Tensor<i32, 1>) {
    for i in 0..x.len() {
        let mut a = x[i];
        let mut b = 1;
        mem::swap(&mut a, &mut b);
        x[i] = a - b;
    }
}

#[qd::kernel]
fn explicit(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = sum::<f32>(x[i], 1.0);
    }
}

#[qd::func]
fn in_func(x: f32) -> f32 {
    plain(x) + 1.0
}

#[qd::func]
fn in_generic_func<T: qd::Float>(x: T) -> T {
    sum(x, x)
}

#[qd::kernel]
fn calls_generic(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = in_generic_func(x[i]);
    }
}

#[qd::kernel]
fn by_method(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = x[i].by_trait(2.0);
    }
}

#[qd::kernel]
fn parameter(twice: f32, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = twice(x[i]);
    }
}

#[qd::kernel]
fn local(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let plain = x[i];
        x[i] = plain(1.0);
    }
}

fn main() {}
