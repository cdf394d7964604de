//! The transpose of a matrix.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform_f32,
};

#[qd::kernel]
fn transpose(a: &Tensor<f32, 2>, b: &mut Tensor<f32, 2>) {
    for (i, j) in qd::ndrange(a.shape()) {
        b[[j, i]] = a[[i, j]];
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 8192, cpu: 1024, small: 83 };
    let Some(case) = corpus.case("common/transpose", sizes) else { return Ok(()) };
    let shape @ [height, width] = [case.n(), case.n() + 6];
    let a = uniform_f32(height * width, 1);
    let program = corpus.program();
    let (ta, b) = (program.tensor_from(&a, shape)?, program.zeros::<f32, 2>([width, height])?);
    let args = [Buffer(0), Buffer(1), I32(height as i32), I32(width as i32)];
    let tiled =
        CudaLaunch::new("tiled", [width.div_ceil(32), height.div_ceil(32), 1], [32, 8, 1], &args);
    case.buffers([a.into(), vec![0.0f32; height * width].into()])
        .results(&[(1, 0.0)])
        .cuda(include_str!("transpose.cu"), vec![CudaLaunch::grid_2d("transpose", shape, &args)])
        .tuned(include_str!("transpose.cu"), vec![tiled])
        .c(include_str!("transpose.c"), &shape)
        .run(b, |b| transpose(&ta, b).launch(), |b| Ok(vec![b.to_vec()?.into()]))
}
