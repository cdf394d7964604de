//! Splits parallel loops of CPU bodies: whether they use the thread pool, into how many chunks, and which iterations of
//! a chunk run with checks. The loops' bodies are behind `dyn Fn`, so that this code is compiled once for all loops.

use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};

use quadrants_ir::{Const, abi::MAX_BOUND};
use quadrants_rhi::SourcePanic;

use super::{
    body_launch::{BodyLaunch, LoopAt, Proven},
    parallel::LoopInt,
    println::Printer,
    thread_pool,
};
use crate::device_error::ErrorKind;

/// Loops of a lower cost run on the calling thread. The unit is a node of the syntax tree; a processor executes roughly
/// one to ten nodes per nanosecond. Giving work to another thread costs some microseconds.
const PARALLEL_MIN_COST: u64 = 1 << 18;

/// From this cost on, helper threads are woken at once: waking them takes less time than one chunk of the loop.
const WAKE_MIN_COST: u64 = PARALLEL_MIN_COST << 5;

/// The number of chunks per thread of an expensive loop. Several, so that slow or late threads do not delay the others.
const MAX_CHUNKS_PER_THREAD: u64 = 8;

/// The number of chunks per thread of a loop that is just expensive enough for the pool.
const MIN_CHUNKS_PER_THREAD: u64 = 2;

/// A lower bound of the speedup of an iteration in a strip.
const STRIP_SPEEDUP: u64 = 4;

/// From this number of iterations on, a loop with little work per iteration is treated as memory-bound: its data
/// exceeds the second-level cache.
const MEMORY_BOUND_MIN_STEPS: u64 = 1 << 20;

/// Rows are not split into chunks shorter than this, because a vectorized loop needs some length.
const MIN_ROW_LEN: u64 = 1 << 10;

/// How many iterations are inspected before they run. The data of their indices stay in the L1 cache.
const INSPECTED_ITERATIONS: u64 = 1 << 10;

/// A parallel loop over `N` variables.
pub(super) struct Loop<'a, I, const N: usize> {
    pub(super) at: LoopAt,
    pub(super) bounds: [(I, I); N],
    /// The cost of an iteration, in nodes of the syntax tree.
    pub(super) weight: u32,
    /// Whether an iteration does so little that a long loop is memory-bound.
    pub(super) little_work_per_iteration: bool,
    /// The loop in the source.
    pub(super) location: &'a Location<'a>,
    /// The number of an iteration in messages.
    pub(super) value: &'a (dyn Fn(I) -> i64 + Sync),
    pub(super) run: &'a RunPart<'a, I, N>,
}

/// Runs a part of a chunk: a box of iterations. With [`Mode::Inspect`], returns whether all its indices are in range.
type RunPart<'a, I, const N: usize> = dyn Fn([(I, I); N], ChunkId, Mode) -> bool + Sync + 'a;

/// How a part of a chunk runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    /// Without checks.
    Unchecked,
    /// Without checks, at the instruction level for memory-bound loops.
    MemoryBound,
    /// With checks.
    Checked,
    /// It does not run; its indices are checked.
    Inspect,
}

/// A chunk of a loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChunkId {
    /// Its number, the same in identical launches.
    pub(super) number: usize,
    /// About how many iterations it has, in all parts.
    pub(super) iterations: u64,
}

/// A [`RegionBlock`](super::RegionBlock) with its type erased.
pub trait ErasedRegionBlock: Sync {
    /// Runs the block.
    fn run(&self);
}

