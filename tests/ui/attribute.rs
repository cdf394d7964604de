use quadrants as qd;
use quadrants::Tensor;

#[qd::kernel(fast)]
fn unknown(x: &mut Tensor<f32, 1>) {
    x[0] = 0.0;
}

#[qd::kernel(strict, fast_math)]
fn both(x: &mut Tensor<f32, 1>) {
    x[0] = 0.0;
}

#[qd::func(strict)]
fn strict(x: f32) -> f32 {
    x
}

fn main() {}
