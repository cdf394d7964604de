//! SHOC spmv csr: A sparse matrix times a vector, in compressed rows of different lengths.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform, uniform_f32,
};

#[qd::kernel]
fn spmv(
    starts: &Tensor<u32, 1>,
    columns: &Tensor<u32, 1>,
    values: &Tensor<f32, 1>,
    x: &Tensor<f32, 1>,
    y: &mut Tensor<f32, 1>,
) {
    for i in 0..y.len() {
        let mut sum = 0.0;
        for k in starts[i] as usize..starts[i + 1] as usize {
            sum += values[k] * x[columns[k] as usize];
        }
        y[i] = sum;
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 1 << 20, cpu: 1 << 15, small: 333 };
    let Some(case) = corpus.case("shoc/spmv csr", sizes) else { return Ok(()) };
    let n = case.n();
    let mut starts = vec![0u32];
    starts.extend(uniform(n, 1).scan(0, |sum, x| {
        *sum += (48.0 * x) as u32;
        Some(*sum)
    }));
    let count = starts[n] as usize;
    let columns: Vec<u32> = uniform(count, 2).map(|x| (x * n as f64) as u32).collect();
    let (values, x) = (uniform_f32(count, 3), uniform_f32(n, 4));
    let program = corpus.program();
    let (ts, tc, tv, tx) = (
        program.tensor_from(&starts, [n + 1])?,
        program.tensor_from(&columns, [count])?,
        program.tensor_from(&values, [count])?,
        program.tensor_from(&x, [n])?,
    );
    let y = program.zeros::<f32, 1>([n])?;
    let args = [Buffer(0), Buffer(1), Buffer(2), Buffer(3), Buffer(4), I32(n as i32)];
    case.buffers([starts.into(), columns.into(), values.into(), x.into(), vec![0.0f32; n].into()])
        .results(&[(4, 1e-5)])
        .cuda(include_str!("spmv_csr.cu"), vec![CudaLaunch::linear("spmv", n, &args)])
        .c(include_str!("spmv_csr.c"), &[n])
        .run(y, |y| spmv(&ts, &tc, &tv, &tx, y).launch(), |y| Ok(vec![y.to_vec()?.into()]))
}
