//! Loops with steps, reversed loops, unrolled loops and loop attributes.

use quadrants::{self as qd, Error, KernelErrorCause, Tensor};
use quadrants_tests::{
    TestBackend::{self, Cpu},
    on_all_backends,
};
use rstest::rstest;

use super::{Array, Same, differential, source};

source! { strides;
    fn run(from: i32, to: i32, by: usize, out: &mut Tensor<i32, 2>) {
        for i in (from..to).step_by(3) {
            out[[0, (i + 20) as usize]] = i;
        }
        for i in (from..to).rev() {
            out[[1, (i + 20) as usize]] = i * 2;
        }
        for i in (from..to).rev().step_by(by) {
            out[[2, (i + 20) as usize]] = i * 3;
        }
        for i in (from..to).step_by(by).rev() {
            out[[3, (i + 20) as usize]] = i * 4;
        }
        for i in (0..out.shape()[1]).step_by(2 * by) {
            if i == 4 {
                continue;
            }
            out[[4, i]] = i as i32 + 1;
        }
    }
}

source! { halves;
    fn run(x: &Tensor<u32, 1>, out: &mut Tensor<u32, 1>) {
        // Each iteration writes two elements, and no other does.
        for i in (0..out.len() - 1).step_by(2) {
            out[i] = x[i + 1];
            out[i + 1] = x[i] * 10;
        }
        for i in (0..out.len()).rev().step_by(2) {
            out[i] += 1;
        }
    }
}

source! { inner;
    fn run(n: u32, by: usize, x: &Tensor<i64, 1>, out: &mut Tensor<i64, 2>) {
        for i in 0..x.len() {
            // The order shows in the value.
            let mut folded = 1;
            for k in (0..x.len()).rev() {
                folded = folded * 3 % 1009 + x[k];
            }
            out[[i, 0]] = folded;
            let mut folded = 1;
            for k in (i..x.len()).step_by(2) {
                folded = folded * 3 % 1009 + x[k];
            }
            out[[i, 1]] = folded;
            let mut folded = 1;
            for k in (1..n).rev().step_by(by) {
                folded = folded * 3 % 1009 + k as i64;
                if k == 4 {
                    break;
                }
            }
            out[[i, 2]] = folded;
            let mut folded = 1;
            for k in (-4..i as i32).step_by(by).rev() {
                folded = folded * 3 % 1009 + k as i64;
            }
            out[[i, 3]] = folded;
            let mut end = 6;
            for k in (0..end).rev() {
                end += k;
            }
            out[[i, 4]] = end;
        }
    }
}

source! { through;
    fn run(from: i32, to: i32, m: u64, x: &Tensor<i64, 1>, out: &mut Tensor<i32, 2>, sums: &mut Tensor<i64, 2>) {
        for i in from..=to {
            out[[0, (i + 20) as usize]] = i + 1;
        }
        for i in (from..=to).rev() {
            out[[1, (i + 20) as usize]] = i * 2;
        }
        for i in (from..=to).rev().step_by(3) {
            out[[2, (i + 20) as usize]] = i * 3;
        }
        for i in 0..=out.shape()[1] - 1 {
            out[[3, i]] = i as i32;
        }
        for i in 0..=5 {
            out[[4, i]] = 7;
        }
        for i in 0..x.len() {
            let mut folded = 1;
            for k in i..=x.len() - 1 {
                folded = folded * 3 % 1009 + x[k];
            }
            sums[[i, 0]] = folded;
            for k in (0..=i).rev() {
                folded = folded * 3 % 1009 + x[k];
            }
            sums[[i, 1]] = folded;
            for k in i32::MAX - 2..=i32::MAX {
                folded = folded * 3 % 1009 + k as i64;
            }
            for k in m..=u64::MAX {
                folded = folded * 3 % 1009 + (k / 2) as i64 % 100;
            }
            for k in 250..=u8::MAX {
                folded = folded * 3 % 1009 + k as i64;
            }
            sums[[i, 2]] = folded;
            for k in (from..=to).step_by(2) {
                folded = folded * 3 % 1009 + k as i64;
            }
            sums[[i, 3]] = folded;
        }
    }
}

