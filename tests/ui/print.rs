//! What `println!` in kernels does not print.

use quadrants::{self as qd, Tensor, Vector};

#[qd::kernel]
fn texts(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        println!("{:w$}", i);
        println!("{} {}", i);
        println!("{x?}", x = i);
        println!(i);
        println!("{");
        println!("{a.b}");
    }
}

#[qd::kernel]
fn types(v: Vector<f32, 2>, x: &mut Tensor<f32, 1>) {
    println!("{v:?}");
    for i in 0..x.len() {
        println!("{:?}", (i, 1));
    }
}

#[qd::kernel]
fn notations(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        println!("{:x}", x[i]);
        println!("{}", i, 2);
    }
}

#[qd::kernel]
fn block_level(x: &mut Tensor<f32, 1>) {
    qd::block_for(4, 32, |block| {
        println!("{}", block.index());
        block.each(|thread| x[thread] = 1.0);
    });
}

#[qd::kernel]
fn other_macros(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        eprintln!("{i}");
    }
}

fn main() {}
