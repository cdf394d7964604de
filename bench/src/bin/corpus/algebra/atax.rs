//! PolyBench atax: y = Aᵀ(Ax).

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform_f32,
};

#[qd::kernel]
fn atax(
    a: &Tensor<f32, 2>,
    x: &Tensor<f32, 1>,
    product: &mut Tensor<f32, 1>,
    y: &mut Tensor<f32, 1>,
) {
    let [m, n] = a.shape();
    for i in 0..m {
        let mut sum = 0.0;
        for j in 0..n {
            sum += a[[i, j]] * x[j];
        }
        product[i] = sum;
    }
    for j in 0..n {
        let mut sum = 0.0;
        for i in 0..m {
            sum += a[[i, j]] * product[i];
        }
        y[j] = sum;
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 6144, cpu: 1536, small: 301 };
    let Some(case) = corpus.case("polybench/atax", sizes) else { return Ok(()) };
    let (m, n) = (case.n(), case.n() * 9 / 8);
    let (a, x) = (uniform_f32(m * n, 1), uniform_f32(n, 2));
    let program = corpus.program();
    let (ta, tx) = (program.tensor_from(&a, [m, n])?, program.tensor_from(&x, [n])?);
    let (product, y) = (program.zeros::<f32, 1>([m])?, program.zeros::<f32, 1>([n])?);
    let extents = [I32(m as i32), I32(n as i32)];
    let args = |x, y| [Buffer(0), Buffer(x), Buffer(y), extents[0], extents[1]];
    case.buffers([a.into(), x.into(), vec![0.0f32; m].into(), vec![0.0f32; n].into()])
        .results(&[(2, 1e-4), (3, 1e-4)])
        .cuda(
            include_str!("atax.cu"),
            vec![
                CudaLaunch::linear("product", m, &args(1, 2)),
                CudaLaunch::linear("transposed", n, &args(2, 3)),
            ],
        )
        .c(include_str!("atax.c"), &[m, n])
        .run(
            (product, y),
            |(product, y)| atax(&ta, &tx, product, y).launch(),
            |(product, y)| Ok(vec![product.to_vec()?.into(), y.to_vec()?.into()]),
        )
}
