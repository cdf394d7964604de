//! Reductions: loops that combine into one element give the same result in every form.

use quadrants::{self as qd, Error, KernelErrorCause, Tensor};
use quadrants_tests::{
    TestBackend::{self, Cpu},
    on_all_backends,
};

use super::{Array, Same, differential, source};

source! { of_one_dimension;
    fn run(
        x: &Tensor<i32, 1>,
        sum: &mut Tensor<i32, 1>,
        least: &mut Tensor<i64, 1>,
        most: &mut Tensor<u64, 1>,
        halves: &mut Tensor<f64, 1>,
    ) {
        for i in 0..x.len() {
            qd::atomic_add(&mut sum[1], x[i]);
            if x[i] % 3 == 0 {
                qd::atomic_min(&mut least[0], x[i] as i64 * 10_000_000_000);
                continue;
            }
            qd::atomic_max(&mut most[0], x[i] as u64);
            // Exact in any order.
            qd::atomic_add(&mut halves[0], x[i] as f64 * 0.5);
            qd::atomic_add(&mut sum[1], 1);
        }
    }
}

source! { of_two_dimensions;
    fn run(x: &Tensor<u32, 2>, sum: &mut Tensor<u32, 2>, most: &mut Tensor<u32, 0>) {
        for (i, j) in qd::ndrange(x.shape()) {
            qd::atomic_add(&mut sum[[1, 0]], x[[i, j]] * (i * j) as u32);
            qd::atomic_max(&mut most[[]], x[[i, j]] ^ i as u32);
        }
    }
}

source! { in_steps;
    fn run(x: &Tensor<i64, 1>, sum: &mut Tensor<i64, 1>, back: &mut Tensor<i64, 1>) {
        for i in (1..x.len()).step_by(3) {
            qd::atomic_add(&mut sum[0], x[i]);
        }
        let first = sum[0];
        for i in (0..x.len()).rev() {
            let mut part = 0;
            for k in 0..4 {
                part += x[i] * k;
            }
            qd::atomic_add(&mut back[0], part + first);
        }
    }
}

const LAST: usize = 1;

source! { of_named_cells;
    fn run<const N: usize>(
        at: u8,
        by: [i32; N],
        x: &Tensor<i32, 1>,
        sum: &mut Tensor<i32, 2>,
        most: &mut Tensor<i32, 1>,
    ) {
        const FIRST: usize = LAST - 1;
        for i in 0..x.len() {
            qd::atomic_add(&mut sum[[FIRST, N]], x[i]);
            qd::atomic_max(&mut most[at as usize], x[i]);
        }
        for i in 0..x.len() {
            qd::atomic_add(&mut sum[[LAST, N]], x[i] * by[0]);
        }
    }
}

// More is done with `sum` than combining, so that its atomics stay.
source! { not_plain;
    fn run(x: &Tensor<i32, 1>, sum: &mut Tensor<i32, 1>, two: &mut Tensor<i32, 1>) {
        for i in 0..x.len() {
            let before = qd::atomic_add(&mut sum[0], x[i]);
            qd::atomic_add(&mut sum[0], before - before);
            qd::atomic_max(&mut two[0], x[i]);
            qd::atomic_min(&mut two[1], x[i]);
        }
    }
}

#[qd::kernel]
fn sums(x: &Tensor<f32, 1>, at: usize, sum: &mut Tensor<f32, 1>) {
    for i in at..x.len() {
        qd::atomic_add(&mut sum[0], x[i]);
    }
}

#[qd::kernel(strict)]
fn strict_sums(x: &Tensor<f32, 1>, sum: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        qd::atomic_add(&mut sum[0], x[i]);
    }
}

#[qd::kernel]
fn sums_of_some(x: &Tensor<i32, 1>, sum: &mut Tensor<i32, 1>) {
    for i in 0..x.len() {
        if x[i] > 0 {
            qd::atomic_add(&mut sum[2], x[i]);
        }
    }
}

