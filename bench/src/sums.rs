//! What a plain reduction costs on the processor: `atomic_add(&mut sum[0], x[i])` in a parallel loop.
//!
//! The strict kernel adds floats as it is written, one atomic per iteration: what every reduction would cost without
//! being recognized. Plain Rust on one thread stands beside them. `sums [--samples N]`, JSON lines on standard output
//! with the medians.

// Kernels index, as devices do.
#![allow(clippy::needless_range_loop)]

use std::{hint::black_box, time::Instant};

use quadrants::{self as qd, Arch, Program, Result, Tensor};

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
    let samples = std::env::args().skip_while(|a| a != "--samples").nth(1);
    let samples: usize = samples.and_then(|n| n.parse().ok()).unwrap_or(21);
    let program = Program::open(Arch::Cpu)?;
    for n in [1usize, 1 << 10, 1 << 24] {
        let floats: Vec<f32> = (0..n).map(|k| (k % 7) as f32).collect();
        let integers: Vec<u32> = (0..n as u32).map(|k| k % 1009).collect();
        let x = program.tensor_from(&floats, [n])?;
        let k = program.tensor_from(&integers, [n])?;
        let mut total = program.zeros::<f32, 1>([1])?;
        let mut count = program.zeros::<u32, 1>([1])?;
        let mut most = program.zeros::<u32, 1>([1])?;
        time("floats", n, samples, || sum(&x, &mut total).launch())?;
        time("floats, one atomic each", n, samples.min(5), || {
            sum_in_atomics(&x, &mut total).launch()
        })?;
        time("floats, plain Rust", n, samples, || {
            black_box(black_box(&floats).iter().sum::<f32>());
            Ok(())
        })?;
        time("integers", n, samples, || sum_of_integers(&k, &mut count).launch())?;
        time("integers, plain Rust", n, samples, || {
            black_box(black_box(&integers).iter().fold(0u32, |sum, k| sum.wrapping_add(*k)));
            Ok(())
        })?;
        time("least and most", n, samples, || range(&k, &mut count, &mut most).launch())?;
    }
    Ok(())
}

/// Prints the median time of a call.
fn time(case: &str, n: usize, samples: usize, mut call: impl FnMut() -> Result<()>) -> Result<()> {
    let calls = ((1 << 16) / n).max(1);
    let mut times = Vec::new();
    for _ in 0..samples + 2 {
        let start = Instant::now();
        (0..calls).try_for_each(|_| call())?;
        times.push(start.elapsed().as_secs_f64() * 1e6 / calls as f64);
    }
    times.drain(..2);
    times.sort_by(f64::total_cmp);
    println!("{{\"case\": \"{case}\", \"n\": {n}, \"us\": {:.4}}}", times[times.len() / 2]);
    Ok(())
}
