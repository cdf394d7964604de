//! The cost of a reduction on the CPU: `atomic_add(&mut sum[0], x[i])` in a parallel loop.
//!
//! The strict kernel adds floats as it is written, one atomic per iteration: what every reduction would cost without
//! being recognized. Plain Rust on one thread stands beside them.

// Kernels index, as devices do.
#![allow(clippy::needless_range_loop)]

use std::hint::black_box;

use quadrants::{self as qd, Arch, Program, Result, Tensor};
use quadrants_bench::{Case, Options, until_done};

#[qd::kernel]
fn sum(x: &Tensor<f32, 1>, total: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        qd::atomic_add(&mut total[0], x[i]);
    }
}

#[qd::kernel(strict)]
fn sum_in_atomics(x: &Tensor<f32, 1>, total: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        qd::atomic_add(&mut total[0], x[i]);
    }
}

#[qd::kernel]
fn sum_of_integers(x: &Tensor<u32, 1>, total: &mut Tensor<u32, 1>) {
    for i in 0..x.len() {
        qd::atomic_add(&mut total[0], x[i]);
    }
}

#[qd::kernel]
fn range(x: &Tensor<u32, 1>, least: &mut Tensor<u32, 1>, most: &mut Tensor<u32, 1>) {
    for i in 0..x.len() {
        qd::atomic_min(&mut least[0], x[i]);
        qd::atomic_max(&mut most[0], x[i]);
    }
}

fn main() -> Result<()> {
    let options = Options::from_args();
    if !options.wants("cpu") {
        return Ok(());
    }
    let program = Program::open(Arch::Cpu)?;
    for n in [1usize, 1 << 10, 1 << 24] {
        let floats: Vec<f32> = (0..n).map(|k| (k % 7) as f32).collect();
        let integers: Vec<u32> = (0..n as u32).map(|k| k % 1009).collect();
        let x = program.tensor_from(&floats, [n])?;
        let k = program.tensor_from(&integers, [n])?;
        let mut total = program.zeros::<f32, 1>([1])?;
        let mut count = program.zeros::<u32, 1>([1])?;
        let mut most = program.zeros::<u32, 1>([1])?;
        let plain = || {
            black_box(black_box(&floats).iter().sum::<f32>());
        };
        compare(&options, "floats", n, 21, || sum(&x, &mut total).launch(), plain);
        let each = || sum_in_atomics(&x, &mut total).launch();
        compare(&options, "floats, one atomic each", n, 5, each, plain);
        let plain = || {
            black_box(black_box(&integers).iter().fold(0u32, |sum, k| sum.wrapping_add(*k)));
        };
        compare(&options, "integers", n, 21, || sum_of_integers(&k, &mut count).launch(), plain);
        let plain = || {
            black_box(black_box(&integers).iter().min());
            black_box(black_box(&integers).iter().max());
        };
        let both = || range(&k, &mut count, &mut most).launch();
        compare(&options, "least and most", n, 21, both, plain);
    }
    Ok(())
}

fn compare(
    options: &Options,
    case: &str,
    n: usize,
    samples: usize,
    mut ours: impl FnMut() -> Result<()>,
    rival: impl Fn(),
) {
    let calls = ((1 << 16) / n).max(1);
    options.run(
        &Case::new("sums", format!("{case}, {n}"), "ms"),
        samples,
        &mut until_done(calls, || ours().expect("launches"), || ()),
        &mut [("plain Rust, one thread", &mut until_done(calls, rival, || ()))],
    );
}
