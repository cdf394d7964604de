//! PolyBench jacobi-2d: Jacobi's method in two dimensions: each step averages five neighbours, from A to B and back.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform_f32,
};

const STEPS: usize = 10;

#[qd::kernel]
fn start(a0: &Tensor<f32, 2>, a: &mut Tensor<f32, 2>) {
    for (i, j) in qd::ndrange(a.shape()) {
        a[[i, j]] = a0[[i, j]];
    }
}

#[qd::kernel]
fn step(a: &mut Tensor<f32, 2>, b: &mut Tensor<f32, 2>) {
    let [h, w] = a.shape();
    for (i, j) in qd::ndrange((1..h - 1, 1..w - 1)) {
        b[[i, j]] =
            0.2 * (a[[i, j]] + a[[i, j - 1]] + a[[i, j + 1]] + a[[i + 1, j]] + a[[i - 1, j]]);
    }
    for (i, j) in qd::ndrange((1..h - 1, 1..w - 1)) {
        a[[i, j]] =
            0.2 * (b[[i, j]] + b[[i, j - 1]] + b[[i, j + 1]] + b[[i + 1, j]] + b[[i - 1, j]]);
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 4096, cpu: 512, small: 45 };
    let Some(case) = corpus.case("polybench/jacobi-2d", sizes) else { return Ok(()) };
    let n = case.n();
    let [a, b] = [1, 2].map(|seed| uniform_f32(n * n, seed));
    let program = corpus.program();
    let a0 = program.tensor_from(&a, [n, n])?;
    let state = (program.zeros([n, n])?, program.tensor_from(&b, [n, n])?);
    let of = |function, from, to| {
        CudaLaunch::grid_2d(function, [n, n], &[Buffer(from), Buffer(to), I32(n as i32)])
    };
    let mut steps = vec![of("start", 0, 1)];
    for _ in 0..STEPS {
        steps.extend([of("jacobi_2d", 1, 2), of("jacobi_2d", 2, 1)]);
    }
    case.buffers([a.into(), vec![0.0f32; n * n].into(), b.into()])
        .results(&[(1, 1e-5)])
        .cuda(include_str!("jacobi_2d.cu"), steps)
        .c(include_str!("jacobi_2d.c"), &[n, STEPS])
        .run(
            state,
            |(a, b)| {
                start(&a0, a).launch()?;
                (0..STEPS).try_for_each(|_| step(a, b).launch())
            },
            |(a, _)| Ok(vec![a.to_vec()?.into()]),
        )
}
