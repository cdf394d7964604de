//! Blocks of threads as a kernel's author writes them.

use std::ops::{Index, IndexMut};

pub use crate::body::PerThread;

use super::AtomicAdd;
use crate::{Element, body::Contributions};

/// Blocks of threads that share arrays: `block_for(blocks, threads, |b| { … })`, as a statement at the
/// top level of a kernel.
///
/// The closure says what one block does. What its threads do, they do in phases, [`Block::each`]: a
/// phase ends when all threads of the block have ended it, so that the next one sees what they wrote
/// into [shared arrays](Block::shared). At the end of a phase threads can exchange values, as in
/// [`Block::reduce_add`]. Outside phases the threads of a block all do the same: they
/// compute, loop and read tensors, and write nothing. Different blocks are in no order at all.
///
/// Blocks are counted by one number, or by an array of up to three for a grid of them, outermost dimension first, and
/// the number of a block, [`Block::index`], is what they are counted by.
///
/// `threads` is made of literals and constants, from 1 to 1024. On a GPU a block is a block, and the end
/// of a phase a barrier; the CPU runs a phase as a loop. A tuple struct for the reason that
/// [`stream_parallel`](super::stream_parallel) is one.
///
/// # Examples
/// ```text
/// #[qd::kernel]
/// fn reverse_tiles(x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
///     qd::block_for(x.len() / 256, 256, |b| {
///         let mut tile = b.shared::<f32>(256);
///         b.each(|t| tile[t] = x[b.index() * 256 + t]);
///         b.each(|t| y[b.index() * 256 + t] = tile[255 - t]);
///     });
///
/// #[qd::kernel]
/// fn transpose(x: &Tensor<f32, 2>, y: &mut Tensor<f32, 2>) {
///     let [h, w] = x.shape();
///     qd::block_for([h / 16, w / 16], 256, |b| {
///         let [i, j] = b.index();
///         let mut tile = b.shared_2d::<f32>([16, 17]);
///         b.each(|t| tile[[t / 16, t % 16]] = x[[i * 16 + t / 16, j * 16 + t % 16]]);
///         b.each(|t| y[[j * 16 + t / 16, i * 16 + t % 16]] = tile[[t % 16, t / 16]]);
///     });
/// }
/// ```
#[allow(non_camel_case_types)] // written as a function
#[derive(Debug)]
pub struct block_for<G: Grid, F: FnMut(Block<G>)>(
    #[doc(hidden)] pub G,
    #[doc(hidden)] pub usize,
    #[doc(hidden)] pub F,
);

/// What counts the blocks of a [`block_for`], and what the number of one of them is: a `usize`, or an array of one for
/// each dimension of their grid.
#[diagnostic::on_unimplemented(
    message = "blocks of threads are counted by a `usize` or by an array of up to three, not by `{Self}`",
    label = "no number of blocks"
)]
pub trait Grid: Copy {}

impl Grid for usize {}

impl<const N: usize> Grid for [usize; N] {}

/// One of the blocks of a [`block_for`].
#[derive(Clone, Copy, Debug)]
pub struct Block<G = usize> {
    index: G,
    threads: usize,
}

/// An array that the threads of a block share.
#[derive(Clone, Debug)]
pub struct SharedArray<T, const N: usize = 1> {
    elements: Vec<T>,
    shape: [usize; N],
}

impl<G: Copy> Block<G> {
    /// The block's number, from 0; in a grid its numbers, one for each dimension.
    #[must_use]
    pub fn index(&self) -> G {
        self.index
    }

    /// How many threads each block has.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// An array of `len` zeros that the block's threads share, a constant; of all a block's arrays
    /// together, 48 KiB.
    #[must_use]
    pub fn shared<T: Element>(&self, len: usize) -> SharedArray<T> {
        SharedArray { elements: vec![T::default(); len], shape: [len] }
    }

    /// The same in rows and columns, `tile[[i, j]]`, as an array literal of constants.
    #[must_use]
    pub fn shared_2d<T: Element>(&self, shape: [usize; 2]) -> SharedArray<T, 2> {
        SharedArray { elements: vec![T::default(); shape[0] * shape[1]], shape }
    }

