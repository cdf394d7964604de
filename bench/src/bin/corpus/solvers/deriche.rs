//! PolyBench deriche: Deriche's recursive smoothing of an image: each row forward and backward, their sum, then each
//! column.

use quadrants::{self as qd, KernelValue, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, F32, I32},
    CudaLaunch, Sizes, uniform_f32,
};

const ALPHA: f32 = 0.25;

/// The factors of the last inputs, `a1` and `a2` forward, `a3` and `a4` backward, and of the last outputs.
#[derive(Clone, Copy, KernelValue)]
struct Filter {
    a1: f32,
    a2: f32,
    a3: f32,
    a4: f32,
    b1: f32,
    b2: f32,
}

impl Filter {
    fn new(alpha: f32) -> Self {
        let e = (-alpha).exp();
        let k = (1.0 - e) * (1.0 - e) / (1.0 + 2.0 * alpha * e - (2.0 * alpha).exp());
        Self {
            a1: k,
            a2: k * e * (alpha - 1.0),
            a3: k * e * (alpha + 1.0),
            a4: -k * e * e,
            b1: 2f32.powf(-alpha),
            b2: -e * e,
        }
    }
}

#[qd::kernel]
fn deriche(
    by: Filter,
    image: &Tensor<f32, 2>,
    y1: &mut Tensor<f32, 2>,
    y2: &mut Tensor<f32, 2>,
    out: &mut Tensor<f32, 2>,
) {
    let [w, h] = image.shape();
    let Filter { a1, a2, a3, a4, b1, b2 } = by;
    for i in 0..w {
        let mut ym1 = 0.0;
        let mut ym2 = 0.0;
        let mut xm1 = 0.0;
        for j in 0..h {
            y1[[i, j]] = a1 * image[[i, j]] + a2 * xm1 + b1 * ym1 + b2 * ym2;
            xm1 = image[[i, j]];
            ym2 = ym1;
            ym1 = y1[[i, j]];
        }
    }
    for i in 0..w {
        let mut yp1 = 0.0;
        let mut yp2 = 0.0;
        let mut xp1 = 0.0;
        let mut xp2 = 0.0;
        for j in (0..h).rev() {
            y2[[i, j]] = a3 * xp1 + a4 * xp2 + b1 * yp1 + b2 * yp2;
            xp2 = xp1;
            xp1 = image[[i, j]];
            yp2 = yp1;
            yp1 = y2[[i, j]];
        }
    }
    for (i, j) in qd::ndrange([w, h]) {
        out[[i, j]] = y1[[i, j]] + y2[[i, j]];
    }
    for j in 0..h {
        let mut ym1 = 0.0;
        let mut ym2 = 0.0;
        let mut xm1 = 0.0;
        for i in 0..w {
            y1[[i, j]] = a1 * out[[i, j]] + a2 * xm1 + b1 * ym1 + b2 * ym2;
            xm1 = out[[i, j]];
            ym2 = ym1;
            ym1 = y1[[i, j]];
        }
    }
    for j in 0..h {
        let mut yp1 = 0.0;
        let mut yp2 = 0.0;
        let mut xp1 = 0.0;
        let mut xp2 = 0.0;
        for i in (0..w).rev() {
            y2[[i, j]] = a3 * xp1 + a4 * xp2 + b1 * yp1 + b2 * yp2;
            xp2 = xp1;
            xp1 = out[[i, j]];
            yp2 = yp1;
            yp1 = y2[[i, j]];
        }
    }
    for (i, j) in qd::ndrange([w, h]) {
        out[[i, j]] = y1[[i, j]] + y2[[i, j]];
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 2048, cpu: 600, small: 45 };
    let Some(case) = corpus.case("polybench/deriche", sizes) else { return Ok(()) };
    let h = case.n();
    let w = h + 16;
    let image = uniform_f32(w * h, 1);
    let program = corpus.program();
    let shape = [w, h];
    let input = program.tensor_from(&image, shape)?;
    let state = (program.zeros(shape)?, program.zeros(shape)?, program.zeros(shape)?);
    let by = Filter::new(ALPHA);
    let (size_w, size_h) = (I32(w as i32), I32(h as i32));
    let forward = |function, n, from| {
        let factors = [F32(by.a1), F32(by.a2), F32(by.b1), F32(by.b2)];
        let rest = [Buffer(from), Buffer(1), size_w, size_h];
        CudaLaunch::linear(function, n, &[factors, rest].concat())
    };
    let backward = |function, n, from| {
        let factors = [F32(by.a3), F32(by.a4), F32(by.b1), F32(by.b2)];
        let rest = [Buffer(from), Buffer(2), size_w, size_h];
        CudaLaunch::linear(function, n, &[factors, rest].concat())
    };
    let sum =
        || CudaLaunch::grid_2d("sum", shape, &[Buffer(1), Buffer(2), Buffer(3), size_w, size_h]);
    let steps = vec![
        forward("rows_forward", w, 0),
        backward("rows_backward", w, 0),
        sum(),
        forward("columns_forward", h, 3),
        backward("columns_backward", h, 3),
        sum(),
    ];
    let zero = || vec![0.0f32; w * h].into();
    case.buffers([image.into(), zero(), zero(), zero()])
        .results(&[(3, 1e-4)])
        .cuda(include_str!("deriche.cu"), steps)
        .c(include_str!("deriche.c"), &[w, h])
        .run(
            state,
            |(y1, y2, out)| deriche(by, &input, y1, y2, out).launch(),
            |(_, _, out)| Ok(vec![out.to_vec()?.into()]),
        )
}
