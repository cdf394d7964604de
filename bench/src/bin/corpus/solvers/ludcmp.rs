//! PolyBench ludcmp: Ax = b by A = LU, then Ly = b and Ux = y: as soon as an unknown is known, it is subtracted from
//! the other equations.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform_f32,
};

#[qd::kernel]
fn start(
    input: &Tensor<f32, 2>,
    b: &Tensor<f32, 1>,
    a: &mut Tensor<f32, 2>,
    y: &mut Tensor<f32, 1>,
) {
    for (i, j) in qd::ndrange(a.shape()) {
        a[[i, j]] = input[[i, j]];
    }
    for i in 0..b.len() {
        y[i] = b[i];
    }
}

#[qd::kernel]
fn factor(k: usize, a: &mut Tensor<f32, 2>) {
    let n = a.shape()[0];
    for i in k + 1..n {
        a[[i, k]] /= a[[k, k]];
    }
    for (i, j) in qd::ndrange((k + 1..n, k + 1..n)) {
        a[[i, j]] -= a[[i, k]] * a[[k, j]];
    }
}

#[qd::kernel]
fn forward(k: usize, a: &Tensor<f32, 2>, y: &mut Tensor<f32, 1>) {
    for i in k + 1..y.len() {
        y[i] -= a[[i, k]] * y[k];
    }
}

#[qd::kernel]
fn backward(k: usize, a: &Tensor<f32, 2>, y: &mut Tensor<f32, 1>, x: &mut Tensor<f32, 1>) {
    for i in 0..k + 1 {
        let value = y[k] / a[[k, k]];
        if i == k {
            x[k] = value;
        } else {
            y[i] -= a[[i, k]] * value;
        }
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 768, cpu: 300, small: 37 };
    let Some(case) = corpus.case("polybench/ludcmp", sizes) else { return Ok(()) };
    let n = case.n();
    let mut a = uniform_f32(n * n, 1);
    a.iter_mut().for_each(|a| *a = 0.8 * (*a - 0.5) / (n as f32).sqrt()); // of a norm below 1/2
    (0..n).for_each(|i| a[i * n + i] += 1.0);
    let b = uniform_f32(n, 2);
    let program = corpus.program();
    let (ta, tb) = (program.tensor_from(&a, [n, n])?, program.tensor_from(&b, [n])?);
    let state = (program.zeros([n, n])?, program.zeros([n])?, program.zeros([n])?);
    let size = I32(n as i32);
    let mut steps = vec![
        CudaLaunch::grid_2d("start_a", [n, n], &[Buffer(0), Buffer(2), size]),
        CudaLaunch::linear("start_y", n, &[Buffer(1), Buffer(3), size]),
    ];
    for k in 0..n - 1 {
        let args = [I32(k as i32), Buffer(2), size];
        let rest = n - k - 1;
        steps.extend([
            CudaLaunch::linear("divide", rest, &args),
            CudaLaunch::grid_2d("subtract", [rest; 2], &args),
        ]);
    }
    for k in 0..n - 1 {
        steps.push(CudaLaunch::linear(
            "forward",
            n - k - 1,
            &[I32(k as i32), Buffer(2), Buffer(3), size],
        ));
    }
    for k in (0..n).rev() {
        let args = [I32(k as i32), Buffer(2), Buffer(3), Buffer(4), size];
        steps.push(CudaLaunch::linear("backward", k + 1, &args));
    }
    let zero = |n| vec![0.0f32; n].into();
    case.buffers([a.into(), b.into(), zero(n * n), zero(n), zero(n)])
        .results(&[(2, 1e-6), (4, 1e-5)])
        .cuda(include_str!("ludcmp.cu"), steps)
        .c(include_str!("ludcmp.c"), &[n])
        .run(
            state,
            |(a, y, x)| {
                start(&ta, &tb, a, y).launch()?;
                (0..n - 1).try_for_each(|k| factor(k, a).launch())?;
                (0..n - 1).try_for_each(|k| forward(k, a, y).launch())?;
                (0..n).rev().try_for_each(|k| backward(k, a, y, x).launch())
            },
            |(a, _, x)| Ok(vec![a.to_vec()?.into(), x.to_vec()?.into()]),
        )
}
