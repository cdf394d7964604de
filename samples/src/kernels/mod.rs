//! Sample kernels that together use every part of the IR. The tests of each backend's compiler use them.
//!
//! The arguments are tensors of matching types and scalars; none needs particular contents.

mod blocks;
mod flow;
mod loops;
mod rows;
mod scalar;

use quadrants_ir::{BinaryOp, Offloaded, ScalarType};

use crate::Builder;

/// All sample kernels, with unique names.
#[must_use]
pub fn all() -> Vec<Offloaded> {
    let mut kernels = vec![saxpy(), stencil()];
    kernels.extend(scalar::all());
    kernels.extend(flow::all());
    kernels.extend(loops::all());
    kernels.extend(blocks::all());
    kernels.extend(rows::all());
    kernels
}

/// A chain of expressions, each using the previous one twice.
#[must_use]
pub fn sharing(depth: usize) -> Offloaded {
    flow::sharing(depth)
}

/// `y[i] = a * x[i] + y[i]`
#[must_use]
pub fn saxpy() -> Offloaded {
    let mut b = Builder::new("saxpy");
    let a = b.scalar("a", ScalarType::F32);
    let x = b.read_only("x", ScalarType::F32, 1);
    let y = b.tensor("y", ScalarType::F32, 1);
    let (zero, len) = (b.constant(0u64), b.dim(y, 0));
    b.parallel_loop(&[("i", zero, len)], |b, i| {
        let xi = b.let_load("x_i", x, i);
        let yi = b.let_load("y_i", y, i);
        let product = b.binary(BinaryOp::Mul, a, xi);
        let sum = b.binary(BinaryOp::Add, product, yi);
        b.push_store(y, i, sum);
    });
    b.finish()
}

/// `b[i, j]` = the mean of the four neighbours of `a[i, j]`, except at the border.
#[must_use]
pub fn stencil() -> Offloaded {
    let mut b = Builder::new("stencil");
    let from = b.read_only("a", ScalarType::F32, 2);
    let to = b.tensor("b", ScalarType::F32, 2);
    let one = b.constant(1u64);
    let rows = b.dim(from, 0);
    let columns = b.dim(from, 1);
    let last_row = b.binary(BinaryOp::Sub, rows, one);
    let last_column = b.binary(BinaryOp::Sub, columns, one);
    b.parallel_loop(&[("i", one, last_row), ("j", one, last_column)], |b, at| {
        let (i, j) = (at[0], at[1]);
        let up = b.binary(BinaryOp::Sub, i, one);
        let down = b.binary(BinaryOp::Add, i, one);
        let left = b.binary(BinaryOp::Sub, j, one);
        let right = b.binary(BinaryOp::Add, j, one);
        let north = b.let_load("north", from, &[up, j]);
        let south = b.let_load("south", from, &[down, j]);
        let west = b.let_load("west", from, &[i, left]);
        let east = b.let_load("east", from, &[i, right]);
        let rows = b.binary(BinaryOp::Add, north, south);
        let columns = b.binary(BinaryOp::Add, west, east);
        let sum = b.binary(BinaryOp::Add, rows, columns);
        let quarter = b.constant(0.25f32);
        let mean = b.binary(BinaryOp::Mul, sum, quarter);
        b.push_store(to, &[i, j], mean);
    });
    b.finish()
}
