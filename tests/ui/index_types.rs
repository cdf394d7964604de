//! Indices of a wrong type: the message is about the type.

use quadrants::{self as qd, Tensor};

#[qd::kernel]
fn tuple(x: &mut Tensor<f32, 2>) {
    for (i, j) in qd::ndrange(x.shape()) {
        x[(i, j)] = 1.0;
    }
}

#[qd::kernel]
fn float(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[1.0] = 1.0;
    }
}

#[qd::kernel]
fn local_tuple(x: &mut Tensor<f32, 2>) {
    for (i, j) in qd::ndrange(x.shape()) {
        let at = (i, j);
        x[at] = 1.0;
    }
}

#[qd::kernel]
fn boolean(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[true] = 1.0;
    }
}

#[qd::kernel]
fn wrong_cast(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i as u32] = 1.0;
    }
}

#[qd::kernel]
fn too_many(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[[i, i]] = 1.0;
    }
}

fn main() {}
