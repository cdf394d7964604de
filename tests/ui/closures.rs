//! Closures in kernels that are not only called, or whose bodies cannot replace the calls; mistakes in those that can.

use quadrants::{self as qd, Tensor};

#[qd::kernel]
fn moving(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let a = 1.0;
        let f = move |y: f32| y + a;
        x[i] = f(2.0);
    }
}

#[qd::kernel]
fn a_captured_local_is_declared_again(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let a = 1.0;
        let f = |y: f32| y + a;
        let a = f(2.0);
        x[i] = f(a);
    }
}

#[qd::kernel]
fn a_local_captured_in_a_macro_is_declared_again(x: &mut Tensor<i32, 1>) {
    for i in 0..x.len() {
        let a = 2;
        let is_large = |v: i32| matches!(v, w if w > a);
        let a = 5;
        x[i] = is_large(a) as i32;
    }
}

#[qd::kernel]
fn jumping(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let f = |y: f32| if y > 1.0 { continue } else { y };
        x[i] = f(x[i]);
    }
}

#[qd::kernel]
fn as_a_value(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let f = |y: f32| y * 2.0;
        let g = f;
        x[i] = g(1.0) + f(2.0);
    }
}

#[qd::kernel]
fn two_arguments_for_one(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let f = |y: f32| y * 2.0;
        x[i] = f(1.0, 2.0);
    }
}

#[qd::kernel]
fn a_race_in_the_body(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let put = |y: f32| x[i / 2] = y;
        put(1.0);
    }
}

fn main() {}
