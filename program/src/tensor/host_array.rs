//! Arrays of the host as arguments of kernels: a tensor that borrows one, and what a launch does with it.
//!
//! A launch copies the array into device memory of its own, through page-locked memory, before it enqueues anything,
//! and copies back what the kernel may have written before it returns. So nothing that is in flight ever names the
//! array, and it is borrowed no longer than a function's argument.

use std::{fmt, ptr::NonNull, sync::Arc};

use smallvec::SmallVec;

use crate::{
    KernelValue, Result, Slice, SliceMut, Tensor,
    launch::arguments::{ArgKind, ArgList, Place, TensorArg},
    program::ProgramInner,
    tensor::{Home, TensorCore, layout::Stored},
};

/// An array of the host where a kernel takes a tensor to be read.
///
/// Each launch copies it, in the order of the launches on its stream; the array can change as soon as `launch` has
/// returned.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) where the shape has not as many elements.
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
    // SAFETY: the result borrows the elements, and gives the tensor by `&` alone.
    unsafe { Ok(Slice::borrowing(Tensor::of_host(first, elements.len(), shape)?)) }
}

/// An array of the host where a kernel takes a tensor to be written.
///
/// Each launch copies it, waits for the kernel, and copies back. After an error the array is as it was before.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) where the shape has not as many elements.
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
/// The array is borrowed as long as a launch can reach it:
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

/// A borrowed array. Who made the tensor that has it keeps the borrow.
pub(crate) struct HostArray<T> {
    first: NonNull<T>,
    len: usize,
    /// How the elements lie in device memory.
    stored: Arc<Stored>,
    pub(crate) home: Home,
}

// SAFETY: it stands for a borrow of the elements, shared or exclusive as it is itself.
unsafe impl<T: Send + Sync> Send for HostArray<T> {}
// SAFETY: as above; through `&` the elements are only read.
unsafe impl<T: Send + Sync> Sync for HostArray<T> {}

/// An array of the host, of whatever type.
pub(crate) trait HostElements: fmt::Debug {
    /// How its elements lie in device memory.
    fn stored(&self) -> &Stored;

    /// # Errors
    /// [`Error::MovedSlice`](crate::Error::MovedSlice) where it may not be used where it is.
    fn check_place(&self) -> Result<()>;

    /// A copy in device memory.
    fn to_device(&self, program: &Arc<ProgramInner>) -> Result<TensorCore>;

    /// Takes what the copy has become, behind the work that writes it.
    ///
    /// # Safety
    /// The array is given by `&mut`.
    unsafe fn take_back(&self, copy: &TensorCore) -> Result<()>;
}

impl<T> HostArray<T> {
    /// # Safety
    /// As for [`Tensor::of_host`].
    pub(crate) unsafe fn new(first: *mut T, len: usize, stored: Stored) -> Self {
        // A slice's address is never null.
        let first = NonNull::new(first).unwrap_or(NonNull::dangling());
        Self { first, len, stored: Arc::new(stored), home: Home::default() }
    }

    /// Elements of it, which lie in it.
    pub(crate) fn part(&self, first: usize, len: usize) -> Self {
        assert!(first + len <= self.len, "a part lies in its whole");
        // SAFETY: within the elements, as asserted.
        let first = unsafe { self.first.add(first) };
        Self { first, len, stored: Arc::new(self.stored.resized(len)), home: Home::default() }
    }

    pub(crate) fn elements(&self) -> &[T] {
        // SAFETY: borrowed as long as this is used, by the promise to `new`.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }

    pub(crate) fn elements_mut(&mut self) -> &mut [T] {
        // SAFETY: borrowed exclusively where it is used by `&mut`, by the promise to `new`.
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
    fn stored(&self) -> &Stored {
        &self.stored
    }

    fn check_place(&self) -> Result<()> {
        self.home.check()
    }

    fn to_device(&self, program: &Arc<ProgramInner>) -> Result<TensorCore> {
        TensorCore::holding(program, self.elements(), self.stored.clone())
    }

    unsafe fn take_back(&self, copy: &TensorCore) -> Result<()> {
        let elements = copy.read::<T>(self.len)?;
        // SAFETY: borrowed exclusively, by the promises to `new` and to this; as many, by `read`.
        unsafe { self.first.as_ptr().copy_from_nonoverlapping(elements.as_ptr(), self.len) };
        Ok(())
    }
}

/// Launches with copies of the host's arrays among the arguments, and takes back what may be written.
pub(crate) fn staged<R>(
    program: &Arc<ProgramInner>,
    args: &ArgList<'_>,
    launch: impl FnOnce(&mut ArgList<'_>) -> Result<R>,
) -> Result<R> {
    // One copy per array: the components of a tensor of aggregates follow each other.
    let mut copies: SmallVec<[(&dyn HostElements, bool, TensorCore); 4]> = SmallVec::new();
    let mut which: SmallVec<[usize; 8]> = SmallVec::new();
    for arg in args.iter() {
        if let ArgKind::Tensor(code, TensorArg { place: Place::Host(array), .. }) = arg {
            if !copies.last().is_some_and(|(last, ..)| std::ptr::addr_eq(*last, array)) {
                array.check_place()?;
                copies.push((array, code.is_writable(), array.to_device(program)?));
            }
            which.push(copies.len() - 1);
        }
    }
    let mut which = which.into_iter();
    let mut on_device = ArgList::new();
    for mut arg in args.iter() {
        if let ArgKind::Tensor(_, TensorArg { place: place @ Place::Host(_), .. }) = &mut arg {
            *place = Place::Device(&copies[which.next().unwrap_or_default()].2);
        }
        on_device.push(arg);
    }
    let result = launch(&mut on_device)?;
    for (array, writable, copy) in &copies {
        if *writable {
            // SAFETY: a writable argument is given by `&mut`.
            unsafe { array.take_back(copy)? };
        }
    }
    Ok(result)
}
