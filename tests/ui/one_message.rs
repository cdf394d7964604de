//! One mistake, one message.

use quadrants::{self as qd, Tensor};

#[qd::kernel]
fn unknown_method(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = x[i].squareroot();
    }
}

#[qd::kernel]
fn unknown_method_of_a_local(x: &mut Tensor<i32, 1>) {
    for i in 0..x.len() {
        let n = x[i];
        x[i] = n.cube() + 1;
    }
}

#[qd::kernel]
fn sum_with_a_bool(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = true + 1.0;
    }
}

#[qd::kernel]
fn if_without_else(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = if i > 3 { 1.0 };
    }
}

#[qd::kernel]
fn let_without_else(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let a = if i > 3 { 1.0 };
        x[i] = a;
    }
}

#[qd::kernel]
fn vector_parameter(v: &Vec<f32>, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = v[i];
    }
}

fn main() {}
