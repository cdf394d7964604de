//! Rodinia srad: Speckle reducing anisotropic diffusion of an ultrasound image: its variance limits how far each pixel
//! is smoothed.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, F32, I32},
    CudaLaunch, Sizes, uniform_f32,
};

const STEPS: usize = 4;
const LAMBDA: f32 = 0.5;

#[qd::kernel]
fn start(image: &Tensor<f32, 2>, v: &mut Tensor<f32, 2>) {
    for (i, j) in qd::ndrange(v.shape()) {
        v[[i, j]] = image[[i, j]].exp();
    }
}

#[qd::kernel]
#[allow(clippy::too_many_arguments)] // four differences
fn step(
    lambda: f32,
    v: &mut Tensor<f32, 2>,
    c: &mut Tensor<f32, 2>,
    north: &mut Tensor<f32, 2>,
    south: &mut Tensor<f32, 2>,
    west: &mut Tensor<f32, 2>,
    east: &mut Tensor<f32, 2>,
) {
    let [h, w] = v.shape();
    let mut sum = 0.0;
    let mut squares = 0.0;
    for (i, j) in qd::ndrange([h, w]) {
        sum += v[[i, j]];
        squares += v[[i, j]] * v[[i, j]];
    }
    let mean = sum / (h * w) as f32;
    let variance = squares / (h * w) as f32 - mean * mean;
    let q0 = variance / (mean * mean);
    for (i, j) in qd::ndrange([h, w]) {
        let here = v[[i, j]];
        let dn = v[[i.saturating_sub(1), j]] - here;
        let ds = v[[(i + 1).min(h - 1), j]] - here;
        let dw = v[[i, j.saturating_sub(1)]] - here;
        let de = v[[i, (j + 1).min(w - 1)]] - here;
        let g = (dn * dn + ds * ds + dw * dw + de * de) / (here * here);
        let l = (dn + ds + dw + de) / here;
        let part = 1.0 + 0.25 * l;
        let q = (0.5 * g - 0.0625 * l * l) / (part * part);
        c[[i, j]] = (1.0 / (1.0 + (q - q0) / (q0 * (1.0 + q0)))).clamp(0.0, 1.0);
        north[[i, j]] = dn;
        south[[i, j]] = ds;
        west[[i, j]] = dw;
        east[[i, j]] = de;
    }
    for (i, j) in qd::ndrange([h, w]) {
        let here = c[[i, j]];
        let divergence = here * north[[i, j]]
            + c[[(i + 1).min(h - 1), j]] * south[[i, j]]
            + here * west[[i, j]]
            + c[[i, (j + 1).min(w - 1)]] * east[[i, j]];
        v[[i, j]] += 0.25 * lambda * divergence;
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 2048, cpu: 512, small: 45 };
    let Some(case) = corpus.case("rodinia/srad", sizes) else { return Ok(()) };
    let n = case.n();
    let image = uniform_f32(n * n, 1);
    let program = corpus.program();
    let shape = [n, n];
    let input = program.tensor_from(&image, shape)?;
    let mut state = Vec::new();
    for _ in 0..6 {
        state.push(program.zeros::<f32, 2>(shape)?);
    }
    let size = I32(n as i32);
    let mut steps = vec![CudaLaunch::grid_2d("start", shape, &[Buffer(0), Buffer(1), size])];
    for _ in 0..STEPS {
        let [v, c, north, south, west, east, sums] = [1, 2, 3, 4, 5, 6, 7].map(Buffer);
        let sides = [c, north, south, west, east];
        steps.push(CudaLaunch::new("clear", [1, 1, 1], [1, 1, 1], &[sums]));
        steps.push(CudaLaunch::linear("reduce", n * n, &[v, sums, size]));
        steps.push(CudaLaunch::grid_2d(
            "coefficient",
            shape,
            &[&[v, sums][..], &sides, &[size]].concat(),
        ));
        steps.push(CudaLaunch::grid_2d(
            "diffuse",
            shape,
            &[&[F32(LAMBDA), v][..], &sides, &[size]].concat(),
        ));
    }
    let zero = |n| vec![0.0f32; n].into();
    let mut buffers = vec![image.into()];
    buffers.extend((0..6).map(|_| zero(n * n)));
    buffers.push(zero(2));
    case.buffers(buffers)
        .results(&[(1, 1e-4)])
        .cuda(include_str!("srad.cu"), steps)
        .c(include_str!("srad.c"), &[n, STEPS])
        .run(
            state,
            |state| {
                let [v, c, north, south, west, east] = &mut state[..] else { unreachable!() };
                start(&input, v).launch()?;
                (0..STEPS).try_for_each(|_| step(LAMBDA, v, c, north, south, west, east).launch())
            },
            |state| Ok(vec![state[0].to_vec()?.into()]),
        )
}
