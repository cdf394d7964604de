use quadrants as qd;
use quadrants::Tensor;

#[qd::kernel]
fn by_value(x: Tensor<f32, 1>) {
    let _ = x.len();
}

#[qd::kernel]
fn number_by_reference(n: &f32, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = 0.0;
    }
}

#[qd::kernel]
fn no_element(x: &mut Tensor<u128, 1>) {
    for i in 0..x.len() {
        x[i] = 0;
    }
}

#[qd::kernel]
fn slice(x: &mut [f32]) {
    for i in 0..x.len() {
        x[i] = 0.0;
    }
}

#[qd::kernel]
fn pattern(a @ (b, _): (f32, f32), x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = a + b;
    }
}

#[qd::kernel]
const unsafe fn generic<'a, T>(x: &'a mut Tensor<T, 1>) -> (T, T) {
    loop {}
}

fn main() {}
