//! PolyBench gramschmidt: A = QR by the modified Gram-Schmidt method: each column is normalized and taken out of the
//! columns after it.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform_f32,
};

#[qd::kernel]
fn start(a: &Tensor<f32, 2>, rest: &mut Tensor<f32, 2>) {
    for (i, j) in qd::ndrange(a.shape()) {
        rest[[i, j]] = a[[i, j]];
    }
}

#[qd::kernel]
fn column(k: usize, rest: &mut Tensor<f32, 2>, q: &mut Tensor<f32, 2>, r: &mut Tensor<f32, 2>) {
    let [m, n] = rest.shape();
    let mut square = 0.0;
    for i in 0..m {
        square += rest[[i, k]] * rest[[i, k]];
    }
    r[[k, k]] = square.sqrt();
    for i in 0..m {
        q[[i, k]] = rest[[i, k]] / r[[k, k]];
    }
    for j in k + 1..n {
        let mut product = 0.0;
        for i in 0..m {
            product += q[[i, k]] * rest[[i, j]];
        }
        r[[k, j]] = product;
        for i in 0..m {
            rest[[i, j]] -= q[[i, k]] * product;
        }
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 256, cpu: 192, small: 19 };
    let Some(case) = corpus.case("polybench/gramschmidt", sizes) else { return Ok(()) };
    let (m, n) = (2 * case.n(), case.n());
    let mut a = uniform_f32(m * n, 1);
    a.iter_mut().for_each(|value| *value -= 0.5);
    let program = corpus.program();
    let (ta, rest) = (program.tensor_from(&a, [m, n])?, program.zeros::<f32, 2>([m, n])?);
    let (q, r) = (program.zeros::<f32, 2>([m, n])?, program.zeros::<f32, 2>([n, n])?);
    let extents = [I32(m as i32), I32(n as i32)];
    let start_args = [Buffer(0), Buffer(1), extents[0], extents[1]];
    let mut steps = vec![CudaLaunch::grid_2d("start", [m, n], &start_args)];
    for k in 0..n {
        let args = [I32(k as i32), Buffer(1), Buffer(2), Buffer(3), extents[0], extents[1]];
        steps.push(CudaLaunch::new("length", [1, 1, 1], [256, 1, 1], &args));
        steps.push(CudaLaunch::linear("normalize", m, &args));
        if k + 1 < n {
            steps.push(CudaLaunch::linear("subtract", n - k - 1, &args));
        }
    }
    case.buffers([
        a.into(),
        vec![0.0f32; m * n].into(),
        vec![0.0f32; m * n].into(),
        vec![0.0f32; n * n].into(),
    ])
    .results(&[(2, 1e-4), (3, 1e-4)])
    .cuda(include_str!("gramschmidt.cu"), steps)
    .c(include_str!("gramschmidt.c"), &[m, n])
    .run(
        (rest, q, r),
        |(rest, q, r)| {
            start(&ta, rest).launch()?;
            (0..n).try_for_each(|k| column(k, rest, q, r).launch())
        },
        |(_, q, r)| Ok(vec![q.to_vec()?.into(), r.to_vec()?.into()]),
    )
}
