//! PolyBench adi: Alternating directions, implicit: each half step solves a tridiagonal system along every column, then
//! every row.

use quadrants::{self as qd, KernelValue, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, F64, I32},
    CudaLaunch, Sizes, uniform,
};

const STEPS: usize = 2;

/// The systems along columns are `a, b, a`, and those along rows `d, e, d`.
#[derive(Clone, Copy, KernelValue)]
struct Factors {
    a: f64,
    b: f64,
    d: f64,
    e: f64,
}

#[qd::kernel]
fn start(u0: &Tensor<f64, 2>, u: &mut Tensor<f64, 2>) {
    for (i, j) in qd::ndrange(u.shape()) {
        u[[i, j]] = u0[[i, j]];
    }
}

#[qd::kernel]
fn step(
    by: Factors,
    u: &mut Tensor<f64, 2>,
    v: &mut Tensor<f64, 2>,
    p: &mut Tensor<f64, 2>,
    q: &mut Tensor<f64, 2>,
) {
    let n = u.shape()[0];
    let Factors { a, b, d, e } = by;
    for i in 1..n - 1 {
        v[[0, i]] = 1.0;
        p[[i, 0]] = 0.0;
        q[[i, 0]] = v[[0, i]];
        for j in 1..n - 1 {
            p[[i, j]] = -a / (a * p[[i, j - 1]] + b);
            q[[i, j]] = (-d * u[[j, i - 1]] + (1.0 + 2.0 * d) * u[[j, i]]
                - d * u[[j, i + 1]]
                - a * q[[i, j - 1]])
                / (a * p[[i, j - 1]] + b);
        }
        v[[n - 1, i]] = 1.0;
        for j in (1..n - 1).rev() {
            v[[j, i]] = p[[i, j]] * v[[j + 1, i]] + q[[i, j]];
        }
    }
    for i in 1..n - 1 {
        u[[i, 0]] = 1.0;
        p[[i, 0]] = 0.0;
        q[[i, 0]] = u[[i, 0]];
        for j in 1..n - 1 {
            p[[i, j]] = -d / (d * p[[i, j - 1]] + e);
            q[[i, j]] = (-a * v[[i - 1, j]] + (1.0 + 2.0 * a) * v[[i, j]]
                - a * v[[i + 1, j]]
                - d * q[[i, j - 1]])
                / (d * p[[i, j - 1]] + e);
        }
        u[[i, n - 1]] = 1.0;
        for j in (1..n - 1).rev() {
            u[[i, j]] = p[[i, j]] * u[[i, j + 1]] + q[[i, j]];
        }
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 1024, cpu: 300, small: 37 };
    let Some(case) = corpus.case("polybench/adi", sizes) else { return Ok(()) };
    let n = case.n();
    let u: Vec<f64> = uniform(n * n, 1).collect();
    let program = corpus.program();
    let shape = [n, n];
    let u0 = program.tensor_from(&u, shape)?;
    let state = (
        program.zeros(shape)?,
        program.zeros(shape)?,
        program.zeros(shape)?,
        program.zeros(shape)?,
    );
    let rate = (n * n) as f64 / STEPS as f64;
    let by = Factors { a: -rate, b: 1.0 + 2.0 * rate, d: -0.5 * rate, e: 1.0 + rate };
    let args = [
        F64(by.a),
        F64(by.b),
        F64(by.d),
        F64(by.e),
        Buffer(1),
        Buffer(2),
        Buffer(3),
        Buffer(4),
        I32(n as i32),
    ];
    let mut steps =
        vec![CudaLaunch::grid_2d("start", shape, &[Buffer(0), Buffer(1), I32(n as i32)])];
    for _ in 0..STEPS {
        steps.extend([
            CudaLaunch::linear("columns", n, &args),
            CudaLaunch::linear("rows", n, &args),
        ]);
    }
    let zero = || vec![0.0f64; n * n].into();
    case.buffers([u.into(), zero(), zero(), zero(), zero()])
        .results(&[(1, 1e-9)])
        .cuda(include_str!("adi.cu"), steps)
        .c(include_str!("adi.c"), &[n, STEPS])
        .run(
            state,
            |(u, v, p, q)| {
                start(&u0, u).launch()?;
                (0..STEPS).try_for_each(|_| step(by, u, v, p, q).launch())
            },
            |(u, ..)| Ok(vec![u.to_vec()?.into()]),
        )
}
