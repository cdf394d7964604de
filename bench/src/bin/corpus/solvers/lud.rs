//! Rodinia lud: A = LU in place, without pivots, by Crout and Doolittle: step k completes a row of U and then a column
//! of L.

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
    for j in k..n {
        let mut sum = a[[k, j]];
        for m in 0..k {
            sum -= a[[k, m]] * a[[m, j]];
        }
        a[[k, j]] = sum;
    }
    for i in k + 1..n {
        let mut sum = a[[i, k]];
        for m in 0..k {
            sum -= a[[i, m]] * a[[m, k]];
        }
        a[[i, k]] = sum / a[[k, k]];
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 512, cpu: 300, small: 37 };
    let Some(case) = corpus.case("rodinia/lud", sizes) else { return Ok(()) };
    let n = case.n();
    let mut a = uniform_f32(n * n, 1);
    a.iter_mut().for_each(|a| *a = 0.8 * (*a - 0.5) / (n as f32).sqrt()); // of a norm below 1/2
    (0..n).for_each(|i| a[i * n + i] += 1.0);
    let program = corpus.program();
    let input = program.tensor_from(&a, [n, n])?;
    let size = I32(n as i32);
    let mut steps = vec![CudaLaunch::grid_2d("start", [n, n], &[Buffer(0), Buffer(1), size])];
    for k in 0..n {
        let args = [I32(k as i32), Buffer(1), size];
        steps.push(CudaLaunch::linear("row", n - k, &args));
        if k + 1 < n {
            steps.push(CudaLaunch::linear("column", n - k - 1, &args));
        }
    }
    case.buffers([a.into(), vec![0.0f32; n * n].into()])
        .results(&[(1, 1e-6)])
        .cuda(include_str!("lud.cu"), steps)
        .c(include_str!("lud.c"), &[n])
        .run(
            program.zeros([n, n])?,
            |a| {
                start(&input, a).launch()?;
                (0..n).try_for_each(|k| step(k, a).launch())
            },
            |a| Ok(vec![a.to_vec()?.into()]),
        )
}
