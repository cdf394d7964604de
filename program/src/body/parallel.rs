//! Parallel loops and regions of a CPU body: whether they use the thread pool, and into how many pieces they are split.

use std::{cell::Cell, ops::Range, panic::Location};

use quadrants_ir::{Const, abi::MAX_BOUND};

pub use crate::dsl::LoopInt;

use super::{
    cx::Cx,
    failure::ErrorKind,
    level::Level,
    pool,
    print::Printer,
    stepped_range::SteppedRange,
    view::{Access, Inspection},
};
use crate::dsl::{IndexSpace, ndrange};

/// Loops of a lower cost run on the calling thread. The unit is a node of the syntax tree; a processor executes roughly
/// one to ten nodes per nanosecond. Giving work to another thread costs some microseconds.
const PARALLEL_MIN_COST: u64 = 1 << 18;

/// From this cost on, helper threads are woken at once: waking them takes less time than one piece of the loop.
const WAKE_MIN_COST: u64 = PARALLEL_MIN_COST << 5;

/// The number of pieces per thread of an expensive loop. Several, so that slow or late threads do not delay the others.
const MAX_PIECES_PER_THREAD: u64 = 8;

/// The number of pieces per thread of a loop that is just expensive enough for the pool.
const MIN_PIECES_PER_THREAD: u64 = 2;

/// A lower bound of the speedup of an iteration in a strip.
const STRIP_SPEEDUP: u64 = 4;

/// From this number of iterations on, a loop with little work per iteration is treated as memory-bound: its data
/// exceeds the second-level cache.
const MEMORY_BOUND_MIN_STEPS: u64 = 1 << 20;

/// Rows are not split into pieces shorter than this, because a vectorized loop needs some length.
const MIN_ROW_LEN: u64 = 1 << 10;

/// How many iterations are inspected before they run. The data of their indices stay in the L1 cache.
const INSPECTED_ITERATIONS: u64 = 1 << 10;

/// A `stream_parallel` block of a body. [`region`](Cx::region) runs it.
pub struct Block<'a, 'b, L, F> {
    cx: &'a Cx<'b, L>,
    body: F,
}

/// A [`Block`] with its type erased.
pub trait Task: Sync {
    /// Runs the block.
    fn run(&self);
}

/// The cost of one iteration of a loop, in nodes of the syntax tree.
pub trait Weight: Copy {
    /// Whether an iteration does so little that a long loop is memory-bound.
    const SIMPLE: bool;

    /// The cost.
    fn cost(self) -> u32;
}

/// The cost of an iteration with little work; a long loop of such iterations is memory-bound.
#[derive(Clone, Copy, Debug)]
pub struct Simple(pub u32);

/// The cost of an iteration: that of its code outside of inner loops, and those of inner loops.
#[inline(always)]
#[must_use]
pub fn total_cost(own: u32, loops: &[u32]) -> u32 {
    loops.iter().fold(own, |sum, cost| sum.saturating_add(*cost))
}

/// The cost of an inner loop, by its bounds and the cost of an iteration.
#[inline(always)]
#[must_use]
pub fn loop_cost<I: LoopInt>(start: I, end: I, iteration: u32) -> u32 {
    u32::try_from(start.steps(end)).unwrap_or(u32::MAX).saturating_mul(iteration)
}

/// The position of a loop among those of the kernel.
#[derive(Clone, Copy, Debug)]
pub struct LoopAt {
    /// The loop's number.
    pub(super) number: usize,
    /// Where its interior begins among the words of all interiors; none for a loop over thread blocks.
    pub(super) interior: Option<usize>,
}

impl LoopAt {
    /// The loop with this number, and where the words of its interior begin.
    #[inline(always)]
    #[must_use]
    pub const fn range(number: usize, interior: usize) -> Self {
        Self { number, interior: Some(interior) }
    }

    /// The loop over thread blocks with this number.
    #[inline(always)]
    #[must_use]
    pub const fn blocks(number: usize) -> Self {
        Self { number, interior: None }
    }
}

/// A range, and how it is split into pieces.
struct RangeSplit<I> {
    range: Range<I>,
    steps: u64,
    weight: u32,
    memory_bound: bool,
    /// The number of iterations of which pieces are multiples where possible.
    strip: u64,
}

/// The iterations of a loop that a launch has proven.
#[derive(Clone, Copy)]
pub(super) enum Proven<I, const N: usize> {
    All,
    Within {
        /// The proven iterations: a box.
        interior: [(I, I); N],
        /// Whether the others are inspected before they run.
        inspects: bool,
    },
}

