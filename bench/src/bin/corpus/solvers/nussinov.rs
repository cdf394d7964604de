//! PolyBench nussinov: Nussinov's folding of RNA: the most pairs within each part of a sequence, from short parts to
//! long ones. Parts of one length, an anti-diagonal of the table, are independent.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform,
};

#[qd::func]
fn pairs(a: u8, b: u8) -> i32 {
    if a + b == 3 { 1 } else { 0 }
}

/// All parts from `i` to `i + d`.
#[qd::kernel]
fn diagonal(d: usize, sequence: &Tensor<u8, 1>, table: &mut Tensor<i32, 2>) {
    for i in 0..sequence.len() - d {
        let j = i + d;
        let mut best = table[[i, j - 1]].max(table[[i + 1, j]]);
        let inner = table[[i + 1, j - 1]];
        if i + 1 < j {
            best = best.max(inner + pairs(sequence[i], sequence[j]));
        } else {
            best = best.max(inner);
        }
        for k in i + 1..j {
            best = best.max(table[[i, k]] + table[[k + 1, j]]);
        }
        table[[i, j]] = best;
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 700, cpu: 256, small: 37 };
    let Some(case) = corpus.case("polybench/nussinov", sizes) else { return Ok(()) };
    let n = case.n();
    let sequence: Vec<u8> = uniform(n, 1).map(|x| (x * 4.0) as u8).collect();
    let program = corpus.program();
    let input = program.tensor_from(&sequence, [n])?;
    let steps = (1..n)
        .map(|d| {
            let args = [I32(d as i32), Buffer(0), Buffer(1), I32(n as i32)];
            CudaLaunch::linear("diagonal", n - d, &args)
        })
        .collect();
    case.buffers([sequence.into(), vec![0i32; n * n].into()])
        .results(&[(1, 0.0)])
        .cuda(include_str!("nussinov.cu"), steps)
        .c(include_str!("nussinov.c"), &[n])
        .run(
            program.zeros([n, n])?,
            |table| (1..n).try_for_each(|d| diagonal(d, &input, table).launch()),
            |table| Ok(vec![table.to_vec()?.into()]),
        )
}
