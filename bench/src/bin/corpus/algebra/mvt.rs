//! PolyBench mvt: x₁' = x₁ + Ay₁ and x₂' = x₂ + Aᵀy₂.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform_f32,
};

#[qd::kernel]
fn mvt(
    a: &Tensor<f32, 2>,
    x1: &Tensor<f32, 1>,
    x2: &Tensor<f32, 1>,
    y1: &Tensor<f32, 1>,
    y2: &Tensor<f32, 1>,
    out1: &mut Tensor<f32, 1>,
    out2: &mut Tensor<f32, 1>,
) {
    let n = x1.len();
    for i in 0..n {
        let mut sum = x1[i];
        for j in 0..n {
            sum += a[[i, j]] * y1[j];
        }
        out1[i] = sum;
    }
    for i in 0..n {
        let mut sum = x2[i];
        for j in 0..n {
            sum += a[[j, i]] * y2[j];
        }
        out2[i] = sum;
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 6144, cpu: 1536, small: 301 };
    let Some(case) = corpus.case("polybench/mvt", sizes) else { return Ok(()) };
    let n = case.n();
    let a = uniform_f32(n * n, 1);
    let [x1, x2, y1, y2] = [2, 3, 4, 5].map(|seed| uniform_f32(n, seed));
    let program = corpus.program();
    let ta = program.tensor_from(&a, [n, n])?;
    let (tx1, tx2) = (program.tensor_from(&x1, [n])?, program.tensor_from(&x2, [n])?);
    let (ty1, ty2) = (program.tensor_from(&y1, [n])?, program.tensor_from(&y2, [n])?);
    let (out1, out2) = (program.zeros::<f32, 1>([n])?, program.zeros::<f32, 1>([n])?);
    let args = |x, y, out| [Buffer(0), Buffer(x), Buffer(y), Buffer(out), I32(n as i32)];
    case.buffers([
        a.into(),
        x1.into(),
        x2.into(),
        y1.into(),
        y2.into(),
        vec![0.0f32; n].into(),
        vec![0.0f32; n].into(),
    ])
    .results(&[(5, 1e-4), (6, 1e-4)])
    .cuda(
        include_str!("mvt.cu"),
        vec![
            CudaLaunch::linear("product", n, &args(1, 3, 5)),
            CudaLaunch::linear("transposed", n, &args(2, 4, 6)),
        ],
    )
    .c(include_str!("mvt.c"), &[n])
    .run(
        (out1, out2),
        |(out1, out2)| mvt(&ta, &tx1, &tx2, &ty1, &ty2, out1, out2).launch(),
        |(out1, out2)| Ok(vec![out1.to_vec()?.into(), out2.to_vec()?.into()]),
    )
}