impl BodyLaunch<'_> {
    /// Runs a loop over one variable, in chunks that are multiples of `strip` iterations where possible.
    pub(super) fn run_range<I: LoopInt>(&self, strip: u64, each: &Loop<'_, I, 1>) {
        let [(begin, end)] = each.bounds;
        let steps = begin.steps(end);
        if steps == 0 || self.report_wrapped_bounds(each) {
            return;
        }
        let strip = chunk_granularity(steps, strip);
        let strips = steps.div_ceil(strip);
        let count = chunk_count(steps, strips, each.weight);
        self.run_chunks(each, steps, count, &|chunk| {
            let (from, to) = part(strips, count, chunk);
            let at = |strips: u64| begin.forward(strips.saturating_mul(strip).min(steps));
            [(at(from), at(to))]
        });
    }

    /// Runs a loop in chunks that are tiles of its iterations.
    pub(super) fn run_tiles<I: LoopInt, const N: usize>(&self, each: &Loop<'_, I, N>) {
        let bounds = each.bounds;
        let steps = bounds.map(|(begin, end)| begin.steps(end));
        if steps.contains(&0) || self.report_wrapped_bounds(each) {
            return;
        }
        let total = steps.iter().fold(1, |total: u64, n| total.saturating_mul(*n));
        let counts = parts_per_dimension(steps, chunk_count(total, u64::MAX, each.weight));
        self.run_chunks(each, total, counts.iter().product(), &|mut chunk| {
            let mut tile = bounds;
            for k in (0..N).rev() {
                let (from, to) = part(steps[k], counts[k], chunk % counts[k]);
                chunk /= counts[k];
                tile[k] = (bounds[k].0.forward(from), bounds[k].0.forward(to));
            }
            tile
        });
    }

    /// Runs the chunks of a loop of `steps` iterations. `tile` gives the iterations of a chunk.
    fn run_chunks<I: LoopInt, const N: usize>(
        &self,
        each: &Loop<'_, I, N>,
        steps: u64,
        count: usize,
        tile: &(dyn Fn(usize) -> [(I, I); N] + Sync),
    ) {
        let memory_bound = each.little_work_per_iteration && steps >= MEMORY_BOUND_MIN_STEPS;
        let unchecked = if memory_bound { Mode::MemoryBound } else { Mode::Unchecked };
        let proven = self.proven(each.at);
        let run = |number| {
            let id = ChunkId { number, iterations: steps / count as u64 };
            self.run_tile(each, unchecked, &proven, id, tile(number));
        };
        let all = || match count {
            1 => run(0),
            _ => thread_pool::run(count, is_long(steps, each.weight), &|number| {
                self.errors.run(&mut || run(number))
            }),
        };
        // The error of the launch names the loop.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(all)) {
            let (message, _) = SourcePanic::of(payload);
            resume_unwind(Box::new(SourcePanic { message, line: each.location.line() }));
        }
    }

    /// Runs the iterations of a chunk, a tile, on this thread, which is inside a body. If the kernel prints, one by
    /// one, with their numbers known to messages.
    fn run_tile<I: LoopInt, const N: usize>(
        &self,
        each: &Loop<'_, I, N>,
        unchecked: Mode,
        proven: &Proven<I, N>,
        id: ChunkId,
        tile: [(I, I); N],
    ) {
        let _printer = self.printer();
        if !self.run.prints {
            return self.split_tile(each, unchecked, proven, id, tile);
        }
        for number in 0..iterations(tile) {
            let one = iteration(tile, number);
            Printer::move_to(&one.map(|(at, _)| (each.value)(at)));
            self.split_tile(each, unchecked, proven, id, one);
        }
    }

    /// Runs the iterations of a tile. Those that are proven run without checks, and the others with checks, slab by
    /// slab, or without if an inspection, some iterations at a time, shows that all indices are in range.
    fn split_tile<I: LoopInt, const N: usize>(
        &self,
        each: &Loop<'_, I, N>,
        unchecked: Mode,
        proven: &Proven<I, N>,
        id: ChunkId,
        tile: [(I, I); N],
    ) {
        let run = |part, mode| self.errors.run_inside(&mut || _ = (each.run)(part, id, mode));
        match *proven {
            Proven::All => run(tile, unchecked),
            Proven::Within { interior, inspects } => {
                split_at_interior(tile, &interior, |part, is_proven| match (is_proven, inspects) {
                    (true, _) => run(part, unchecked),
                    (false, false) => run(part, Mode::Checked),
                    (false, true) => self.errors.run_inside(&mut || {
                        for_each_box(part, INSPECTED_ITERATIONS, |part| {
                            let all_inside = (each.run)(part, id, Mode::Inspect);
                            let mode = if all_inside { unchecked } else { Mode::Checked };
                            (each.run)(part, id, mode);
                        });
                    }),
                });
            }
        }
    }

    /// Reports loop bounds beyond ±`MAX_BOUND`, which result from a wrapped computation; then the loop must not run. A
    /// launch checks the bounds that the host knows; bounds that the kernel computes are checked only here.
    fn report_wrapped_bounds<I: LoopInt, const N: usize>(&self, each: &Loop<'_, I, N>) -> bool {
        let wide = |bound: I| Into::<Const>::into(bound).as_int().unwrap_or(0);
        let beyond = |&(begin, end): &(I, I)| wide(begin) < -MAX_BOUND || wide(end) > MAX_BOUND;
        let wrapped = each.bounds.iter().any(beyond);
        if wrapped {
            let counts = each.bounds.map(|(begin, end)| begin.steps(end));
            self.errors.report(ErrorKind::Bounds, each.location, &counts);
        }
        wrapped
    }
}

/// The number of iterations of a tile.
#[cold]
fn iterations<I: LoopInt, const N: usize>(tile: [(I, I); N]) -> u64 {
    tile.iter().map(|(begin, end)| begin.steps(*end)).product()
}

