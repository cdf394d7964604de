//! Parallel loops and regions of a body: whether they go to the thread pool, and in what pieces.

use std::{ops::Range, panic::Location};

use quadrants_ir::{Const, abi::MAX_BOUND};

pub use crate::dsl::LoopInt;

use super::{cx::Cx, failure::ErrorKind, level::Level, pool};
use crate::dsl::{IndexSpace, ndrange};

/// Below this cost a loop runs on the caller's thread. In syntax nodes, of which a processor does
/// roughly one to ten in a nanosecond; handing work over costs some microseconds.
const PARALLEL_MIN_COST: u64 = 1 << 18;

/// From this cost on others are woken for a loop at once: waking them takes less than a piece of it.
const WAKE_MIN_COST: u64 = PARALLEL_MIN_COST << 5;

/// Pieces per thread, so that threads that are slow or late do not keep the others waiting.
const MAX_PIECES_PER_THREAD: u64 = 8;

/// Pieces per thread of a loop that is just worth handing over.
const MIN_PIECES_PER_THREAD: u64 = 2;

/// So many times faster an iteration is at least that runs in a strip.
const STRIP_SPEEDUP: u64 = 4;

/// From so many iterations on, a loop that does little in each is taken to wait for memory: what it touches is more than the
/// second level of caches holds.
const MEMORY_BOUND_MIN_STEPS: u64 = 1 << 20;

/// A row is not cut into pieces shorter than this: a vectorized loop needs some length.
const MIN_ROW_LEN: u64 = 1 << 10;

/// A `stream_parallel` block of a body, ready to run.
pub struct Block<'a, 'b, L, F, const CHECKED: bool> {
    cx: &'a Cx<'b, L, CHECKED>,
    body: F,
}

/// A [`Block`] of any type.
pub trait Task: Sync {
    /// Runs it.
    fn run(&self);
}

/// What one iteration of a loop costs, in syntax nodes.
pub trait Weight: Copy {
    /// Whether it does so little that a long loop waits for memory.
    const SIMPLE: bool;

    /// The cost.
    fn cost(self) -> u32;
}

/// The weight of an iteration that does little.
#[derive(Clone, Copy, Debug)]
pub struct Simple(pub u32);

impl Weight for u32 {
    const SIMPLE: bool = false;

    #[inline(always)]
    fn cost(self) -> u32 {
        self
    }
}

impl Weight for Simple {
    const SIMPLE: bool = true;

    #[inline(always)]
    fn cost(self) -> u32 {
        self.0
    }
}

impl<'b, L: Level, const CHECKED: bool> Cx<'b, L, CHECKED> {
    /// A parallel loop of one variable. `body` runs the iterations from its first number to before its
    /// second, and receives whether they are proven; `weight` is the cost of one. The loop's interior is
    /// at `inside` among those of the launch; none of one that has none.
    #[inline(always)]
    #[track_caller]
    pub fn par_for<I, W: Weight, F>(
        &self,
        inside: Option<usize>,
        range: Range<I>,
        weight: W,
        body: F,
    ) where
        I: LoopInt,
        F: Fn(((I, I), bool)) + Sync,
    {
        self.par_for_strips(inside, range, weight, 1, body);
    }

    /// As [`par_for`](Self::par_for), where `body` takes `strip` iterations at once as long as there are so many.
    #[inline(always)]
    #[track_caller]
    pub fn par_for_strips<I, W: Weight, F>(
        &self,
        inside: Option<usize>,
        range: Range<I>,
        weight: W,
        strip: usize,
        body: F,
    ) where
        I: LoopInt,
        F: Fn(((I, I), bool)) + Sync,
    {
        let (steps, weight) = (range.start.steps(range.end), weight.cost());
        let memory_bound = W::SIMPLE && steps >= MEMORY_BOUND_MIN_STEPS;
        if steps == 0 || self.report_wrapped_bounds(&[(range.start, range.end)]) {
            return;
        }
        let inside = self.interior(inside);
        let body = |([bounds], proven): ([(I, I); 1], bool)| body((bounds, proven));
        let strip = if CHECKED { 1 } else { piece_granularity(steps, strip as u64) };
        let pieces = pieces(steps, steps.div_ceil(strip), weight);
        if pieces <= 1 {
            self.tile::<W, _, _, 1>(memory_bound, [(range.start, range.end)], &inside, &body);
            return;
        }
        pool::run(pieces, is_long(steps, weight), &|piece| {
            let (from, to) = part(steps.div_ceil(strip), pieces, piece);
            let at = |strips: u64| range.start.forward(strips.saturating_mul(strip).min(steps));
            let bounds = [(at(from), at(to))];
            self.errors.run(|| self.tile::<W, _, _, 1>(memory_bound, bounds, &inside, &body));
        });
    }

