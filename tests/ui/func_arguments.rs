use quadrants as qd;
use quadrants::Tensor;

#[qd::func]
fn twice(x: f32) -> f32 {
    2.0 * x
}

#[qd::kernel]
fn argument_count(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = twice(x[i], 1.0);
    }
}

#[qd::kernel]
fn argument_type(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = twice(i);
    }
}

fn main() {}
