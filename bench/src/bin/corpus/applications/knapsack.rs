//! HeCBench knapsack: The knapsack problem by dynamic programming: the best value for each capacity, with one more item
//! per launch.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Data, Sizes, uniform,
};

const ITEMS: usize = 64;

#[qd::kernel]
fn clear(best: &mut Tensor<u32, 1>) {
    for c in 0..best.len() {
        best[c] = 0;
    }
}

#[qd::kernel]
fn add_item(weight: usize, value: u32, before: &Tensor<u32, 1>, best: &mut Tensor<u32, 1>) {
    for c in 0..best.len() {
        best[c] = if c >= weight { before[c].max(before[c - weight] + value) } else { before[c] };
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 1 << 22, cpu: 1 << 16, small: 1001 };
    let Some(case) = corpus.case("hecbench/knapsack", sizes) else { return Ok(()) };
    let n = case.n();
    let weights: Vec<u32> = uniform(ITEMS, 1).map(|x| 1 + (x * n as f64 / 8.0) as u32).collect();
    let values: Vec<u32> = uniform(ITEMS, 2).map(|x| 1 + (1000.0 * x) as u32).collect();
    let program = corpus.program();
    let state = (program.zeros::<u32, 1>([n])?, program.zeros::<u32, 1>([n])?);
    let size = I32(n as i32);
    let mut steps = vec![CudaLaunch::linear("clear", n, &[Buffer(2), size])];
    for (k, (weight, value)) in weights.iter().zip(&values).enumerate() {
        let (from, to) = (Buffer(2 + k % 2), Buffer(3 - k % 2));
        let args = [I32(*weight as i32), I32(*value as i32), from, to, size];
        steps.push(CudaLaunch::linear("add_item", n, &args));
    }
    let zeros = || Data::U32(vec![0; n]);
    // The number of items is even, so the last launch writes the first array.
    case.buffers([(&weights).into(), (&values).into(), zeros(), zeros()])
        .results(&[(2, 0.0)])
        .cuda(include_str!("knapsack.cu"), steps)
        .c(include_str!("knapsack.c"), &[n, ITEMS])
        .run(
            state,
            |(best, next)| {
                clear(best).launch()?;
                for (weight, value) in weights.iter().zip(&values) {
                    add_item(*weight as usize, *value, best, next).launch()?;
                    std::mem::swap(best, next);
                }
                Ok(())
            },
            |(best, _)| Ok(vec![best.to_vec()?.into()]),
        )
}
