//! PolyBench 2mm: D' = αABC + βD.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, F32, I32},
    CudaLaunch, Sizes, uniform_f32,
};

#[qd::kernel]
#[allow(clippy::too_many_arguments)] // the definition has that many
fn two_mm(
    alpha: f32,
    beta: f32,
    a: &Tensor<f32, 2>,
    b: &Tensor<f32, 2>,
    c: &Tensor<f32, 2>,
    d: &Tensor<f32, 2>,
    product: &mut Tensor<f32, 2>,
    out: &mut Tensor<f32, 2>,
) {
    for (i, j) in qd::ndrange(product.shape()) {
        let mut sum = 0.0;
        for k in 0..b.shape()[0] {
            sum += a[[i, k]] * b[[k, j]];
        }
        product[[i, j]] = alpha * sum;
    }
    for (i, j) in qd::ndrange(out.shape()) {
        let mut sum = 0.0;
        for k in 0..c.shape()[0] {
            sum += product[[i, k]] * c[[k, j]];
        }
        out[[i, j]] = sum + beta * d[[i, j]];
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 1536, cpu: 256, small: 21 };
    let Some(case) = corpus.case("polybench/2mm", sizes) else { return Ok(()) };
    let n = case.n();
    let (alpha, beta) = (1.5, 1.2);
    let [ni, nj, nk, nl] = [8, 9, 11, 12].map(|eighths| n * eighths / 8);
    let a = uniform_f32(ni * nk, 1);
    let b = uniform_f32(nk * nj, 2);
    let c = uniform_f32(nj * nl, 3);
    let d = uniform_f32(ni * nl, 4);
    let program = corpus.program();
    let ta = program.tensor_from(&a, [ni, nk])?;
    let tb = program.tensor_from(&b, [nk, nj])?;
    let tc = program.tensor_from(&c, [nj, nl])?;
    let td = program.tensor_from(&d, [ni, nl])?;
    let product = program.zeros::<f32, 2>([ni, nj])?;
    let out = program.zeros::<f32, 2>([ni, nl])?;
    let [i, j, k, l] = [ni, nj, nk, nl].map(|extent| I32(extent as i32));
    let first = [F32(alpha), Buffer(0), Buffer(1), Buffer(4), i, j, k];
    let second = [F32(beta), Buffer(4), Buffer(2), Buffer(3), Buffer(5), i, l, j];
    case.buffers([
        a.into(),
        b.into(),
        c.into(),
        d.into(),
        vec![0.0f32; ni * nj].into(),
        vec![0.0f32; ni * nl].into(),
    ])
    .results(&[(4, 1e-5), (5, 1e-5)])
    .cuda(
        include_str!("two_mm.cu"),
        vec![
            CudaLaunch::grid_2d("first", [ni, nj], &first),
            CudaLaunch::grid_2d("second", [ni, nl], &second),
        ],
    )
    .c(include_str!("two_mm.c"), &[ni, nj, nk, nl])
    .run(
        (product, out),
        |(product, out)| two_mm(alpha, beta, &ta, &tb, &tc, &td, product, out).launch(),
        |(product, out)| Ok(vec![product.to_vec()?.into(), out.to_vec()?.into()]),
    )
}
