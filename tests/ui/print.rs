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

#[derive(Clone, Copy, PartialEq, qd::KernelValue)]
struct NotDebug(i32);

#[qd::kernel]
fn vector(v: Vector<f32, 2>, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        println!("{v}");
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn tuple(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        println!("{}", (i, 1));
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn not_debug(a: NotDebug, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        println!("{a:?}");
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn hex_float(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        println!("{:x}", x[i]);
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn hex_vector(v: Vector<f32, 2>, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        println!("{v:x}");
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn exponent_of_bool(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        println!("{:e}", i == 1);
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn unused(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        println!("{}", i, 2);
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn unknown_in_text(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        assert!(i < 3, "{y}");
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn not_a_condition(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        assert!(i);
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn types_differ(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        assert_eq!(i, 1.5);
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn types_differ_too(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        assert_ne!(x[i], i, "{}", i);
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn operand_without_debug(a: NotDebug, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        assert_eq!(a, a);
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn hex_in_assertion(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        assert_eq!(i, i, "{:x}", x[i]);
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn malformed_assertions(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        assert!();
        assert!(i < 3, i);
        assert!(i < 3, "{} {}", i);
        assert_eq!(i);
        assert_eq!(i, 1; 2);
        debug_assert_eq!(i, 1, 2);
        assert!(i < 1, "{}{}{}{}{}{}{}{}{}{}{}{}{}", i, i, i, i, i, i, i, i, i, i, i, i, i);
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
