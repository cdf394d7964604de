//! SHOC prefix sum: Prefix sums in three phases: sums within blocks, a scan of the blocks' totals, and their addition.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform,
};

const BLOCK: usize = 1024;

#[qd::kernel]
fn scan(x: &Tensor<u32, 1>, y: &mut Tensor<u32, 1>, totals: &mut Tensor<u32, 1>) {
    let n = x.len();
    let blocks = totals.len();
    qd::block_for(blocks, BLOCK, |b| {
        let first = b.index() * BLOCK;
        let sums = b.scan_add(|t| if first + t < n { x[first + t] } else { 0 });
        b.each(|t| {
            if first + t < n {
                y[first + t] = sums[t];
            }
            if t == BLOCK - 1 {
                totals[b.index()] = sums[t];
            }
        });
    });
    qd::block_for(1, BLOCK, |b| {
        let mut before = 0;
        for tile in 0..blocks.div_ceil(BLOCK) {
            let first = tile * BLOCK;
            let sums = b.scan_add(|t| if first + t < blocks { totals[first + t] } else { 0 });
            let total = b.reduce_add(|t| if first + t < blocks { totals[first + t] } else { 0 });
            b.each(|t| {
                if first + t < blocks {
                    totals[first + t] = before + sums[t];
                }
            });
            before += total;
        }
    });
    for i in BLOCK..n {
        y[i] += totals[i / BLOCK - 1];
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 1 << 25, cpu: 1 << 20, small: 3333 };
    let Some(case) = corpus.case("shoc/prefix sum", sizes) else { return Ok(()) };
    let n = case.n();
    let blocks = n.div_ceil(BLOCK);
    let x: Vec<u32> = uniform(n, 1).map(|x| (100.0 * x) as u32).collect();
    let program = corpus.program();
    let tx = program.tensor_from(&x, [n])?;
    let state = (program.zeros::<u32, 1>([n])?, program.zeros::<u32, 1>([blocks])?);
    let (size, count) = (I32(n as i32), I32(blocks as i32));
    let threads = [BLOCK as u32, 1, 1];
    let grid = [blocks, 1, 1];
    let steps = vec![
        CudaLaunch::new("scan_blocks", grid, threads, &[Buffer(0), Buffer(1), Buffer(2), size]),
        CudaLaunch::new("scan_totals", [1; 3], threads, &[Buffer(2), count]),
        CudaLaunch::new("add_totals", grid, threads, &[Buffer(1), Buffer(2), size]),
    ];
    case.buffers([x.into(), vec![0u32; n].into(), vec![0u32; blocks].into()])
        .results(&[(1, 0.0)])
        .cuda(include_str!("prefix_sum.cu"), steps)
        .c(include_str!("prefix_sum.c"), &[n])
        .run(
            state,
            |(y, totals)| scan(&tx, y, totals).launch(),
            |(y, _)| Ok(vec![y.to_vec()?.into()]),
        )
}
