//! SHOC fft: Fourier transform of a power of two of complex numbers: Stockham's stages of radix two, one launch each.

use quadrants::{self as qd, Complex, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform_f32,
};

/// `stride` transforms were made; the next ones have twice as many elements.
#[qd::kernel]
fn stage(stride: usize, x: &Tensor<Complex<f32>, 1>, y: &mut Tensor<Complex<f32>, 1>) {
    let half = x.len() / 2;
    for i in 0..half {
        let (p, q) = (i / stride, i % stride);
        let angle = -std::f32::consts::PI * (p * stride) as f32 / half as f32;
        let (sin, cos) = angle.sin_cos();
        let (a, b) = (x[i], x[i + half]);
        y[2 * p * stride + q] = a + b;
        y[2 * p * stride + q + stride] = (a - b) * Complex::new(cos, sin);
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 22, cpu: 14, small: 7 };
    let Some(case) = corpus.case("shoc/fft", sizes) else { return Ok(()) };
    let stages = case.n();
    let n = 1 << stages;
    let mut random = uniform_f32(2 * n, 1);
    random.iter_mut().for_each(|x| *x -= 0.5);
    let x: Vec<_> = random.chunks(2).map(|part| Complex { re: part[0], im: part[1] }).collect();
    let program = corpus.program();
    let tx = program.tensor_from(&x, [n])?;
    let state = [program.zeros::<Complex<f32>, 1>([n])?, program.zeros::<Complex<f32>, 1>([n])?];
    let zeros = vec![0.0f32; 2 * n];
    // The first stage reads the input, the others alternate between two arrays.
    let steps = (0..stages)
        .map(|s| {
            let (from, to) = (if s == 0 { 0 } else { 1 + (s + 1) % 2 }, 1 + s % 2);
            CudaLaunch::linear(
                "stage",
                n / 2,
                &[I32(1 << s), Buffer(from), Buffer(to), I32(n as i32 / 2)],
            )
        })
        .collect();
    let last = (stages + 1) % 2;
    case.buffers([random.into(), (&zeros).into(), zeros.into()])
        .results(&[(1 + last, 1e-5)])
        .cuda(include_str!("fft.cu"), steps)
        .c(include_str!("fft.c"), &[n])
        .run(
            state,
            |[even, odd]| {
                stage(1, &tx, even).launch()?;
                for s in 1..stages {
                    let (from, to) =
                        if s % 2 == 1 { (&*even, &mut *odd) } else { (&*odd, &mut *even) };
                    stage(1 << s, from, to).launch()?;
                }
                Ok(())
            },
            |state| {
                let result = state[last].to_vec()?;
                Ok(vec![result.iter().flat_map(|z| [z.re, z.im]).collect::<Vec<f32>>().into()])
            },
        )
}
