//! PolyBench heat-3d: The heat equation in three dimensions: second differences along each axis, from A to B and back.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform_f32,
};

const STEPS: usize = 5;

#[qd::kernel]
fn start(a0: &Tensor<f32, 3>, a: &mut Tensor<f32, 3>) {
    for (i, j, k) in qd::ndrange(a.shape()) {
        a[[i, j, k]] = a0[[i, j, k]];
    }
}

#[qd::kernel]
fn step(a: &Tensor<f32, 3>, b: &mut Tensor<f32, 3>) {
    let [d, h, w] = a.shape();
    for (i, j, k) in qd::ndrange((1..d - 1, 1..h - 1, 1..w - 1)) {
        b[[i, j, k]] = 0.125 * (a[[i + 1, j, k]] - 2.0 * a[[i, j, k]] + a[[i - 1, j, k]])
            + 0.125 * (a[[i, j + 1, k]] - 2.0 * a[[i, j, k]] + a[[i, j - 1, k]])
            + 0.125 * (a[[i, j, k + 1]] - 2.0 * a[[i, j, k]] + a[[i, j, k - 1]])
            + a[[i, j, k]];
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 256, cpu: 80, small: 19 };
    let Some(case) = corpus.case("polybench/heat-3d", sizes) else { return Ok(()) };
    let n = case.n();
    let [a, b] = [1, 2].map(|seed| uniform_f32(n * n * n, seed));
    let program = corpus.program();
    let a0 = program.tensor_from(&a, [n, n, n])?;
    let state = (program.zeros([n, n, n])?, program.tensor_from(&b, [n, n, n])?);
    let of = |function, from, to| {
        let grid = [n.div_ceil(32), n.div_ceil(4), n.div_ceil(2)];
        CudaLaunch::new(function, grid, [32, 4, 2], &[Buffer(from), Buffer(to), I32(n as i32)])
    };
    let mut steps = vec![of("start", 0, 1)];
    for _ in 0..STEPS {
        steps.extend([of("heat_3d", 1, 2), of("heat_3d", 2, 1)]);
    }
    case.buffers([a.into(), vec![0.0f32; n * n * n].into(), b.into()])
        .results(&[(1, 1e-5)])
        .cuda(include_str!("heat_3d.cu"), steps)
        .c(include_str!("heat_3d.c"), &[n, STEPS])
        .run(
            state,
            |(a, b)| {
                start(&a0, a).launch()?;
                for _ in 0..STEPS {
                    step(a, b).launch()?;
                    step(b, a).launch()?;
                }
                Ok(())
            },
            |(a, _)| Ok(vec![a.to_vec()?.into()]),
        )
}
