//! Macros in kernels: `#[kernel]` sees them before rustc expands them.

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

fn main() {}
