//! Misuse of `matches!`, loops over elements, destructuring assignments and struct updates.

use quadrants::{self as qd, KernelValue, Tensor};

#[derive(Clone, Copy, KernelValue)]
struct Point {
    x: f32,
    y: f32,
}

#[derive(Clone, Copy, KernelValue)]
struct Other {
    x: f32,
    y: f32,
}

#[qd::kernel]
fn no_pattern(out: &mut Tensor<u32, 1>) {
    for i in 0..out.len() {
        out[i] = matches!(i) as u32;
    }
}

#[qd::kernel]
fn patterns_of_arrays(out: &mut Tensor<u32, 1>) {
    for i in 0..out.len() {
        out[i] = matches!([i, i], [0, 1]) as u32;
    }
}

#[qd::kernel]
fn elements_of_a_number(n: u32, out: &mut Tensor<u32, 1>) {
    for i in 0..out.len() {
        for v in n {
            out[i] += v;
        }
    }
}

#[qd::kernel]
fn elements_of_a_struct(p: Point, out: &mut Tensor<f32, 1>) {
    for i in 0..out.len() {
        for v in p {
            out[i] += v;
        }
    }
}

#[qd::kernel]
fn elements_of_a_tensor(x: &Tensor<f32, 1>, out: &mut Tensor<f32, 1>) {
    for i in 0..out.len() {
        for v in x {
            out[i] += v;
        }
    }
}

#[qd::kernel]
fn elements_by_reference(out: &mut Tensor<f32, 1>) {
    for i in 0..out.len() {
        for v in [1.0, 2.0].iter() {
            out[i] += *v;
        }
    }
}

#[qd::kernel]
fn parallel_elements(out: &mut Tensor<f32, 1>) {
    for v in [1.0, 2.0] {
        out[0] = v;
    }
}

#[qd::kernel]
fn not_mutable(out: &mut Tensor<u32, 1>) {
    for i in 0..out.len() {
        let (a, mut b) = (1, 2);
        (a, b) = (b, a);
        out[i] = a + b;
    }
}

#[qd::kernel]
fn no_place(out: &mut Tensor<u32, 1>) {
    for i in 0..out.len() {
        let mut a = 1;
        (a, 2) = (3, 4);
        out[i] = a;
    }
}

#[qd::kernel]
fn too_many_values(out: &mut Tensor<u32, 1>) {
    for i in 0..out.len() {
        let (mut a, mut b) = (1, 2);
        (a, b) = (3, 4, 5);
        out[i] = a + b;
    }
}

#[qd::kernel]
fn outside_of_the_loop(out: &mut Tensor<u32, 1>) {
    let (mut a, mut b) = (1, 2);
    for i in 0..out.len() {
        (a, b) = (b, a);
        out[i] = a;
    }
}

#[qd::kernel]
fn of_another_struct(o: Other, out: &mut Tensor<f32, 1>) {
    for i in 0..out.len() {
        let p = Point { x: 1.0, ..o };
        out[i] = p.y;
    }
}

#[qd::kernel]
fn raced_update(p: &Tensor<Point, 1>, out: &mut Tensor<Point, 1>) {
    for i in 1..out.len() {
        out[i] = Point { x: p[i].x, ..out[i - 1] };
    }
}

#[qd::kernel]
fn break_of_many_dimensions(out: &mut Tensor<u32, 4>) {
    for (i, j, k, l) in qd::ndrange(out.shape()) {
        if i == 1 {
            break;
        }
        out[[i, j, k, l]] = 1;
    }
}

#[qd::kernel]
fn too_many_dimensions(out: &mut Tensor<u32, 1>) {
    for (a, b, c, d, e, f, g) in qd::ndrange([1, 2, 3, 4, 5, 6, 7]) {
        out[a + b + c + d + e + f + g] = 1;
    }
}

#[qd::kernel]
fn fewer_dimensions(out: &mut Tensor<u32, 5>) {
    for (i, j, k, l) in qd::ndrange(out.shape()) {
        out[[i, j, k, l, 0]] = 1;
    }
}

fn main() {}
