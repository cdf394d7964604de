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

fn main() {}
