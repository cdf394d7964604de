//! Convolution of an image with a mask of 7 by 7; the image is zero outside.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform_f32,
};

const RADIUS: i32 = 3;

#[qd::kernel]
fn convolve(image: &Tensor<f32, 2>, mask: &Tensor<f32, 2>, out: &mut Tensor<f32, 2>) {
    let [height, width] = image.shape();
    for (y, x) in qd::ndrange([height, width]) {
        let mut sum = 0.0;
        for i in 0..2 * RADIUS + 1 {
            for j in 0..2 * RADIUS + 1 {
                let row = y as i32 + i - RADIUS;
                let column = x as i32 + j - RADIUS;
                if row >= 0 && row < height as i32 && column >= 0 && column < width as i32 {
                    sum += mask[[i as usize, j as usize]] * image[[row as usize, column as usize]];
                }
            }
        }
        out[[y, x]] = sum;
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 4096, cpu: 512, small: 83 };
    let Some(case) = corpus.case("common/convolution 7x7", sizes) else { return Ok(()) };
    let shape @ [height, width] = [case.n(), case.n() + 6];
    let side = 2 * RADIUS as usize + 1;
    let (image, mask) = (uniform_f32(height * width, 1), uniform_f32(side * side, 2));
    let program = corpus.program();
    let (ti, tm) = (program.tensor_from(&image, shape)?, program.tensor_from(&mask, [side, side])?);
    let out = program.zeros::<f32, 2>(shape)?;
    let args = [Buffer(0), Buffer(1), Buffer(2), I32(height as i32), I32(width as i32)];
    let tiled =
        CudaLaunch::new("tiled", [width.div_ceil(32), height.div_ceil(16), 1], [32, 16, 1], &args);
    case.buffers([image.into(), mask.into(), vec![0.0f32; height * width].into()])
        .results(&[(2, 1e-5)])
        .cuda(include_str!("convolution.cu"), vec![CudaLaunch::grid_2d("convolve", shape, &args)])
        .tuned(include_str!("convolution.cu"), vec![tiled])
        .c(include_str!("convolution.c"), &shape)
        .run(out, |out| convolve(&ti, &tm, out).launch(), |out| Ok(vec![out.to_vec()?.into()]))
}
