//! Guards of the variable of a parallel loop, which the CPU evaluates once per row, and inner loops whose bounds depend
//! on the variable, whose cost the CPU estimates for the iteration in the middle.

use quadrants::{self as qd, Tensor, Vector};
use quadrants_tests::{TestBackend, on_all_backends};

use super::{Array, Same, differential, source};

source! { triangles;
    fn run(k: usize, a: &Tensor<i32, 2>, out: &mut Tensor<i32, 2>) {
        for (i, j) in qd::ndrange(out.shape()) {
            if j <= i {
                out[[i, j]] += 1;
            }
        }
        for (i, j) in qd::ndrange(out.shape()) {
            if i < j && j < k {
                out[[i, j]] += 10 * a[[i, j]];
            }
        }
        for (i, j) in qd::ndrange((1..out.shape()[0], 2..out.shape()[1])) {
            if j == i + k || k > j {
                continue;
            }
            out[[i, j]] += 100;
        }
        for (i, j) in qd::ndrange(out.shape()) {
            if j != k {
                continue;
            }
            out[[i, j]] += 1000;
        }
        for (i, j) in qd::ndrange(out.shape()) {
            if k <= j {
                if j > i {
                    for m in 0..j {
                        out[[i, j]] += a[[m % a.shape()[0], j]] * 7;
                    }
                }
            }
        }
    }
}

source! { rows;
    fn run(low: i32, high: i32, last: u8, x: &mut Tensor<i32, 1>, bytes: &mut Tensor<i32, 1>) {
        for i in 0..x.len() as i32 {
            if i >= low && high > i {
                x[i as usize] += 1;
            }
        }
        for i in -3..x.len() as i32 - 3 {
            if i <= high {
                x[(i + 3) as usize] += 10;
            }
        }
        for i in 0..x.len() as i32 {
            if low > i {
                continue;
            }
            if i == high {
                x[i as usize] += 100;
            }
        }
        for i in 0..255u8 {
            if i > last {
                bytes[i as usize] += 1;
            }
        }
        for i in 0..255u8 {
            if i <= last {
                bytes[i as usize] += 2;
            }
        }
        for i in 1..255u8 {
            if last <= i {
                bytes[i as usize] += 4;
            }
        }
        for i in 0..x.len() {
            // Where the guard is false, the bounds of the inner loop would overflow.
            if i > low.max(0) as usize {
                for k in 0..i - 1 - low.max(0) as usize {
                    x[i] += k as i32;
                }
            }
        }
    }
}

source! { lengths;
    fn run(d: usize, x: &Tensor<i64, 1>, out: &mut Tensor<i64, 1>) {
        for i in 0..out.len() - d {
            let j = i + d;
            let mut sum = 0;
            for k in i + 1..j {
                sum += x[k];
                for m in k..j.min(k + 3) {
                    sum -= x[m] * 2;
                }
            }
            out[i] = sum;
        }
        for i in 0..out.len() {
            let first = i / 2;
            for k in first..x.len() {
                out[i] += x[k];
            }
        }
    }
}

#[on_all_backends]
fn guards_and_lengths_that_depend_on_the_variable_match(
    backend: TestBackend,
) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    for (h, w) in [(1, 1), (5, 9), (40, 33), (0, 4), (9, 0)] {
        let a = Array::new(&(0..(h * w) as i32).collect::<Vec<_>>(), [h, w]);
        for k in [0, 1, 8, 9, 40] {
            let out = Array::zeros([h, w]);
            differential!(&on.program, triangles[k][a][out]);
        }
    }
    for (low, high) in [(0, 9), (3, 3), (-7, 40), (5, 2), (i32::MIN, i32::MAX), (i32::MAX, -2)] {
        for last in [0, 1, 130, 254, 255] {
            let (x, bytes) = (Array::zeros([37]), Array::zeros([255]));
            differential!(&on.program, rows [low, high, last] [] [x, bytes]);
        }
    }
    for n in [1, 2, 70] {
        let x = Array::of(&(0..n as i64).map(|k| k * k % 31).collect::<Vec<_>>());
        for d in [0, 1, n / 2, n - 1] {
            let out = Array::zeros([n]);
            differential!(&on.program, lengths[d][x][out]);
        }
    }
    Ok(())
}

/// Counts its calls.
#[qd::func]
fn counted(calls: &mut Tensor<i32, 1>, n: usize) -> usize {
    calls[0] += 1;
    n
}

#[qd::kernel]
fn effects(
    n: usize,
    calls: &mut Tensor<i32, 1>,
    x: &mut Tensor<usize, 1>,
    y: &mut Tensor<usize, 2>,
) {
    for i in 0..counted(calls, n) {
        for k in 0..i {
            x[i] += k;
        }
    }
    for (i, j) in qd::ndrange([counted(calls, n), n]) {
        for k in i..j {
            y[[i, j]] += k;
        }
    }
}

#[on_all_backends]
fn a_range_is_evaluated_once(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut calls = on.program.zeros([1])?;
    let (mut x, mut y) = (on.program.zeros([4])?, on.program.zeros([4, 4])?);
    effects(4, &mut calls, &mut x, &mut y).launch()?;
    assert_eq!(calls.to_vec()?, [2]);
    assert_eq!(x.to_vec()?, [0, 0, 1, 3]);
    assert_eq!(y.to_vec()?[..4], [0, 0, 1, 3]);
    Ok(())
}

/// Locals with the names of what an estimate uses, and literals that need the types of the body.
#[qd::kernel]
fn estimated(v: Vector<f32, 2>, n: usize, x: &mut Tensor<f32, 1>, y: &mut Tensor<u64, 1>) {
    for i in 0..x.len() {
        let plus = v + v;
        let times = plus - v;
        let min = times + plus;
        for k in 0..(i * 2 + n).min(3) {
            x[i] += min[0] + k as f32;
        }
    }
    for i in 0..y.len() {
        let far: u64 = 0xffff_ffff_ffff;
        for k in 0..(far as usize).min(i) {
            y[i] += k as u64;
        }
        for k in 0..0xff_ffff_ffff {
            if k > 3 {
                break;
            }
            y[i] += k;
        }
    }
}

#[on_all_backends]
fn names_and_literals_do_not_disturb_an_estimate(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let (mut x, mut y) = (on.program.zeros([3])?, on.program.zeros([3])?);
    estimated(Vector([1.0, 2.0]), 1, &mut x, &mut y).launch()?;
    assert_eq!(x.to_vec()?, [3.0, 12.0, 12.0]);
    assert_eq!(y.to_vec()?, [6, 6, 7]);
    Ok(())
}