/// An iteration of a tile, by its number in row-major order.
#[cold]
fn iteration<I: LoopInt, const N: usize>(tile: [(I, I); N], mut number: u64) -> [(I, I); N] {
    let mut one = tile;
    for (bounds, (begin, end)) in one.iter_mut().zip(tile).rev() {
        let steps = begin.steps(end);
        let at = begin.forward(number % steps);
        *bounds = (at, at.forward(1));
        number /= steps;
    }
    one
}

/// Calls `f` with boxes of about `most` iterations that together cover a tile, in row-major order.
fn for_each_box<I: LoopInt, const N: usize>(
    tile: [(I, I); N],
    most: u64,
    mut f: impl FnMut([(I, I); N]),
) {
    // A box has all steps of the dimensions after `split_dim`, some of `split_dim`, and one of those before it.
    let steps = tile.map(|(begin, end)| begin.steps(end));
    let (mut split_dim, mut inner) = (N - 1, 1u64);
    while split_dim > 0 && inner.saturating_mul(steps[split_dim]) <= most {
        inner *= steps[split_dim];
        split_dim -= 1;
    }
    let length = (most / inner).max(1);
    let rows: u64 = steps[..split_dim].iter().product();
    for row in 0..rows {
        let (mut part, mut rest) = (tile, row);
        for k in (0..split_dim).rev() {
            let at = tile[k].0.forward(rest % steps[k]);
            part[k] = (at, at.forward(1));
            rest /= steps[k];
        }
        let mut from = 0;
        while from < steps[split_dim] {
            let to = (from + length).min(steps[split_dim]);
            part[split_dim] = (tile[split_dim].0.forward(from), tile[split_dim].0.forward(to));
            f(part);
            from = to;
        }
    }
}

/// Splits a tile: calls `run` for each slab around the interior, and last for the interior (with `true`).
fn split_at_interior<I: LoopInt, const N: usize>(
    mut tile: [(I, I); N],
    interior: &[(I, I); N],
    run: impl Fn([(I, I); N], bool),
) {
    for k in 0..N {
        let (begin, end) = tile[k];
        let from = if interior[k].0 > begin { interior[k].0 } else { begin };
        let to = if interior[k].1 < end { interior[k].1 } else { end };
        if from >= to {
            return run(tile, false);
        }
        for (side, is_nonempty) in [((begin, from), begin < from), ((to, end), to < end)] {
            if is_nonempty {
                tile[k] = side;
                run(tile, false);
            }
        }
        tile[k] = (from, to);
    }
    run(tile, true);
}

/// Runs the blocks of a region: see [`Cx::region`](super::Cx::region).
pub(super) fn run_region(blocks: &[&dyn ErasedRegionBlock], elements: u64, weight: u32) {
    if blocks.len() > 1 && chunk_count(elements, u64::MAX, weight) > 1 {
        thread_pool::run(blocks.len(), true, &|k| blocks[k].run());
    } else {
        blocks.iter().for_each(|block| block.run());
    }
}

/// The sizes of chunks are multiples of this number of iterations: the length of a strip, or 1 if there are too few
/// whole strips for the threads.
fn chunk_granularity(steps: u64, strip: u64) -> u64 {
    let busy = (thread_pool::threads() as u64).min(steps);
    if steps.div_ceil(strip).saturating_mul(STRIP_SPEEDUP) < busy { 1 } else { strip }
}

/// The number of chunks of a loop, at most `most`; 1 if the loop should run on the calling thread.
fn chunk_count(iterations: u64, most: u64, weight: u32) -> usize {
    let times_worth = iterations.saturating_mul(u64::from(weight)) / PARALLEL_MIN_COST;
    if times_worth == 0 {
        return 1;
    }
    match thread_pool::threads() as u64 {
        1 => 1,
        threads => most
            .min(threads * times_worth.clamp(MIN_CHUNKS_PER_THREAD, MAX_CHUNKS_PER_THREAD))
            as usize,
    }
}

/// Whether a loop takes so long that the cost of waking threads does not matter.
fn is_long(iterations: u64, weight: u32) -> bool {
    iterations.saturating_mul(u64::from(weight)) >= WAKE_MIN_COST
}

/// The number of parts of each dimension, for about `wanted` tiles. Outer dimensions are split first, so that tiles
/// keep whole rows where possible.
fn parts_per_dimension<const N: usize>(steps: [u64; N], wanted: usize) -> [usize; N] {
    let mut missing = wanted as u64;
    let mut counts = [1; N];
    for k in 0..N {
        let most = if k + 1 < N || N == 1 { steps[k] } else { steps[k].div_ceil(MIN_ROW_LEN) };
        let parts = most.min(missing).max(1);
        counts[k] = parts as usize;
        missing = missing.div_ceil(parts);
    }
    counts
}

