//! PolyBench gesummv: y = αAx + βBx.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, F32, I32},
    CudaLaunch, Sizes, uniform_f32,
};

#[qd::kernel]
fn gesummv(
    alpha: f32,
    beta: f32,
    a: &Tensor<f32, 2>,
    b: &Tensor<f32, 2>,
    x: &Tensor<f32, 1>,
    y: &mut Tensor<f32, 1>,
) {
    for i in 0..y.len() {
        let mut ax = 0.0;
        let mut bx = 0.0;
        for j in 0..x.len() {
            ax += a[[i, j]] * x[j];
            bx += b[[i, j]] * x[j];
        }
        y[i] = alpha * ax + beta * bx;
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 6144, cpu: 1536, small: 301 };
    let Some(case) = corpus.case("polybench/gesummv", sizes) else { return Ok(()) };
    let n = case.n();
    let (alpha, beta) = (1.5, 1.2);
    let (a, b, x) = (uniform_f32(n * n, 1), uniform_f32(n * n, 2), uniform_f32(n, 3));
    let program = corpus.program();
    let (ta, tb) = (program.tensor_from(&a, [n, n])?, program.tensor_from(&b, [n, n])?);
    let (tx, y) = (program.tensor_from(&x, [n])?, program.zeros::<f32, 1>([n])?);
    let args = [F32(alpha), F32(beta), Buffer(0), Buffer(1), Buffer(2), Buffer(3), I32(n as i32)];
    case.buffers([a.into(), b.into(), x.into(), vec![0.0f32; n].into()])
        .results(&[(3, 1e-4)])
        .cuda(include_str!("gesummv.cu"), vec![CudaLaunch::linear("gesummv", n, &args)])
        .c(include_str!("gesummv.c"), &[n])
        .run(
            y,
            |y| gesummv(alpha, beta, &ta, &tb, &tx, y).launch(),
            |y| Ok(vec![y.to_vec()?.into()]),
        )
}
