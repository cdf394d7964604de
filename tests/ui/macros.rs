//! Macros in kernels: those without `#[func]`, those of std, and wrong arguments.

use quadrants::{self as qd, Tensor};

macro_rules! squared {
    ($x:expr) => {
        $x * $x
    };
}

macro_rules! clear {
    ($x:ident, $i:ident) => {
        $x[$i] = 0.0;
    };
}

#[qd::kernel]
fn an_expression(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = squared!(x[i]);
    }
}

#[qd::kernel]
fn a_statement(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        clear!(x, i);
    }
}

#[qd::func]
fn in_a_func(x: f32) -> f32 {
    squared!(x) + 1.0
}

#[qd::func]
macro_rules! sum {
    ($a:expr, $b:expr) => {
        $a + $b
    };
}

#[qd::kernel]
fn an_argument_is_missing(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = sum!(x[i]);
    }
}

#[qd::kernel]
fn of_std(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = vec![1.0, 2.0][0];
    }
}

#[qd::kernel]
fn of_std_by_its_path(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        std::println!("{i}");
        x[i] = 0.0;
    }
}

fn main() {}
