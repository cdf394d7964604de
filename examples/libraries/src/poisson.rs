//! A spectral Poisson solver on a periodic grid: a library transforms, and a kernel divides by the eigenvalues.
//!
//! Compares it with a known solution and with transforms by kernels. Prints the times of both, and of the library
//! beside a kernel on another grid in a host-side region.

use std::f64::consts::TAU;

use quadrants::{
    self as qd, Arch, Complex, Program, Tensor,
    rhi::{DevicePtr, StreamHandle},
    writes,
};

use crate::{
    Error, Result,
    measure::{largest_difference, median, side_by_side},
};

/// Real two-dimensional transforms by a library, between a grid of doubles and its spectrum: `n` rows of `n / 2 + 1`
/// complex numbers, the sums without a factor.
pub trait RealTransforms {
    /// Enqueues the transform of `grid` to `spectrum` on a stream. It may also write `grid`.
    ///
    /// # Errors
    /// The status of the library.
    ///
    /// # Safety
    /// Both have their elements on the device of the plans, whose context is current, and do not overlap. Nothing else
    /// uses them before the work is complete. No other work with these plans runs meanwhile on another stream.
    unsafe fn forward(
        &self,
        stream: StreamHandle,
        grid: DevicePtr,
        spectrum: DevicePtr,
    ) -> Result<()>;

    /// Enqueues the transform back, which also writes `spectrum`.
    ///
    /// # Errors
    /// The status of the library.
    ///
    /// # Safety
    /// As for [`forward`](Self::forward).
    unsafe fn inverse(
        &self,
        stream: StreamHandle,
        spectrum: DevicePtr,
        grid: DevicePtr,
    ) -> Result<()>;
}

/// The number of rows. The period is 1.
const N: usize = 512;
/// Solutions for one measurement of side by side.
const SOLUTIONS: usize = 16;

type Grid = Tensor<f64, 2>;
type Spectrum = Tensor<Complex<f64>, 2>;

/// Divides each mode by its eigenvalue of the negative Laplacian, and by the factor of both transforms. The mean is
/// zero.
#[qd::kernel]
fn divide(factor: f64, modes: &mut Spectrum) {
    let n = modes.shape()[0];
    for (i, j) in qd::ndrange(modes.shape()) {
        let k = if 2 * i < n { i as f64 } else { i as f64 - n as f64 };
        let l = j as f64;
        let square = k * k + l * l;
        let scale = if square > 0.0 { factor / square } else { 0.0 };
        modes[[i, j]] *= scale;
    }
}

/// The modes of each row, as sums. `roots` has the powers of the first root of unity.
#[qd::kernel]
fn transform_rows(grid: &Grid, roots: &Tensor<Complex<f64>, 1>, modes: &mut Spectrum) {
    let n = roots.len();
    for (i, k) in qd::ndrange(modes.shape()) {
        let mut sum = Complex { re: 0.0, im: 0.0 };
        for j in 0..n {
            sum += roots[j * k % n].conj() * grid[[i, j]];
        }
        modes[[i, k]] = sum;
    }
}

/// The modes of each column, or the columns of modes: `towards` is the power of the first root.
#[qd::kernel]
fn transform_columns(
    towards: usize,
    from: &Spectrum,
    roots: &Tensor<Complex<f64>, 1>,
    to: &mut Spectrum,
) {
    let n = roots.len();
    for (k, j) in qd::ndrange(to.shape()) {
        let mut sum = Complex { re: 0.0, im: 0.0 };
        for i in 0..n {
            sum += roots[i * k % n * towards % n] * from[[i, j]];
        }
        to[[k, j]] = sum;
    }
}

/// The rows of modes. The modes that are not there are conjugates of others.
#[qd::kernel]
fn transform_rows_back(modes: &Spectrum, roots: &Tensor<Complex<f64>, 1>, grid: &mut Grid) {
    let n = roots.len();
    let half = n / 2;
    for (i, j) in qd::ndrange(grid.shape()) {
        let last = if j % 2 == 0 { modes[[i, half]].re } else { -modes[[i, half]].re };
        let mut sum = modes[[i, 0]].re + last;
        for k in 1..half {
            sum += 2.0 * (roots[j * k % n] * modes[[i, k]]).re;
        }
        grid[[i, j]] = sum;
    }
}

/// Steps of Jacobi's method, on its own grid: the work beside the library.
#[qd::kernel]
fn relax(from: &Grid, to: &mut Grid) {
    let n = to.shape()[0];
    for (i, j) in qd::ndrange(to.shape()) {
        let above = from[[(i + n - 1) % n, j]] + from[[(i + 1) % n, j]];
        let beside = from[[i, (j + n - 1) % n]] + from[[i, (j + 1) % n]];
        to[[i, j]] = 0.25 * (above + beside);
    }
}

