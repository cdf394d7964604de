//! Rodinia pathfinder: The cheapest paths through a grid, row by row: each cell continues the cheapest of the three
//! cells before it.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform,
};

/// The steps, one less, are even.
const ROWS: usize = 101;

#[qd::kernel]
fn start(wall: &Tensor<i32, 2>, costs: &mut Tensor<i32, 1>) {
    for j in 0..costs.len() {
        costs[j] = wall[[0, j]];
    }
}

#[qd::kernel]
fn row(i: usize, wall: &Tensor<i32, 2>, costs: &Tensor<i32, 1>, next: &mut Tensor<i32, 1>) {
    let n = costs.len();
    for j in 0..n {
        let mut least = costs[j];
        if j > 0 {
            least = least.min(costs[j - 1]);
        }
        if j < n - 1 {
            least = least.min(costs[j + 1]);
        }
        next[j] = wall[[i, j]] + least;
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 1 << 20, cpu: 100_000, small: 1003 };
    let Some(case) = corpus.case("rodinia/pathfinder", sizes) else { return Ok(()) };
    let n = case.n();
    let wall: Vec<i32> = uniform(ROWS * n, 1).map(|x| (x * 10.0) as i32).collect();
    let program = corpus.program();
    let input = program.tensor_from(&wall, [ROWS, n])?;
    let state = (program.zeros([n])?, program.zeros([n])?);
    let size = I32(n as i32);
    let mut steps = vec![CudaLaunch::linear("start", n, &[Buffer(0), Buffer(1), size])];
    for i in 1..ROWS {
        let (from, to) = (2 - i % 2, 1 + i % 2);
        let args = [I32(i as i32), Buffer(0), Buffer(from), Buffer(to), size];
        steps.push(CudaLaunch::linear("row", n, &args));
    }
    let zero = || vec![0i32; n].into();
    case.buffers([wall.into(), zero(), zero()])
        .results(&[(1, 0.0)])
        .cuda(include_str!("pathfinder.cu"), steps)
        .c(include_str!("pathfinder.c"), &[n, ROWS])
        .run(
            state,
            |(costs, next)| {
                start(&input, costs).launch()?;
                for i in 1..ROWS {
                    row(i, &input, costs, next).launch()?;
                    std::mem::swap(costs, next);
                }
                Ok(())
            },
            |(costs, _)| Ok(vec![costs.to_vec()?.into()]),
        )
}
