//! PolyBench fdtd-2d: Finite differences in the time domain: an electric field in a plane and the magnetic field across
//! it, in turns.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, F32, I32},
    CudaLaunch, Sizes, uniform_f32,
};

const STEPS: usize = 10;

#[qd::kernel]
fn copy_field(from: &Tensor<f32, 2>, to: &mut Tensor<f32, 2>) {
    for (i, j) in qd::ndrange(to.shape()) {
        to[[i, j]] = from[[i, j]];
    }
}

#[qd::kernel]
fn step(source: f32, ex: &mut Tensor<f32, 2>, ey: &mut Tensor<f32, 2>, hz: &mut Tensor<f32, 2>) {
    let [h, w] = hz.shape();
    for (i, j) in qd::ndrange([h, w]) {
        if i == 0 {
            ey[[i, j]] = source;
        } else {
            ey[[i, j]] -= 0.5 * (hz[[i, j]] - hz[[i - 1, j]]);
        }
    }
    for (i, j) in qd::ndrange((0..h, 1..w)) {
        ex[[i, j]] -= 0.5 * (hz[[i, j]] - hz[[i, j - 1]]);
    }
    for (i, j) in qd::ndrange([h - 1, w - 1]) {
        hz[[i, j]] -= 0.7 * (ex[[i, j + 1]] - ex[[i, j]] + ey[[i + 1, j]] - ey[[i, j]]);
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 4096, cpu: 512, small: 45 };
    let Some(case) = corpus.case("polybench/fdtd-2d", sizes) else { return Ok(()) };
    let n = case.n();
    let [ex, ey, hz] = [1, 2, 3].map(|seed| uniform_f32(n * n, seed));
    let program = corpus.program();
    let shape = [n, n];
    let (ex0, ey0, hz0) = (
        program.tensor_from(&ex, shape)?,
        program.tensor_from(&ey, shape)?,
        program.tensor_from(&hz, shape)?,
    );
    let state = (program.zeros(shape)?, program.zeros(shape)?, program.zeros(shape)?);
    let size = I32(n as i32);
    let copy =
        |from| CudaLaunch::grid_2d("copy_field", shape, &[Buffer(from), Buffer(from + 3), size]);
    let mut steps = vec![copy(0), copy(1), copy(2)];
    for t in 0..STEPS {
        steps.extend([
            CudaLaunch::grid_2d("electric_y", shape, &[F32(t as f32), Buffer(4), Buffer(5), size]),
            CudaLaunch::grid_2d("electric_x", shape, &[Buffer(3), Buffer(5), size]),
            CudaLaunch::grid_2d("magnetic", shape, &[Buffer(3), Buffer(4), Buffer(5), size]),
        ]);
    }
    let zero = || vec![0.0f32; n * n].into();
    case.buffers([ex.into(), ey.into(), hz.into(), zero(), zero(), zero()])
        .results(&[(3, 1e-5), (4, 1e-5), (5, 1e-5)])
        .cuda(include_str!("fdtd_2d.cu"), steps)
        .c(include_str!("fdtd_2d.c"), &[n, STEPS])
        .run(
            state,
            |(ex, ey, hz)| {
                copy_field(&ex0, ex).launch()?;
                copy_field(&ey0, ey).launch()?;
                copy_field(&hz0, hz).launch()?;
                (0..STEPS).try_for_each(|t| step(t as f32, ex, ey, hz).launch())
            },
            |(ex, ey, hz)| Ok(vec![ex.to_vec()?.into(), ey.to_vec()?.into(), hz.to_vec()?.into()]),
        )
}
