//! Stream compaction: the elements above a limit, in their order; their places are prefix sums of the decisions.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, F32, I32},
    CudaLaunch, Sizes, uniform_f32,
};

const BLOCK: usize = 256;

#[qd::kernel]
fn compact(
    limit: f32,
    x: &Tensor<f32, 1>,
    places: &mut Tensor<u32, 1>,
    totals: &mut Tensor<u32, 1>,
    out: &mut Tensor<f32, 1>,
) {
    let n = x.len();
    let blocks = totals.len();
    for i in 0..n {
        places[i] = (x[i] > limit) as u32;
    }
    qd::block_for(blocks, BLOCK, |b| {
        let first = b.index() * BLOCK;
        let sums = b.scan_add(|t| if first + t < n { places[first + t] } else { 0 });
        b.each(|t| {
            if first + t < n {
                places[first + t] = sums[t];
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
    for i in 0..n {
        if x[i] > limit {
            let before = if i >= BLOCK { totals[i / BLOCK - 1] } else { 0 };
            // SAFETY: prefix sums ascend by one at each element that is kept.
            unsafe { out[(before + places[i] - 1) as usize] = x[i] };
        }
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 1 << 24, cpu: 1 << 20, small: 3333 };
    let Some(case) = corpus.case("common/compaction", sizes) else { return Ok(()) };
    let n = case.n();
    let blocks = n.div_ceil(BLOCK);
    let x = uniform_f32(n, 1);
    let limit = 0.7;
    let program = corpus.program();
    let tx = program.tensor_from(&x, [n])?;
    let state = (
        program.zeros::<u32, 1>([n])?,
        program.zeros::<u32, 1>([blocks])?,
        program.zeros::<f32, 1>([n])?,
    );
    let (size, count) = (I32(n as i32), I32(blocks as i32));
    let steps = vec![
        CudaLaunch::linear("decide", n, &[F32(limit), Buffer(0), Buffer(1), size]),
        CudaLaunch::linear("scan_blocks", n, &[Buffer(1), Buffer(2), size]),
        CudaLaunch::new("scan_totals", [1; 3], [BLOCK as u32, 1, 1], &[Buffer(2), count]),
        CudaLaunch::linear(
            "scatter",
            n,
            &[F32(limit), Buffer(0), Buffer(1), Buffer(2), Buffer(3), size],
        ),
    ];
    let buffers =
        [x.into(), vec![0u32; n].into(), vec![0u32; blocks].into(), vec![0.0f32; n].into()];
    case.buffers(buffers)
        .results(&[(3, 0.0)])
        .cuda(include_str!("compaction.cu"), steps)
        .c(include_str!("compaction.c"), &[n])
        .run(
            state,
            |(places, totals, out)| compact(limit, &tx, places, totals, out).launch(),
            |(.., out)| Ok(vec![out.to_vec()?.into()]),
        )
}