#[on_all_backends]
fn reductions_match_plain_rust(
    backend: TestBackend,
    #[values(0, 1, 31, 32, 33, 5000, 70_000)] n: usize,
) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    // Enough that the CPU splits the loop among threads.
    let n = if backend == Cpu { n } else { n.min(2000) };
    let x: Vec<i32> = (0..n as i32).map(|i| (i * 7919) % 1000 - 500).collect();
    let x = Array::of(&x);
    let (sum, least) = (Array::of(&[5, i32::MAX]), Array::of(&[i64::MAX]));
    let (most, halves) = (Array::of(&[3]), Array::of(&[0.25]));
    differential!(&on.program, of_one_dimension [] [x] [sum, least, most, halves]);
    let (sum, most) = (Array::zeros([2, 3]), Array::of(&[1, -7]));
    differential!(&on.program, of_named_cells [1, [3, 0]] [x] [sum, most]);
    let (sum, two) = (Array::of(&[7]), Array::of(&[i32::MIN, i32::MAX]));
    differential!(&on.program, not_plain [] [x] [sum, two]);
    let wide: Vec<i64> = (0..n as i64).map(|i| (i * i) << 20).collect();
    let (sum, back) = (Array::of(&[1]), Array::of(&[-1]));
    differential!(&on.program, in_steps [] [Array::of(&wide)] [sum, back]);
    Ok(())
}

#[on_all_backends]
fn reductions_of_rows_match_plain_rust(
    backend: TestBackend,
    #[values([1, 1], [3, 70], [40, 33], [1, 0])] shape: [usize; 2],
) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let shape = if backend == Cpu { shape.map(|n| n * 9) } else { shape };
    let mut x = Array::<u32, 2>::zeros(shape);
    for i in 0..shape[0] {
        for j in 0..shape[1] {
            x[[i, j]] = ((i * 7919 + j * 104_729) % 997) as u32;
        }
    }
    let (sum, most) = (Array::zeros([2, 1]), Array::zeros([]));
    differential!(&on.program, of_two_dimensions [] [x] [sum, most]);
    Ok(())
}

#[on_all_backends]
fn float_sums_match_within_tolerance(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x: Vec<f32> = (0..5000).map(|i| (i as f32).sin()).collect();
    let tensor = on.program.tensor_from(&x, [x.len()])?;
    let exact: f64 = x.iter().map(|x| f64::from(*x)).sum();
    let mut sum = on.program.zeros::<f32, 1>([1])?;
    sums(&tensor, 0, &mut sum).launch()?;
    assert!((f64::from(sum.to_vec()?[0]) - exact).abs() < 1e-2);
    // The sum of nothing keeps the sign of a zero.
    let mut sum = on.program.tensor_from(&[-0.0f32], [1])?;
    sums(&tensor, 5000, &mut sum).launch()?;
    assert_eq!(sum.to_vec()?[0].to_bits(), (-0.0f32).to_bits());
    let mut sum = on.program.zeros::<f32, 1>([1])?;
    strict_sums(&on.program.tensor_from(&x[..100], [100])?, &mut sum).launch()?;
    if backend == Cpu {
        // One thread, in the order of the iterations.
        assert_eq!(sum.to_vec()?[0], x[..100].iter().fold(0.0, |sum, x| sum + x));
    }
    Ok(())
}

#[on_all_backends]
fn an_out_of_bounds_reduction_target_is_reported(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut sum = on.program.zeros::<i32, 1>([2])?;
    let nothing = on.program.tensor_from(&[-1, 0, -7], [3])?;
    sums_of_some(&nothing, &mut sum).launch()?;
    on.program.sync()?;
    let some = on.program.tensor_from(&[-1, 4, -7], [3])?;
    let failed = sums_of_some(&some, &mut sum).launch().and_then(|()| on.program.sync());
    let Err(Error::Kernel(error)) = failed else { panic!("{failed:?}") };
    let cause =
        KernelErrorCause::IndexOutOfRange { tensor: "sum".into(), index: vec![2], shape: vec![2] };
    assert_eq!(error.cause, cause);
    assert_eq!(sum.to_vec()?, [0, 0]);
    Ok(())
}
