//! PolyBench gemver: A' = A + u₁v₁ᵀ + u₂v₂ᵀ, x = βA'ᵀy + z, w = αA'x.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, F32, I32},
    CudaLaunch, Sizes, uniform_f32,
};

#[qd::kernel]
#[allow(clippy::too_many_arguments)] // PolyBench's gemver has twelve operands
fn gemver(
    alpha: f32,
    beta: f32,
    a: &Tensor<f32, 2>,
    u1: &Tensor<f32, 1>,
    v1: &Tensor<f32, 1>,
    u2: &Tensor<f32, 1>,
    v2: &Tensor<f32, 1>,
    y: &Tensor<f32, 1>,
    z: &Tensor<f32, 1>,
    updated: &mut Tensor<f32, 2>,
    x: &mut Tensor<f32, 1>,
    w: &mut Tensor<f32, 1>,
) {
    let n = x.len();
    for (i, j) in qd::ndrange([n, n]) {
        updated[[i, j]] = a[[i, j]] + u1[i] * v1[j] + u2[i] * v2[j];
    }
    for i in 0..n {
        let mut sum = 0.0;
        for j in 0..n {
            sum += updated[[j, i]] * y[j];
        }
        x[i] = beta * sum + z[i];
    }
    for i in 0..n {
        let mut sum = 0.0;
        for j in 0..n {
            sum += updated[[i, j]] * x[j];
        }
        w[i] = alpha * sum;
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 6144, cpu: 1536, small: 301 };
    let Some(case) = corpus.case("polybench/gemver", sizes) else { return Ok(()) };
    let n = case.n();
    let (alpha, beta) = (1.5, 1.2);
    let a = uniform_f32(n * n, 1);
    let [u1, v1, u2, v2, y, z] = [2, 3, 4, 5, 6, 7].map(|seed| uniform_f32(n, seed));
    let program = corpus.program();
    let ta = program.tensor_from(&a, [n, n])?;
    let vector = |values: &Vec<f32>| program.tensor_from(values, [n]);
    let (tu1, tv1, tu2, tv2) = (vector(&u1)?, vector(&v1)?, vector(&u2)?, vector(&v2)?);
    let (ty, tz) = (vector(&y)?, vector(&z)?);
    let updated = program.zeros::<f32, 2>([n, n])?;
    let (x, w) = (program.zeros::<f32, 1>([n])?, program.zeros::<f32, 1>([n])?);
    let extent = I32(n as i32);
    let update = [0, 1, 2, 3, 4, 7].map(Buffer);
    case.buffers([
        a.into(),
        u1.into(),
        v1.into(),
        u2.into(),
        v2.into(),
        y.into(),
        z.into(),
        vec![0.0f32; n * n].into(),
        vec![0.0f32; n].into(),
        vec![0.0f32; n].into(),
    ])
    .results(&[(7, 1e-6), (8, 1e-4), (9, 1e-4)])
    .cuda(
        include_str!("gemver.cu"),
        vec![
            CudaLaunch::grid_2d("update", [n, n], &[&update[..], &[extent]].concat()),
            CudaLaunch::linear(
                "transposed",
                n,
                &[F32(beta), Buffer(7), Buffer(5), Buffer(6), Buffer(8), extent],
            ),
            CudaLaunch::linear(
                "product",
                n,
                &[F32(alpha), Buffer(7), Buffer(8), Buffer(9), extent],
            ),
        ],
    )
    .c(include_str!("gemver.c"), &[n])
    .run(
        (updated, x, w),
        |(updated, x, w)| {
            gemver(alpha, beta, &ta, &tu1, &tv1, &tu2, &tv2, &ty, &tz, updated, x, w).launch()
        },
        |(updated, x, w)| {
            Ok(vec![updated.to_vec()?.into(), x.to_vec()?.into(), w.to_vec()?.into()])
        },
    )
}