/// The half-open range of steps of part number `part`.
fn part(steps: u64, parts: usize, part: usize) -> (u64, u64) {
    let (each, more) = (steps / parts as u64, steps % parts as u64);
    let at = |k: usize| each * k as u64 + more * k as u64 / parts as u64;
    (at(part), at(part + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_a_range_once() {
        for (steps, parts) in [(1, 1), (7, 3), (1000, 16), (u64::MAX, 48)] {
            assert_eq!(part(steps, parts, 0).0, 0);
            assert_eq!(part(steps, parts, parts - 1).1, steps);
            for k in 1..parts {
                assert_eq!(part(steps, parts, k - 1).1, part(steps, parts, k).0);
            }
        }
    }

    #[test]
    fn boxes_cover_a_tile_once_in_order() {
        for (tile, most, expected) in [
            ([(0, 3), (2, 4), (-1, 4)], 1, 30),
            ([(0, 3), (2, 4), (-1, 4)], 4, 12),
            ([(0, 3), (2, 4), (-1, 4)], 9, 6),
            ([(0, 3), (2, 4), (-1, 4)], 10, 3),
            ([(0, 3), (2, 4), (-1, 4)], 25, 2),
            ([(0, 3), (2, 4), (-1, 4)], 1000, 1),
            ([(0, 3), (2, 2), (-1, 4)], 4, 0),
        ] {
            let (mut visited, mut boxes) = (Vec::new(), 0);
            for_each_box(tile, most, |[x, y, z]: [(i32, i32); 3]| {
                boxes += 1;
                for i in x.0..x.1 {
                    for j in y.0..y.1 {
                        visited.extend((z.0..z.1).map(|k| (i, j, k)));
                    }
                }
            });
            let rows =
                (tile[0].0..tile[0].1).flat_map(|i| (tile[1].0..tile[1].1).map(move |j| (i, j)));
            let all: Vec<_> =
                rows.flat_map(|(i, j)| (tile[2].0..tile[2].1).map(move |k| (i, j, k))).collect();
            assert_eq!((visited, boxes), (all, expected), "{tile:?}, {most}");
        }
    }

    #[test]
    fn a_split_tile_is_covered_once_and_proven_in_the_interior_alone() {
        let count = |tile: [(i32, i32); 2], interior: [(i32, i32); 2]| {
            let mut times = [[[0u8; 2]; 8]; 8];
            let cells = std::cell::RefCell::new(&mut times);
            split_at_interior(tile, &interior, |part, proven| {
                for i in part[0].0..part[0].1 {
                    for j in part[1].0..part[1].1 {
                        cells.borrow_mut()[i as usize][j as usize][usize::from(proven)] += 1;
                    }
                }
            });
            times
        };
        for interior in [
            [(0, 0), (0, 0)],
            [(0, 8), (0, 8)],
            [(3, 5), (2, 7)],
            [(0, 4), (4, 4)],
            [(-9, 4), (6, 90)],
            [(7, 9), (0, 1)],
        ] {
            for tile in [[(0, 8), (0, 8)], [(1, 4), (2, 6)], [(6, 7), (7, 8)]] {
                let times = count(tile, interior);
                let contains = |at: i32, (begin, end): (i32, i32)| begin <= at && at < end;
                for (i, j) in (0..64).map(|k| (k / 8, k % 8)) {
                    let in_tile = contains(i, tile[0]) && contains(j, tile[1]);
                    let proven = contains(i, interior[0]) && contains(j, interior[1]);
                    let expected = [u8::from(in_tile && !proven), u8::from(in_tile && proven)];
                    assert_eq!(times[i as usize][j as usize], expected, "{tile:?} {interior:?}");
                }
            }
        }
    }

    #[test]
    fn outer_dimensions_are_split_first() {
        assert_eq!(parts_per_dimension([2048, 2048], 16), [16, 1]);
        assert_eq!(parts_per_dimension([2, 1 << 20], 16), [2, 8]);
        assert_eq!(parts_per_dimension([3, 5, 100], 16), [3, 5, 1]);
        assert_eq!(parts_per_dimension([100], 16), [16]);
    }

    #[test]
    fn small_loops_run_on_the_calling_thread() {
        assert_eq!(chunk_count(1000, 1000, 10), 1);
        assert!(
            chunk_count(1 << 30, 1 << 30, 10)
                <= thread_pool::threads() * MAX_CHUNKS_PER_THREAD as usize
        );
    }
}