/// What the iterations of a loop that run together know.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// The piece of the loop. One thread runs a piece, which may have several parts.
    pub(super) id: PieceId,
    /// How the iterations access tensors.
    pub access: Access,
}

/// A piece of a loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct PieceId {
    /// Its number, the same in identical launches.
    pub(super) number: usize,
    /// About how many iterations it has, in all parts.
    pub(super) iterations: u64,
}

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

impl<'b, L: Level> Cx<'b, L> {
    /// A parallel loop over one variable.
    ///
    /// `body` receives a half-open range of iterations and their piece, and runs them. `weight` is the cost of one
    /// iteration.
    #[inline(always)]
    #[track_caller]
    pub fn par_for<I, W: Weight, F>(&self, at: LoopAt, range: Range<I>, weight: W, body: F)
    where
        I: LoopInt,
        F: Fn(((I, I), Piece)) + Sync,
    {
        self.par_for_strips(at, range, weight, 1, body);
    }

    /// As [`par_for`](Self::par_for), over the positions of the values of a stepped range.
    #[inline(always)]
    #[track_caller]
    pub fn par_for_stepped<I: LoopInt, W: Weight, F>(
        &self,
        at: LoopAt,
        values: &SteppedRange<I>,
        weight: W,
        body: F,
    ) where
        F: Fn(((u64, u64), Piece)) + Sync,
    {
        let value = |nth| message_number(values.at(nth));
        self.range_loop(at, 0..values.len(), weight, 1, value, body);
    }

    /// As [`par_for`](Self::par_for), for a `body` that runs `strip` iterations at a time: pieces are whole strips
    /// where possible.
    #[inline(always)]
    #[track_caller]
    pub fn par_for_strips<I, W: Weight, F>(
        &self,
        at: LoopAt,
        range: Range<I>,
        weight: W,
        strip: usize,
        body: F,
    ) where
        I: LoopInt,
        F: Fn(((I, I), Piece)) + Sync,
    {
        self.range_loop(at, range, weight, strip, message_number, body);
    }

    /// A parallel loop over one variable. `value` gives the number of an iteration in messages.
    #[inline(always)]
    #[track_caller]
    fn range_loop<I, W: Weight, F>(
        &self,
        at: LoopAt,
        range: Range<I>,
        weight: W,
        strip: usize,
        value: impl Fn(I) -> i64 + Sync,
        body: F,
    ) where
        I: LoopInt,
        F: Fn(((I, I), Piece)) + Sync,
    {
        let (steps, weight) = (range.start.steps(range.end), weight.cost());
        let memory_bound = W::SIMPLE && steps >= MEMORY_BOUND_MIN_STEPS;
        if steps == 0 || self.report_wrapped_bounds(&[(range.start, range.end)]) {
            return;
        }
        let split = RangeSplit { range, steps, weight, memory_bound, strip: strip as u64 };
        self.range_pieces::<W, _, _>(
            at,
            &split,
            value,
            // An argument, so that it is inlined into the function of the instruction level.
            #[inline(always)]
            |([bounds], piece): ([(I, I); 1], Piece)| body((bounds, piece)),
        );
    }

    /// Runs the pieces of a range.
    #[inline(always)]
    fn range_pieces<W: Weight, I, F>(
        &self,
        at: LoopAt,
        split: &RangeSplit<I>,
        value: impl Fn(I) -> i64 + Sync,
        body: F,
    ) where
        I: LoopInt,
        F: Fn(([(I, I); 1], Piece)) + Sync,
    {
        let RangeSplit { ref range, steps, weight, memory_bound, strip } = *split;
        let proven = self.proven(at);
        let strip = piece_granularity(steps, strip);
        let pieces = pieces(steps, steps.div_ceil(strip), weight);
        if pieces <= 1 {
            let all = (PieceId { number: 0, iterations: steps }, [(range.start, range.end)]);
            self.tile::<W, _, _, 1>(memory_bound, all, &proven, &value, &body);
            return;
        }
        pool::run(pieces, is_long(steps, weight), &|piece| {
            let (from, to) = part(steps.div_ceil(strip), pieces, piece);
            let at = |strips: u64| range.start.forward(strips.saturating_mul(strip).min(steps));
            let bounds = [(at(from), at(to))];
            let piece = PieceId { number: piece, iterations: steps / pieces as u64 };
            self.errors.run(|| {
                self.tile::<W, _, _, 1>(memory_bound, (piece, bounds), &proven, &value, &body);
            });
        });
    }

