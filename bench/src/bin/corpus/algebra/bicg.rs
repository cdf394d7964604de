//! PolyBench bicg: q = Ap and s = Aᵀr, the two products of the biconjugate gradient method.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform_f32,
};

#[qd::kernel]
fn bicg(
    a: &Tensor<f32, 2>,
    p: &Tensor<f32, 1>,
    r: &Tensor<f32, 1>,
    q: &mut Tensor<f32, 1>,
    s: &mut Tensor<f32, 1>,
) {
    let [m, n] = a.shape();
    for i in 0..m {
        let mut sum = 0.0;
        for j in 0..n {
            sum += a[[i, j]] * p[j];
        }
        q[i] = sum;
    }
    for j in 0..n {
        let mut sum = 0.0;
        for i in 0..m {
            sum += a[[i, j]] * r[i];
        }
        s[j] = sum;
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 6144, cpu: 1536, small: 301 };
    let Some(case) = corpus.case("polybench/bicg", sizes) else { return Ok(()) };
    let (m, n) = (case.n(), case.n() * 7 / 8);
    let (a, p, r) = (uniform_f32(m * n, 1), uniform_f32(n, 2), uniform_f32(m, 3));
    let program = corpus.program();
    let ta = program.tensor_from(&a, [m, n])?;
    let (tp, tr) = (program.tensor_from(&p, [n])?, program.tensor_from(&r, [m])?);
    let (q, s) = (program.zeros::<f32, 1>([m])?, program.zeros::<f32, 1>([n])?);
    let extents = [I32(m as i32), I32(n as i32)];
    let args = |x, y| [Buffer(0), Buffer(x), Buffer(y), extents[0], extents[1]];
    case.buffers([a.into(), p.into(), r.into(), vec![0.0f32; m].into(), vec![0.0f32; n].into()])
        .results(&[(3, 1e-4), (4, 1e-4)])
        .cuda(
            include_str!("bicg.cu"),
            vec![
                CudaLaunch::linear("product", m, &args(1, 3)),
                CudaLaunch::linear("transposed", n, &args(2, 4)),
            ],
        )
        .c(include_str!("bicg.c"), &[m, n])
        .run(
            (q, s),
            |(q, s)| bicg(&ta, &tp, &tr, q, s).launch(),
            |(q, s)| Ok(vec![q.to_vec()?.into(), s.to_vec()?.into()]),
        )
}