/// Solves the problem on a device of `arch` and prints the comparisons. `plan` plans the transforms of a number of rows
/// and columns by the library `name`.
///
/// # Errors
/// Those of the library and of the device; [`Error::Different`] for a wrong solution.
pub fn run<P: RealTransforms>(
    arch: Arch,
    name: &str,
    plan: impl FnOnce(usize) -> Result<P>,
) -> Result<()> {
    let program = Program::open(arch)?;
    // u = sin(2πx) cos(4πy) + cos(6πx) / 2, whose modes have the eigenvalues (2π)² 5 and (2π)² 9.
    let at = |of: fn(f64, f64) -> f64| -> Vec<f64> {
        let place = |i: usize| i as f64 / N as f64;
        (0..N * N).map(|i| of(place(i / N), place(i % N))).collect()
    };
    let known = at(|x, y| (TAU * x).sin() * (2.0 * TAU * y).cos() + 0.5 * (3.0 * TAU * x).cos());
    let source = at(|x, y| {
        let first = 5.0 * (TAU * x).sin() * (2.0 * TAU * y).cos();
        TAU * TAU * (first + 4.5 * (3.0 * TAU * x).cos())
    });
    let roots: Vec<_> = (0..N)
        .map(|i| (TAU * i as f64 / N as f64).sin_cos())
        .map(|(im, re)| Complex { re, im })
        .collect();
    let roots = program.tensor_from(&roots, [N])?;
    let factor = 1.0 / (TAU * TAU * (N * N) as f64);

    let mut f = program.tensor_from(&source, [N, N])?;
    let mut modes = program.zeros([N, N / 2 + 1])?;
    let mut u = program.zeros([N, N])?;
    // The closure runs with the program's context, which the plans belong to from then on.
    let plans = program.foreign_on_current("plan", [], [], |_| plan(N))??;
    let mut by_library = |f: &mut Grid, u: &mut Grid| -> Result<()> {
        program.foreign_on_current("forward", [], writes![f, &mut modes], |raw| {
            let [f, modes] = [raw.writes[0].address, raw.writes[1].address];
            // SAFETY: both have the sizes of the plan, and are borrowed for the call; all work is on the given stream,
            // which comes after earlier work of the plan.
            unsafe { plans.forward(raw.stream, f, modes) }
        })??;
        divide(factor, &mut modes).launch()?;
        program.foreign_on_current("inverse", [], writes![&mut modes, u], |raw| {
            let [modes, u] = [raw.writes[0].address, raw.writes[1].address];
            // SAFETY: as above.
            unsafe { plans.inverse(raw.stream, modes, u) }
        })?
    };
    by_library(&mut f, &mut u)?;
    let found = u.to_vec()?;
    let error = largest_difference(&found, &known);
    println!(
        "{N} x {N} Poisson problem by {name}, largest difference to the solution: {error:.1e}"
    );

    let mut v = program.zeros([N, N])?;
    let (mut rows, mut columns) = (program.zeros([N, N / 2 + 1])?, program.zeros([N, N / 2 + 1])?);
    f.write(&source)?;
    let mut by_kernels = || -> Result<()> {
        transform_rows(&f, &roots, &mut rows).launch()?;
        transform_columns(N - 1, &rows, &roots, &mut columns).launch()?;
        divide(factor, &mut columns).launch()?;
        transform_columns(1, &columns, &roots, &mut rows).launch()?;
        Ok(transform_rows_back(&rows, &roots, &mut v).launch()?)
    };
    by_kernels()?;
    let of_kernels = median(&program, &mut by_kernels)?;
    let difference = largest_difference(&v.to_vec()?, &found);
    println!("largest difference to transforms by kernels: {difference:.1e}");
    for (what, difference) in [("solutions", error), ("transforms", difference)] {
        if difference > 1e-9 {
            return Err(Error::Different { what, difference });
        }
    }

    let of_library = median(&program, || by_library(&mut f, &mut u))?;
    println!("a solution by {name} and a kernel  {of_library:8.1?}");
    println!("by kernels, which sum directly    {of_kernels:8.1?}");

    let mut grids = [program.zeros([N, N])?, program.zeros([N, N])?];
    let mut sweeps = |count: usize| -> Result<()> {
        let [a, b] = &mut grids;
        for _ in 0..count / 2 {
            relax(a, b).launch()?;
            relax(b, a).launch()?;
        }
        Ok(())
    };
    let mut solutions = || (0..SOLUTIONS).try_for_each(|_| by_library(&mut f, &mut u));
    let alone = median(&program, &mut solutions)?;
    sweeps(2)?;
    let hundred = median(&program, || sweeps(100))?;
    // As long as the solutions.
    let count = 2 * (50.0 * alone.as_secs_f64() / hundred.as_secs_f64()).ceil() as usize;
    let of_sweeps = median(&program, || sweeps(count))?;
    let in_turn = median(&program, || solutions().and_then(|()| sweeps(count)))?;
    let beside = median(&program, || side_by_side(&program, &mut solutions, || sweeps(count)))?;
    println!("{SOLUTIONS} solutions by {name} alone      {alone:8.1?}");
    println!("{count} sweeps on another grid alone  {of_sweeps:8.1?}");
    let ratio = beside.as_secs_f64() / in_turn.as_secs_f64();
    println!("in turn {in_turn:.1?}, side by side {beside:.1?}, {ratio:.2} of that");
    Ok(())
}
