//! The cost of proving a launch, or of checking what cannot be proven, against `launch_unchecked`.
//!
//! Each case runs one kernel by `launch` and by `launch_unchecked`, on the same data in one process. `launch` proves
//! the accesses and then runs without checks, or checks those that depend on data. A sample ends when the device has:
//! of small tensors it shows what the host does, of large ones the device.

// Kernels index, as devices do.
#![allow(clippy::needless_range_loop)]

use std::{cell::RefCell, time::Instant};

use quadrants::{self as qd, Arch, Program, Result, Tensor};
use quadrants_bench::{Case, Options, kernels, until_done};

/// A sample repeats its call for about this long.
const SAMPLE_SECONDS: f64 = 2e-3;

#[qd::kernel]
fn jacobi(a: &Tensor<f32, 2>, b: &mut Tensor<f32, 2>) {
    let [h, w] = a.shape();
    for (i, j) in qd::ndrange((1..h - 1, 1..w - 1)) {
        b[[i, j]] = 0.25 * (a[[i - 1, j]] + a[[i + 1, j]] + a[[i, j - 1]] + a[[i, j + 1]]);
    }
}

#[qd::kernel]
fn guarded(a: &Tensor<f32, 1>, b: &mut Tensor<f32, 1>) {
    let n = a.len();
    for i in 0..n {
        if i == 0 || i + 1 >= n {
            continue;
        }
        b[i] = 0.5 * (a[i - 1] + a[i + 1]);
    }
}

/// An index from a tensor.
#[qd::kernel]
fn gather(at: &Tensor<u32, 1>, x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    for i in 0..y.len() {
        y[i] = 2.0 * x[at[i] as usize] + 1.0;
    }
}

/// The mean of four neighbours, from an offset that a tensor contains.
#[qd::kernel]
fn window(from: &Tensor<u32, 1>, x: &Tensor<f32, 2>, y: &mut Tensor<f32, 2>) {
    let [h, w] = y.shape();
    for (i, j) in qd::ndrange([h, w]) {
        let (a, b) = (i + from[0] as usize, j + from[1] as usize);
        y[[i, j]] = 0.25 * (x[[a, b]] + x[[a + 1, b]] + x[[a, b + 1]] + x[[a + 1, b + 1]]);
    }
}

/// What no proof follows: `open` says where both neighbours are there. All but two iterations are run
/// without checks.
#[qd::kernel]
fn masked(open: &Tensor<u8, 1>, a: &Tensor<f32, 1>, b: &mut Tensor<f32, 1>) {
    for i in 0..a.len() {
        if open[i] != 0 {
            b[i] = 0.5 * (a[i - 1] + a[i + 1]);
        }
    }
}

fn main() -> Result<()> {
    let options = Options::from_args();
    for (arch, name) in [(Arch::Cpu, "cpu"), (Arch::Cuda, "cuda")] {
        if options.wants(name) {
            cases(&options, &Program::open(arch)?, name)?;
        }
    }
    Ok(())
}

