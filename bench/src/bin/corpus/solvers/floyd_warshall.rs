//! PolyBench floyd-warshall: Shortest paths between all pairs of vertices, by Floyd and Warshall: step k allows paths
//! through vertex k.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Sizes, uniform,
};

#[qd::kernel]
fn start(edges: &Tensor<i32, 2>, paths: &mut Tensor<i32, 2>) {
    for (i, j) in qd::ndrange(paths.shape()) {
        paths[[i, j]] = edges[[i, j]];
    }
}

#[qd::kernel]
fn step(k: usize, paths: &mut Tensor<i32, 2>) {
    for (i, j) in qd::ndrange(paths.shape()) {
        let through = paths[[i, k]] + paths[[k, j]];
        if through < paths[[i, j]] {
            // SAFETY: vertex k is at distance 0 from itself, so no path from it or to it becomes shorter in step k.
            unsafe { paths[[i, j]] = through };
        }
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 1024, cpu: 256, small: 37 };
    let Some(case) = corpus.case("polybench/floyd-warshall", sizes) else { return Ok(()) };
    let n = case.n();
    let mut edges: Vec<i32> = uniform(n * n, 1).map(|x| 1 + (x * 1000.0) as i32).collect();
    (0..n).for_each(|i| edges[i * n + i] = 0);
    let program = corpus.program();
    let input = program.tensor_from(&edges, [n, n])?;
    let size = I32(n as i32);
    let mut steps = vec![CudaLaunch::grid_2d("start", [n, n], &[Buffer(0), Buffer(1), size])];
    for k in 0..n {
        steps.push(CudaLaunch::grid_2d(
            "floyd_warshall",
            [n, n],
            &[I32(k as i32), Buffer(1), size],
        ));
    }
    case.buffers([edges.into(), vec![0i32; n * n].into()])
        .results(&[(1, 0.0)])
        .cuda(include_str!("floyd_warshall.cu"), steps)
        .c(include_str!("floyd_warshall.c"), &[n])
        .run(
            program.zeros([n, n])?,
            |paths| {
                start(&input, paths).launch()?;
                (0..n).try_for_each(|k| step(k, paths).launch())
            },
            |paths| Ok(vec![paths.to_vec()?.into()]),
        )
}
