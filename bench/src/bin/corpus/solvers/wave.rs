//! The acoustic wave equation in three dimensions: second order in time, eighth order (radius 4) in space.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform_f32,
};

const STEPS: usize = 4;

/// The factors of the second difference at distances 0 to 4.
const C: [f32; 5] = [-205.0 / 72.0, 8.0 / 5.0, -1.0 / 5.0, 8.0 / 315.0, -1.0 / 560.0];

#[qd::kernel]
fn start(u0: &Tensor<f32, 3>, u: &mut Tensor<f32, 3>, previous: &mut Tensor<f32, 3>) {
    for (i, j, k) in qd::ndrange(u.shape()) {
        u[[i, j, k]] = u0[[i, j, k]];
        previous[[i, j, k]] = 0.0;
    }
}

/// Replaces the field before `u` by the field after `u`.
#[qd::kernel]
fn step(speed: &Tensor<f32, 3>, u: &Tensor<f32, 3>, other: &mut Tensor<f32, 3>) {
    let [d, h, w] = u.shape();
    for (i, j, k) in qd::ndrange((4..d - 4, 4..h - 4, 4..w - 4)) {
        let mut laplacian = 3.0 * C[0] * u[[i, j, k]];
        for r in 1..5 {
            laplacian += C[r]
                * (u[[i + r, j, k]]
                    + u[[i - r, j, k]]
                    + u[[i, j + r, k]]
                    + u[[i, j - r, k]]
                    + u[[i, j, k + r]]
                    + u[[i, j, k - r]]);
        }
        other[[i, j, k]] = 2.0 * u[[i, j, k]] - other[[i, j, k]] + speed[[i, j, k]] * laplacian;
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 320, cpu: 96, small: 21 };
    let Some(case) = corpus.case("stencil/wave-3d", sizes) else { return Ok(()) };
    let n = case.n();
    let u = uniform_f32(n * n * n, 1);
    let mut speed = uniform_f32(n * n * n, 2);
    speed.iter_mut().for_each(|c| *c = 0.05 + 0.1 * *c); // (c Δt / Δx)² below the limit of stability
    let program = corpus.program();
    let shape = [n, n, n];
    let (u0, c) = (program.tensor_from(&u, shape)?, program.tensor_from(&speed, shape)?);
    let state = (program.zeros(shape)?, program.zeros(shape)?);
    let of = |function, args: &[_]| {
        let grid = [n.div_ceil(32), n.div_ceil(4), n.div_ceil(2)];
        CudaLaunch::new(function, grid, [32, 4, 2], args)
    };
    let size = I32(n as i32);
    let mut steps = vec![of("start", &[Buffer(0), Buffer(2), Buffer(3), size])];
    let mut tiled = steps.clone();
    for t in 0..STEPS {
        let args = [Buffer(1), Buffer(2 + t % 2), Buffer(3 - t % 2), size];
        let grid = [32, 8, 32].map(|by| (n - 8).div_ceil(by));
        steps.push(of("wave", &args));
        tiled.push(CudaLaunch::new("wave_tiled", grid, [32, 8, 1], &args));
    }
    let zero = || vec![0.0f32; n * n * n].into();
    case.buffers([u.into(), speed.into(), zero(), zero()])
        .results(&[(2, 1e-5)]) // the number of steps is even
        .cuda(include_str!("wave.cu"), steps)
        .tuned(include_str!("wave.cu"), tiled)
        .c(include_str!("wave.c"), &[n, STEPS])
        .run(
            state,
            |(u, other)| {
                start(&u0, u, other).launch()?;
                for _ in 0..STEPS {
                    step(&c, u, other).launch()?;
                    std::mem::swap(u, other);
                }
                Ok(())
            },
            |(u, _)| Ok(vec![u.to_vec()?.into()]),
        )
}
