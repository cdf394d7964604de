//! Slices: tensors that borrow their elements from other tensors or from host arrays.
//!
//! A slice, a part of a tensor along its axes, contains a [`Tensor`] that shares its owner's buffer and stamps, and
//! borrows the owner, so that the borrow checker rules out conflicting use. Kernels take `&mut Tensor`, from which
//! [`std::mem::swap`] could move the tensor out of a [`SliceMut`] and let it outlive its borrow. So such a tensor can
//! only be used at one address, that of a box which only the slice reaches; and the box is not freed unless the tensor
//! is in it.

use std::{
    marker::PhantomData,
    mem::ManuallyDrop,
    ops::{Bound, Deref, DerefMut, RangeBounds},
};

use crate::{Error, KernelValue, Result, Tensor, value::strided::row_major};

/// A slice of a tensor, or a host array, for reading. `&slice` is a `&Tensor`, also as a kernel argument; so is
/// `&*t.slice(..)?`.
#[derive(Debug)]
pub struct Slice<'a, T, const N: usize> {
    tensor: Tensor<T, N>,
    owner: PhantomData<&'a T>,
}

/// A slice of a tensor, or a host array, for reading and writing. `&mut slice` is a `&mut Tensor`, also as a kernel
/// argument; so is `&mut *t.slice_mut(..)?`.
#[derive(Debug)]
pub struct SliceMut<'a, T, const N: usize> {
    tensor: ManuallyDrop<Box<Tensor<T, N>>>,
    owner: PhantomData<&'a mut T>,
}

impl<T: KernelValue, const N: usize> Tensor<T, N> {
    /// The slice of a range of the first axis.
    ///
    /// # Errors
    /// [`Error::Range`] where the range is not inside the axis.
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
        let (begin, end) = self.range_of(range)?;
        Ok(self.view(self.rows(begin, end)))
    }

    /// The mutable slice of a range of the first axis.
    ///
    /// # Errors
    /// [`Error::Range`] where the range is not inside the axis.
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<SliceMut<'_, T, N>> {
        let (begin, end) = self.range_of(range)?;
        Ok(SliceMut::new(self.rows(begin, end)))
    }

    /// The mutable slices before and from `at` on the first axis.
    ///
    /// # Errors
    /// [`Error::Range`] where `at` is greater than the axis' extent.
    pub fn split_at_mut(&mut self, at: usize) -> Result<(SliceMut<'_, T, N>, SliceMut<'_, T, N>)> {
        let (_, end) = self.range_of(at..)?;
        Ok((SliceMut::new(self.rows(0, at)), SliceMut::new(self.rows(at, end))))
    }

    /// The same elements with another shape.
    ///
    /// # Errors
    /// [`Error::Shape`] where the number of elements is another one; [`Error::View`] where the tensor is not
    /// [contiguous](Self::is_contiguous).
    ///
    /// # Examples
    /// ```
    /// # fn main() -> quadrants_program::Result<()> {
    /// # let device = quadrants_rhi_cpu::driver()?.open(0)?;
    /// # let opened = quadrants_program::Opened { device, compiler: None };
    /// # let prog = quadrants_program::Program::open(opened)?;
    /// let mut t = prog.tensor_from(&[1, 2, 3, 4, 5, 6], [3, 2])?;
    /// t.reshape_mut([2, 3])?.row_mut(1)?.fill(0)?;
    /// assert_eq!(t.flat()?.to_vec()?, [1, 2, 3, 0, 0, 0]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn reshape<const M: usize>(&self, shape: [usize; M]) -> Result<Slice<'_, T, M>> {
        Ok(self.view(self.reshaped(shape)?))
    }

    /// The same elements with another shape, for reading and writing.
    ///
    /// # Errors
    /// As for [`reshape`](Self::reshape).
    pub fn reshape_mut<const M: usize>(&mut self, shape: [usize; M]) -> Result<SliceMut<'_, T, M>> {
        Ok(SliceMut::new(self.reshaped(shape)?))
    }

    /// The elements in row-major order, as a tensor of one dimension.
    ///
    /// # Errors
    /// [`Error::MovedSlice`]; [`Error::View`] where the tensor is not [contiguous](Self::is_contiguous).
    pub fn flat(&self) -> Result<Slice<'_, T, 1>> {
        self.reshape([self.len()])
    }

    /// The elements in row-major order, as a tensor of one dimension, for reading and writing.
    ///
    /// # Errors
    /// As for [`flat`](Self::flat).
    pub fn flat_mut(&mut self) -> Result<SliceMut<'_, T, 1>> {
        self.reshape_mut([self.len()])
    }

    fn reshaped<const M: usize>(&self, shape: [usize; M]) -> Result<Tensor<T, M>> {
        self.check_address()?;
        let elements = match shape.contains(&0) {
            true => Some(0),
            false => shape.iter().try_fold(1usize, |all, extent| all.checked_mul(*extent)),
        };
        let elements = elements.ok_or_else(|| Error::TooLarge { shape: shape.to_vec() })?;
        if elements != self.len() {
            let (shape, expected, given) = (shape.to_vec(), elements, self.len());
            return Err(Error::Shape { shape, expected, given });
        }
        self.check_contiguous("`reshape`")?;
        Ok(self.part(0, shape, row_major(&shape)))
    }

    fn range_of(&self, range: impl RangeBounds<usize>) -> Result<(usize, usize)> {
        self.check_address()?;
        let shape = self.shape();
        let extent = shape.first().copied().unwrap_or(0);
        let (begin, end) = ends(range, extent);
        if N == 0 || begin > end || end > extent {
            return Err(Error::Range { begin, end, shape: shape.to_vec() });
        }
        Ok((begin, end))
    }

    fn rows(&self, begin: usize, end: usize) -> Self {
        self.along(0, begin, end)
    }
}

