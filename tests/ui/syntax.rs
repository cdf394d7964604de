//! Code that is no Rust. rustc reports it before it expands a macro, so the second message says what kernels expect.

use quadrants as qd;

#[qd::kernel]
fn index_of_two_dimensions(x: &mut qd::Tensor<f32, 2>) {
    for (i, j) in qd::ndrange(x.shape()) {
        x[i, j] = 1.0;
    }
}

#[qd::func]
fn index_in_a_func(x: &qd::Tensor<f32, 2>, i: usize) -> f32 {
    let [a, b] = [1.0, 2.0];
    a * b * x[i, i + 1]
}

fn main() {}
