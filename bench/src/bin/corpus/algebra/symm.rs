//! PolyBench symm: C' = αAB + βC, where A is symmetric and given by its lower triangle.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, F32, I32},
    CudaLaunch, Sizes, uniform_f32,
};

#[qd::kernel]
fn symm(
    alpha: f32,
    beta: f32,
    a: &Tensor<f32, 2>,
    b: &Tensor<f32, 2>,
    c: &Tensor<f32, 2>,
    out: &mut Tensor<f32, 2>,
) {
    let [m, n] = c.shape();
    for (i, j) in qd::ndrange([m, n]) {
        let mut sum = 0.0;
        for k in 0..=i {
            sum += a[[i, k]] * b[[k, j]];
        }
        for k in i + 1..m {
            sum += a[[k, i]] * b[[k, j]];
        }
        out[[i, j]] = alpha * sum + beta * c[[i, j]];
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 2048, cpu: 384, small: 37 };
    let Some(case) = corpus.case("polybench/symm", sizes) else { return Ok(()) };
    let (m, n) = (case.n(), case.n() * 9 / 8);
    let (alpha, beta) = (1.5, 1.2);
    let (a, b, c) = (uniform_f32(m * m, 1), uniform_f32(m * n, 2), uniform_f32(m * n, 3));
    let program = corpus.program();
    let (ta, tb) = (program.tensor_from(&a, [m, m])?, program.tensor_from(&b, [m, n])?);
    let (tc, out) = (program.tensor_from(&c, [m, n])?, program.zeros::<f32, 2>([m, n])?);
    let args = [
        F32(alpha),
        F32(beta),
        Buffer(0),
        Buffer(1),
        Buffer(2),
        Buffer(3),
        I32(m as i32),
        I32(n as i32),
    ];
    case.buffers([a.into(), b.into(), c.into(), vec![0.0f32; m * n].into()])
        .results(&[(3, 1e-5)])
        .cuda(include_str!("symm.cu"), vec![CudaLaunch::grid_2d("symm", [m, n], &args)])
        .c(include_str!("symm.c"), &[m, n])
        .run(
            out,
            |out| symm(alpha, beta, &ta, &tb, &tc, out).launch(),
            |out| Ok(vec![out.to_vec()?.into()]),
        )
}