    /// A parallel loop of `N` variables over tiles: `body` runs the iterations whose indices are within
    /// the bounds of its tile, row by row. Otherwise as [`par_for`](Self::par_for).
    #[inline(always)]
    #[track_caller]
    pub fn nd_for<D, I, W: Weight, F, const N: usize>(
        &self,
        inside: Option<usize>,
        space: ndrange<D>,
        weight: W,
        body: F,
    ) where
        I: LoopInt,
        D: IndexSpace<Int = I, Bounds = [Range<I>; N]>,
        F: Fn(([(I, I); N], bool)) + Sync,
    {
        let weight = weight.cost();
        let bounds = space.0.bounds().map(|range| (range.start, range.end));
        let steps: [u64; N] = bounds.map(|(begin, end)| begin.steps(end));
        if steps.contains(&0) || self.report_wrapped_bounds(&bounds) {
            return;
        }
        let inside = self.interior(inside);
        let total = steps.iter().fold(1, |total: u64, n| total.saturating_mul(*n));
        let memory_bound = W::SIMPLE && total >= MEMORY_BOUND_MIN_STEPS;
        let wanted = pieces(total, u64::MAX, weight);
        let cuts = cuts(steps, wanted);
        let tile = |mut piece: usize| -> [(I, I); N] {
            let mut tile = bounds;
            for k in (0..N).rev() {
                let (from, to) = part(steps[k], cuts[k], piece % cuts[k]);
                piece /= cuts[k];
                tile[k] = (bounds[k].0.forward(from), bounds[k].0.forward(to));
            }
            tile
        };
        match cuts.iter().product() {
            1 => self.tile::<W, _, _, N>(memory_bound, tile(0), &inside, &body),
            pieces => pool::run(pieces, is_long(total, weight), &|piece| {
                self.errors
                    .run(|| self.tile::<W, _, _, N>(memory_bound, tile(piece), &inside, &body));
            }),
        }
    }

    /// Runs the iterations of a tile on this thread, which is in a body: in the checked form those of
    /// the interior without checks, and around them, slab by slab, the others.
    #[inline(always)]
    fn tile<W: Weight, I, F, const N: usize>(
        &self,
        memory_bound: bool,
        tile: [(I, I); N],
        inside: &[(I, I); N],
        body: &F,
    ) where
        I: LoopInt,
        F: Fn(([(I, I); N], bool)),
    {
        if !CHECKED {
            self.errors.run_inside(|| {
                if W::SIMPLE && memory_bound {
                    self.call_memory_bound(body, (tile, true));
                } else {
                    self.call(body, (tile, true));
                }
            });
            return;
        }
        split_at_interior(tile, inside, |part, proven| {
            self.errors.run_inside(|| {
                // Constants, so that what is compiled has the checks or has them not.
                if proven {
                    self.call_interior(
                        #[inline(always)]
                        |part| body((part, true)),
                        part,
                    );
                } else {
                    self.call_by_value(
                        #[inline(always)]
                        |part| body((part, false)),
                        part,
                    );
                }
            });
        });
    }

    /// Whether bounds are beyond what any loop has, which is reported: then nothing may run. A launch
    /// looks at the bounds that it knows; those that the kernel computes are seen only here.
    #[inline(always)]
    #[track_caller]
    fn report_wrapped_bounds<I: LoopInt>(&self, bounds: &[(I, I)]) -> bool {
        let wide = |bound: I| Into::<Const>::into(bound).as_int().unwrap_or(0);
        let beyond = |&(begin, end): &(I, I)| wide(begin) < -MAX_BOUND || wide(end) > MAX_BOUND;
        let wrapped = bounds.iter().any(beyond);
        if wrapped {
            let mut counts = [0; 3];
            for (count, (begin, end)) in counts.iter_mut().zip(bounds) {
                *count = begin.steps(*end);
            }
            self.errors.report(ErrorKind::Bounds, Location::caller(), &counts[..bounds.len()]);
        }
        wrapped
    }

    /// A `stream_parallel` block, to be run by [`region`](Self::region).
    #[inline(always)]
    pub fn block<F: Fn() + Sync>(&self, body: F) -> Block<'_, 'b, L, F, CHECKED> {
        Block { cx: self, body }
    }

    /// Runs blocks side by side where that is worth it, else one after the other. `elements` is the
    /// size of the largest tensor and `weight` the cost of an iteration in all blocks, from which the
    /// cost of the blocks is guessed: their loops' extents are not known before they run.
    #[inline(always)]
    pub fn region(&self, blocks: &[&dyn Task], elements: usize, weight: u32) {
        run_region(blocks, elements as u64, weight);
    }
}

/// Calls `run` for the parts of a tile: what is around the interior, and last what is in it.
fn split_at_interior<I: LoopInt, const N: usize>(
    mut tile: [(I, I); N],
    inside: &[(I, I); N],
    run: impl Fn([(I, I); N], bool),
) {
    for k in 0..N {
        let (begin, end) = tile[k];
        let from = if inside[k].0 > begin { inside[k].0 } else { begin };
        let to = if inside[k].1 < end { inside[k].1 } else { end };
        if from >= to {
            return run(tile, false);
        }
        for (side, is_there) in [((begin, from), begin < from), ((to, end), to < end)] {
            if is_there {
                tile[k] = side;
                run(tile, false);
            }
        }
        tile[k] = (from, to);
    }
    run(tile, true);
}

