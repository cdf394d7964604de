//! Types in closures whose bodies replace the calls, and `map` of a number: one message each.

use quadrants::{self as qd, Tensor, Vector};

#[qd::kernel]
fn an_operator_that_does_not_exist(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let f = |y: f32| y * 2;
        x[i] = f(1.0) + f(2.0);
    }
}

#[qd::kernel]
fn an_argument_of_another_type(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let f = |y: f32| y * 2.0;
        x[i] = f(1_u32);
    }
}

#[qd::kernel]
fn map_of_a_number(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = x[i].map(|y| y + 1.0);
    }
}

#[qd::kernel]
fn map_to_another_type(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = Vector([x[i], 1.0]).map(|y| y as i32)[0];
    }
}

fn main() {}
