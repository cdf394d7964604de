use quadrants as qd;
use quadrants::Tensor;

#[qd::kernel]
fn mismatch(a: f64, x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        y[i] = a * x[i];
    }
}

#[qd::kernel]
fn rank(x: &Tensor<f32, 1>, y: &mut Tensor<f32, 2>) {
    for i in 0..x.len() {
        y[[i, i]] = x[[i, i]];
    }
}

#[qd::kernel]
fn index_type(n: i32, x: &mut Tensor<f32, 1>) {
    for i in 0..n {
        x[i] = 0.0;
    }
}

#[qd::kernel]
fn tensor_as_number(x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let v: f32 = 1usize;
        y[i] = v / i;
    }
}

#[qd::kernel]
fn no_value(x: &mut Tensor<f32, 1>) -> f32 {
    x[0] = 1.0;
}

fn main() {}
