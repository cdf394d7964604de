//! PolyBench 3mm: G = (AB)(CD).

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{self, Buffer, I32},
    CudaLaunch, Sizes, uniform_f32,
};

#[qd::kernel]
fn three_mm(
    a: &Tensor<f32, 2>,
    b: &Tensor<f32, 2>,
    c: &Tensor<f32, 2>,
    d: &Tensor<f32, 2>,
    e: &mut Tensor<f32, 2>,
    f: &mut Tensor<f32, 2>,
    g: &mut Tensor<f32, 2>,
) {
    for (i, j) in qd::ndrange(e.shape()) {
        let mut sum = 0.0;
        for k in 0..b.shape()[0] {
            sum += a[[i, k]] * b[[k, j]];
        }
        e[[i, j]] = sum;
    }
    for (i, j) in qd::ndrange(f.shape()) {
        let mut sum = 0.0;
        for k in 0..d.shape()[0] {
            sum += c[[i, k]] * d[[k, j]];
        }
        f[[i, j]] = sum;
    }
    for (i, j) in qd::ndrange(g.shape()) {
        let mut sum = 0.0;
        for k in 0..f.shape()[0] {
            sum += e[[i, k]] * f[[k, j]];
        }
        g[[i, j]] = sum;
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 1024, cpu: 192, small: 53 };
    let Some(case) = corpus.case("polybench/3mm", sizes) else { return Ok(()) };
    let n = case.n();
    let [ni, nj, nk, nl, nm] = [8, 9, 10, 11, 12].map(|eighths| n * eighths / 8);
    let a = uniform_f32(ni * nk, 1);
    let b = uniform_f32(nk * nj, 2);
    let c = uniform_f32(nj * nm, 3);
    let d = uniform_f32(nm * nl, 4);
    let program = corpus.program();
    let ta = program.tensor_from(&a, [ni, nk])?;
    let tb = program.tensor_from(&b, [nk, nj])?;
    let tc = program.tensor_from(&c, [nj, nm])?;
    let td = program.tensor_from(&d, [nm, nl])?;
    let e = program.zeros::<f32, 2>([ni, nj])?;
    let f = program.zeros::<f32, 2>([nj, nl])?;
    let g = program.zeros::<f32, 2>([ni, nl])?;
    let [i, j, k, l, m] = [ni, nj, nk, nl, nm].map(|extent| I32(extent as i32));
    let first = [Buffer(0), Buffer(1), Buffer(4), i, j, k];
    let second = [Buffer(2), Buffer(3), Buffer(5), j, l, m];
    let last = [Buffer(4), Buffer(5), Buffer(6), i, l, j];
    let tiled = |[height, width]: [usize; 2], args: &[CudaArg]| {
        CudaLaunch::new("product", [width.div_ceil(64), height.div_ceil(64), 1], [256, 1, 1], args)
    };
    case.buffers([
        a.into(),
        b.into(),
        c.into(),
        d.into(),
        vec![0.0f32; ni * nj].into(),
        vec![0.0f32; nj * nl].into(),
        vec![0.0f32; ni * nl].into(),
    ])
    .results(&[(6, 1e-5)])
    .cuda(
        include_str!("three_mm.cu"),
        vec![
            CudaLaunch::grid_2d("product", [ni, nj], &first),
            CudaLaunch::grid_2d("product", [nj, nl], &second),
            CudaLaunch::grid_2d("product", [ni, nl], &last),
        ],
    )
    .tuned(
        include_str!("three_mm_tiled.cu"),
        vec![tiled([ni, nj], &first), tiled([nj, nl], &second), tiled([ni, nl], &last)],
    )
    .c(include_str!("three_mm.c"), &[ni, nj, nk, nl, nm])
    .run(
        (e, f, g),
        |(e, f, g)| three_mm(&ta, &tb, &tc, &td, e, f, g).launch(),
        |(_, _, g)| Ok(vec![g.to_vec()?.into()]),
    )
}
