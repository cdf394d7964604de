//! PolyBench syr2k: The lower triangle of C' = αABᵀ + αBAᵀ + βC.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, F32, I32},
    CudaLaunch, Sizes, uniform_f32,
};

#[qd::kernel]
fn syr2k(
    alpha: f32,
    beta: f32,
    a: &Tensor<f32, 2>,
    b: &Tensor<f32, 2>,
    c: &Tensor<f32, 2>,
    out: &mut Tensor<f32, 2>,
) {
    let [n, m] = a.shape();
    for (i, j) in qd::ndrange([n, n]) {
        if j <= i {
            let mut sum = 0.0;
            for k in 0..m {
                sum += a[[i, k]] * b[[j, k]] + b[[i, k]] * a[[j, k]];
            }
            out[[i, j]] = alpha * sum + beta * c[[i, j]];
        }
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 1024, cpu: 256, small: 37 };
    let Some(case) = corpus.case("polybench/syr2k", sizes) else { return Ok(()) };
    let (n, m) = (case.n(), case.n() * 9 / 8);
    let (alpha, beta) = (1.5, 1.2);
    let (a, b, c) = (uniform_f32(n * m, 1), uniform_f32(n * m, 2), uniform_f32(n * n, 3));
    let program = corpus.program();
    let (ta, tb) = (program.tensor_from(&a, [n, m])?, program.tensor_from(&b, [n, m])?);
    let (tc, out) = (program.tensor_from(&c, [n, n])?, program.zeros::<f32, 2>([n, n])?);
    let args = [
        F32(alpha),
        F32(beta),
        Buffer(0),
        Buffer(1),
        Buffer(2),
        Buffer(3),
        I32(n as i32),
        I32(m as i32),
    ];
    case.buffers([a.into(), b.into(), c.into(), vec![0.0f32; n * n].into()])
        .results(&[(3, 1e-5)])
        .cuda(include_str!("syr2k.cu"), vec![CudaLaunch::grid_2d("syr2k", [n, n], &args)])
        .c(include_str!("syr2k.c"), &[n, m])
        .run(
            out,
            |out| syr2k(alpha, beta, &ta, &tb, &tc, out).launch(),
            |out| Ok(vec![out.to_vec()?.into()]),
        )
}
