//! Attributes of the library promise nothing that is not theirs to promise.

use std::{cell::Cell, rc::Rc};

use quadrants::{self as qd, Tensor, f16};

pub struct Shared(Rc<Cell<u64>>);

#[qd::func]
impl Send for Shared {}

trait Constant {
    const K: usize;
}

impl<T> Constant for T {
    const K: usize = 0;
}

#[qd::func]
fn moved<T: qd::Int>(i: usize, _t: T) -> usize {
    i + Self::K
}

macro_rules! checked {
    () => {
        2
    };
}

macro_rules! number {
    () => {
        u64
    };
}

#[qd::kernel]
fn macros_in_types(x: &mut Tensor<u64, 1>) {
    for i in 0..x.len() {
        let a = [1_u64; checked!()];
        let b: number!() = a[0];
        x[i] = b as number!();
    }
}

trait From16 {
    fn from_u32(value: u32) -> f16;
}

impl From16 for f16 {
    fn from_u32(_: u32) -> f16 {
        f16::MAX
    }
}

#[qd::kernel]
fn half(x: &mut Tensor<f16, 1>) {
    for i in 0..x.len() {
        x[i] = f16::from_u32(0);
    }
}

fn main() {}