#[qd::kernel]
fn unrolled(n: u32, x: &Tensor<i64, 1>, out: &mut Tensor<i64, 1>) {
    for i in 0..out.len() {
        let mut folded = 1;
        #[qd::unroll]
        for k in 0..4 {
            folded = folded * 3 % 1009 + x[k];
        }
        #[unroll(4)]
        for k in 0..n {
            folded = folded * 3 % 1009 + k as i64;
        }
        out[i] = folded;
    }
}

#[qd::kernel]
fn every(by: usize, out: &mut Tensor<i32, 1>) {
    for i in (0..out.len()).step_by(by) {
        out[i] += 1;
    }
}

#[qd::kernel]
fn count_every(by: usize, out: &mut Tensor<i32, 1>) {
    for _ in (0..out.len()).rev().step_by(by) {
        qd::atomic_add(&mut out[0], 1);
    }
}

const INNER_LINE: u32 = line!() + 5;
#[qd::kernel]
fn every_inside(by: usize, out: &mut Tensor<i32, 1>) {
    for i in 0..1 {
        let mut sum = 0;
        for k in (0..9).step_by(by) {
            sum += k;
        }
        out[i] = sum;
    }
}

#[qd::kernel]
fn with_attributes(x: &Tensor<i32, 1>, out: &mut Tensor<i32, 1>, plane: &mut Tensor<i32, 2>) {
    let mut sum = 0;
    #[qd::serial]
    for i in 0..x.len() {
        if x[i] < 0 {
            break;
        }
        sum += x[i];
    }
    #[qd::block_size(96)]
    for i in 0..out.len() {
        out[i] = sum + i as i32;
    }
    #[qd::block_size(128)]
    for (i, j) in qd::ndrange(plane.shape()) {
        plane[[i, j]] = (i * 100 + j) as i32;
    }
    #[serial]
    for i in (1..out.len()).rev() {
        out[i] -= out[i - 1];
    }
}

#[on_all_backends]
fn parallel_loops_stride_and_run_backwards(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    for (from, to) in [(-20, 20), (0, 1), (3, 3), (7, -2), (-5, 14)] {
        for by in [1, 2, 5, 100] {
            let out = Array::zeros([5, 40]);
            differential!(&on.program, strides[from, to, by][][out]);
        }
    }
    Ok(())
}

#[on_all_backends]
fn strided_iterations_do_not_race(
    backend: TestBackend,
    #[values(2, 300, 1001)] n: usize,
) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let values: Vec<u32> = (0..n as u32).collect();
    let (x, out) = (Array::of(&values), Array::zeros([n]));
    differential!(&on.program, halves [] [x] [out]);
    Ok(())
}

#[on_all_backends]
fn inner_loops_stride_and_run_backwards(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = Array::of(&[3, -1, 4, 1, -5, 9, 2]);
    for (n, by) in [(0, 1), (2, 1), (9, 2), (30, 7)] {
        let out = Array::zeros([x.len(), 5]);
        differential!(&on.program, inner[n, by][x][out]);
    }
    Ok(())
}

#[on_all_backends]
fn inclusive_ranges_reach_the_largest_value(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = Array::of(&[3, -1, 4, 1, -5, 9, 2]);
    for (from, to, m) in [(-20, 19, u64::MAX), (3, 3, u64::MAX - 2), (7, 6, u64::MAX - 1)] {
        let (out, sums) = (Array::zeros([5, 40]), Array::zeros([x.len(), 4]));
        differential!(&on.program, through[from, to, m][x][out, sums]);
    }
    Ok(())
}

