//! Enums that are not kernel values, and what kernels cannot do with enums.

use quadrants::{self as qd, KernelValue, Tensor};

#[derive(Clone, Copy, KernelValue)]
enum Colour {
    Red,
    Black,
}

#[derive(Clone, Copy, KernelValue)]
enum WithFields {
    One(f32),
    Two,
}

#[derive(Clone, Copy, KernelValue)]
enum Empty {}

#[derive(Clone, Copy, KernelValue)]
enum Generic<const N: usize> {
    One,
}

#[derive(Clone, Copy, KernelValue)]
union Both {
    a: u32,
    b: f32,
}

#[derive(Clone, Copy, KernelValue)]
struct Node {
    colour: Colour,
    key: u32,
}

#[qd::kernel]
fn compared(c: Colour, out: &mut Tensor<u32, 1>) {
    for i in 0..out.len() {
        out[i] = (c == Colour::Red) as u32;
    }
}

#[qd::kernel]
fn not_exhaustive(c: Colour, out: &mut Tensor<u32, 1>) {
    for i in 0..out.len() {
        out[i] = match c {
            Colour::Red => 1,
        };
    }
}

#[qd::kernel]
fn from_a_number(n: u32, out: &mut Tensor<u32, 1>) {
    for i in 0..out.len() {
        let c = n as Colour;
        out[i] = c as u32;
    }
}

#[qd::kernel]
fn discriminant(c: Colour, out: &mut Tensor<i32, 1>) {
    for i in 0..out.len() {
        out[i] = c.discriminant;
    }
}

#[qd::kernel]
fn elements(nodes: &Tensor<Node, 1>, out: &mut Tensor<u32, 1>) {
    for i in 0..out.len() {
        out[i] = nodes[i].key;
    }
}

fn main() {}
