//! Forms per loop: a loop that a launch cannot prove is checked, and the others are not.

use std::ops::Range;

use quadrants::{self as qd, Error, KernelErrorCause, Result, Tensor};
use quadrants_tests::{TestBackend, on_all_backends};

use super::interiors::interiors;
use crate::launch::tracing_events::CapturedEvents;

/// The first loop cannot be proven; the second can.
#[qd::kernel]
fn mixed(
    at: &Tensor<u32, 1>,
    x: &Tensor<f32, 1>,
    y: &mut Tensor<f32, 1>,
    sum: &mut Tensor<f32, 1>,
) {
    for i in 0..at.len() {
        y[i] = x[at[i] as usize];
    }
    for i in 0..x.len() {
        qd::atomic_add(&mut sum[0], x[i]);
    }
}

/// Serial code, thread blocks, a stepped loop and regions beside each other. `which` chooses the parts that are out of
/// reach of the proof.
#[qd::kernel]
fn parts(
    at: &Tensor<u32, 1>,
    x: &Tensor<i32, 1>,
    out: &mut Tensor<i32, 2>,
    total: &mut Tensor<i32, 1>,
) {
    out[[0, 0]] = x[at[0] as usize];
    for i in (0..x.len()).step_by(2) {
        out[[1, i]] = x[i];
    }
    qd::block_for(x.len() / 4, 4, |block| {
        let mut shared = block.shared::<i32>(4);
        block.each(|t| shared[t] = x[block.index() * 4 + t]);
        block.each(|t| out[[2, block.index() * 4 + t]] = shared[3 - t]);
    });
    let mut sum = 0;
    for i in 0..at.len() {
        sum += x[at[i] as usize];
    }
    for i in 0..x.len() {
        out[[3, i]] = x[i] + sum;
    }
    #[qd::serial]
    for i in 0..x.len() {
        total[0] += out[[3, i]];
    }
}

/// The element of a sum is out of range in the checked loop, where `when` holds.
#[qd::kernel]
fn sum_into(
    k: usize,
    when: i32,
    at: &Tensor<u32, 1>,
    x: &Tensor<i32, 1>,
    sum: &mut Tensor<i32, 1>,
) {
    for i in 0..at.len() {
        if x[at[i] as usize] > when {
            qd::atomic_add(&mut sum[k], 1);
        }
    }
}

#[on_all_backends]
fn a_loop_that_is_not_proven_leaves_the_others_unchecked(
    backend: TestBackend,
    #[values(7, 300_000)] n: usize,
) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let said = CapturedEvents::listen();
    let at: Vec<u32> = (0..n as u32).map(|i| (i * 7 + 3) % n as u32).collect();
    let x: Vec<f32> = (0..n).map(|i| (i % 8) as f32).collect();
    let (at_tensor, x_tensor) =
        (on.program.tensor_from(&at, [n])?, on.program.tensor_from(&x, [n])?);
    let mut y = on.program.zeros::<f32, 1>([n])?;
    let mut sum = on.program.zeros::<f32, 1>([1])?;
    for _ in 0..2 {
        mixed(&at_tensor, &x_tensor, &mut y, &mut sum).launch()?;
    }
    assert!(y.to_vec()?.iter().zip(&at).all(|(y, at)| *y == x[*at as usize]));
    assert_eq!(sum.to_vec()?, [2.0 * x.iter().sum::<f32>()]);
    // Only the first loop is checked.
    assert_eq!(interiors(&said), [(0, n as u64)]);
    Ok(())
}

#[on_all_backends]
fn an_error_is_that_of_the_checked_loop(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let n = 2000;
    let mut at = vec![1; n];
    at[n - 3] = 5000;
    let (at, x) = (on.program.tensor_from(&at, [n])?, on.program.tensor_from(&vec![1.0; n], [n])?);
    let mut y = on.program.zeros::<f32, 1>([n])?;
    let mut sum = on.program.zeros::<f32, 1>([1])?;
    let launched = mixed(&at, &x, &mut y, &mut sum).launch();
    let Err(Error::Kernel(error)) = launched.and_then(|()| on.program.sync()) else {
        panic!("an index is out of range")
    };
    let KernelErrorCause::IndexOutOfRange { tensor, index, shape } = &error.cause else {
        panic!("{error}")
    };
    assert_eq!((&**tensor, &index[..], &shape[..]), ("x", &[5000][..], &[n as u64][..]));
    assert_eq!((error.line, &*error.kernel), (line_of("y[i] = x[at[i]"), "mixed"));
    Ok(())
}

fn line_of(text: &str) -> u32 {
    let found = include_str!("forms.rs").lines().position(|line| line.contains(text));
    found.expect("the text is there") as u32 + 1
}

