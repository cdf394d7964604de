//! Gaussian blur, first along rows and then along columns; pixels beyond the border repeat it.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform_f32,
};

#[qd::kernel]
fn blur(
    image: &Tensor<f32, 2>,
    weights: &Tensor<f32, 1>,
    rows: &mut Tensor<f32, 2>,
    out: &mut Tensor<f32, 2>,
) {
    let [height, width] = image.shape();
    let radius = weights.len() / 2;
    for (y, x) in qd::ndrange([height, width]) {
        let mut sum = 0.0;
        for k in 0..weights.len() {
            sum += weights[k] * image[[y, (x + k).saturating_sub(radius).min(width - 1)]];
        }
        rows[[y, x]] = sum;
    }
    for (y, x) in qd::ndrange([height, width]) {
        let mut sum = 0.0;
        for k in 0..weights.len() {
            sum += weights[k] * rows[[(y + k).saturating_sub(radius).min(height - 1), x]];
        }
        out[[y, x]] = sum;
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 4096, cpu: 512, small: 83 };
    let Some(case) = corpus.case("common/gaussian blur", sizes) else { return Ok(()) };
    let shape @ [height, width] = [case.n(), case.n() + 6];
    let image = uniform_f32(height * width, 1);
    let mut weights: Vec<f32> = (-8..=8).map(|d| (-(d * d) as f32 / 18.0).exp()).collect();
    let total: f32 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= total);
    let taps = weights.len();
    let program = corpus.program();
    let (ti, tw) = (program.tensor_from(&image, shape)?, program.tensor_from(&weights, [taps])?);
    let state = (program.zeros::<f32, 2>(shape)?, program.zeros::<f32, 2>(shape)?);
    let zeros = vec![0.0f32; height * width];
    let extents = [I32(height as i32), I32(width as i32), I32(taps as i32)];
    let step = |name, from, to| {
        let args = [&[Buffer(from), Buffer(1), Buffer(to)], &extents[..]].concat();
        CudaLaunch::grid_2d(name, shape, &args)
    };
    let steps = vec![step("along_rows", 0, 2), step("along_columns", 2, 3)];
    case.buffers([image.into(), weights.into(), (&zeros).into(), zeros.into()])
        .results(&[(3, 1e-5)])
        .cuda(include_str!("blur.cu"), steps)
        .c(include_str!("blur.c"), &[height, width, taps])
        .run(
            state,
            |(rows, out)| blur(&ti, &tw, rows, out).launch(),
            |(_, out)| Ok(vec![out.to_vec()?.into()]),
        )
}
