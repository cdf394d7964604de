//! Thread blocks with shared memory: [`block_for`], [`Block`], [`SharedArray`] and block collectives.

use std::ops::{Index, IndexMut};

use super::{
    Grid,
    collective::{Contributions, PerThread},
};
use crate::{KernelValue, value::atomic::Combine};

/// A loop over thread blocks: `block_for(blocks, threads, |b| { … })`, as a statement at the top level of a kernel.
///
/// - `blocks` is the number of blocks, or an array of up to three numbers for a grid, outermost dimension first. The
///   block's index, [`Block::index`], has the same type.
/// - `threads` is the number of threads per block, from 1 to 1024. It must be a compile-time constant.
/// - The closure defines what one block does. Its threads run in *phases*, [`Block::each`]. A phase ends when all
///   threads of the block have finished it; the next phase sees what they wrote to [shared arrays](Block::shared). On a
///   GPU the end of a phase is a barrier.
/// - A phase can end with a collective, such as [`Block::reduce_add`].
/// - Outside of phases, all threads of a block execute the same statements: they may compute, loop and read tensors,
///   but not write.
/// - Different blocks run in no particular order and cannot communicate except by atomics.
///
/// On the CPU, one thread runs a block, and a phase is a loop over its threads.
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
/// }
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
///
/// It is a tuple struct for the same reason as [`stream_parallel`](super::stream_parallel).
#[allow(non_camel_case_types)] // written as a function
#[derive(Debug)]
pub struct block_for<G: Grid, F: FnMut(Block<G>)>(
    #[doc(hidden)] pub G,
    #[doc(hidden)] pub usize,
    #[doc(hidden)] pub F,
);

/// One thread block of a [`block_for`].
#[derive(Clone, Copy, Debug)]
pub struct Block<G = usize> {
    index: G,
    threads: usize,
}

/// An array in shared memory: the threads of one block read and write it, indexed by `t` or, in two dimensions, by `[i,
/// j]`.
#[derive(Clone, Debug)]
pub struct SharedArray<T, const N: usize = 1> {
    elements: Vec<T>,
    shape: [usize; N],
}

impl<G: Copy> Block<G> {
    /// The block's index, from 0; in a grid, one index per dimension.
    #[must_use]
    pub fn index(&self) -> G {
        self.index
    }

    /// The number of threads per block.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// A shared array of `len` zeros: of numbers, bools, or any other kernel values without enums.
    ///
    /// `len` must be known before the launch: constants, integer arguments and extents of tensors, and arithmetic on
    /// them. Arrays of constant lengths may have 48 KiB together. All arrays of a block together may have what the
    /// device has; a launch that needs more is [`Error::SharedMemory`](crate::Error::SharedMemory).
    #[must_use]
    pub fn shared<T: KernelValue>(&self, len: usize) -> SharedArray<T> {
        SharedArray { elements: vec![T::from_scalars(&mut || 0); len], shape: [len] }
    }

    /// A two-dimensional shared array of zeros, indexed by `tile[[i, j]]`. `shape` must be an array literal, with
    /// extents as for [`shared`](Self::shared).
    #[must_use]
    pub fn shared_2d<T: KernelValue>(&self, shape: [usize; 2]) -> SharedArray<T, 2> {
        let zero = T::from_scalars(&mut || 0);
        SharedArray { elements: vec![zero; shape[0] * shape[1]], shape }
    }

    /// A phase: runs `thread` for each thread number below [`threads`](Self::threads). All threads finish before the
    /// next statement.
    pub fn each(&self, thread: impl FnMut(usize)) {
        (0..self.threads).for_each(thread);
    }

    fn contributions<T>(&self, thread: impl FnMut(usize) -> T) -> Contributions<T> {
        Contributions::new(self.threads, thread)
    }
}

/// Block collectives: phases that end with an operation of the whole block, `let sum = b.reduce_add(|t| x[t]);`.
///
/// All threads of the block take part; the closure computes the value that thread `t` contributes. The result of a
/// reduction or vote is the same for all threads and can be used outside of phases too. The other collectives return a
/// [value per thread](PerThread), which later phases read at their own thread, `sums[t]`.
///
/// The order in which floats are combined is fixed and the same on every backend; [`quadrants_ir::collective`] defines
/// it. Integers wrap. Warps have 32 threads on every device; the last warp of a block may be shorter.
impl<G: Copy> Block<G> {
    /// The sum of all threads' values.
    #[must_use]
    pub fn reduce_add<T: Combine>(&self, thread: impl FnMut(usize) -> T) -> T {
        self.contributions(thread).reduce_add()
    }

