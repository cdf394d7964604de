//! PolyBench durbin: The Yule-Walker equations of a symmetric Toeplitz matrix, by Durbin's recursion: step k adds an
//! unknown.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform_f32,
};

#[qd::kernel]
fn start(r: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>, alpha_beta: &mut Tensor<f32, 1>) {
    y[0] = -r[0];
    alpha_beta[0] = -r[0];
    alpha_beta[1] = 1.0;
}

#[qd::kernel]
fn step(
    k: usize,
    r: &Tensor<f32, 1>,
    y: &mut Tensor<f32, 1>,
    z: &mut Tensor<f32, 1>,
    alpha_beta: &mut Tensor<f32, 1>,
) {
    let mut sum = 0.0;
    for i in 0..k {
        sum += r[k - i - 1] * y[i];
    }
    let beta = (1.0 - alpha_beta[0] * alpha_beta[0]) * alpha_beta[1];
    let alpha = -(r[k] + sum) / beta;
    alpha_beta[0] = alpha;
    alpha_beta[1] = beta;
    for i in 0..k {
        z[i] = y[i] + alpha * y[k - i - 1];
    }
    for i in 0..k {
        y[i] = z[i];
    }
    y[k] = alpha;
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 1024, cpu: 1024, small: 37 };
    let Some(case) = corpus.case("polybench/durbin", sizes) else { return Ok(()) };
    let n = case.n();
    let mut r = uniform_f32(n, 1);
    for (i, r) in r.iter_mut().enumerate() {
        *r = 0.15 * (*r - 0.5) / (1.0 + 0.1 * i as f32); // so that the matrix is positive definite
    }
    let program = corpus.program();
    let input = program.tensor_from(&r, [n])?;
    let state = (program.zeros([n])?, program.zeros([n])?, program.zeros([2])?);
    let one = |function, args: &[_]| CudaLaunch::new(function, [1, 1, 1], [1, 1, 1], args);
    let mut steps = vec![one("start", &[Buffer(0), Buffer(1), Buffer(3)])];
    for k in 1..n {
        let size = I32(k as i32);
        let sum = [size, Buffer(0), Buffer(1), Buffer(3)];
        steps.extend([
            CudaLaunch::new("reflect", [1, 1, 1], [256, 1, 1], &sum),
            CudaLaunch::linear("combine", k, &[size, Buffer(1), Buffer(2), Buffer(3)]),
            CudaLaunch::linear("copy", k + 1, &[size, Buffer(2), Buffer(1), Buffer(3)]),
        ]);
    }
    let zero = |n| vec![0.0f32; n].into();
    case.buffers([r.into(), zero(n), zero(n), zero(2)])
        .results(&[(1, 1e-4)])
        .cuda(include_str!("durbin.cu"), steps)
        .c(include_str!("durbin.c"), &[n])
        .run(
            state,
            |(y, z, alpha_beta)| {
                start(&input, y, alpha_beta).launch()?;
                (1..n).try_for_each(|k| step(k, &input, y, z, alpha_beta).launch())
            },
            |(y, ..)| Ok(vec![y.to_vec()?.into()]),
        )
}
