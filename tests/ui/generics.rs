use quadrants as qd;
use quadrants::Tensor;

trait Shape: Copy {}

#[qd::func]
fn twice<T: qd::Number>(x: T) -> T {
    x + x
}

#[qd::func]
fn count<const N: u32>() -> u32 {
    N
}

#[qd::kernel]
fn named<'a>(x: &'a mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = 0.0;
    }
}

#[qd::kernel]
fn no_number<T: qd::Element>(x: &mut Tensor<T, 1>) {
    for i in 0..x.len() {
        x[i] = twice(x[i]);
    }
}

#[qd::kernel]
fn no_value<T: Shape>(of: T, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let _copy = of;
        x[i] = 0.0;
    }
}

#[qd::kernel]
fn unknown(x: &mut Tensor<u32, 1>) {
    for i in 0..x.len() {
        x[i] = count();
    }
}

#[qd::kernel]
fn mistyped<T: qd::Float>(x: &mut Tensor<T, 1>) {
    for i in 0..x.len() {
        x[i] = x[i] * 2.0;
        x[i] = twice::<f32>(x[i]);
    }
}

#[qd::kernel]
fn no_constant(n: usize, x: &mut Tensor<u32, 1>) {
    for i in 0..x.len() {
        x[i] = count::<n>();
    }
}

fn main() {}
