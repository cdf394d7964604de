//! Host arrays as kernel arguments: tensors that borrow them, and their staging by launches.
//!
//! A launch copies the array through pinned memory into device memory of its own, in the order of its stream, and waits
//! only to copy back what the kernel may have written. So no work in flight refers to the array, and it is borrowed no
//! longer than any function argument.

use std::{borrow::Cow, fmt, ops::Range, ptr::NonNull, sync::Arc};

use quadrants_runtime as rt;

use crate::{
    KernelValue, Result,
    state::{
        ProgramInner,
        device_tensor::{DeviceTensor, HostElements, Usability},
    },
    value::{layout::StorageLayout, strided::Strided},
};

/// A borrowed host array. The tensor that contains it keeps the borrow.
pub(crate) struct HostArray<T> {
    first: NonNull<T>,
    /// The number of its elements.
    len: usize,
    /// The number of elements in memory from the first one on that it may have.
    reach: usize,
    /// The order of its elements; none where they are contiguous from the first on.
    pub(crate) strided: Option<Box<Strided>>,
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
        let (usability, strided) = (Usability::default(), None);
        Self { first, len, reach: len, strided, storage: Arc::new(storage), usability }
    }

    /// The array of `len` elements, the first of which is `first` elements after that of this one, in this order. They
    /// are elements of this one.
    pub(crate) fn part(&self, first: usize, len: usize, strided: Option<Strided>) -> Self {
        let needed = strided.as_ref().map_or(len, Strided::reach);
        assert!(first + needed <= self.reach, "a part of an array lies in it");
        // SAFETY: within the elements, as asserted.
        let start = unsafe { self.first.add(first) };
        Self {
            first: start,
            len,
            reach: self.reach - first,
            strided: strided.map(Box::new),
            storage: Arc::new(self.storage.resized(len)),
            usability: Usability::default(),
        }
    }

    /// The runs of its elements, counted from the first one.
    fn runs(&self) -> impl Iterator<Item = Range<usize>> {
        let contiguous = self.strided.is_none().then_some(0..self.len);
        let views = self.strided.as_deref().into_iter();
        views.flat_map(Strided::runs).chain(contiguous)
    }

    /// The elements of a run of [`runs`](Self::runs).
    fn run(&self, run: Range<usize>) -> &[T] {
        // SAFETY: elements of this one, which are within `reach`: borrowed as long as this is used, by the contract of
        // `new`.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr().add(run.start), run.len()) }
    }

    /// All elements, where they are contiguous.
    pub(crate) fn contiguous_mut(&mut self) -> Option<&mut [T]> {
        if self.strided.is_some() {
            return None;
        }
        // SAFETY: borrowed exclusively where it is used by `&mut`, by the contract of `new`.
        unsafe { Some(std::slice::from_raw_parts_mut(self.first.as_ptr(), self.len)) }
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

impl<T: KernelValue> HostArray<T> {
    /// The elements in row-major order.
    pub(crate) fn gather(&self) -> Cow<'_, [T]> {
        if self.strided.is_none() {
            return Cow::Borrowed(self.run(0..self.len));
        }
        let mut all = Vec::with_capacity(self.len);
        self.runs().for_each(|run| all.extend_from_slice(self.run(run)));
        Cow::Owned(all)
    }

    /// Overwrites the elements, in row-major order, with as many others.
    pub(crate) fn scatter(&mut self, elements: &[T]) {
        // SAFETY: borrowed exclusively where it is used by `&mut`, by the contract of `new`.
        unsafe { self.scatter_shared(elements) }
    }

    /// # Safety
    /// The array is borrowed by `&mut`.
    unsafe fn scatter_shared(&self, elements: &[T]) {
        assert_eq!(elements.len(), self.len, "as many elements as the array has");
        let mut rest = elements;
        for run in self.runs() {
            let Some((part, after)) = rest.split_at_checked(run.len()) else { return };
            // SAFETY: a run of elements of this one, which the caller borrows exclusively; so `part` is elsewhere.
            unsafe {
                let to = self.first.as_ptr().add(run.start);
                to.copy_from_nonoverlapping(part.as_ptr(), part.len());
            }
            rest = after;
        }
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
        DeviceTensor::with_elements_on(program, &self.gather(), storage, stream)
    }

    unsafe fn copy_back(&self, copy: &DeviceTensor) -> Result<()> {
        let elements = copy.read::<T>(self.len)?;
        // SAFETY: borrowed exclusively, by the contract of this.
        unsafe { self.scatter_shared(&elements) };
        Ok(())
    }
}
