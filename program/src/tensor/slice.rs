//! Tensors that borrow their elements: parts of other tensors, in their memory, and arrays of the host.
//!
//! A part, a range or row of the first axis, is a [`Tensor`] that shares its owner's buffer and stamps, and that borrows the owner: what is
//! read and written where is for the borrow checker to say. A kernel takes `&mut Tensor`, from which
//! [`std::mem::swap`] could take a writable one away and let it outlive its borrow. So such a tensor works
//! at one address alone, that of a box which nobody but its borrower reaches, and the box is not given
//! back unless the part is in it.

use std::{
    marker::PhantomData,
    mem::ManuallyDrop,
    ops::{Bound, Deref, DerefMut, RangeBounds},
};

use crate::{Error, KernelValue, Result, Tensor, tensor::count};

/// A part of a tensor, or an array of the host, to be read: as an argument, of kernels too, `&slice` is a
/// `&Tensor`, and so is `&*t.slice(..)?`.
#[derive(Debug)]
pub struct Slice<'a, T, const N: usize> {
    part: Tensor<T, N>,
    owner: PhantomData<&'a T>,
}

/// A part of a tensor, or an array of the host, to be read and written: as an argument, of kernels too,
/// `&mut slice` is a `&mut Tensor`, and so is `&mut *t.slice_mut(..)?`.
#[derive(Debug)]
pub struct SliceMut<'a, T, const N: usize> {
    part: ManuallyDrop<Box<Tensor<T, N>>>,
    owner: PhantomData<&'a mut T>,
}

impl<T: KernelValue, const N: usize> Tensor<T, N> {
    /// The part of the tensor within a range of its first axis.
    ///
    /// # Errors
    /// [`Error::Range`] where the tensor has no such range.
    ///
    /// # Examples
    /// ```
    /// # fn main() -> quadrants_program::Result<()> {
    /// # let device = quadrants_rhi_cpu::driver()?.open(0)?;
    /// # let opened = quadrants_program::Opened { device, compiler: None };
    /// # let prog = quadrants_program::Program::open(opened)?;
    /// let mut t = prog.tensor_from(&[1, 2, 3, 4, 5, 6], [3, 2])?;
    /// assert_eq!(t.slice(1..)?.shape(), [2, 2]);
    /// t.slice_mut(..1)?.fill(0)?;
    /// assert_eq!(t.row(0)?.to_vec()?, [0, 0]);
    /// assert_eq!(t.row(2)?.to_vec()?, [5, 6]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Slice<'_, T, N>> {
        let (begin, end) = self.within(range)?;
        Ok(Slice { part: self.rows(begin, end), owner: PhantomData })
    }

    /// The part of the tensor within a range of its first axis, to be written.
    ///
    /// # Errors
    /// [`Error::Range`] where the tensor has no such range.
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<SliceMut<'_, T, N>> {
        let (begin, end) = self.within(range)?;
        Ok(SliceMut::new(self.rows(begin, end)))
    }

    /// The parts of the tensor before and from `at` on its first axis, to be written side by side.
    ///
    /// # Errors
    /// [`Error::Range`] where `at` is beyond the axis.
    pub fn split_at_mut(&mut self, at: usize) -> Result<(SliceMut<'_, T, N>, SliceMut<'_, T, N>)> {
        let (_, end) = self.within(at..)?;
        Ok((SliceMut::new(self.rows(0, at)), SliceMut::new(self.rows(at, end))))
    }

    fn within(&self, range: impl RangeBounds<usize>) -> Result<(usize, usize)> {
        self.check_place()?;
        let shape = self.shape();
        let extent = shape.first().copied().unwrap_or(0);
        let begin = match range.start_bound() {
            Bound::Included(&at) => at,
            Bound::Excluded(&at) => at.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&at) => at.saturating_add(1),
            Bound::Excluded(&at) => at,
            Bound::Unbounded => extent,
        };
        if N == 0 || begin > end || end > extent {
            return Err(Error::Range { begin, end, shape: shape.to_vec() });
        }
        Ok((begin, end))
    }

    fn rows(&self, begin: usize, end: usize) -> Self {
        let mut shape = self.shape();
        let row = count(shape.get(1..).unwrap_or_default());
        if let Some(first) = shape.first_mut() {
            *first = end - begin;
        }
        self.part(begin * row, shape)
    }
}

macro_rules! rows {
    ($($rank:literal to $less:literal;)*) => {$(
        impl<T: KernelValue> Tensor<T, $rank> {
            /// The part of the tensor at one index of its first axis, one dimension less.
            ///
            /// # Errors
            /// [`Error::Range`] where the index is beyond the axis.
            pub fn row(&self, index: usize) -> Result<Slice<'_, T, $less>> {
                Ok(Slice { part: self.row_of(index)?, owner: PhantomData })
            }

            /// The part of the tensor at one index of its first axis, to be written.
            ///
            /// # Errors
            /// [`Error::Range`] where the index is beyond the axis.
            pub fn row_mut(&mut self, index: usize) -> Result<SliceMut<'_, T, $less>> {
                Ok(SliceMut::new(self.row_of(index)?))
            }

            fn row_of(&self, index: usize) -> Result<Tensor<T, $less>> {
                self.within(index..index.saturating_add(1))?;
                let [_, shape @ ..] = self.shape();
                Ok(self.part(index * count(&shape), shape))
            }
        }
    )*};
}

rows! {
    1 to 0;
    2 to 1;
    3 to 2;
    4 to 3;
    5 to 4;
    6 to 5;
}

impl<T, const N: usize> Slice<'_, T, N> {
    /// # Safety
    /// What the tensor stands for is borrowed as long as the result lives.
    pub(crate) unsafe fn borrowing(part: Tensor<T, N>) -> Self {
        Self { part, owner: PhantomData }
    }
}

impl<T, const N: usize> SliceMut<'_, T, N> {
    /// # Safety
    /// What the tensor stands for is borrowed, and by nobody else, as long as the result lives.
    pub(crate) unsafe fn borrowing(part: Tensor<T, N>) -> Self {
        Self::new(part)
    }

    fn new(part: Tensor<T, N>) -> Self {
        let mut part = Box::new(part);
        part.settle();
        Self { part: ManuallyDrop::new(part), owner: PhantomData }
    }
}

impl<T, const N: usize> Drop for SliceMut<'_, T, N> {
    fn drop(&mut self) {
        // Were the box given back without the part, another could be made at its address, and the part
        // moved into it.
        if self.part.is_home() {
            // SAFETY: dropped once, here, and not used after.
            unsafe { ManuallyDrop::drop(&mut self.part) }
        }
    }
}

impl<T, const N: usize> Deref for Slice<'_, T, N> {
    type Target = Tensor<T, N>;
    fn deref(&self) -> &Tensor<T, N> {
        &self.part
    }
}

impl<T, const N: usize> Deref for SliceMut<'_, T, N> {
    type Target = Tensor<T, N>;
    fn deref(&self) -> &Tensor<T, N> {
        &self.part
    }
}

impl<T, const N: usize> DerefMut for SliceMut<'_, T, N> {
    fn deref_mut(&mut self) -> &mut Tensor<T, N> {
        &mut self.part
    }
}
