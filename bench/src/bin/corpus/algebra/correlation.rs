//! PolyBench correlation: The correlation matrix of the columns of a table: the products of its normalized columns.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform_f32,
};

#[qd::kernel]
fn correlation(
    data: &Tensor<f32, 2>,
    mean: &mut Tensor<f32, 1>,
    deviation: &mut Tensor<f32, 1>,
    normalized: &mut Tensor<f32, 2>,
    out: &mut Tensor<f32, 2>,
) {
    let [n, m] = data.shape();
    for j in 0..m {
        let mut sum = 0.0;
        for i in 0..n {
            sum += data[[i, j]];
        }
        mean[j] = sum / n as f32;
    }
    for j in 0..m {
        let mut sum = 0.0;
        for i in 0..n {
            let difference = data[[i, j]] - mean[j];
            sum += difference * difference;
        }
        let value = (sum / n as f32).sqrt();
        deviation[j] = if value <= 0.1 { 1.0 } else { value };
    }
    for (i, j) in qd::ndrange([n, m]) {
        normalized[[i, j]] = (data[[i, j]] - mean[j]) / ((n as f32).sqrt() * deviation[j]);
    }
    for (i, j) in qd::ndrange([m, m]) {
        if i == j {
            out[[i, j]] = 1.0;
        } else if i < j {
            let mut sum = 0.0;
            for k in 0..n {
                sum += normalized[[k, i]] * normalized[[k, j]];
            }
            out[[i, j]] = sum;
            out[[j, i]] = sum;
        }
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 1536, cpu: 256, small: 37 };
    let Some(case) = corpus.case("polybench/correlation", sizes) else { return Ok(()) };
    let (n, m) = (case.n() * 9 / 8, case.n());
    let mut data = uniform_f32(n * m, 1);
    // The columns share a part, so that they are correlated.
    for (row, common) in data.chunks_mut(m).zip(uniform_f32(n, 2)) {
        row.iter_mut().for_each(|value| *value += common);
    }
    let program = corpus.program();
    let tdata = program.tensor_from(&data, [n, m])?;
    let (mean, deviation) = (program.zeros::<f32, 1>([m])?, program.zeros::<f32, 1>([m])?);
    let (normalized, out) = (program.zeros::<f32, 2>([n, m])?, program.zeros::<f32, 2>([m, m])?);
    let args = |buffers: &[usize]| {
        let buffers = buffers.iter().map(|at| Buffer(*at));
        buffers.chain([I32(n as i32), I32(m as i32)]).collect::<Vec<_>>()
    };
    case.buffers([
        data.into(),
        vec![0.0f32; m].into(),
        vec![0.0f32; m].into(),
        vec![0.0f32; n * m].into(),
        vec![0.0f32; m * m].into(),
    ])
    .results(&[(1, 1e-4), (2, 1e-4), (4, 1e-4)])
    .cuda(
        include_str!("correlation.cu"),
        vec![
            CudaLaunch::linear("means", m, &args(&[0, 1])),
            CudaLaunch::linear("deviations", m, &args(&[0, 1, 2])),
            CudaLaunch::grid_2d("normalize", [n, m], &args(&[0, 1, 2, 3])),
            CudaLaunch::grid_2d("correlation", [m, m], &args(&[3, 4])),
        ],
    )
    .c(include_str!("correlation.c"), &[n, m])
    .run(
        (mean, deviation, normalized, out),
        |(mean, deviation, normalized, out)| {
            correlation(&tdata, mean, deviation, normalized, out).launch()
        },
        |(mean, deviation, _, out)| {
            Ok(vec![mean.to_vec()?.into(), deviation.to_vec()?.into(), out.to_vec()?.into()])
        },
    )
}