    /// The smallest of all threads' values.
    #[must_use]
    pub fn reduce_min<T: Combine>(&self, thread: impl FnMut(usize) -> T) -> T {
        self.contributions(thread).reduce_min()
    }

    /// The largest of all threads' values.
    #[must_use]
    pub fn reduce_max<T: Combine>(&self, thread: impl FnMut(usize) -> T) -> T {
        self.contributions(thread).reduce_max()
    }

    /// Whether the value of all threads is true.
    #[must_use]
    pub fn all(&self, thread: impl FnMut(usize) -> bool) -> bool {
        self.contributions(thread).all()
    }

    /// Whether the value of any thread is true.
    #[must_use]
    pub fn any(&self, thread: impl FnMut(usize) -> bool) -> bool {
        self.contributions(thread).any()
    }

    /// Inclusive prefix sum: for each thread, the sum of the values of all threads up to and including it.
    #[must_use]
    pub fn scan_add<T: Combine>(&self, thread: impl FnMut(usize) -> T) -> PerThread<T> {
        self.contributions(thread).scan_add()
    }

    /// Inclusive prefix minimum: for each thread, the smallest value of all threads up to and including it.
    #[must_use]
    pub fn scan_min<T: Combine>(&self, thread: impl FnMut(usize) -> T) -> PerThread<T> {
        self.contributions(thread).scan_min()
    }

    /// Inclusive prefix maximum: for each thread, the largest value of all threads up to and including it.
    #[must_use]
    pub fn scan_max<T: Combine>(&self, thread: impl FnMut(usize) -> T) -> PerThread<T> {
        self.contributions(thread).scan_max()
    }

    /// Exclusive prefix sum: for each thread, the sum of the values of all threads before it; 0 for the first.
    #[must_use]
    pub fn exclusive_scan_add<T: Combine>(&self, thread: impl FnMut(usize) -> T) -> PerThread<T> {
        self.contributions(thread).exclusive_scan_add()
    }

    /// Exclusive prefix minimum: for each thread, the smallest value of all threads before it. For the first thread,
    /// the type's largest number (infinity for floats).
    #[must_use]
    pub fn exclusive_scan_min<T: Combine>(&self, thread: impl FnMut(usize) -> T) -> PerThread<T> {
        self.contributions(thread).exclusive_scan_min()
    }

    /// Exclusive prefix maximum: for each thread, the largest value of all threads before it. For the first thread, the
    /// type's smallest number (minus infinity for floats).
    #[must_use]
    pub fn exclusive_scan_max<T: Combine>(&self, thread: impl FnMut(usize) -> T) -> PerThread<T> {
        self.contributions(thread).exclusive_scan_max()
    }

    /// Each thread contributes a value and the lane (0 to 31) of its warp from which it reads one. If there is no such
    /// lane, the thread gets its own value.
    #[must_use]
    pub fn shuffle<T: Copy>(&self, thread: impl FnMut(usize) -> (T, usize)) -> PerThread<T> {
        self.contributions(thread).shuffle()
    }

    /// For each thread, the value of the lane of its warp whose number differs in the bits of `mask`; its own if there
    /// is no such lane.
    #[must_use]
    pub fn shuffle_xor<T: Copy>(
        &self,
        thread: impl FnMut(usize) -> T,
        mask: usize,
    ) -> PerThread<T> {
        self.contributions(thread).shuffle_xor(mask)
    }

    /// For each thread, the value of the lane `by` lower in its warp; its own if there is no such lane.
    #[must_use]
    pub fn shuffle_up<T: Copy>(&self, thread: impl FnMut(usize) -> T, by: usize) -> PerThread<T> {
        self.contributions(thread).shuffle_up(by)
    }

    /// For each thread, the value of the lane `by` higher in its warp; its own if there is no such lane.
    #[must_use]
    pub fn shuffle_down<T: Copy>(&self, thread: impl FnMut(usize) -> T, by: usize) -> PerThread<T> {
        self.contributions(thread).shuffle_down(by)
    }

    /// For each thread, a bit mask of the lanes of its warp whose value is true.
    #[must_use]
    pub fn ballot(&self, thread: impl FnMut(usize) -> bool) -> PerThread<u32> {
        self.contributions(thread).ballot()
    }
}

impl<T, const N: usize> SharedArray<T, N> {
    /// The number of elements.
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // kernels have `len` only
    pub fn len(&self) -> usize {
        self.elements.len()
    }

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
    fn phases_run_one_after_another() {
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