/// The first index of a range and one past its last, for an axis of this extent.
pub(super) fn ends(range: impl RangeBounds<usize>, extent: usize) -> (usize, usize) {
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
    (begin, end)
}

/// The other axes of a tensor than one of them.
pub(super) fn without<const N: usize, const M: usize>(axis: usize, of: [usize; N]) -> [usize; M] {
    let mut kept = of.iter().enumerate().filter(|(at, _)| *at != axis).map(|(_, of)| *of);
    std::array::from_fn(|_| kept.next().unwrap_or(1))
}

macro_rules! rows {
    ($($rank:literal to $less:literal;)*) => {$(
        impl<T: KernelValue> Tensor<T, $rank> {
            /// The slice at one index of the first axis, which has one dimension less.
            ///
            /// # Errors
            /// [`Error::Range`] where the index is not inside the axis.
            pub fn row(&self, index: usize) -> Result<Slice<'_, T, $less>> {
                Ok(self.view(self.row_tensor(index)?))
            }

            /// The mutable slice at one index of the first axis.
            ///
            /// # Errors
            /// [`Error::Range`] where the index is not inside the axis.
            pub fn row_mut(&mut self, index: usize) -> Result<SliceMut<'_, T, $less>> {
                Ok(SliceMut::new(self.row_tensor(index)?))
            }

            fn row_tensor(&self, index: usize) -> Result<Tensor<T, $less>> {
                self.range_of(index..index.saturating_add(1))?;
                Ok(self.at_index(0, index))
            }

            /// The slice at one index of an axis, which has one dimension less: a column of a matrix, for example.
            ///
            /// # Errors
            /// [`Error::View`] where there is no such axis, or the index is not inside it.
            ///
            /// # Examples
            /// See [`slice_axis`](Self::slice_axis).
            pub fn index_axis(&self, axis: usize, index: usize) -> Result<Slice<'_, T, $less>> {
                self.range_along(axis, index..index.saturating_add(1))?;
                Ok(self.view(self.at_index(axis, index)))
            }

            /// The mutable slice at one index of an axis.
            ///
            /// # Errors
            /// As for [`index_axis`](Self::index_axis).
            pub fn index_axis_mut(
                &mut self,
                axis: usize,
                index: usize,
            ) -> Result<SliceMut<'_, T, $less>> {
                self.range_along(axis, index..index.saturating_add(1))?;
                Ok(SliceMut::new(self.at_index(axis, index)))
            }

            fn at_index(&self, axis: usize, index: usize) -> Tensor<T, $less> {
                let (shape, strides) = (self.shape(), self.strides());
                // Wraps only where there are no elements.
                let first = index.wrapping_mul(strides[axis]);
                self.part(first, without(axis, shape), without(axis, strides))
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
    /// The elements are borrowed as long as the result lives.
    pub(crate) unsafe fn borrowing(tensor: Tensor<T, N>) -> Self {
        Self { tensor, owner: PhantomData }
    }
}

