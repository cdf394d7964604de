//! PolyBench gemm: C = αAB + βC.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, F32, I32},
    CudaLaunch, Sizes, uniform_f32,
};

#[qd::kernel]
fn gemm(
    alpha: f32,
    beta: f32,
    a: &Tensor<f32, 2>,
    b: &Tensor<f32, 2>,
    c: &Tensor<f32, 2>,
    out: &mut Tensor<f32, 2>,
) {
    for (i, j) in qd::ndrange(out.shape()) {
        let mut sum = 0.0;
        for k in 0..b.shape()[0] {
            sum += a[[i, k]] * b[[k, j]];
        }
        out[[i, j]] = alpha * sum + beta * c[[i, j]];
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 2048, cpu: 512, small: 37 };
    let Some(case) = corpus.case("polybench/gemm", sizes) else { return Ok(()) };
    let n = case.n();
    let (alpha, beta) = (1.5, 1.2);
    let [a, b, c] = [1, 2, 3].map(|seed| uniform_f32(n * n, seed));
    let program = corpus.program();
    let shape = [n, n];
    let (ta, tb, tc) = (
        program.tensor_from(&a, shape)?,
        program.tensor_from(&b, shape)?,
        program.tensor_from(&c, shape)?,
    );
    let out = program.zeros::<f32, 2>(shape)?;
    case.buffers([a.into(), b.into(), c.into(), vec![0.0f32; n * n].into()])
        .results(&[(3, 1e-5)])
        .cuda(
            include_str!("gemm.cu"),
            vec![CudaLaunch::grid_2d(
                "gemm",
                shape,
                &[F32(alpha), F32(beta), Buffer(0), Buffer(1), Buffer(2), Buffer(3), I32(n as i32)],
            )],
        )
        .c(include_str!("gemm.c"), &[n])
        .run(
            out,
            |out| gemm(alpha, beta, &ta, &tb, &tc, out).launch(),
            |out| Ok(vec![out.to_vec()?.into()]),
        )
}
