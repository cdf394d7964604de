//! Loops in branches at the top level are parallel, and so may not do what iterations in any order cannot.

use quadrants::{self as qd, Tensor};

#[qd::kernel]
fn recurrence(on: bool, x: &mut Tensor<u32, 1>) {
    if on {
        for i in 1..x.len() {
            x[i] = x[i - 1] + 1;
        }
    }
}

#[qd::kernel]
fn one_element(mode: u32, x: &mut Tensor<u32, 1>) {
    match mode {
        0 => {}
        1 => {
            for i in 0..x.len() {
                x[0] = i as u32;
            }
        }
        _ => {
            for i in 0..x.len() {
                x[i] = 0;
            }
        }
    }
}

#[qd::kernel]
fn last_value(x: &Tensor<u32, 1>, y: &mut Tensor<u32, 1>) {
    let mut last = 0;
    if x[0] > 0 {
        for i in 0..x.len() {
            last = x[i];
        }
    }
    y[0] = last;
}

#[qd::kernel]
fn after_a_return(at: &Tensor<u32, 1>, y: &mut Tensor<u32, 1>) {
    if at.len() == 0 {
        return;
    }
    for i in 0..at.len() {
        y[at[i] as usize] = 1 + i as u32;
    }
}

#[qd::kernel]
fn leaves(x: &mut Tensor<u32, 1>) {
    if x[0] > 0 {
        for i in 0..x.len() {
            if x[i] == 3 {
                break;
            }
            if x[i] == 4 {
                return;
            }
        }
    }
}

#[qd::kernel]
fn streams(on: bool, x: &mut Tensor<u32, 1>) {
    if on {
        qd::stream_parallel(|| {
            for i in 0..x.len() {
                x[i] = 1;
            }
        });
    }
}

#[qd::kernel]
fn reads_elsewhere(on: bool, x: &mut Tensor<u32, 1>) {
    {
        if on {
            x[0] = 1;
        } else if x[1] == 2 {
            for i in 0..x.len() {
                x[i] = x[x.len() - 1 - i];
            }
        }
    }
}

fn main() {}