#[on_all_backends]
fn each_part_of_a_kernel_has_its_own_form(
    backend: TestBackend,
    #[values(8, 4000)] n: usize,
) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x: Vec<i32> = (0..n as i32).map(|i| i * 3 % 17).collect();
    let at: Vec<u32> = (0..n as u32).rev().collect();
    let (at_tensor, x_tensor) =
        (on.program.tensor_from(&at, [n])?, on.program.tensor_from(&x, [n])?);
    let sum: i32 = x.iter().sum();
    // The second shape is too short for every loop that writes `out`.
    for width in [n, n - 1] {
        let mut out = on.program.zeros::<i32, 2>([4, width])?;
        let mut total = on.program.zeros::<i32, 1>([1])?;
        let launched = parts(&at_tensor, &x_tensor, &mut out, &mut total).launch();
        let outcome = launched.and_then(|()| on.program.sync());
        if width < n {
            assert!(matches!(outcome, Err(Error::Kernel(_))), "{outcome:?}");
            continue;
        }
        outcome?;
        let out = out.to_vec()?;
        let row = |row: usize| &out[row * n..][..n];
        assert_eq!(row(0)[0], x[n - 1]);
        assert!((0..n).all(|i| row(1)[i] == if i % 2 == 0 { x[i] } else { 0 }));
        assert!((0..n).all(|i| row(2)[i] == x[i / 4 * 4 + 3 - i % 4]));
        assert!((0..n).all(|i| row(3)[i] == x[i] + sum));
        assert_eq!(total.to_vec()?, [sum + n as i32 * sum]);
    }
    Ok(())
}

#[on_all_backends]
fn a_sum_into_an_element_out_of_range_is_reported_where_it_is_used(
    backend: TestBackend,
) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    for n in [5_usize, 100_000] {
        let at = on.program.tensor_from(&vec![0; n], [n])?;
        let x = on.program.tensor_from(&vec![1; n], [n])?;
        let mut sum = on.program.zeros::<i32, 1>([3])?;
        // Nothing is combined, so the index does not matter.
        sum_into(3, 1, &at, &x, &mut sum).launch()?;
        on.program.sync()?;
        sum_into(2, 0, &at, &x, &mut sum).launch()?;
        assert_eq!(sum.to_vec()?, [0, 0, n as i32]);
        let launched = sum_into(3, 0, &at, &x, &mut sum).launch();
        let Err(Error::Kernel(error)) = launched.and_then(|()| on.program.sync()) else {
            panic!("an index is out of range")
        };
        let KernelErrorCause::IndexOutOfRange { tensor, index, shape } = &error.cause else {
            panic!("{error}")
        };
        assert_eq!((&**tensor, &index[..], &shape[..]), ("sum", &[3][..], &[3][..]));
        assert_eq!(error.line, line_of("qd::atomic_add(&mut sum[k]"));
    }
    Ok(())
}

/// Sums of floats: into a local and into an element, in a proven and in a checked loop.
#[qd::kernel]
fn sums(range: usize, at: &Tensor<u32, 1>, x: &Tensor<f32, 1>, out: &mut Tensor<f32, 1>) {
    let mut local = 0.0;
    for i in 0..x.len() {
        local += x[i];
    }
    for i in 0..x.len() {
        qd::atomic_add(&mut out[1], x[i]);
    }
    let mut gathered = 0.0;
    for i in 0..range {
        gathered += x[at[i] as usize];
    }
    for i in 0..range {
        qd::atomic_add(&mut out[3], x[at[i] as usize]);
    }
    out[0] = local;
    out[2] = gathered;
}

/// On GPUs the partial sums of thread blocks are added in any order.
#[test]
fn float_sums_on_the_cpu_are_accurate_and_reproducible() -> Result<()> {
    let Some(on) = TestBackend::Cpu.open() else { return Ok(()) };
    let n = 2_000_000;
    let x: Vec<f32> = (0..n).map(|i| 0.1 + (i * 7919 % 1000) as f32 * 1e-3).collect();
    let at: Vec<u32> = (0..n as u32).collect();
    let exact: f64 = x.iter().map(|x| f64::from(*x)).sum();
    let (at, x) = (on.program.tensor_from(&at, [n])?, on.program.tensor_from(&x, [n])?);
    let mut first = None;
    let repetitions: Range<u32> = 0..5;
    for _ in repetitions {
        let mut out = on.program.zeros::<f32, 1>([4])?;
        sums(n, &at, &x, &mut out).launch()?;
        let out = out.to_vec()?;
        for sum in &out {
            let error = (f64::from(*sum) - exact).abs() / exact;
            // One atomic per element would be off by 1e-3.
            assert!(error < 1e-4, "{out:?} {exact}");
        }
        assert_eq!(first.get_or_insert_with(|| out.clone()), &out);
    }
    Ok(())
}