impl<T, const N: usize> SliceMut<'_, T, N> {
    /// # Safety
    /// The elements are borrowed exclusively as long as the result lives.
    pub(crate) unsafe fn borrowing(tensor: Tensor<T, N>) -> Self {
        Self::new(tensor)
    }

    pub(super) fn new(tensor: Tensor<T, N>) -> Self {
        let mut tensor = Box::new(tensor);
        tensor.require_this_address();
        Self { tensor: ManuallyDrop::new(tensor), owner: PhantomData }
    }
}

impl<T, const N: usize> Drop for SliceMut<'_, T, N> {
    fn drop(&mut self) {
        // If the box were freed without the tensor, another box could be made at its address, and the tensor moved
        // into that.
        if self.tensor.usability().is_here() {
            // SAFETY: dropped once, here, and not used after.
            unsafe { ManuallyDrop::drop(&mut self.tensor) }
        }
    }
}

impl<T, const N: usize> Deref for Slice<'_, T, N> {
    type Target = Tensor<T, N>;
    fn deref(&self) -> &Tensor<T, N> {
        &self.tensor
    }
}

impl<T, const N: usize> Deref for SliceMut<'_, T, N> {
    type Target = Tensor<T, N>;
    fn deref(&self) -> &Tensor<T, N> {
        &self.tensor
    }
}

impl<T, const N: usize> DerefMut for SliceMut<'_, T, N> {
    fn deref_mut(&mut self) -> &mut Tensor<T, N> {
        &mut self.tensor
    }
}

/// A host array as a kernel argument for reading.
///
/// Each launch copies it, in the order of the launches on its stream. The array can change as soon as `launch` has
/// returned.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) where the number of elements is not that of the shape.
///
/// # Examples
/// ```
/// # fn main() -> quadrants_program::Result<()> {
/// let x = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let x = quadrants_program::host(&x, [2, 3])?;
/// assert_eq!(x.row(1)?.to_vec()?, [4.0, 5.0, 6.0]);
/// # Ok(())
/// # }
/// ```
pub fn host<T: KernelValue, const N: usize>(
    elements: &[T],
    shape: [usize; N],
) -> Result<Slice<'_, T, N>> {
    let first = elements.as_ptr().cast_mut();
    // SAFETY: the result borrows the elements, and gives out the tensor only by `&`.
    unsafe { Ok(Slice::borrowing(Tensor::of_host(first, elements.len(), shape)?)) }
}

/// A host array as a kernel argument for writing.
///
/// Each launch copies it, waits for the kernel, and copies it back. After an error, the array is unchanged.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) where the number of elements is not that of the shape.
///
/// # Examples
/// ```
/// # fn main() -> quadrants_program::Result<()> {
/// let mut x = [1, 2, 3, 4];
/// quadrants_program::host_mut(&mut x, [2, 2])?.row_mut(1)?.fill(9)?;
/// assert_eq!(x, [1, 2, 9, 9]);
/// # Ok(())
/// # }
/// ```
///
/// The array is borrowed as long as launches can use it:
///
/// ```compile_fail,E0505
/// # fn main() -> quadrants_program::Result<()> {
/// let mut x = vec![1.0f32, 2.0];
/// let argument = quadrants_program::host_mut(&mut x, [2])?;
/// drop(x);
/// argument.to_vec().map(drop)
/// # }
/// ```
pub fn host_mut<T: KernelValue, const N: usize>(
    elements: &mut [T],
    shape: [usize; N],
) -> Result<SliceMut<'_, T, N>> {
    // SAFETY: the result borrows the elements exclusively.
    unsafe {
        Ok(SliceMut::borrowing(Tensor::of_host(elements.as_mut_ptr(), elements.len(), shape)?))
    }
}
