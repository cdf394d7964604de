//! PolyBench doitgen: A'[r, q, p] = Σ A[r, q, s] C[s, p]: a matrix product over the last axis of a tensor.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform_f32,
};

#[qd::kernel]
fn doitgen(a: &Tensor<f32, 3>, c: &Tensor<f32, 2>, out: &mut Tensor<f32, 3>) {
    for (r, q, p) in qd::ndrange(out.shape()) {
        let mut sum = 0.0;
        for s in 0..c.shape()[0] {
            sum += a[[r, q, s]] * c[[s, p]];
        }
        out[[r, q, p]] = sum;
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 224, cpu: 64, small: 13 };
    let Some(case) = corpus.case("polybench/doitgen", sizes) else { return Ok(()) };
    let (r, q, p) = (case.n(), case.n() * 9 / 8, case.n() * 5 / 4);
    let (a, c) = (uniform_f32(r * q * p, 1), uniform_f32(p * p, 2));
    let program = corpus.program();
    let (ta, tc) = (program.tensor_from(&a, [r, q, p])?, program.tensor_from(&c, [p, p])?);
    let out = program.zeros::<f32, 3>([r, q, p])?;
    let args = [Buffer(0), Buffer(1), Buffer(2), I32(q as i32), I32(p as i32)];
    let grid = [p.div_ceil(32), q.div_ceil(8), r];
    case.buffers([a.into(), c.into(), vec![0.0f32; r * q * p].into()])
        .results(&[(2, 1e-5)])
        .cuda(include_str!("doitgen.cu"), vec![CudaLaunch::new("doitgen", grid, [32, 8, 1], &args)])
        .c(include_str!("doitgen.c"), &[r, q, p])
        .run(out, |out| doitgen(&ta, &tc, out).launch(), |out| Ok(vec![out.to_vec()?.into()]))
}
