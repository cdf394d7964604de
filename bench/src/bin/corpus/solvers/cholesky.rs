//! PolyBench cholesky: A = LLᵀ in place of the lower triangle: step k finishes column k and subtracts its products from
//! the rest.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform_f32,
};

#[qd::kernel]
fn start(input: &Tensor<f32, 2>, a: &mut Tensor<f32, 2>) {
    for (i, j) in qd::ndrange(a.shape()) {
        a[[i, j]] = input[[i, j]];
    }
}

#[qd::kernel]
fn step(k: usize, a: &mut Tensor<f32, 2>) {
    let n = a.shape()[0];
    a[[k, k]] = a[[k, k]].sqrt();
    for i in k + 1..n {
        a[[i, k]] /= a[[k, k]];
    }
    for (i, j) in qd::ndrange((k + 1..n, k + 1..n)) {
        if j <= i {
            a[[i, j]] -= a[[i, k]] * a[[j, k]];
        }
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 1024, cpu: 300, small: 37 };
    let Some(case) = corpus.case("polybench/cholesky", sizes) else { return Ok(()) };
    let n = case.n();
    let mut a = uniform_f32(n * n, 1);
    a.iter_mut().for_each(|a| *a = 0.8 * (*a - 0.5) / (n as f32).sqrt()); // of a norm below 1/2
    for i in 0..n {
        a[i * n + i] += 1.0;
        (0..i).for_each(|j| a[j * n + i] = a[i * n + j]);
    }
    let program = corpus.program();
    let input = program.tensor_from(&a, [n, n])?;
    let size = I32(n as i32);
    let mut steps = vec![CudaLaunch::grid_2d("start", [n, n], &[Buffer(0), Buffer(1), size])];
    for k in 0..n {
        let args = [I32(k as i32), Buffer(1), size];
        let rest = n - k - 1;
        steps.push(CudaLaunch::new("root", [1, 1, 1], [1, 1, 1], &args));
        if rest > 0 {
            steps.push(CudaLaunch::linear("divide", rest, &args));
            steps.push(CudaLaunch::grid_2d("subtract", [rest; 2], &args));
        }
    }
    case.buffers([a.into(), vec![0.0f32; n * n].into()])
        .results(&[(1, 1e-6)])
        .cuda(include_str!("cholesky.cu"), steps)
        .c(include_str!("cholesky.c"), &[n])
        .run(
            program.zeros([n, n])?,
            |a| {
                start(&input, a).launch()?;
                (0..n).try_for_each(|k| step(k, a).launch())
            },
            |a| Ok(vec![a.to_vec()?.into()]),
        )
}
