//! Common mistakes: one message each, at the place of the mistake.

use quadrants::{self as qd, Tensor};

#[qd::func]
fn helper(a: f32, b: i32) -> f32 {
    a + b as f32
}

#[qd::func]
fn writes(x: &mut Tensor<f32, 1>, i: usize) {
    x[i] = 1.0;
}

#[derive(Clone, Copy)]
enum NotAValue {
    A,
}

#[derive(Clone, Copy, PartialEq, qd::KernelValue)]
struct Point {
    a: f32,
}

#[qd::kernel]
fn iterates(y: &Tensor<f32, 1>, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = y.iter().sum();
    }
}

#[qd::kernel]
fn unknown_method_of_a_tensor(y: &Tensor<f32, 1>, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = y.length() as f32;
    }
}

#[qd::kernel]
fn text(s: &str, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn string(s: String, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn wide(n: u128, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn enumeration(e: NotAValue, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn tensor_of_no_values(y: &Tensor<NotAValue, 1>, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn unknown_field(p: Point, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = p.b;
    }
}

#[qd::kernel]
fn too_few_arguments(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = helper(x[i]);
    }
}

#[qd::kernel]
fn another_type(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = helper(x[i], i);
    }
}

#[qd::kernel]
fn undeclared(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        a = 2.0;
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn known_name(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = 1.5;
    }
}

#[qd::kernel]
fn known_name_in_text(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        println!("{i}");
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn one_index_of_two(y: &Tensor<f32, 2>, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = y[i];
    }
}

#[qd::kernel]
fn read_only(x: &Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn read_only_in_func(x: &Tensor<f32, 1>) {
    for i in 0..x.len() {
        writes(x, i);
    }
}

#[qd::kernel]
fn unknown_atomics(x: &mut Tensor<i32, 1>) {
    for i in 0..x.len() {
        qd::atomic_sub(&mut x[0], 1);
        qd::atomic_nand(&mut x[1], i as i32);
    }
}

fn main() {}