impl<L: Level, F: Fn() + Sync, const CHECKED: bool> Task for Block<'_, '_, L, F, CHECKED> {
    fn run(&self) {
        self.cx.errors.run(|| {
            self.cx.call_by_value(
                #[inline(always)]
                |()| (self.body)(),
                (),
            );
        });
    }
}

fn run_region(blocks: &[&dyn Task], elements: u64, weight: u32) {
    if blocks.len() > 1 && pieces(elements, u64::MAX, weight) > 1 {
        pool::run(blocks.len(), true, &|k| blocks[k].run());
    } else {
        blocks.iter().for_each(|block| block.run());
    }
}

/// The iterations that a piece has a multiple of: whole strips, unless too few threads would get any.
fn piece_granularity(steps: u64, strip: u64) -> u64 {
    let busy = (pool::threads() as u64).min(steps);
    if steps.div_ceil(strip).saturating_mul(STRIP_SPEEDUP) < busy { 1 } else { strip }
}

/// How many pieces to cut a loop into; 1 where it is not worth handing over.
fn pieces(iterations: u64, most: u64, weight: u32) -> usize {
    let times_worth = iterations.saturating_mul(u64::from(weight)) / PARALLEL_MIN_COST;
    if times_worth == 0 {
        return 1;
    }
    match pool::threads() as u64 {
        1 => 1,
        threads => most
            .min(threads * times_worth.clamp(MIN_PIECES_PER_THREAD, MAX_PIECES_PER_THREAD))
            as usize,
    }
}

/// Whether a loop takes so long that it does not matter what waking others takes.
fn is_long(iterations: u64, weight: u32) -> bool {
    iterations.saturating_mul(u64::from(weight)) >= WAKE_MIN_COST
}

/// Into how many parts to cut each dimension for about `wanted` tiles: the outer ones first, so that
/// tiles walk whole rows where they can.
fn cuts<const N: usize>(steps: [u64; N], wanted: usize) -> [usize; N] {
    let mut missing = wanted as u64;
    let mut cuts = [1; N];
    for k in 0..N {
        let most = if k + 1 < N || N == 1 { steps[k] } else { steps[k].div_ceil(MIN_ROW_LEN) };
        let cut = most.min(missing).max(1);
        cuts[k] = cut as usize;
        missing = missing.div_ceil(cut);
    }
    cuts
}

/// The first step of a part and the one after its last.
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
    fn a_split_tile_is_covered_once_and_proven_in_the_interior_alone() {
        let count = |tile: [(i32, i32); 2], inside: [(i32, i32); 2]| {
            let mut times = [[[0u8; 2]; 8]; 8];
            let cells = std::cell::RefCell::new(&mut times);
            split_at_interior(tile, &inside, |part, proven| {
                for i in part[0].0..part[0].1 {
                    for j in part[1].0..part[1].1 {
                        cells.borrow_mut()[i as usize][j as usize][usize::from(proven)] += 1;
                    }
                }
            });
            times
        };
        for inside in [
            [(0, 0), (0, 0)],
            [(0, 8), (0, 8)],
            [(3, 5), (2, 7)],
            [(0, 4), (4, 4)],
            [(-9, 4), (6, 90)],
            [(7, 9), (0, 1)],
        ] {
            for tile in [[(0, 8), (0, 8)], [(1, 4), (2, 6)], [(6, 7), (7, 8)]] {
                let times = count(tile, inside);
                let within = |at: i32, (begin, end): (i32, i32)| begin <= at && at < end;
                for (i, j) in (0..64).map(|k| (k / 8, k % 8)) {
                    let in_tile = within(i, tile[0]) && within(j, tile[1]);
                    let proven = within(i, inside[0]) && within(j, inside[1]);
                    let expected = [u8::from(in_tile && !proven), u8::from(in_tile && proven)];
                    assert_eq!(times[i as usize][j as usize], expected, "{tile:?} {inside:?}");
                }
            }
        }
    }

    #[test]
    fn rows_stay_whole_where_there_are_enough() {
        assert_eq!(cuts([2048, 2048], 16), [16, 1]);
        assert_eq!(cuts([2, 1 << 20], 16), [2, 8]);
        assert_eq!(cuts([3, 5, 100], 16), [3, 5, 1]);
        assert_eq!(cuts([100], 16), [16]);
    }

    #[test]
    fn small_loops_stay_here() {
        assert_eq!(pieces(1000, 1000, 10), 1);
        assert!(pieces(1 << 30, 1 << 30, 10) <= pool::threads() * MAX_PIECES_PER_THREAD as usize);
    }
}