fn cases(options: &Options, program: &Program, backend: &str) -> Result<()> {
    let compare = |case: &str, launch: &mut dyn FnMut(bool) -> Result<()>| {
        let case = Case::new("checks", format!("{backend}, {case}"), "ms");
        if options.selects(&case) { compare(options, program, &case, launch) } else { Ok(()) }
    };
    for n in [1usize, 1 << 10, 1 << 16, 1 << 22] {
        let x = program.tensor_from(&vec![1.0f32; n], [n])?;
        let mut y = program.zeros::<f32, 1>([n])?;
        compare(&format!("saxpy of {n}"), &mut |proven| {
            let launch = kernels::saxpy(2.0, &x, &mut y);
            // SAFETY: every index is below the length of both.
            if proven { launch.launch() } else { unsafe { launch.launch_unchecked() } }
        })?;
        let open: Vec<u8> = (0..n).map(|i| u8::from(i > 0 && i + 1 < n)).collect();
        let open = program.tensor_from(&open, [n])?;
        compare(&format!("masked neighbours of {n}"), &mut |proven| {
            let launch = masked(&open, &x, &mut y);
            // SAFETY: the mask leaves both ends out.
            if proven { launch.launch() } else { unsafe { launch.launch_unchecked() } }
        })?;
        compare(&format!("guarded neighbours of {n}"), &mut |proven| {
            let launch = guarded(&x, &mut y);
            // SAFETY: both ends are left out.
            if proven { launch.launch() } else { unsafe { launch.launch_unchecked() } }
        })?;
    }
    for n in [1usize << 10, 1 << 20, 1 << 24] {
        let at: Vec<u32> = (0..n as u32).map(|i| (i / 64 * 64 + i * 7 % 64) % n as u32).collect();
        let at = program.tensor_from(&at, [n])?;
        let x = program.tensor_from(&vec![1.0f32; n], [n])?;
        let mut y = program.zeros::<f32, 1>([n])?;
        compare(&format!("gather of {n}"), &mut |checked| {
            let launch = gather(&at, &x, &mut y);
            // SAFETY: every index is below the length of `x`.
            if checked { launch.launch() } else { unsafe { launch.launch_unchecked() } }
        })?;
        let rows = n / 16;
        let first: Vec<u32> = (0..=rows as u32).map(|i| 16 * i).collect();
        let first = program.tensor_from(&first, [rows + 1])?;
        let mut y = program.zeros::<f32, 1>([rows])?;
        compare(&format!("CSR matrix of {rows} rows of 16"), &mut |checked| {
            let launch = kernels::spmv(&first, &at, &x, &x, &mut y);
            // SAFETY: the rows are within the entries, and the columns below the length of `x`.
            if checked { launch.launch() } else { unsafe { launch.launch_unchecked() } }
        })?;
    }
    for n in [64usize, 1024, 4096] {
        let from = program.tensor_from(&[3, 5], [2])?;
        let x = program.tensor_from(&vec![1.0f32; (n + 6) * (n + 6)], [n + 6, n + 6])?;
        let mut y = program.zeros::<f32, 2>([n, n])?;
        compare(&format!("window of {n} by {n}"), &mut |checked| {
            let launch = window(&from, &x, &mut y);
            // SAFETY: the offset and a neighbour are within the difference of the extents.
            if checked { launch.launch() } else { unsafe { launch.launch_unchecked() } }
        })?;
    }
    for n in [16usize, 2048] {
        let a = program.tensor_from(&vec![1.0f32; n * n], [n, n])?;
        let mut b = program.zeros::<f32, 2>([n, n])?;
        compare(&format!("jacobi of {n} by {n}"), &mut |proven| {
            let launch = jacobi(&a, &mut b);
            // SAFETY: the loop leaves out the border of two tensors of one shape.
            if proven { launch.launch() } else { unsafe { launch.launch_unchecked() } }
        })?;
    }
    Ok(())
}

fn compare(
    options: &Options,
    program: &Program,
    case: &Case,
    launch: &mut dyn FnMut(bool) -> Result<()>,
) -> Result<()> {
    (0..20).try_for_each(|k| launch(k % 2 == 0))?;
    program.sync()?;
    let start = Instant::now();
    (0..4).try_for_each(|_| launch(true))?;
    program.sync()?;
    let calls = (SAMPLE_SECONDS / (start.elapsed().as_secs_f64() / 4.0)).clamp(1.0, 1e5) as usize;
    let launch = RefCell::new(launch);
    let sample = |proven: bool| {
        let launch = &launch;
        until_done(
            calls,
            move || (launch.borrow_mut())(proven).expect("launches"),
            || program.sync().expect("completes"),
        )
    };
    options.run(case, 101, &mut sample(true), &mut [("unchecked", &mut sample(false))]);
    Ok(())
}
