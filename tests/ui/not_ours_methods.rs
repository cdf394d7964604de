use quadrants as qd;
use quadrants::{Tensor, Vector};

trait Own {
    fn to_usize(self) -> usize;
    fn from_usize(i: usize) -> Self;
}

impl Own for u64 {
    fn to_usize(self) -> usize {
        8
    }
    fn from_usize(i: usize) -> Self {
        i as u64 + 8
    }
}

trait Flag {
    fn to_usize(self) -> usize;
}

impl Flag for bool {
    fn to_usize(self) -> usize {
        8
    }
}

trait Length {
    fn len(self) -> usize;
}

impl Length for [f32; 1] {
    fn len(self) -> usize {
        9
    }
}

struct Maker;

impl Maker {
    fn splat(i: u32) -> Vector<u32, 2> {
        Vector([i + 8, i + 8])
    }
}

#[derive(Clone, Copy, qd::KernelValue)]
struct One(usize);

#[allow(non_snake_case)]
fn Make(i: usize) -> One {
    One(i + 8)
}

#[qd::kernel]
fn conversions(x: &mut Tensor<u32, 1>) {
    for i in 0..x.len() {
        x[(i as u64).to_usize()] = 1;
        x[u64::from_usize(i) as usize] = 1;
    }
}

#[qd::kernel]
fn flags(x: &mut Tensor<u32, 1>) {
    for i in 0..x.len() {
        x[i] = (i == 1).to_usize() as u32;
    }
}

#[qd::kernel]
fn lengths(x: &mut Tensor<u32, 1>) {
    for i in 0..x.len() {
        let a = [1.0f32];
        x[i + a.len() - 1] = 1;
    }
}

#[qd::kernel]
fn functions_of_a_type(x: &mut Tensor<u32, 1>) {
    for i in 0..x.len() {
        let v = Maker::splat(i as u32);
        x[v[0] as usize] = 1;
    }
}

mod far {
    use quadrants as qd;

    #[qd::func]
    pub(super) fn shifted(i: usize) -> usize {
        i
    }
}
use far::*;

fn shifted(i: u32) -> u32 {
    i + 8
}

#[qd::kernel]
fn funcs_that_are_hidden(x: &mut Tensor<u32, 1>) {
    for i in 0..x.len() {
        x[i] = shifted(i as u32);
    }
}

mod f16 {
    pub(super) fn max(a: usize, b: usize) -> usize {
        a.max(b) + 8
    }
}

#[qd::kernel]
fn functions_of_a_module(x: &mut Tensor<u32, 1>) {
    for i in 0..x.len() {
        x[i] = f16::max(i, 0) as u32;
    }
}

#[qd::kernel]
fn functions_like_types(x: &mut Tensor<u32, 1>) {
    for i in 0..x.len() {
        x[Make(i).0] = 1;
    }
}

fn main() {}