    /// A phase: `thread` for each number below [`threads`](Self::threads). All have ended before what
    /// follows.
    pub fn each(&self, thread: impl FnMut(usize)) {
        (0..self.threads).for_each(thread);
    }

    fn contributions<T>(&self, thread: impl FnMut(usize) -> T) -> Contributions<T> {
        let mut contributions = Contributions::new(self.threads);
        (0..self.threads).map(thread).for_each(|value| contributions.push(value));
        contributions
    }
}

/// Phases whose threads exchange what they give at their end, `let sum = b.reduce_add(|t| x[t]);`.
///
/// All threads of the block take part; a phase like any other computes the values. What comes of a reduction is
/// the same for all threads, and known outside phases too. What comes of the others is a
/// [value per thread](PerThread), which later phases read at their own thread, `sums[t]`.
///
/// The order in which floats are combined is fixed, and the same on every backend:
/// [`quadrants_ir::collective`] says which. Integers wrap. A block's threads are in warps of 32, the last of which
/// may be shorter, whatever the device's own are.
impl<G: Copy> Block<G> {
    /// The sum of what all threads give.
    #[must_use]
    pub fn reduce_add<T: Combine>(&self, thread: impl FnMut(usize) -> T) -> T {
        self.contributions(thread).reduce_add()
    }

    /// The smallest of what all threads give.
    #[must_use]
    pub fn reduce_min<T: Combine>(&self, thread: impl FnMut(usize) -> T) -> T {
        self.contributions(thread).reduce_min()
    }

    /// The largest of what all threads give.
    #[must_use]
    pub fn reduce_max<T: Combine>(&self, thread: impl FnMut(usize) -> T) -> T {
        self.contributions(thread).reduce_max()
    }

    /// Whether all threads give true.
    #[must_use]
    pub fn all(&self, thread: impl FnMut(usize) -> bool) -> bool {
        self.contributions(thread).all()
    }

    /// Whether any thread gives true.
    #[must_use]
    pub fn any(&self, thread: impl FnMut(usize) -> bool) -> bool {
        self.contributions(thread).any()
    }

    /// For each thread, the sum of what the threads up to it give, its own included.
    #[must_use]
    pub fn scan_add<T: Combine>(&self, thread: impl FnMut(usize) -> T) -> PerThread<T> {
        self.contributions(thread).scan_add()
    }

    /// For each thread, the smallest of what the threads up to it give, its own included.
    #[must_use]
    pub fn scan_min<T: Combine>(&self, thread: impl FnMut(usize) -> T) -> PerThread<T> {
        self.contributions(thread).scan_min()
    }

    /// For each thread, the largest of what the threads up to it give, its own included.
    #[must_use]
    pub fn scan_max<T: Combine>(&self, thread: impl FnMut(usize) -> T) -> PerThread<T> {
        self.contributions(thread).scan_max()
    }

    /// For each thread, the sum of what the threads before it give; 0 for the first.
    #[must_use]
    pub fn exclusive_scan_add<T: Combine>(&self, thread: impl FnMut(usize) -> T) -> PerThread<T> {
        self.contributions(thread).exclusive_scan_add()
    }

    /// For each thread, the smallest of what the threads before it give; for the first, the largest number of the
    /// type (infinity).
    #[must_use]
    pub fn exclusive_scan_min<T: Combine>(&self, thread: impl FnMut(usize) -> T) -> PerThread<T> {
        self.contributions(thread).exclusive_scan_min()
    }

    /// For each thread, the largest of what the threads before it give; for the first, the smallest number of the
    /// type (minus infinity).
    #[must_use]
    pub fn exclusive_scan_max<T: Combine>(&self, thread: impl FnMut(usize) -> T) -> PerThread<T> {
        self.contributions(thread).exclusive_scan_max()
    }

    /// Each thread gives a value, and the number below 32 of the thread of its warp that it takes one from: itself
    /// where there is no such thread.
    #[must_use]
    pub fn shuffle<T: Copy>(&self, thread: impl FnMut(usize) -> (T, usize)) -> PerThread<T> {
        self.contributions(thread).shuffle()
    }

