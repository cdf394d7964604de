use quadrants as qd;
use quadrants::{Distinct, Tensor};

#[qd::kernel]
fn not_distinct(to: &Tensor<u32, 1>, out: &mut Tensor<f32, 1>) {
    for i in 0..to.len() {
        out[to[i] as usize] = 1.0;
    }
}

#[qd::kernel]
fn next_to_each_other(to: &Distinct<u32, 1>, out: &mut Tensor<f32, 1>) {
    for i in 0..to.len() {
        out[to[i] as usize] = 1.0;
        out[to[i] as usize + 1] = 2.0;
    }
}

#[qd::kernel]
fn of_other_tensors(a: &Distinct<u32, 1>, b: &Distinct<u32, 1>, out: &mut Tensor<f32, 1>) {
    for i in 0..a.len() {
        out[a[i] as usize] = 1.0;
        out[b[i] as usize] = 2.0;
    }
}

#[qd::kernel]
fn the_same_element(to: &Distinct<u32, 1>, out: &mut Tensor<f32, 1>) {
    for i in 0..to.len() {
        out[to[i / 2] as usize] = 1.0;
    }
}

#[qd::kernel]
fn reads_what_another_writes(to: &Distinct<u32, 1>, out: &mut Tensor<f32, 1>) {
    for i in 0..to.len() {
        out[to[i] as usize] = out[i];
    }
}

#[qd::kernel]
fn accepted(a: &Distinct<u32, 1>, out: &mut Tensor<f32, 1>) {
    for i in 1..a.len() / 2 {
        out[a[2 * i] as usize] += 1.0;
        out[a[2 * i + 1] as usize] = out[a[2 * i] as usize];
    }
}

#[qd::kernel]
fn writes_the_indices(to: &mut Distinct<u32, 1>) {
    for i in 0..to.len() {
        to[i] = 0;
    }
}

#[qd::kernel]
fn of_floats(to: &Distinct<f32, 1>, out: &mut Tensor<f32, 1>) {
    for i in 0..to.len() {
        out[i] = to[i];
    }
}

fn main() {}