#[on_all_backends]
fn unrolled_loops_match_plain_loops(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = on.program.tensor_from(&[5_i64, 7, 11, 13], [4])?;
    let mut out = on.program.zeros([1])?;
    unrolled(6, &x, &mut out).launch()?;
    let folded = [5, 7, 11, 13, 0, 1, 2, 3, 4, 5].iter().fold(1, |f, k| f * 3 % 1009 + k);
    assert_eq!(out.to_vec()?, [folded]);
    Ok(())
}

#[on_all_backends]
fn a_step_of_zero_is_an_error(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut out = on.program.zeros::<i32, 1>([10])?;
    let refused = count_every(0, &mut out).launch();
    assert!(matches!(refused, Err(Error::Grid { .. })), "{refused:?}");
    // Also where all iterations would write one element.
    let refused = every(0, &mut out).launch();
    assert!(matches!(refused, Err(Error::Grid { .. })), "{refused:?}");
    let failed = every_inside(0, &mut out).launch().and_then(|()| on.program.sync());
    let Err(Error::Kernel(error)) = failed else { panic!("{failed:?}") };
    assert_eq!((&error.cause, error.line), (&KernelErrorCause::DivideByZero, INNER_LINE));
    every(4, &mut out).launch()?;
    every_inside(4, &mut out).launch()?;
    count_every(4, &mut out).launch()?;
    assert_eq!(out.to_vec()?, [15, 0, 0, 0, 1, 0, 0, 0, 1, 0]);
    Ok(())
}

#[on_all_backends]
fn loops_with_attributes_match_plain_loops(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = on.program.tensor_from(&[4, 5, 6, -1, 9], [5])?;
    let mut out = on.program.zeros::<i32, 1>([300])?;
    let mut plane = on.program.zeros::<i32, 2>([20, 70])?;
    with_attributes(&x, &mut out, &mut plane).launch()?;
    let mut expected = [1; 300];
    expected[0] = 15;
    assert_eq!(out.to_vec()?, expected);
    let expected: Vec<i32> = (0..1400).map(|k| k / 70 * 100 + k % 70).collect();
    assert_eq!(plane.to_vec()?, expected);
    Ok(())
}

/// So many elements that a loop with little work per element takes another path.
const FAR: usize = 1 << 20;

#[qd::kernel]
fn simple(a: f32, x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        y[i] = (a * x[i] + y[i]).abs().min(x[i].mul_add(a, 0.25));
    }
}

#[qd::kernel]
fn simple_rows(x: &Tensor<f32, 2>, y: &mut Tensor<f32, 2>) {
    for (i, j) in qd::ndrange(x.shape()) {
        if i > 0 && j > 0 {
            y[[i, j]] = x[[i - 1, j]] - 0.3 * x[[i, j - 1]];
        }
    }
}

#[rstest]
fn long_inner_loops_match_plain_rust(#[values(FAR - 1, FAR, FAR + 77)] n: usize) -> qd::Result<()> {
    let Some(on) = Cpu.open() else { return Ok(()) };
    let value = |k: usize| (k * 37 % 1009) as f32 / 31.0 - 9.0;
    let x: Vec<f32> = (0..n).map(value).collect();
    let mut y = on.program.tensor_from(&x, [n])?;
    simple(-1.7, &on.program.tensor_from(&x, [n])?, &mut y).launch()?;
    let expected = |x: f32| (-1.7 * x + x).abs().min(x.mul_add(-1.7, 0.25));
    let differs = y.to_vec()?.iter().zip(&x).position(|(y, x)| *y != expected(*x));
    assert_eq!(differs, None);

    let (h, w) = (n / 1000, 1000);
    let x = &x[..h * w];
    let mut y = on.program.zeros::<f32, 2>([h, w])?;
    simple_rows(&on.program.tensor_from(x, [h, w])?, &mut y).launch()?;
    let expected = |at: usize| match (at / w, at % w) {
        (0, _) | (_, 0) => 0.0,
        _ => x[at - w] - 0.3 * x[at - 1],
    };
    let differs = y.to_vec()?.iter().enumerate().position(|(at, y)| *y != expected(at));
    assert_eq!(differs, None);
    Ok(())
}