    /// For each thread, what the thread of its warp gives whose number differs in the bits of `mask`: itself where
    /// there is no such thread.
    #[must_use]
    pub fn shuffle_xor<T: Copy>(
        &self,
        thread: impl FnMut(usize) -> T,
        mask: usize,
    ) -> PerThread<T> {
        self.contributions(thread).shuffle_xor(mask)
    }

    /// For each thread, what the thread `by` before it in its warp gives; itself where there is no such thread.
    #[must_use]
    pub fn shuffle_up<T: Copy>(&self, thread: impl FnMut(usize) -> T, by: usize) -> PerThread<T> {
        self.contributions(thread).shuffle_up(by)
    }

    /// For each thread, what the thread `by` behind it in its warp gives; itself where there is no such thread.
    #[must_use]
    pub fn shuffle_down<T: Copy>(&self, thread: impl FnMut(usize) -> T, by: usize) -> PerThread<T> {
        self.contributions(thread).shuffle_down(by)
    }

    /// For each thread, the threads of its warp that give true, as bits.
    #[must_use]
    pub fn ballot(&self, thread: impl FnMut(usize) -> bool) -> PerThread<u32> {
        self.contributions(thread).ballot()
    }
}

/// A type whose values the threads of a block combine.
#[diagnostic::on_unimplemented(
    message = "the threads of a block cannot combine values of `{Self}`",
    note = "they combine numbers of 32 and 64 bits"
)]
pub trait Combine: AtomicAdd {
    #[doc(hidden)]
    const ZERO: Self;
    #[doc(hidden)]
    const SMALLEST: Self;
    #[doc(hidden)]
    const LARGEST: Self;
    #[doc(hidden)]
    fn smaller(self, other: Self) -> Self;
    #[doc(hidden)]
    fn larger(self, other: Self) -> Self;
}

macro_rules! combine {
    ($($ty:ty, $zero:literal, $smallest:expr, $largest:expr;)*) => {$(
        impl Combine for $ty {
            const ZERO: Self = $zero;
            const SMALLEST: Self = $smallest;
            const LARGEST: Self = $largest;
            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                self.min(other)
            }
            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                self.max(other)
            }
        }
    )*};
}

combine! {
    i32, 0, Self::MIN, Self::MAX;
    i64, 0, Self::MIN, Self::MAX;
    u32, 0, Self::MIN, Self::MAX;
    u64, 0, Self::MIN, Self::MAX;
    usize, 0, Self::MIN, Self::MAX;
    f32, 0.0, Self::NEG_INFINITY, Self::INFINITY;
    f64, 0.0, Self::NEG_INFINITY, Self::INFINITY;
}

impl<T, const N: usize> SharedArray<T, N> {
    /// How many elements there are.
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // kernels have `len` alone
    pub fn len(&self) -> usize {
        self.elements.len()
    }
}

impl<T, const N: usize> SharedArray<T, N> {
    fn at(&self, index: [usize; N]) -> usize {
        index.iter().zip(self.shape).fold(0, |at, (index, extent)| at * extent + index)
    }
}

impl<T> Index<[usize; 2]> for SharedArray<T, 2> {
    type Output = T;
    fn index(&self, index: [usize; 2]) -> &T {
        &self.elements[self.at(index)]
    }
}

impl<T> IndexMut<[usize; 2]> for SharedArray<T, 2> {
    fn index_mut(&mut self, index: [usize; 2]) -> &mut T {
        let at = self.at(index);
        &mut self.elements[at]
    }
}

impl<T> Index<usize> for SharedArray<T> {
    type Output = T;
    fn index(&self, index: usize) -> &T {
        &self.elements[index]
    }
}

impl<T> IndexMut<usize> for SharedArray<T> {
    fn index_mut(&mut self, index: usize) -> &mut T {
        &mut self.elements[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_run_one_after_the_other() {
        let mut out = Vec::new();
        let block_for(blocks, threads, mut body) = block_for(2, 4, |b: Block| {
            let mut tile = b.shared::<usize>(4);
            b.each(|t| tile[t] = b.index() * 10 + t);
            b.each(|t| out.push(tile[tile.len() - 1 - t]));
        });
        (0..blocks).for_each(|index| body(Block { index, threads }));
        assert_eq!(out, [3, 2, 1, 0, 13, 12, 11, 10]);
    }
}
