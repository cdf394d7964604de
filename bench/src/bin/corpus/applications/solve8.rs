//! HeCBench solve 8x8: Many systems of eight linear equations, each solved by Gaussian elimination; the matrices have
//! dominant diagonals.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform_f32,
};

const N: usize = 8;

#[qd::kernel]
fn solve(a: &Tensor<f32, 3>, b: &Tensor<f32, 2>, x: &mut Tensor<f32, 2>) {
    for s in 0..x.shape()[1] {
        let mut m = [[0.0; N]; N];
        let mut v = [0.0; N];
        for i in 0..N {
            for j in 0..N {
                m[i][j] = a[[i, j, s]];
            }
            v[i] = b[[i, s]];
        }
        for k in 0..N {
            for i in k + 1..N {
                let factor = m[i][k] / m[k][k];
                for j in k + 1..N {
                    m[i][j] -= factor * m[k][j];
                }
                v[i] -= factor * v[k];
            }
        }
        for i in (0..N).rev() {
            for j in i + 1..N {
                v[i] -= m[i][j] * v[j];
            }
            v[i] /= m[i][i];
        }
        for i in 0..N {
            x[[i, s]] = v[i];
        }
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 1 << 20, cpu: 1 << 14, small: 301 };
    let Some(case) = corpus.case("hecbench/solve 8x8", sizes) else { return Ok(()) };
    let n = case.n();
    let mut a = uniform_f32(N * N * n, 1);
    for i in 0..N {
        a[(i * N + i) * n..][..n].iter_mut().for_each(|x| *x += N as f32);
    }
    let b = uniform_f32(N * n, 2);
    let program = corpus.program();
    let (ta, tb) = (program.tensor_from(&a, [N, N, n])?, program.tensor_from(&b, [N, n])?);
    let x = program.zeros::<f32, 2>([N, n])?;
    let args = [Buffer(0), Buffer(1), Buffer(2), I32(n as i32)];
    case.buffers([a.into(), b.into(), vec![0.0f32; N * n].into()])
        .results(&[(2, 1e-5)])
        .cuda(include_str!("solve8.cu"), vec![CudaLaunch::linear("solve", n, &args)])
        .c(include_str!("solve8.c"), &[n])
        .run(x, |x| solve(&ta, &tb, x).launch(), |x| Ok(vec![x.to_vec()?.into()]))
}
