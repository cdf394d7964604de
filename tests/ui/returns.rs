//! `return` where a kernel cannot return, and results that are not kernel values.

use quadrants::{self as qd, Tensor};

#[qd::kernel]
fn in_a_parallel_loop(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        if x[i] < 0.0 {
            return;
        }
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn in_bounds_and_conditions(n: usize, x: &mut Tensor<f32, 1>) {
    if n == 0 {
        return;
    }
    for i in 0..if n == 1 { return } else { n } {
        x[i] = 1.0;
    }
    if n > 1 && (if n == 2 { return } else { n < 9 }) {
        for i in 0..x.len() {
            x[i] = 1.0;
        }
    }
}

#[qd::kernel]
fn in_a_stream_parallel_block(x: &mut Tensor<f32, 1>) {
    qd::stream_parallel(|| {
        if x.len() == 0 {
            return;
        }
        for i in 0..x.len() {
            x[i] = 1.0;
        }
    });
}

#[qd::kernel]
fn after_streams(n: u32, x: &mut Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    qd::stream_parallel(|| {
        for i in 0..x.len() {
            x[i] = 1.0;
        }
    });
    if n == 0 {
        return;
    }
    qd::stream_parallel(|| {
        for i in 0..y.len() {
            y[i] = 1.0;
        }
    });
}

#[qd::kernel]
fn with_an_effect_before_streams(n: u32, x: &mut Tensor<f32, 1>) {
    if n == 0 {
        x[0] = 1.0;
        return;
    }
    qd::stream_parallel(|| {
        for i in 0..x.len() {
            x[i] = 1.0;
        }
    });
}

#[qd::kernel]
fn of_another_type(x: &Tensor<f32, 1>) -> (f32, u32) {
    #[qd::serial]
    for i in 0..x.len() {
        if x[i] > 1.0 {
            return x[i];
        }
    }
    (0.0, 0)
}

#[qd::kernel]
fn a_reference(x: &Tensor<f32, 1>) -> &f32 {
    &1.0
}

fn main() {}
