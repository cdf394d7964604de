//! SHOC spmv ell: A sparse matrix times a vector, in ELLPACK format: all rows have the same length, stored column by
//! column.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform, uniform_f32,
};

const LENGTH: usize = 24;

#[qd::kernel]
fn spmv(
    columns: &Tensor<u32, 2>,
    values: &Tensor<f32, 2>,
    x: &Tensor<f32, 1>,
    y: &mut Tensor<f32, 1>,
) {
    let [length, rows] = values.shape();
    for i in 0..rows {
        let mut sum = 0.0;
        for k in 0..length {
            sum += values[[k, i]] * x[columns[[k, i]] as usize];
        }
        y[i] = sum;
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 1 << 20, cpu: 1 << 15, small: 333 };
    let Some(case) = corpus.case("shoc/spmv ell", sizes) else { return Ok(()) };
    let n = case.n();
    let columns: Vec<u32> = uniform(LENGTH * n, 1).map(|x| (x * n as f64) as u32).collect();
    let (values, x) = (uniform_f32(LENGTH * n, 2), uniform_f32(n, 3));
    let program = corpus.program();
    let (tc, tv, tx) = (
        program.tensor_from(&columns, [LENGTH, n])?,
        program.tensor_from(&values, [LENGTH, n])?,
        program.tensor_from(&x, [n])?,
    );
    let y = program.zeros::<f32, 1>([n])?;
    let args = [Buffer(0), Buffer(1), Buffer(2), Buffer(3), I32(LENGTH as i32), I32(n as i32)];
    case.buffers([columns.into(), values.into(), x.into(), vec![0.0f32; n].into()])
        .results(&[(3, 1e-5)])
        .cuda(include_str!("spmv_ell.cu"), vec![CudaLaunch::linear("spmv", n, &args)])
        .c(include_str!("spmv_ell.c"), &[LENGTH, n])
        .run(y, |y| spmv(&tc, &tv, &tx, y).launch(), |y| Ok(vec![y.to_vec()?.into()]))
}
