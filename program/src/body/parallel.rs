//! Parallel loops and regions of a CPU body. What is compiled for each loop is here: its body, once for each way to
//! access tensors. [`chunking`](super::chunking) decides which iterations run where and how.

use std::{
    cell::Cell,
    ops::{Add, Mul, Range, Sub},
    panic::Location,
};

use quadrants_ir::{Const, abi::MAX_RANK};

pub use crate::dsl::LoopInt;

use super::{
    body_launch::LoopAt,
    check_mode::{CheckMode, Inspection},
    chunking::{self, ChunkId, ErasedRegionBlock, Loop, Mode},
    cx::Cx,
    level::{Level, Multiversioned},
    stepped_range::SteppedRange,
};
use crate::dsl::{IndexSpace, ndrange};

/// A `stream_parallel` block of a body. [`region`](Cx::region) runs it.
pub struct RegionBlock<'a, 'b, L, F> {
    cx: &'a Cx<'b, L>,
    body: F,
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
pub struct LightIterationCost(pub u32);

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

/// Arithmetic of estimated bounds. Integers wrap.
pub trait Estimate: Copy {
    /// `self + other`
    #[must_use]
    fn plus(self, other: Self) -> Self;
    /// `self - other`
    #[must_use]
    fn minus(self, other: Self) -> Self;
    /// `self * other`
    #[must_use]
    fn times(self, other: Self) -> Self;
    /// The lesser one.
    #[must_use]
    fn lesser(self, other: Self) -> Self;
    /// The greater one.
    #[must_use]
    fn greater(self, other: Self) -> Self;
}

macro_rules! estimate {
    ($add:ident $sub:ident $mul:ident: $($ty:ident)*) => {$(
        impl Estimate for $ty {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.$add(other)
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.$sub(other)
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.$mul(other)
            }
            #[inline(always)]
            fn lesser(self, other: Self) -> Self {
                if other < self { other } else { self }
            }
            #[inline(always)]
            fn greater(self, other: Self) -> Self {
                if other > self { other } else { self }
            }
        }
    )*};
}

estimate!(wrapping_add wrapping_sub wrapping_mul: i8 i16 i32 i64 isize u8 u16 u32 u64 usize);
estimate!(add sub mul: f32 f64);

/// The indices of a loop, for an estimate of its cost.
pub trait Middle {
    /// An index.
    type Index;

    /// The index in the middle, or the first one if there is none.
    fn middle(self) -> Self::Index;
}

impl<I: LoopInt> Middle for Range<I> {
    type Index = I;

    #[inline(always)]
    fn middle(self) -> I {
        self.start.forward(self.start.steps(self.end) / 2)
    }
}

impl<D: IndexSpace> Middle for ndrange<D> {
    type Index = D::Item;

    #[inline(always)]
    fn middle(self) -> D::Item {
        let mut at = [D::Int::ZERO; MAX_RANK];
        for (at, range) in at.iter_mut().zip(self.0.ranges().as_ref()) {
            *at = range.clone().middle();
        }
        D::item(&at)
    }
}

/// What the iterations of a loop that run together know.
#[derive(Clone, Copy, Debug)]
pub struct Chunk {
    /// The chunk of the loop. One thread runs a chunk, which may have several parts.
    pub(super) id: ChunkId,
    /// How the iterations access tensors.
    pub check_mode: CheckMode,
}

impl Weight for u32 {
    const SIMPLE: bool = false;

    #[inline(always)]
    fn cost(self) -> u32 {
        self
    }
}

impl Weight for LightIterationCost {
    const SIMPLE: bool = true;

    #[inline(always)]
    fn cost(self) -> u32 {
        self.0
    }
}

impl<'b, L: Level> Cx<'b, L> {
    /// A parallel loop over one variable.
    ///
    /// `body` receives a half-open range of iterations and their chunk, and runs them. `weight` is the cost of one
    /// iteration.
    #[inline(always)]
    #[track_caller]
    pub fn par_for<I, W: Weight, F>(&self, at: LoopAt, range: Range<I>, weight: W, body: F)
    where
        I: LoopInt,
        F: Fn(([(I, I); 1], Chunk)) + Sync,
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
        F: Fn(([(u64, u64); 1], Chunk)) + Sync,
    {
        let value = |nth| message_number(values.at(nth));
        self.range_loop(at, 0..values.len(), weight, 1, &value, body);
    }

