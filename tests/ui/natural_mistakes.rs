//! What Rust has and kernels do not: one message each.

use quadrants::{self as qd, Tensor, Vector};

#[derive(Clone, Copy, qd::KernelValue)]
struct Body {
    mass: f32,
}

#[qd::func]
fn by_reference(b: &Body) -> f32 {
    b.mass * 2.0
}

#[qd::kernel]
fn kernel_by_reference(b: &Body, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = b.mass;
    }
}

#[qd::func]
fn vector_by_reference(v: &Vector<f32, 2>, a: &[f32; 2], s: &[f32]) -> f32 {
    v[0] + a[0] + s[0]
}

#[qd::func]
fn changes_a_number(a: &mut f32) {
    *a = 1.0;
}

#[qd::func]
fn optional(x: f32) -> Option<f32> {
    if x > 1.0 { Some(x) } else { None }
}

#[qd::func]
fn takes_an_option(x: Option<f32>) -> f32 {
    match x {
        Some(y) => y,
        _ => 0.0,
    }
}

#[qd::kernel]
fn local_option(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let y = Some(x[i]);
        x[i] = y.unwrap_or(1.0);
    }
}

#[qd::func]
fn applies<F: Fn(f32) -> f32>(f: F, x: f32) -> f32 {
    f(x)
}

#[qd::func]
fn applies_any(f: impl Fn(f32) -> f32, x: f32) -> f32 {
    f(x)
}

#[qd::func]
fn any_float(x: impl qd::Float) -> f32 {
    x.to_f32()
}

#[qd::func]
const fn constant(x: f32) -> f32 {
    x
}

#[qd::kernel]
fn nested(x: &mut Tensor<f32, 1>) {
    fn helper(x: f32) -> f32 {
        x
    }
    for i in 0..x.len() {
        x[i] = helper(x[i]);
    }
}

#[derive(Clone, Copy, PartialEq, qd::KernelValue)]
enum Shape {
    Ball(f32),
    Point,
}

#[qd::func]
fn area(of: Shape) -> f32 {
    match of {
        Shape::Ball(radius) => radius,
        Shape::Point => 0.0,
    }
}

#[qd::kernel]
fn areas(of: Shape, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = area(of) + area(Shape::Ball(1.0));
    }
}

#[qd::func]
impl Body {
    fn zero() -> Body {
        Body { mass: 0.0 }
    }

    fn shape(&self) -> f32 {
        self.mass
    }

    fn max(&mut self) {
        self.mass = 1.0;
    }

    fn to_i32(self) -> i32 {
        1
    }

    fn from_bits(x: u32) -> Body {
        Body { mass: x as f32 }
    }
}

fn main() {}
