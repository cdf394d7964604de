//! Operators of the user's own, and the order of values that are not numbers.

use std::ops::{Add, AddAssign, Mul, Neg, Not};

use quadrants::{self as qd, Tensor};

#[derive(Clone, Copy, PartialEq, PartialOrd, qd::KernelValue)]
struct S(i32);

#[derive(Clone, Copy, PartialEq, PartialOrd, qd::KernelValue)]
enum Level {
    Low,
    High,
}

#[derive(Clone, Copy, qd::KernelValue)]
struct Holds {
    one: S,
    many: [S; 2],
    pair: (f32, S),
}

impl Add for S {
    type Output = S;
    fn add(self, other: S) -> S {
        S(self.0 - other.0)
    }
}

impl Mul<S> for i32 {
    type Output = i32;
    fn mul(self, other: S) -> i32 {
        self - other.0
    }
}

impl Neg for S {
    type Output = S;
    fn neg(self) -> S {
        self
    }
}

impl Not for S {
    type Output = bool;
    fn not(self) -> bool {
        true
    }
}

impl AddAssign<i32> for S {
    fn add_assign(&mut self, other: i32) {
        self.0 -= other;
    }
}

#[qd::kernel]
fn of_locals(a: S, x: &mut Tensor<i32, 1>) {
    for i in 0..x.len() {
        let b = a + S(1);
        x[i] = b.0;
    }
}

#[qd::kernel]
fn of_elements(a: &mut Tensor<S, 1>) {
    for i in 0..a.len() {
        a[i] += 1;
    }
}

#[qd::kernel]
fn of_parts(a: Holds, x: &mut Tensor<i32, 1>) {
    for i in 0..x.len() {
        x[i] = 2 * a.pair.1;
    }
}

#[qd::kernel]
fn of_array(a: &Tensor<Holds, 1>, x: &mut Tensor<S, 1>) {
    for i in 0..x.len() {
        x[i] = -a[i].many[1];
    }
}

#[qd::func]
impl S {
    fn plus(self, other: S) -> S {
        self + other
    }
}

#[qd::func]
fn not_of_struct(a: S) -> bool {
    !a
}

#[qd::func]
fn order_of_structs(a: S, b: S) -> bool {
    a < b
}

#[qd::func]
fn order_of_enums(a: Level) -> bool {
    a >= Level::High
}

#[qd::func]
fn order_of_tuples(a: i32, b: f32) -> bool {
    (a, b) < (1, 2.0)
}

#[qd::func]
fn order_of_arrays(a: [i32; 2]) -> bool {
    a > [1, 2]
}

fn main() {}
