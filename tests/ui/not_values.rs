//! Types that are not kernel values, wherever they are: one message each, at the type or the value.

use quadrants::{self as qd, KernelValue, Tensor};

#[derive(Clone, Copy)]
struct Plain {
    a: f32,
}

#[derive(Clone, Copy, KernelValue)]
struct Outer {
    inner: Plain,
}

#[qd::func]
fn parameter(plain: Plain) -> f32 {
    plain.a
}

#[qd::func]
fn result(a: f32) -> Plain {
    Plain { a }
}

#[qd::func]
fn element(of: &Tensor<Plain, 1>, i: usize) -> f32 {
    of[i].a
}

#[qd::kernel]
fn result_of_a_kernel(_x: &Tensor<f32, 1>) -> Plain {
    Plain { a: 1.0 }
}

#[qd::kernel]
fn tensor(of: &Tensor<Plain, 1>, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = of[i].a;
    }
}

#[qd::kernel]
fn in_a_tuple(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let both = (Plain { a: 1.0 }, 2);
        x[i] = both.0.a;
    }
}

#[qd::kernel]
fn option(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let _one = Some(x[i]);
    }
}

#[qd::kernel]
fn shared(x: &mut Tensor<f32, 1>) {
    qd::block_for(4, 32, |b| {
        let mut array = b.shared::<Plain>(32);
        b.each(|t| array[t].a = 1.0);
        b.each(|t| x[b.index() * 32 + t] = array[t].a);
    });
}

#[qd::kernel]
fn of_any_type<T: Copy>(y: &Tensor<T, 1>, x: &mut Tensor<T, 1>) {
    for i in 0..x.len() {
        x[i] = y[i];
    }
}

#[qd::func]
fn sum<T>(a: T, b: T) -> T
where
    T: Copy + std::ops::Add<Output = T>,
{
    a + b
}

fn main() {}
