use quadrants as qd;
use quadrants::{KernelValue, Tensor, Vector};

#[derive(Clone, Copy, KernelValue)]
struct Known {
    x: f32,
    y: f32,
}

#[derive(Clone, Copy)]
struct Stranger {
    x: f32,
}

impl Known {
    fn sum(x: f32, y: f32) -> f32 {
        x + y
    }
}

#[qd::kernel]
fn stranger(out: &mut Tensor<f32, 1>) {
    for i in 0..out.len() {
        let s = Stranger { x: 1.0 };
        out[i] = s.x;
    }
}

#[qd::kernel]
fn function_of_a_type(out: &mut Tensor<f32, 1>) {
    for i in 0..out.len() {
        out[i] = Known::sum(1.0, 2.0);
    }
}

#[qd::kernel]
fn vector_of_a_name(out: &mut Tensor<f32, 1>) {
    for i in 0..out.len() {
        let v = Vector::<f32, 3>::from_fn(|k| k as f32);
        out[i] = v[0];
    }
}

#[qd::kernel]
fn shared_by_iterations(out: &mut Tensor<f32, 1>) {
    let mut sums = [0.0, 0.0];
    for i in 0..out.len() {
        sums[0] += out[i];
    }
    out[0] = sums[0];
}

#[qd::kernel]
fn raced(out: &mut Tensor<f32, 1>) {
    for i in 0..out.len() {
        let cell = (i / 2, i % 2);
        out[cell.0] = 1.0;
    }
}

#[qd::func]
impl Known {
    fn shift(&mut self, by: f32) {
        self.x += by;
    }

    fn norm(self) -> f32 {
        self.x
    }
}

#[qd::kernel]
fn shared_by_a_method(out: &mut Tensor<f32, 1>) {
    let mut known = Known { x: 1.0, y: 2.0 };
    for i in 0..out.len() {
        known.shift(out[i]);
    }
}

#[qd::kernel]
fn no_method(out: &mut Tensor<f32, 1>) {
    for i in 0..out.len() {
        out[i] = out[i].squared();
    }
}

fn main() {}
