//! Mistakes in bodies that are emitted several times, for strips of iterations and for the rest: each is reported once.

use quadrants::{self as qd, Tensor};

#[qd::kernel]
fn masked(limit: i32, c: &Tensor<f32, 1>, steps: &mut Tensor<i32, 1>) {
    for i in 0..c.len() {
        let mut z = 0.0f32;
        let mut n = 0;
        while n < limit && z * z < 4.0 {
            z = z * z + c[i];
            n = z;
        }
        steps[i] = n;
    }
}

#[qd::kernel]
fn shared(x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let at = x[i];
        let mut sum = 0.0f32;
        for j in 0..x.len() {
            let away = x[j] - at;
            sum += away * unknown;
        }
        y[i] = sum;
    }
}

#[qd::kernel]
fn reduced(x: &Tensor<f32, 1>, total: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let twice: i32 = x[i];
        qd::atomic_add(&mut total[0], x[i] * unknown);
    }
}

fn main() {}
