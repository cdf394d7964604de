//! HeCBench bilateral: Bilateral filter: a mean of the pixels around each pixel, weighted by distance and by
//! similarity.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, F32, I32},
    CudaLaunch, Sizes, uniform_f32,
};

const RADIUS: i32 = 4;

#[qd::kernel]
fn bilateral(space: f32, range: f32, image: &Tensor<f32, 2>, out: &mut Tensor<f32, 2>) {
    let [height, width] = image.shape();
    for (y, x) in qd::ndrange([height, width]) {
        let here = image[[y, x]];
        let mut sum = 0.0;
        let mut total = 0.0;
        for dy in -RADIUS..=RADIUS {
            for dx in -RADIUS..=RADIUS {
                let row = (y as i32 + dy).clamp(0, height as i32 - 1) as usize;
                let column = (x as i32 + dx).clamp(0, width as i32 - 1) as usize;
                let there = image[[row, column]];
                let difference = there - here;
                let distance = (dx * dx + dy * dy) as f32;
                let weight = (-space * distance - range * difference * difference).exp();
                sum += weight * there;
                total += weight;
            }
        }
        out[[y, x]] = sum / total;
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 2048, cpu: 160, small: 51 };
    let Some(case) = corpus.case("hecbench/bilateral", sizes) else { return Ok(()) };
    let shape @ [height, width] = [case.n(), case.n() + 6];
    let image = uniform_f32(height * width, 1);
    let (space, range) = (0.08, 5.0);
    let program = corpus.program();
    let (ti, out) = (program.tensor_from(&image, shape)?, program.zeros::<f32, 2>(shape)?);
    let args =
        [F32(space), F32(range), Buffer(0), Buffer(1), I32(height as i32), I32(width as i32)];
    case.buffers([image.into(), vec![0.0f32; height * width].into()])
        .results(&[(1, 1e-5)])
        .cuda(include_str!("bilateral.cu"), vec![CudaLaunch::grid_2d("bilateral", shape, &args)])
        .c(include_str!("bilateral.c"), &shape)
        .run(
            out,
            |out| bilateral(space, range, &ti, out).launch(),
            |out| Ok(vec![out.to_vec()?.into()]),
        )
}
