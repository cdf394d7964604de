//! Host arrays as kernel arguments: tensors that borrow them, and their staging by launches.
//!
//! A launch copies the array into device memory of its own, through pinned memory, before it enqueues anything, and
//! copies back what the kernel may have written before it returns. So no work in flight names the array, and it is
//! borrowed no longer than any function argument.

use std::{fmt, ptr::NonNull, sync::Arc};

use smallvec::SmallVec;

use crate::{
    KernelValue, Result, Slice, SliceMut, Tensor,
    launch::arguments::{ArgKind, ArgList, TensorArg, TensorMemory},
    program::ProgramInner,
    tensor::{DeviceTensor, RequiredAddress, layout::StorageLayout},
};

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

/// A borrowed host array. The tensor that contains it keeps the borrow.
pub(crate) struct HostArray<T> {
    first: NonNull<T>,
    len: usize,
    /// The layout of the elements in device memory.
    storage: Arc<StorageLayout>,
    pub(crate) required_address: RequiredAddress,
}

// SAFETY: it stands for a borrow of the elements, shared or exclusive like its own.
unsafe impl<T: Send + Sync> Send for HostArray<T> {}
// SAFETY: as above; through `&` the elements are only read.
unsafe impl<T: Send + Sync> Sync for HostArray<T> {}

/// A host array without its element type.
pub(crate) trait HostElements: fmt::Debug {
    /// The layout of its elements in device memory.
    fn storage(&self) -> &StorageLayout;

    /// # Errors
    /// [`Error::MovedSlice`](crate::Error::MovedSlice) where it cannot be used at its current address.
    fn check_address(&self) -> Result<()>;

    /// Copies the array into new device memory.
    fn to_device(&self, program: &Arc<ProgramInner>) -> Result<DeviceTensor>;

    /// Copies the device memory back, after the work that writes it.
    ///
    /// # Safety
    /// The array is borrowed by `&mut`.
    unsafe fn copy_back(&self, copy: &DeviceTensor) -> Result<()>;
}

impl<T> HostArray<T> {
    /// # Safety
    /// As for [`Tensor::of_host`].
    pub(crate) unsafe fn new(first: *mut T, len: usize, storage: StorageLayout) -> Self {
        // The address of a slice is never null.
        let first = NonNull::new(first).unwrap_or(NonNull::dangling());
        Self {
            first,
            len,
            storage: Arc::new(storage),
            required_address: RequiredAddress::default(),
        }
    }

    /// The array of `len` elements from element `first` on. It must be inside.
    pub(crate) fn sub_array(&self, first: usize, len: usize) -> Self {
        assert!(first + len <= self.len, "a sub-array lies in its array");
        // SAFETY: within the elements, as asserted.
        let first = unsafe { self.first.add(first) };
        Self {
            first,
            len,
            storage: Arc::new(self.storage.resized(len)),
            required_address: RequiredAddress::default(),
        }
    }

    pub(crate) fn elements(&self) -> &[T] {
        // SAFETY: borrowed as long as this is used, by the contract of `new`.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }

    pub(crate) fn elements_mut(&mut self) -> &mut [T] {
        // SAFETY: borrowed exclusively where it is used by `&mut`, by the contract of `new`.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), self.len) }
    }

    pub(crate) fn address(&self) -> usize {
        self.first.addr().get()
    }
}

impl<T> fmt::Debug for HostArray<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostArray").field("len", &self.len).finish_non_exhaustive()
    }
}

impl<T: KernelValue> HostElements for HostArray<T> {
    fn storage(&self) -> &StorageLayout {
        &self.storage
    }

    fn check_address(&self) -> Result<()> {
        self.required_address.check()
    }

    fn to_device(&self, program: &Arc<ProgramInner>) -> Result<DeviceTensor> {
        DeviceTensor::with_elements(program, self.elements(), self.storage.clone())
    }

    unsafe fn copy_back(&self, copy: &DeviceTensor) -> Result<()> {
        let elements = copy.read::<T>(self.len)?;
        // SAFETY: borrowed exclusively, by the contracts of `new` and of this; `read` returns as many elements.
        unsafe { self.first.as_ptr().copy_from_nonoverlapping(elements.as_ptr(), self.len) };
        Ok(())
    }
}

/// Calls `launch` with device copies of the host arrays among the arguments, and copies back those that may be written.
pub(crate) fn launch_staged<R>(
    program: &Arc<ProgramInner>,
    args: &ArgList<'_>,
    launch: impl FnOnce(&mut ArgList<'_>) -> Result<R>,
) -> Result<R> {
    // One copy per array: the components of a tensor of structs follow each other.
    let mut copies: SmallVec<[(&dyn HostElements, bool, DeviceTensor); 4]> = SmallVec::new();
    let mut copy_indices: SmallVec<[usize; 8]> = SmallVec::new();
    for arg in args.iter() {
        if let ArgKind::Tensor(code, TensorArg { memory: TensorMemory::Host(array), .. }) = arg {
            if !copies.last().is_some_and(|(last, ..)| std::ptr::addr_eq(*last, array)) {
                array.check_address()?;
                copies.push((array, code.is_writable(), array.to_device(program)?));
            }
            copy_indices.push(copies.len() - 1);
        }
    }
    let mut copy_indices = copy_indices.into_iter();
    let mut on_device = ArgList::new();
    for mut arg in args.iter() {
        if let ArgKind::Tensor(_, TensorArg { memory: memory @ TensorMemory::Host(_), .. }) =
            &mut arg
        {
            *memory = TensorMemory::Device(&copies[copy_indices.next().unwrap_or_default()].2);
        }
        on_device.push(arg);
    }
    let result = launch(&mut on_device)?;
    for (array, writable, copy) in &copies {
        if *writable {
            // SAFETY: a writable argument is borrowed by `&mut`.
            unsafe { array.copy_back(copy)? };
        }
    }
    Ok(result)
}
