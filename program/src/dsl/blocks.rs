//! Blocks of threads as a kernel's author writes them.

use std::ops::{Index, IndexMut};

use crate::Element;

/// Blocks of threads that share arrays: `block_for(blocks, threads, |b| { … })`, as a statement at the
/// top level of a kernel.
///
/// The closure says what one block does. What its threads do, they do in phases, [`Block::each`]: a
/// phase ends when all threads of the block have ended it, so that the next one sees what they wrote
/// into [shared arrays](Block::shared). Outside phases the threads of a block all do the same: they
/// compute, loop and read tensors, and write nothing. Different blocks are in no order at all.
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
/// }
/// ```
#[allow(non_camel_case_types)] // written as a function
#[derive(Debug)]
pub struct block_for<F: FnMut(Block)>(
    #[doc(hidden)] pub usize,
    #[doc(hidden)] pub usize,
    #[doc(hidden)] pub F,
);

/// One of the blocks of a [`block_for`].
#[derive(Clone, Copy, Debug)]
pub struct Block {
    index: usize,
    threads: usize,
}

/// An array that the threads of a block share.
#[derive(Clone, Debug)]
pub struct Shared<T> {
    elements: Vec<T>,
}

impl Block {
    /// The block's number, from 0.
    #[must_use]
    pub fn index(&self) -> usize {
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
    pub fn shared<T: Element>(&self, len: usize) -> Shared<T> {
        Shared { elements: vec![T::default(); len] }
    }

    /// A phase: `thread` for each number below [`threads`](Self::threads). All have ended before what
    /// follows.
    pub fn each(&self, thread: impl FnMut(usize)) {
        (0..self.threads).for_each(thread);
    }
}

impl<T> Shared<T> {
    /// How many elements there are.
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // kernels have `len` alone
    pub fn len(&self) -> usize {
        self.elements.len()
    }
}

impl<T> Index<usize> for Shared<T> {
    type Output = T;
    fn index(&self, index: usize) -> &T {
        &self.elements[index]
    }
}

impl<T> IndexMut<usize> for Shared<T> {
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
