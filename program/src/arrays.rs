//! Feature `ndarray`: host arrays of the crate `ndarray` as arguments, and tensors of them.

use ndarray::{Array, ArrayBase, Data, DataMut, Dim, Dimension, IntoDimension, Ix};

use crate::{
    Error, KernelValue, Program, Result, Slice, SliceMut, Tensor,
    tensor::slice::{host, host_mut},
};

/// An array of `ndarray` as a kernel argument for reading; see [`host`]. Its elements may have gaps and any order of
/// the axes: a launch collects them.
///
/// With [`Tensor::copy_from`], it writes a tensor: `tensor.copy_from(&host_array(&array)?)`.
///
/// # Errors
/// [`Error::ArrayStrides`] where an axis runs backwards, or two indices have one element.
///
/// # Examples
/// ```
/// # fn main() -> quadrants_program::Result<()> {
/// use ndarray::array;
/// use quadrants_program::host_array;
/// let a = array![[1.0_f32, 2.0], [3.0, 4.0]];
/// assert_eq!(host_array(&a)?.row(1)?.to_vec()?, [3.0, 4.0]);
/// assert_eq!(host_array(&a.t())?.row(1)?.to_vec()?, [2.0, 4.0]);
/// # Ok(())
/// # }
/// ```
pub fn host_array<'a, T, S, const N: usize>(
    array: &'a ArrayBase<S, Dim<[Ix; N]>>,
) -> Result<Slice<'a, T, N>>
where
    T: KernelValue,
    S: Data<Elem = T>,
    Dim<[Ix; N]>: Dimension,
{
    if let Some(elements) = array.as_slice() {
        return host(elements, shape_of(array.shape()));
    }
    // SAFETY: elements of the array, which the result borrows; it gives out the tensor only by `&`.
    unsafe { Ok(Slice::borrowing(strided(array, array.as_ptr().cast_mut())?)) }
}

/// An array of `ndarray` as a kernel argument for writing; see [`host_mut`]. Its elements may have gaps and any order
/// of the axes: a launch collects them, and writes back these only.
///
/// With [`Tensor::copy_from`], it is written from a tensor: `host_array_mut(&mut array)?.copy_from(&tensor)`.
///
/// # Errors
/// [`Error::ArrayStrides`]
pub fn host_array_mut<'a, T, S, const N: usize>(
    array: &'a mut ArrayBase<S, Dim<[Ix; N]>>,
) -> Result<SliceMut<'a, T, N>>
where
    T: KernelValue,
    S: DataMut<Elem = T>,
    Dim<[Ix; N]>: Dimension,
{
    if array.is_standard_layout() {
        let (shape, problem) = (shape_of(array.shape()), refused(array));
        return host_mut(array.as_slice_mut().ok_or(problem)?, shape);
    }
    let first = array.as_mut_ptr();
    // SAFETY: elements of the array, which the result borrows exclusively.
    unsafe { Ok(SliceMut::borrowing(strided(array, first)?)) }
}

/// A tensor of the elements of an array, the first of which is at `first`.
///
/// # Safety
/// As for [`Tensor::of_host`].
unsafe fn strided<T, S, const N: usize>(
    array: &ArrayBase<S, Dim<[Ix; N]>>,
    first: *mut T,
) -> Result<Tensor<T, N>>
where
    T: KernelValue,
    S: Data<Elem = T>,
    Dim<[Ix; N]>: Dimension,
{
    let (shape, mut strides) = (shape_of(array.shape()), [1; N]);
    for ((to, stride), extent) in strides.iter_mut().zip(array.strides()).zip(array.shape()) {
        // The stride of an axis with one element has no meaning.
        if *extent > 1 {
            *to = usize::try_from(*stride).map_err(|_| refused(array))?;
        }
    }
    // SAFETY: by the caller. All elements of an array are in one allocation.
    unsafe { Tensor::of_host_strided(first, shape, strides) }.unwrap_or_else(|| Err(refused(array)))
}

fn refused<S: Data<Elem = T>, T, D: Dimension>(array: &ArrayBase<S, D>) -> Error {
    Error::ArrayStrides { shape: array.shape().to_vec(), strides: array.strides().to_vec() }
}

fn shape_of<const N: usize>(extents: &[usize]) -> [usize; N] {
    let mut shape = [0; N];
    shape.iter_mut().zip(extents).for_each(|(to, extent)| *to = *extent);
    shape
}

impl Program {
    /// Creates a tensor with the shape and the elements of an array of `ndarray`, which may have any strides.
    ///
    /// # Errors
    /// As for [`tensor_from`](Self::tensor_from).
    pub fn tensor_from_array<T, S, const N: usize>(
        &self,
        array: &ArrayBase<S, Dim<[Ix; N]>>,
    ) -> Result<Tensor<T, N>>
    where
        T: KernelValue,
        S: Data<Elem = T>,
        Dim<[Ix; N]>: Dimension,
    {
        let shape = shape_of(array.shape());
        match array.as_slice() {
            Some(elements) => self.tensor_from(elements, shape),
            None => self.tensor_from(&array.iter().copied().collect::<Vec<_>>(), shape),
        }
    }
}

impl<T: KernelValue, const N: usize> Tensor<T, N> {
    /// Copies the elements to a new array of `ndarray`, as [`to_vec`](Self::to_vec) does.
    ///
    /// # Errors
    /// As for [`to_vec`](Self::to_vec).
    ///
    /// # Examples
    /// ```
    /// # fn main() -> quadrants_program::Result<()> {
    /// # let device = quadrants_rhi_cpu::driver()?.open(0)?;
    /// # let opened = quadrants_program::Opened { device, compiler: None };
    /// # let prog = quadrants_program::Program::open(opened)?;
    /// use ndarray::array;
    /// let a = array![[1, 2, 3], [4, 5, 6]];
    /// let t = prog.tensor_from_array(&a.t())?;
    /// assert_eq!(t.to_array()?, array![[1, 4], [2, 5], [3, 6]]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn to_array(&self) -> Result<Array<T, Dim<[Ix; N]>>>
    where
        Dim<[Ix; N]>: Dimension,
        [Ix; N]: IntoDimension<Dim = Dim<[Ix; N]>>,
    {
        let (elements, shape) = (self.to_vec()?, self.shape());
        let given = elements.len();
        Array::from_shape_vec(shape, elements).map_err(|_| Error::Shape {
            shape: shape.to_vec(),
            expected: self.len(),
            given,
        })
    }
}
