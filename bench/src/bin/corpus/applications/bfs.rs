//! Rodinia bfs: Breadth-first search, level by level: the nodes of the frontier mark their unvisited neighbours as the
//! next one.

use quadrants::{self as qd, Result, Tensor};
use quadrants_bench::corpus::{
    Corpus,
    CudaArg::{Buffer, I32},
    CudaLaunch, Data, Sizes, uniform,
};

#[qd::kernel]
fn start(
    frontier: &mut Tensor<bool, 1>,
    next: &mut Tensor<bool, 1>,
    visited: &mut Tensor<bool, 1>,
    level: &mut Tensor<i32, 1>,
) {
    for i in 0..level.len() {
        frontier[i] = i == 0;
        next[i] = false;
        visited[i] = i == 0;
        level[i] = if i == 0 { 0 } else { -1 };
    }
}

#[qd::kernel]
#[allow(clippy::too_many_arguments)] // the graph and the state of the search
fn advance(
    depth: i32,
    starts: &Tensor<u32, 1>,
    edges: &Tensor<u32, 1>,
    frontier: &mut Tensor<bool, 1>,
    next: &mut Tensor<bool, 1>,
    visited: &mut Tensor<bool, 1>,
    level: &mut Tensor<i32, 1>,
) {
    for i in 0..level.len() {
        if frontier[i] {
            frontier[i] = false;
            for e in starts[i]..starts[i + 1] {
                let to = edges[e as usize] as usize;
                if !visited[to] {
                    qd::atomic_or(&mut next[to], true);
                }
            }
        }
    }
    for i in 0..level.len() {
        if next[i] {
            next[i] = false;
            frontier[i] = true;
            visited[i] = true;
            level[i] = depth;
        }
    }
}

/// The number of levels behind the first.
fn depth_of(starts: &[u32], edges: &[u32]) -> i32 {
    let mut seen = vec![false; starts.len() - 1];
    seen[0] = true;
    let (mut frontier, mut depth) = (vec![0], 0);
    loop {
        let mut next = Vec::new();
        for node in frontier {
            for to in &edges[starts[node] as usize..starts[node + 1] as usize] {
                if !std::mem::replace(&mut seen[*to as usize], true) {
                    next.push(*to as usize);
                }
            }
        }
        if next.is_empty() {
            return depth;
        }
        (frontier, depth) = (next, depth + 1);
    }
}

pub(crate) fn case(corpus: &Corpus) -> Result<()> {
    let sizes = Sizes { gpu: 1 << 20, cpu: 1 << 16, small: 501 };
    let Some(case) = corpus.case("rodinia/bfs", sizes) else { return Ok(()) };
    let n = case.n();
    let mut starts = vec![0u32];
    starts.extend(uniform(n, 1).scan(0, |sum, x| {
        *sum += 2 + (9.0 * x) as u32;
        Some(*sum)
    }));
    let edges: Vec<u32> = uniform(starts[n] as usize, 2).map(|x| (x * n as f64) as u32).collect();
    let depth = depth_of(&starts, &edges);
    let program = corpus.program();
    let (ts, te) =
        (program.tensor_from(&starts, [n + 1])?, program.tensor_from(&edges, [edges.len()])?);
    let flags = [(); 3].map(|()| program.zeros::<bool, 1>([n]));
    let [frontier, next, visited] = flags;
    let state = (frontier?, next?, visited?, program.zeros::<i32, 1>([n])?);
    let flags = || Data::U8(vec![0; n]);
    let buffers = [starts.into(), edges.into(), flags(), flags(), flags(), vec![0i32; n].into()];
    let size = I32(n as i32);
    let mut steps =
        vec![CudaLaunch::linear("start", n, &[Buffer(2), Buffer(3), Buffer(4), Buffer(5), size])];
    for level in 1..=depth {
        let args = [Buffer(0), Buffer(1), Buffer(2), Buffer(3), Buffer(4), size];
        steps.push(CudaLaunch::linear("visit", n, &args));
        let args = [I32(level), Buffer(2), Buffer(3), Buffer(4), Buffer(5), size];
        steps.push(CudaLaunch::linear("update", n, &args));
    }
    case.buffers(buffers)
        .results(&[(5, 0.0)])
        .cuda(include_str!("bfs.cu"), steps)
        .c(include_str!("bfs.c"), &[n, depth as usize])
        .run(
            state,
            |(frontier, next, visited, level)| {
                start(frontier, next, visited, level).launch()?;
                for d in 1..=depth {
                    advance(d, &ts, &te, frontier, next, visited, level).launch()?;
                }
                Ok(())
            },
            |(.., level)| Ok(vec![level.to_vec()?.into()]),
        )
}
