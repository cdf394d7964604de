//! PolyBench syrk: The lower triangle of C' = αAAᵀ + βC.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, F32, I32},
    CudaLaunch, Sizes, uniform_f32,
};

#[qd::kernel]
fn syrk(alpha: f32, beta: f32, a: &Tensor<f32, 2>, c: &Tensor<f32, 2>, out: &mut Tensor<f32, 2>) {
    let [n, m] = a.shape();
    for (i, j) in qd::ndrange([n, n]) {
        if j <= i {
            let mut sum = 0.0;
            for k in 0..m {
                sum += a[[i, k]] * a[[j, k]];
            }
            out[[i, j]] = alpha * sum + beta * c[[i, j]];
        }
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 1536, cpu: 320, small: 37 };
    let Some(case) = corpus.case("polybench/syrk", sizes) else { return Ok(()) };
    let (n, m) = (case.n(), case.n() * 9 / 8);
    let (alpha, beta) = (1.5, 1.2);
    let (a, c) = (uniform_f32(n * m, 1), uniform_f32(n * n, 2));
    let program = corpus.program();
    let (ta, tc) = (program.tensor_from(&a, [n, m])?, program.tensor_from(&c, [n, n])?);
    let out = program.zeros::<f32, 2>([n, n])?;
    let args =
        [F32(alpha), F32(beta), Buffer(0), Buffer(1), Buffer(2), I32(n as i32), I32(m as i32)];
    case.buffers([a.into(), c.into(), vec![0.0f32; n * n].into()])
        .results(&[(2, 1e-5)])
        .cuda(include_str!("syrk.cu"), vec![CudaLaunch::grid_2d("syrk", [n, n], &args)])
        .c(include_str!("syrk.c"), &[n, m])
        .run(
            out,
            |out| syrk(alpha, beta, &ta, &tc, out).launch(),
            |out| Ok(vec![out.to_vec()?.into()]),
        )
}