    /// A parallel loop over `N` variables. `body` receives the bounds of a tile and runs its iterations row by row.
    /// Otherwise as [`par_for`](Self::par_for).
    #[inline(always)]
    #[track_caller]
    pub fn nd_for<D, I, W: Weight, F, const N: usize>(
        &self,
        at: LoopAt,
        space: ndrange<D>,
        weight: W,
        body: F,
    ) where
        I: LoopInt,
        D: IndexSpace<Int = I, Bounds = [Range<I>; N]>,
        F: Fn(([(I, I); N], Piece)) + Sync,
    {
        let weight = weight.cost();
        let bounds = space.0.bounds().map(|range| (range.start, range.end));
        let steps: [u64; N] = bounds.map(|(begin, end)| begin.steps(end));
        if steps.contains(&0) || self.report_wrapped_bounds(&bounds) {
            return;
        }
        let proven = self.proven(at);
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
            1 => {
                let value = &message_number;
                let piece = PieceId { number: 0, iterations: total };
                self.tile::<W, _, _, N>(memory_bound, (piece, tile(0)), &proven, value, &body);
            }
            pieces => pool::run(pieces, is_long(total, weight), &|piece| {
                let iterations = total / pieces as u64;
                let (id, value) = (PieceId { number: piece, iterations }, &message_number);
                let tile = (id, tile(piece));
                self.errors
                    .run(|| self.tile::<W, _, _, N>(memory_bound, tile, &proven, value, &body));
            }),
        }
    }

    /// Runs the iterations of a piece, a tile, on this thread, which is inside a body. If the kernel prints, one by
    /// one, with their numbers known to messages.
    #[inline(always)]
    fn tile<W: Weight, I, F, const N: usize>(
        &self,
        memory_bound: bool,
        (piece, tile): (PieceId, [(I, I); N]),
        proven: &Proven<I, N>,
        value: &impl Fn(I) -> i64,
        body: &F,
    ) where
        I: LoopInt,
        F: Fn(([(I, I); N], Piece)),
    {
        let _printer = self.printer();
        // One call, so that the loop's body is compiled once.
        let parts = if self.prints() { iterations(tile) } else { 1 };
        for number in 0..parts {
            let mut part = tile;
            if self.prints() {
                part = iteration(tile, number);
                Printer::move_to(&part.map(|(at, _)| value(at)));
            }
            self.split_tile::<W, _, _, N>(memory_bound, (piece, part), proven, body);
        }
    }

    /// Runs the iterations of a tile. Those that are proven run without checks, and the others with checks, slab by
    /// slab.
    #[inline(always)]
    fn split_tile<W: Weight, I, F, const N: usize>(
        &self,
        memory_bound: bool,
        (piece, tile): (PieceId, [(I, I); N]),
        proven: &Proven<I, N>,
        body: &F,
    ) where
        I: LoopInt,
        F: Fn(([(I, I); N], Piece)),
    {
        let inspects = matches!(proven, Proven::Within { inspects: true, .. });
        let run = |part, proven| {
            self.errors.run_inside(|| match proven {
                true => self.unchecked::<W, _, _>(memory_bound, piece, part, body),
                false if inspects => self.inspected::<W, _, _, N>(memory_bound, piece, part, body),
                false => self.checked(piece, part, body),
            });
        };
        match proven {
            Proven::All => run(tile, true),
            Proven::Within { interior, .. } => split_at_interior(tile, interior, run),
        }
    }

    /// Runs a part of a piece without checks.
    #[inline]
    fn unchecked<W: Weight, T, F>(&self, memory_bound: bool, id: PieceId, part: T, body: &F)
    where
        F: Fn((T, Piece)),
    {
        // The access is a constant in each closure, so that the loop is compiled once for each access.
        if W::SIMPLE && memory_bound {
            self.call_memory_bound(
                #[inline(always)]
                |(part, id)| body((part, Piece { id, access: Access::Unchecked })),
                (part, id),
            );
        } else {
            self.call_by_value(
                #[inline(always)]
                |(part, id)| body((part, Piece { id, access: Access::Unchecked })),
                (part, id),
            );
        }
    }

    /// Runs a part of a piece with checks.
    #[inline]
    fn checked<T, F: Fn((T, Piece))>(&self, id: PieceId, part: T, body: &F) {
        self.call_by_value(
            #[inline(always)]
            |(part, id)| body((part, Piece { id, access: Access::Checked })),
            (part, id),
        );
    }

    /// Runs a part of a piece, some iterations at a time: without checks, if an inspection shows that all indices are
    /// in range.
    #[inline]
    fn inspected<W: Weight, I, F, const N: usize>(
        &self,
        memory_bound: bool,
        id: PieceId,
        part: [(I, I); N],
        body: &F,
    ) where
        I: LoopInt,
        F: Fn(([(I, I); N], Piece)),
    {
        let all_inside = Cell::new(false);
        for_each_box(part, INSPECTED_ITERATIONS, |iterations| {
            self.call_by_value(
                #[inline(always)]
                |(part, id, all_inside): ([(I, I); N], PieceId, &Cell<bool>)| {
                    all_inside.set(Inspection::run(
                        #[inline(always)]
                        |inspection| {
                            let access = Access::Inspect(inspection);
                            body((part, Piece { id, access }));
                        },
                    ));
                },
                (iterations, id, &all_inside),
            );
            match all_inside.get() {
                true => self.unchecked::<W, _, _>(memory_bound, id, iterations, body),
                false => self.checked(id, iterations, body),
            }
        });
    }

    /// Reports loop bounds beyond ±`MAX_BOUND`, which result from a wrapped computation; then the loop must not run. A
    /// launch checks the bounds that the host knows; bounds that the kernel computes are checked only here.
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
    pub fn block<F: Fn() + Sync>(&self, body: F) -> Block<'_, 'b, L, F> {
        Block { cx: self, body }
    }

    /// Runs the blocks of a region: concurrently if they are expensive enough, else one after the other. The cost is
    /// estimated from `elements`, the size of the largest tensor, and `weight`, the cost of one iteration of all blocks
    /// together, because the loops' extents are not known before the blocks run.
    #[inline(always)]
    pub fn region(&self, blocks: &[&dyn Task], elements: usize, weight: u32) {
        run_region(blocks, elements as u64, weight);
    }
}

