//! Patterns of `match` whose names the IR would read in another way than rustc: a second binding, and constants in lower
//! case.

#![allow(non_upper_case_globals, unused_variables)]

use quadrants::{self as qd, Tensor};

pub const five: usize = 5;
pub const six: usize = 6;

#[qd::kernel]
fn two_bindings(f: usize, x: &mut Tensor<u64, 1>) {
    for i in 0..1_usize {
        let m = 1_usize;
        x[i + match f {
            n @ m => m,
        }] = 7;
    }
}

#[qd::kernel]
fn a_binding_in_parentheses(f: usize, x: &mut Tensor<u64, 1>) {
    for i in 0..1_usize {
        let m = 1_usize;
        x[i + match f {
            n @ (m @ _) if m > 10 => m,
            _ => 1,
        }] = 7;
    }
}

#[qd::kernel]
fn a_constant_as_the_second_name(f: usize, x: &mut Tensor<u64, 1>) {
    for i in 0..1_usize {
        x[i + match f {
            n @ five => 1,
            _ => 1 << 40,
        }] = 7;
    }
}

#[qd::kernel]
fn constants_as_alternatives(f: usize, x: &mut Tensor<u64, 1>) {
    for i in 0..1_usize {
        x[i + match f {
            five | six if i < 3 => 1,
            _ => 1 << 40,
        }] = 7;
    }
}

#[qd::func]
fn of_a_parameter(f: usize, m: usize) -> usize {
    match f {
        n @ m @ 3..=9 => m,
        _ => 1,
    }
}

#[qd::kernel]
fn a_constant_in_a_tuple(f: usize, x: &mut Tensor<u64, 1>) {
    for i in 0..x.len() {
        x[i] = match (i, f) {
            (five, _) => 1,
            _ => 2,
        };
    }
}

#[qd::kernel]
fn a_slice_in_a_tuple(f: [u64; 2], x: &mut Tensor<u64, 1>) {
    for i in 0..x.len() {
        x[i] = match (i, f) {
            (0, [a, _]) => a,
            _ => 2,
        };
    }
}

#[derive(Clone, Copy, PartialEq, qd::KernelValue)]
enum Cell {
    Empty,
    Sand,
}

#[qd::kernel]
fn variants_with_braces(x: &mut Tensor<u64, 1>) {
    for i in 0..x.len() {
        let cell = if i > 3 { Cell::Sand } else { Cell::Empty };
        x[i] = match cell {
            Cell::Sand { .. } => 1,
            _ => 2,
        };
    }
}

#[derive(Clone, Copy, qd::KernelValue)]
struct Pair(u32, u32);

#[qd::kernel]
fn alternatives_with_different_names(x: &mut Tensor<u64, 1>) {
    for i in 0..x.len() {
        x[i] = match Pair(i as u32, 3) {
            Pair(0, n) | Pair(_, m) => 1,
        };
    }
}

fn main() {}
