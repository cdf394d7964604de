use quadrants as qd;
use quadrants::Tensor;

#[qd::kernel]
fn mismatch(a: f64, y: &mut Tensor<f32, 1>) {
    for i in 0..y.len() {
        y[i] = a;
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
fn arithmetic(y: &mut Tensor<f32, 1>) {
    for i in 0..y.len() {
        let v: f32 = 1usize;
        y[i] = v / i;
    }
}

#[qd::kernel]
fn no_value(x: &mut Tensor<f32, 1>) -> f32 {
    x[0] = 1.0;
}

fn main() {}
