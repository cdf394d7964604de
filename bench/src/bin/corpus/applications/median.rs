//! HeCBench median 3x3: Median filter: each pixel becomes the median of the nine around it; pixels beyond the border
//! repeat it.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform,
};

#[qd::kernel]
fn median(image: &Tensor<u8, 2>, out: &mut Tensor<u8, 2>) {
    let [height, width] = image.shape();
    for (y, x) in qd::ndrange([height, width]) {
        let mut v = [0; 9];
        for dy in 0..3 {
            for dx in 0..3 {
                let row = (y + dy).saturating_sub(1).min(height - 1);
                let column = (x + dx).saturating_sub(1).min(width - 1);
                v[3 * dy + dx] = image[[row, column]];
            }
        }
        for i in 0..5 {
            for j in i + 1..9 {
                if v[j] < v[i] {
                    (v[i], v[j]) = (v[j], v[i]);
                }
            }
        }
        out[[y, x]] = v[4];
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 4096, cpu: 512, small: 83 };
    let Some(case) = corpus.case("hecbench/median 3x3", sizes) else { return Ok(()) };
    let shape @ [height, width] = [case.n(), case.n() + 6];
    let image: Vec<u8> = uniform(height * width, 1).map(|x| (256.0 * x) as u8).collect();
    let program = corpus.program();
    let (ti, out) = (program.tensor_from(&image, shape)?, program.zeros::<u8, 2>(shape)?);
    let args = [Buffer(0), Buffer(1), I32(height as i32), I32(width as i32)];
    case.buffers([image.into(), vec![0u8; height * width].into()])
        .results(&[(1, 0.0)])
        .cuda(include_str!("median.cu"), vec![CudaLaunch::grid_2d("median", shape, &args)])
        .c(include_str!("median.c"), &shape)
        .run(out, |out| median(&ti, out).launch(), |out| Ok(vec![out.to_vec()?.into()]))
}
