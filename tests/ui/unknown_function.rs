use quadrants as qd;
use quadrants::Tensor;

#[qd::kernel]
fn unknown_function(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = missing_function(x[i]);
    }
}

#[qd::kernel]
fn unknown_function_in_module(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = std::cmp::missing_function(x[i]);
    }
}

#[qd::func]
fn unknown_function_in_func(x: f32) -> f32 {
    missing_function(x) + 1.0
}

fn main() {}
