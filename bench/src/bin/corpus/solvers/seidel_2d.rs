//! PolyBench seidel-2d: A Gauss-Seidel sweep of the mean of nine neighbours, in place. Elements of equal 2i + j are
//! independent: a sweep is a sequence of such wavefronts.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform_f32,
};

#[qd::kernel]
fn start(a0: &Tensor<f32, 2>, a: &mut Tensor<f32, 2>) {
    for (i, j) in qd::ndrange(a.shape()) {
        a[[i, j]] = a0[[i, j]];
    }
}

#[qd::kernel]
fn wavefront(wave: usize, a: &mut Tensor<f32, 2>) {
    let [h, w] = a.shape();
    let first = (wave + 2).saturating_sub(w).div_ceil(2).max(1);
    let end = wave.div_ceil(2).min(h - 1);
    for i in first..end {
        let j = wave - 2 * i;
        a[[i, j]] = (a[[i - 1, j - 1]]
            + a[[i - 1, j]]
            + a[[i - 1, j + 1]]
            + a[[i, j - 1]]
            + a[[i, j]]
            + a[[i, j + 1]]
            + a[[i + 1, j - 1]]
            + a[[i + 1, j]]
            + a[[i + 1, j + 1]])
            / 9.0;
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 1024, cpu: 512, small: 45 };
    let Some(case) = corpus.case("polybench/seidel-2d", sizes) else { return Ok(()) };
    let n = case.n();
    let a = uniform_f32(n * n, 1);
    let program = corpus.program();
    let a0 = program.tensor_from(&a, [n, n])?;
    let waves = 3..3 * (n - 2) + 1;
    let size = I32(n as i32);
    let mut steps = vec![CudaLaunch::grid_2d("start", [n, n], &[Buffer(0), Buffer(1), size])];
    for wave in waves.clone() {
        steps.push(CudaLaunch::linear("wavefront", n / 2, &[I32(wave as i32), Buffer(1), size]));
    }
    case.buffers([a.into(), vec![0.0f32; n * n].into()])
        .results(&[(1, 1e-5)])
        .cuda(include_str!("seidel_2d.cu"), steps)
        .c(include_str!("seidel_2d.c"), &[n])
        .run(
            program.zeros([n, n])?,
            |a| {
                start(&a0, a).launch()?;
                waves.clone().try_for_each(|wave| wavefront(wave, a).launch())
            },
            |a| Ok(vec![a.to_vec()?.into()]),
        )
}
