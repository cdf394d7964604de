//! Parboil mri-q: for each voxel, the sum of waves of all samples in frequency space, as a complex number.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Data, Sizes, uniform_f32,
};

/// Samples in frequency space.
const SAMPLES: usize = 1024;

#[qd::kernel]
#[allow(clippy::too_many_arguments)] // coordinates of samples and voxels, and the complex results
fn waves(
    kx: &Tensor<f32, 1>,
    ky: &Tensor<f32, 1>,
    kz: &Tensor<f32, 1>,
    magnitude: &Tensor<f32, 1>,
    x: &Tensor<f32, 1>,
    y: &Tensor<f32, 1>,
    z: &Tensor<f32, 1>,
    real: &mut Tensor<f32, 1>,
    imaginary: &mut Tensor<f32, 1>,
) {
    for i in 0..x.len() {
        let mut re = 0.0;
        let mut im = 0.0;
        for k in 0..kx.len() {
            let angle = std::f32::consts::TAU * (kx[k] * x[i] + ky[k] * y[i] + kz[k] * z[i]);
            let (sin, cos) = angle.sin_cos();
            re += magnitude[k] * cos;
            im += magnitude[k] * sin;
        }
        real[i] = re;
        imaginary[i] = im;
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 1 << 18, cpu: 1 << 10, small: 301 };
    let Some(case) = corpus.case("parboil/mri-q", sizes) else { return Ok(()) };
    let n = case.n();
    let lengths = [SAMPLES, SAMPLES, SAMPLES, SAMPLES, n, n, n];
    let inputs: Vec<_> =
        (1..).zip(lengths).map(|(seed, length)| uniform_f32(length, seed)).collect();
    let program = corpus.program();
    let tensors: Vec<_> =
        inputs.iter().map(|x| program.tensor_from(x, [x.len()])).collect::<Result<_>>()?;
    let [kx, ky, kz, magnitude, x, y, z] = &tensors[..] else { unreachable!() };
    let state = (program.zeros::<f32, 1>([n])?, program.zeros::<f32, 1>([n])?);
    let mut args: Vec<_> = (0..9).map(Buffer).collect();
    args.extend([I32(SAMPLES as i32), I32(n as i32)]);
    let outputs = [vec![0.0; n], vec![0.0; n]];
    case.buffers(inputs.iter().chain(&outputs).map(Data::from))
        .results(&[(7, 1e-4), (8, 1e-4)])
        .cuda(include_str!("mri_q.cu"), vec![CudaLaunch::linear("waves", n, &args)])
        .c(include_str!("mri_q.c"), &[SAMPLES, n])
        .run(
            state,
            |(re, im)| waves(kx, ky, kz, magnitude, x, y, z, re, im).launch(),
            |(re, im)| Ok(vec![re.to_vec()?.into(), im.to_vec()?.into()]),
        )
}
