//! The brightness of each pixel of an image in red, green and blue, and whether it is above a threshold.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform,
};

#[qd::kernel]
fn gray(
    threshold: u32,
    image: &Tensor<u8, 3>,
    brightness: &mut Tensor<u8, 2>,
    above: &mut Tensor<u8, 2>,
) {
    for (y, x) in qd::ndrange(brightness.shape()) {
        let red = image[[y, x, 0]] as u32;
        let green = image[[y, x, 1]] as u32;
        let blue = image[[y, x, 2]] as u32;
        let value = (77 * red + 150 * green + 29 * blue) / 256;
        brightness[[y, x]] = value as u8;
        above[[y, x]] = if value > threshold { 255 } else { 0 };
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 8192, cpu: 1024, small: 83 };
    let Some(case) = corpus.case("common/gray", sizes) else { return Ok(()) };
    let shape @ [height, width] = [case.n(), case.n() + 6];
    let image: Vec<u8> = uniform(3 * height * width, 1).map(|x| (256.0 * x) as u8).collect();
    let program = corpus.program();
    let ti = program.tensor_from(&image, [height, width, 3])?;
    let state = (program.zeros::<u8, 2>(shape)?, program.zeros::<u8, 2>(shape)?);
    let threshold = 128;
    let mut args = vec![I32(threshold as i32)];
    args.extend([Buffer(0), Buffer(1), Buffer(2), I32(height as i32), I32(width as i32)]);
    let zeros = vec![0u8; height * width];
    case.buffers([image.into(), (&zeros).into(), zeros.into()])
        .results(&[(1, 0.0), (2, 0.0)])
        .cuda(include_str!("gray.cu"), vec![CudaLaunch::grid_2d("gray", shape, &args)])
        .c(include_str!("gray.c"), &[height, width, threshold as usize])
        .run(
            state,
            |(brightness, above)| gray(threshold, &ti, brightness, above).launch(),
            |(brightness, above)| Ok(vec![brightness.to_vec()?.into(), above.to_vec()?.into()]),
        )
}
