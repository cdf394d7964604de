//! Slices along any axis: tensors that share the elements of another one, with the distances between them.
//!
//! Each element of such a slice is that of one index of the slice only: ranges, every n-th index, single indices and
//! other orders of the axes map different indices to different elements. The race check relies on that.

use std::ops::RangeBounds;

use super::slice::{Slice, SliceMut, ends};
use crate::{Error, KernelValue, Result, Tensor, ViewProblem};

impl<T: KernelValue, const N: usize> Tensor<T, N> {
    /// The slice of a range of an axis; axes are counted from 0. It shares the elements with this tensor and copies
    /// none. Unless the axis is the first one, the slice usually is not [contiguous](Self::is_contiguous).
    ///
    /// As a kernel argument, a slice that is not contiguous is like any other tensor. On GPUs, a kernel is compiled
    /// once more for each set of parameters that get such slices. On the CPU, a launch works on a copy of the slice,
    /// and copies it back if the kernel may write it.
    ///
    /// # Errors
    /// [`Error::View`] where there is no such axis, or the range is not inside it.
    ///
    /// # Examples
    /// ```
    /// # fn main() -> quadrants_program::Result<()> {
    /// # let device = quadrants_rhi_cpu::driver()?.open(0)?;
    /// # let opened = quadrants_program::Opened { device, compiler: None };
    /// # let prog = quadrants_program::Program::open(opened)?;
    /// let mut t = prog.tensor_from(&[1, 2, 3, 4, 5, 6], [2, 3])?;
    /// assert_eq!(t.slice_axis(1, 1..)?.to_vec()?, [2, 3, 5, 6]);
    /// assert_eq!(t.index_axis(1, 2)?.to_vec()?, [3, 6]);
    /// t.index_axis_mut(1, 0)?.fill(0)?;
    /// assert_eq!(t.to_vec()?, [0, 2, 3, 0, 5, 6]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn slice_axis(
        &self,
        axis: usize,
        range: impl RangeBounds<usize>,
    ) -> Result<Slice<'_, T, N>> {
        let (begin, end) = self.range_along(axis, range)?;
        Ok(self.view(self.along(axis, begin, end)))
    }

    /// The mutable slice of a range of an axis.
    ///
    /// # Errors
    /// As for [`slice_axis`](Self::slice_axis).
    pub fn slice_axis_mut(
        &mut self,
        axis: usize,
        range: impl RangeBounds<usize>,
    ) -> Result<SliceMut<'_, T, N>> {
        let (begin, end) = self.range_along(axis, range)?;
        Ok(SliceMut::new(self.along(axis, begin, end)))
    }

    /// The mutable slices before and from `at` on an axis: the left and the right part of a matrix, for example.
    ///
    /// # Errors
    /// [`Error::View`] where there is no such axis, or `at` is greater than its extent.
    ///
    /// # Examples
    /// ```
    /// # fn main() -> quadrants_program::Result<()> {
    /// # let device = quadrants_rhi_cpu::driver()?.open(0)?;
    /// # let opened = quadrants_program::Opened { device, compiler: None };
    /// # let prog = quadrants_program::Program::open(opened)?;
    /// let mut t = prog.zeros::<i32, 2>([2, 3])?;
    /// let (mut left, mut right) = t.split_axis_at_mut(1, 1)?;
    /// left.fill(1)?;
    /// right.fill(2)?;
    /// drop((left, right));
    /// assert_eq!(t.to_vec()?, [1, 2, 2, 1, 2, 2]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn split_axis_at_mut(
        &mut self,
        axis: usize,
        at: usize,
    ) -> Result<(SliceMut<'_, T, N>, SliceMut<'_, T, N>)> {
        let (_, end) = self.range_along(axis, at..)?;
        Ok((SliceMut::new(self.along(axis, 0, at)), SliceMut::new(self.along(axis, at, end))))
    }

    /// The slice of every `step`-th index of an axis, from index 0 on. Take a [range](Self::slice_axis) first to begin
    /// elsewhere.
    ///
    /// # Errors
    /// [`Error::View`] where there is no such axis, or `step` is 0.
    ///
    /// # Examples
    /// ```
    /// # fn main() -> quadrants_program::Result<()> {
    /// # let device = quadrants_rhi_cpu::driver()?.open(0)?;
    /// # let opened = quadrants_program::Opened { device, compiler: None };
    /// # let prog = quadrants_program::Program::open(opened)?;
    /// let t = prog.tensor_from(&[0, 1, 2, 3, 4, 5, 6], [7])?;
    /// assert_eq!(t.every(0, 3)?.to_vec()?, [0, 3, 6]);
    /// assert_eq!(t.slice(1..)?.every(0, 3)?.to_vec()?, [1, 4]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn every(&self, axis: usize, step: usize) -> Result<Slice<'_, T, N>> {
        Ok(self.view(self.stepped(axis, step)?))
    }

    /// The mutable slice of every `step`-th index of an axis.
    ///
    /// # Errors
    /// As for [`every`](Self::every).
    pub fn every_mut(&mut self, axis: usize, step: usize) -> Result<SliceMut<'_, T, N>> {
        Ok(SliceMut::new(self.stepped(axis, step)?))
    }

    /// The elements with the axes in another order: axis `i` is axis `axes[i]` of this tensor.
    ///
    /// # Errors
    /// [`Error::View`] where `axes` does not name each axis once.
    ///
    /// # Examples
    /// ```
    /// # fn main() -> quadrants_program::Result<()> {
    /// # let device = quadrants_rhi_cpu::driver()?.open(0)?;
    /// # let opened = quadrants_program::Opened { device, compiler: None };
    /// # let prog = quadrants_program::Program::open(opened)?;
    /// let t = prog.zeros::<f32, 3>([2, 3, 4])?;
    /// assert_eq!(t.permuted_axes([2, 0, 1])?.shape(), [4, 2, 3]);
    /// assert_eq!(t.transposed()?.shape(), [4, 3, 2]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn permuted_axes(&self, axes: [usize; N]) -> Result<Slice<'_, T, N>> {
        Ok(self.view(self.permuted(axes)?))
    }

    /// The elements with the axes in another order, for reading and writing.
    ///
    /// # Errors
    /// As for [`permuted_axes`](Self::permuted_axes).
    pub fn permuted_axes_mut(&mut self, axes: [usize; N]) -> Result<SliceMut<'_, T, N>> {
        Ok(SliceMut::new(self.permuted(axes)?))
    }

    /// The elements with the axes in reverse order: the transposed matrix.
    ///
    /// # Errors
    /// [`Error::MovedSlice`]
    pub fn transposed(&self) -> Result<Slice<'_, T, N>> {
        self.permuted_axes(reversed())
    }

    /// The elements with the axes in reverse order, for reading and writing.
    ///
    /// # Errors
    /// [`Error::MovedSlice`]
    pub fn transposed_mut(&mut self) -> Result<SliceMut<'_, T, N>> {
        self.permuted_axes_mut(reversed())
    }

    /// A slice that borrows this tensor.
    pub(super) fn view<const M: usize>(&self, part: Tensor<T, M>) -> Slice<'_, T, M> {
        // SAFETY: the elements of a part are those of this tensor, which the result borrows.
        unsafe { Slice::borrowing(part) }
    }

    fn check_axis(&self, axis: usize) -> Result<()> {
        self.check_address()?;
        if axis < N {
            return Ok(());
        }
        Err(Error::View(ViewProblem::NoAxis { axis, shape: self.shape().to_vec() }))
    }

    pub(super) fn range_along(
        &self,
        axis: usize,
        range: impl RangeBounds<usize>,
    ) -> Result<(usize, usize)> {
        self.check_axis(axis)?;
        let shape = self.shape();
        let (begin, end) = ends(range, shape[axis]);
        if begin > end || end > shape[axis] {
            let shape = shape.to_vec();
            return Err(Error::View(ViewProblem::Range { axis, begin, end, shape }));
        }
        Ok((begin, end))
    }

    /// The part from index `begin` of an axis up to `end`, which is inside.
    pub(super) fn along(&self, axis: usize, begin: usize, end: usize) -> Self {
        let (mut shape, strides) = (self.shape(), self.strides());
        shape[axis] = end - begin;
        self.part(begin.wrapping_mul(strides[axis]), shape, strides)
    }

    fn stepped(&self, axis: usize, step: usize) -> Result<Self> {
        self.check_axis(axis)?;
        if step == 0 {
            return Err(Error::View(ViewProblem::NoStep { axis }));
        }
        let (mut shape, mut strides) = (self.shape(), self.strides());
        shape[axis] = shape[axis].div_ceil(step);
        // Wraps only where the axis has one index or none, so that its stride has no meaning.
        strides[axis] = strides[axis].wrapping_mul(step);
        Ok(self.part(0, shape, strides))
    }

    fn permuted(&self, axes: [usize; N]) -> Result<Self> {
        self.check_address()?;
        let (shape, strides) = (self.shape(), self.strides());
        if !(0..N).all(|axis| axes.contains(&axis)) {
            let (axes, shape) = (axes.to_vec(), shape.to_vec());
            return Err(Error::View(ViewProblem::Permutation { axes, shape }));
        }
        Ok(self.part(0, axes.map(|axis| shape[axis]), axes.map(|axis| strides[axis])))
    }
}

/// The axes in reverse order.
fn reversed<const N: usize>() -> [usize; N] {
    std::array::from_fn(|axis| N - 1 - axis)
}
