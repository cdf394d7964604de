//! PolyBench trmm: B' = αAᵀB, where A is lower triangular with ones on its diagonal.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, F32, I32},
    CudaLaunch, Sizes, uniform_f32,
};

#[qd::kernel]
fn trmm(alpha: f32, a: &Tensor<f32, 2>, b: &Tensor<f32, 2>, out: &mut Tensor<f32, 2>) {
    let [m, n] = b.shape();
    for (i, j) in qd::ndrange([m, n]) {
        let mut sum = b[[i, j]];
        for k in i + 1..m {
            sum += a[[k, i]] * b[[k, j]];
        }
        out[[i, j]] = alpha * sum;
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 2048, cpu: 512, small: 37 };
    let Some(case) = corpus.case("polybench/trmm", sizes) else { return Ok(()) };
    let (m, n) = (case.n(), case.n() * 9 / 8);
    let alpha = 1.5;
    let (a, b) = (uniform_f32(m * m, 1), uniform_f32(m * n, 2));
    let program = corpus.program();
    let (ta, tb) = (program.tensor_from(&a, [m, m])?, program.tensor_from(&b, [m, n])?);
    let out = program.zeros::<f32, 2>([m, n])?;
    let args = [F32(alpha), Buffer(0), Buffer(1), Buffer(2), I32(m as i32), I32(n as i32)];
    case.buffers([a.into(), b.into(), vec![0.0f32; m * n].into()])
        .results(&[(2, 1e-5)])
        .cuda(include_str!("trmm.cu"), vec![CudaLaunch::grid_2d("trmm", [m, n], &args)])
        .c(include_str!("trmm.c"), &[m, n])
        .run(out, |out| trmm(alpha, &ta, &tb, out).launch(), |out| Ok(vec![out.to_vec()?.into()]))
}