/// The number by which messages name an iteration.
fn message_number(at: impl LoopInt) -> i64 {
    Into::<Const>::into(at).as_int().unwrap_or(0) as i64
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
#[inline(always)]
fn for_each_box<I: LoopInt, const N: usize>(
    tile: [(I, I); N],
    most: u64,
    mut f: impl FnMut([(I, I); N]),
) {
    // A box has all steps of the dimensions after `cut`, some of `cut`, and one of those before it.
    let steps = tile.map(|(begin, end)| begin.steps(end));
    let (mut cut, mut inner) = (N - 1, 1u64);
    while cut > 0 && inner.saturating_mul(steps[cut]) <= most {
        inner *= steps[cut];
        cut -= 1;
    }
    let length = (most / inner).max(1);
    let rows: u64 = steps[..cut].iter().product();
    for row in 0..rows {
        let (mut part, mut rest) = (tile, row);
        for k in (0..cut).rev() {
            let at = tile[k].0.forward(rest % steps[k]);
            part[k] = (at, at.forward(1));
            rest /= steps[k];
        }
        let mut from = 0;
        while from < steps[cut] {
            let to = (from + length).min(steps[cut]);
            part[cut] = (tile[cut].0.forward(from), tile[cut].0.forward(to));
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

impl<L: Level, F: Fn() + Sync> Task for Block<'_, '_, L, F> {
    fn run(&self) {
        let _printer = self.cx.printer();
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

/// The number of iterations of which each piece is a multiple: one strip, or 1 if strips would leave too many threads
/// idle.
fn piece_granularity(steps: u64, strip: u64) -> u64 {
    let busy = (pool::threads() as u64).min(steps);
    if steps.div_ceil(strip).saturating_mul(STRIP_SPEEDUP) < busy { 1 } else { strip }
}

/// The number of pieces of a loop, at most `most`; 1 if the loop should run on the calling thread.
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

/// Whether a loop takes so long that the cost of waking threads does not matter.
fn is_long(iterations: u64, weight: u32) -> bool {
    iterations.saturating_mul(u64::from(weight)) >= WAKE_MIN_COST
}

/// The number of parts of each dimension, for about `wanted` tiles. Outer dimensions are split first, so that tiles
/// keep whole rows where possible.
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
        assert_eq!(cuts([2048, 2048], 16), [16, 1]);
        assert_eq!(cuts([2, 1 << 20], 16), [2, 8]);
        assert_eq!(cuts([3, 5, 100], 16), [3, 5, 1]);
        assert_eq!(cuts([100], 16), [16]);
    }

    #[test]
    fn small_loops_run_on_the_calling_thread() {
        assert_eq!(pieces(1000, 1000, 10), 1);
        assert!(pieces(1 << 30, 1 << 30, 10) <= pool::threads() * MAX_PIECES_PER_THREAD as usize);
    }
}
