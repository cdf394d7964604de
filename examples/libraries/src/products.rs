//! Matrix products by cuBLAS or hipBLAS in a host-side region, beside a kernel on other tensors.
//!
//! Prints the times of both alone, one after the other and side by side.

use quadrants::{self as qd, Program, Tensor, reads, writes};

use crate::{
    Error, Result,
    blas::Blas,
    measure::{median, side_by_side},
};

/// Small, so that a product does not fill the device. Side by side on the same multiprocessors, both would take longer.
const N: usize = 128;
/// The number of products.
const PRODUCTS: usize = 64;

/// Independent series, long enough to take about as long as the products; few threads, so that both fit on the device.
#[qd::kernel]
fn series(terms: usize, out: &mut Tensor<f32, 1>) {
    for i in 0..out.len() {
        let mut x = i as f32 / out.len() as f32;
        for _ in 0..terms {
            x = 3.7 * x * (1.0 - x);
        }
        out[i] = x;
    }
}

#[qd::kernel]
fn product(a: &Tensor<f32, 2>, b: &Tensor<f32, 2>, c: &mut Tensor<f32, 2>) {
    for (i, j) in qd::ndrange(c.shape()) {
        let mut sum = 0.0;
        for k in 0..a.shape()[1] {
            sum += a[[i, k]] * b[[k, j]];
        }
        c[[i, j]] = sum;
    }
}

/// Runs the example with a library that `create` loads.
///
/// # Errors
/// [`Error::NoLibrary`], an error of the device or of the library, or [`Error::Different`].
pub fn run(arch: qd::Arch, name: &str, create: fn() -> Result<Blas>) -> Result<()> {
    let program = Program::open(arch)?;
    let values = |seed: usize| -> Vec<f32> {
        (0..N * N).map(|i| ((i * 7919 + seed) % 1013) as f32 / 1013.0 - 0.5).collect()
    };
    let a = program.tensor_from(&values(1), [N, N])?;
    let b = program.tensor_from(&values(2), [N, N])?;
    let mut c = program.zeros::<f32, 2>([N, N])?;
    let mut expected = program.zeros::<f32, 2>([N, N])?;
    let mut out = program.zeros::<f32, 1>([4096])?;

    // The closure runs with the program's context, which the handle belongs to from then on.
    let blas = program.foreign_on_current("create", reads![], writes![], |_| create())??;
    let multiply = |c: &mut Tensor<f32, 2>| -> qd::Result<Result<()>> {
        program.foreign_on_current("gemm", reads![&a, &b], writes![c], |raw| {
            let [a, b] = [raw.reads[0].address, raw.reads[1].address];
            // SAFETY: all three are matrices of this size on this device, and borrowed for the call; all work is on
            // the given stream.
            unsafe { blas.multiply(raw.stream, N, [a, b], raw.writes[0].address) }
        })
    };

    multiply(&mut c)??;
    product(&a, &b, &mut expected).launch()?;
    let (found, wanted) = (c.to_vec()?, expected.to_vec()?);
    let difference = found.iter().zip(&wanted).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max);
    if difference > 1e-2 {
        return Err(Error::Different { what: "the products", difference: f64::from(difference) });
    }
    println!("{N} x {N} product, largest difference to the kernel: {difference:.1e}");

    // As long as the products.
    let products =
        |c: &mut Tensor<f32, 2>| -> Result<()> { (0..PRODUCTS).try_for_each(|_| multiply(c)?) };
    let by_blas = median(&program, || products(&mut c))?;
    let mut with = |terms| median(&program, || Ok(series(terms, &mut out).launch()?));
    let (short, long) = (with(1 << 10)?, with(1 << 14)?);
    let per_term = long.saturating_sub(short).as_secs_f64() / f64::from((1 << 14) - (1 << 10));
    let terms = (by_blas.as_secs_f64() / per_term.max(1e-9)) as usize;

    let by_kernel = median(&program, || Ok(series(terms, &mut out).launch()?))?;
    let in_turn = median(&program, || {
        products(&mut c)?;
        Ok(series(terms, &mut out).launch()?)
    })?;
    let beside = median(&program, || {
        // The kernel first, because the host enqueues the products one by one.
        side_by_side(&program, || Ok(series(terms, &mut out).launch()?), || products(&mut c))
    })?;
    println!("{PRODUCTS} products, and a series in {} threads:", out.shape()[0]);
    println!("{name} alone   {by_blas:8.1?}");
    println!("kernel alone    {by_kernel:8.1?}");
    println!("in turn         {in_turn:8.1?}");
    let ratio = beside.as_secs_f64() / in_turn.as_secs_f64();
    println!("side by side    {beside:8.1?}, {ratio:.2} of that");
    Ok(())
}
