//! Host arrays as kernel arguments: tensors that borrow them, and their staging by launches.
//!
//! A launch copies the array through pinned memory into device memory of its own, in the order of its stream, and waits
//! only to copy back what the kernel may have written. So no work in flight refers to the array, and it is borrowed no
//! longer than any function argument.

use std::{fmt, ptr::NonNull, sync::Arc};

use quadrants_runtime as rt;

use crate::{
    KernelValue, Result,
    state::{
        ProgramInner,
        device_tensor::{DeviceTensor, HostElements, Usability},
    },
    value::layout::StorageLayout,
};

/// A borrowed host array. The tensor that contains it keeps the borrow.
pub(crate) struct HostArray<T> {
    first: NonNull<T>,
    len: usize,
    /// The layout of the elements in device memory.
    storage: Arc<StorageLayout>,
    pub(crate) usability: Usability,
}

// SAFETY: it stands for a borrow of the elements, shared or exclusive like its own.
unsafe impl<T: Send + Sync> Send for HostArray<T> {}
// SAFETY: as above; through `&` the elements are only read.
unsafe impl<T: Send + Sync> Sync for HostArray<T> {}

impl<T> HostArray<T> {
    /// # Safety
    /// As for [`Tensor::of_host`].
    pub(crate) unsafe fn new(first: *mut T, len: usize, storage: StorageLayout) -> Self {
        // The address of a slice is never null.
        let first = NonNull::new(first).unwrap_or(NonNull::dangling());
        Self { first, len, storage: Arc::new(storage), usability: Usability::default() }
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
            usability: Usability::default(),
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
        self.usability.check_address()
    }

    fn to_device(&self, program: &Arc<ProgramInner>, stream: &rt::Stream) -> Result<DeviceTensor> {
        let storage = self.storage.clone();
        DeviceTensor::with_elements_on(program, self.elements(), storage, stream)
    }

    unsafe fn copy_back(&self, copy: &DeviceTensor) -> Result<()> {
        let elements = copy.read::<T>(self.len)?;
        // SAFETY: borrowed exclusively, by the contracts of `new` and of this; `read` returns as many elements.
        unsafe { self.first.as_ptr().copy_from_nonoverlapping(elements.as_ptr(), self.len) };
        Ok(())
    }
}
