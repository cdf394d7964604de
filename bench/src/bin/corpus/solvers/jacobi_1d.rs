//! PolyBench jacobi-1d: Jacobi's method in one dimension: each step averages three neighbours, from A to B and back.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform_f32,
};

const STEPS: usize = 10;

#[qd::kernel]
fn start(a0: &Tensor<f32, 1>, a: &mut Tensor<f32, 1>) {
    for i in 0..a.len() {
        a[i] = a0[i];
    }
}

#[qd::kernel]
fn step(a: &mut Tensor<f32, 1>, b: &mut Tensor<f32, 1>) {
    for i in 1..a.len() - 1 {
        b[i] = 0.33333 * (a[i - 1] + a[i] + a[i + 1]);
    }
    for i in 1..a.len() - 1 {
        a[i] = 0.33333 * (b[i - 1] + b[i] + b[i + 1]);
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 1 << 24, cpu: 200_000, small: 1003 };
    let Some(case) = corpus.case("polybench/jacobi-1d", sizes) else { return Ok(()) };
    let n = case.n();
    let [a, b] = [1, 2].map(|seed| uniform_f32(n, seed));
    let program = corpus.program();
    let a0 = program.tensor_from(&a, [n])?;
    let state = (program.zeros([n])?, program.tensor_from(&b, [n])?);
    let of = |function, from, to| {
        CudaLaunch::linear(function, n, &[Buffer(from), Buffer(to), I32(n as i32)])
    };
    let mut steps = vec![of("start", 0, 1)];
    for _ in 0..STEPS {
        steps.extend([of("jacobi_1d", 1, 2), of("jacobi_1d", 2, 1)]);
    }
    case.buffers([a.into(), vec![0.0f32; n].into(), b.into()])
        .results(&[(1, 1e-5)])
        .cuda(include_str!("jacobi_1d.cu"), steps)
        .c(include_str!("jacobi_1d.c"), &[n, STEPS])
        .run(
            state,
            |(a, b)| {
                start(&a0, a).launch()?;
                (0..STEPS).try_for_each(|_| step(a, b).launch())
            },
            |(a, _)| Ok(vec![a.to_vec()?.into()]),
        )
}
