//! PolyBench trisolv: Lx = b with a lower triangular L, by columns: each number, once known, is eliminated from the
//! rows below it.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform_f32,
};

#[qd::kernel]
fn start(b: &Tensor<f32, 1>, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = b[i];
    }
}

#[qd::kernel]
fn eliminate(j: usize, l: &Tensor<f32, 2>, x: &mut Tensor<f32, 1>) {
    x[j] /= l[[j, j]];
    for i in j + 1..x.len() {
        x[i] -= l[[i, j]] * x[j];
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 1024, cpu: 1024, small: 37 };
    let Some(case) = corpus.case("polybench/trisolv", sizes) else { return Ok(()) };
    let n = case.n();
    let mut l = uniform_f32(n * n, 1);
    l.iter_mut().for_each(|value| *value /= n as f32);
    (0..n).for_each(|i| l[i * n + i] += 1.0);
    let b = uniform_f32(n, 2);
    let program = corpus.program();
    let (tl, tb) = (program.tensor_from(&l, [n, n])?, program.tensor_from(&b, [n])?);
    let x = program.zeros::<f32, 1>([n])?;
    let mut steps = vec![CudaLaunch::linear("start", n, &[Buffer(1), Buffer(2), I32(n as i32)])];
    for j in 0..n {
        let args = [I32(j as i32), Buffer(0), Buffer(2), I32(n as i32)];
        steps.push(CudaLaunch::new("divide", [1, 1, 1], [1, 1, 1], &args));
        if j + 1 < n {
            steps.push(CudaLaunch::linear("eliminate", n - j - 1, &args));
        }
    }
    case.buffers([l.into(), b.into(), vec![0.0f32; n].into()])
        .results(&[(2, 1e-5)])
        .cuda(include_str!("trisolv.cu"), steps)
        .c(include_str!("trisolv.c"), &[n])
        .run(
            x,
            |x| {
                start(&tb, x).launch()?;
                (0..n).try_for_each(|j| eliminate(j, &tl, x).launch())
            },
            |x| Ok(vec![x.to_vec()?.into()]),
        )
}