    /// As [`par_for`](Self::par_for), for a `body` that runs `strip` iterations at a time: chunks are whole strips
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
        F: Fn(([(I, I); 1], Chunk)) + Sync,
    {
        self.range_loop(at, range, weight, strip, &message_number, body);
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
        value: &(dyn Fn(I) -> i64 + Sync),
        body: F,
    ) where
        I: LoopInt,
        F: Fn(([(I, I); 1], Chunk)) + Sync,
    {
        self.launch.run_range(
            strip as u64,
            &Loop {
                at,
                bounds: [(range.start, range.end)],
                weight: weight.cost(),
                little_work_per_iteration: W::SIMPLE,
                location: Location::caller(),
                value,
                run: &|part, id, mode| self.run_part::<W, _, _>(part, id, mode, &body),
            },
        );
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
        D: IndexSpace<Int = I, Ranges = [Range<I>; N]>,
        F: Fn(([(I, I); N], Chunk)) + Sync,
    {
        let ranges = space.0.ranges();
        self.launch.run_tiles(&Loop {
            at,
            bounds: std::array::from_fn(|k| (ranges[k].start, ranges[k].end)),
            weight: weight.cost(),
            little_work_per_iteration: W::SIMPLE,
            location: Location::caller(),
            value: &message_number,
            run: &|part, id, mode| self.run_part::<W, _, _>(part, id, mode, &body),
        });
    }

    /// Runs a part of a chunk on this thread, and returns `true`. With [`Mode::Inspect`], returns whether all its
    /// indices are in range.
    #[inline(always)]
    fn run_part<W: Weight, T, F>(&self, part: T, id: ChunkId, mode: Mode, body: &F) -> bool
    where
        F: Fn((T, Chunk)),
    {
        match mode {
            Mode::MemoryBound if W::SIMPLE => {
                // SAFETY: the level requires no instructions that `L` lacks, and the maker of `self` guarantees those.
                unsafe { L::MemoryBound::run::<F, _>(Unchecked(body, part, id)) }
            }
            Mode::Unchecked | Mode::MemoryBound => {
                self.run_at_level::<F, _>(Unchecked(body, part, id));
            }
            Mode::Checked => self.run_at_level::<F, _>(Checked(body, part, id)),
            Mode::Inspect => {
                let all_inside = Cell::new(false);
                self.run_at_level::<F, _>(Inspected(body, part, id, &all_inside));
                return all_inside.get();
            }
        }
        true
    }

    /// A `stream_parallel` block, to be run by [`region`](Self::region).
    #[inline(always)]
    pub fn block<F: Fn() + Sync>(&self, body: F) -> RegionBlock<'_, 'b, L, F> {
        RegionBlock { cx: self, body }
    }

    /// Runs the blocks of a region: concurrently if they are expensive enough, else one after the other. The cost is
    /// estimated from `elements`, the size of the largest tensor, and `weight`, the cost of one iteration of all blocks
    /// together, because the loops' extents are not known before the blocks run.
    #[inline(always)]
    pub fn region(&self, blocks: &[&dyn ErasedRegionBlock], elements: usize, weight: u32) {
        chunking::run_region(blocks, elements as u64, weight);
    }
}

/// What the code of a loop without checks is called with.
struct Unchecked<'a, F, T>(&'a F, T, ChunkId);

/// What the code of a loop with checks is called with.
struct Checked<'a, F, T>(&'a F, T, ChunkId);

/// What the inspection of a loop is called with. Its result is in the last field.
struct Inspected<'a, F, T>(&'a F, T, ChunkId, &'a Cell<bool>);

/// What the code of a block of a region is called with.
struct RegionBlockCode<'a, F>(&'a F);

// The check mode is a constant in each `code`, so that the loop is compiled once for each check mode.

impl<T, F: Fn((T, Chunk))> Multiversioned<Unchecked<'_, F, T>> for F {
    #[inline(always)]
    fn code(Unchecked(body, part, id): Unchecked<'_, F, T>) {
        body((part, Chunk { id, check_mode: CheckMode::Unchecked }));
    }
}

impl<T, F: Fn((T, Chunk))> Multiversioned<Checked<'_, F, T>> for F {
    #[inline(always)]
    fn code(Checked(body, part, id): Checked<'_, F, T>) {
        body((part, Chunk { id, check_mode: CheckMode::Checked }));
    }
}

impl<T, F: Fn((T, Chunk))> Multiversioned<Inspected<'_, F, T>> for F {
    #[inline(always)]
    fn code(Inspected(body, part, id, all_inside): Inspected<'_, F, T>) {
        all_inside.set(Inspection::run(
            #[inline(always)]
            |inspection| body((part, Chunk { id, check_mode: CheckMode::Inspect(inspection) })),
        ));
    }
}

impl<F: Fn()> Multiversioned<RegionBlockCode<'_, F>> for F {
    #[inline(always)]
    fn code(RegionBlockCode(body): RegionBlockCode<'_, F>) {
        body();
    }
}

/// The number by which messages name an iteration.
fn message_number(at: impl LoopInt) -> i64 {
    Into::<Const>::into(at).as_int().unwrap_or(0) as i64
}

impl<L: Level, F: Fn() + Sync> ErasedRegionBlock for RegionBlock<'_, '_, L, F> {
    fn run(&self) {
        let _printer = self.cx.launch.printer();
        self.cx
            .launch
            .errors
            .run(&mut || self.cx.run_at_level::<F, _>(RegionBlockCode(&self.body)));
    }
}
