use quadrants as qd;
use quadrants::Tensor;

fn plain(x: f32) -> f32 {
    x
}

#[qd::func]
fn twice(x: f32) -> f32 {
    2.0 * x
}

#[qd::kernel]
fn unknown_value(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = missing;
    }
}

#[qd::kernel]
fn unknown_method(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = x[i].squared();
    }
}

#[qd::kernel]
fn unknown_function(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = missing_function(x[i]);
    }
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
