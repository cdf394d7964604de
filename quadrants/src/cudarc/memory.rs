//! Memory of cudarc as tensors.

use std::{mem::ManuallyDrop, sync::Arc};

use cudarc::driver::{
    CudaContext, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DeviceSlice, SyncOnDrop,
};

use super::{Element, Error, Result, SharedStream, guard::CurrentContext};
use crate::{ForeignCall, Tensor, rhi, writes};

impl SharedStream {
    /// A tensor in the memory of a slice of cudarc, without a copy. The elements are in row-major order.
    ///
    /// The slice is dropped after the last use of the memory on every stream, and not before, as the owner of
    /// [`Program::tensor_from_raw`](crate::Program::tensor_from_raw) is; the host does not wait for that.
    ///
    /// This stream waits for the work of cudarc on the slice so far, and for the stream that it was allocated on. For
    /// other streams of the program, that counts as a write on this stream.
    ///
    /// # Errors
    /// [`Error::OtherDevice`], [`Error::OtherContext`], [`Error::Length`], [`Error::Driver`]; [`Error::Quadrants`] with
    /// an error of the device or of an earlier kernel, with [`crate::Error::Capture`] in a capture of the program, or
    /// with [`crate::Error::ForeignCapture`]. The slice is then dropped.
    pub fn tensor<T: Element, const N: usize>(
        &self,
        mut slice: CudaSlice<T>,
        shape: [usize; N],
    ) -> Result<Tensor<T, N>> {
        self.check_slice(&slice, &shape)?;
        let address = self.enqueue(|| {
            self.wait_for(slice.stream())?;
            // The event that the guard records counts as a write of cudarc, after which nothing else has to wait.
            let (address, _guard) = slice.device_ptr_mut(self.cudarc());
            Ok(address)
        })?;
        // SAFETY: the owner is the slice, which has the elements; cudarc's unsafe `alloc` promises that they are
        // written before they are read, and any bits are a value. All of cudarc's work on it was enqueued before, and
        // is waited for above, or by the user as documented. Nobody else has the memory: the slice was passed by value.
        let mut tensor = unsafe {
            self.program().tensor_from_raw(rhi::DevicePtr(address), shape, Owner::new(slice))?
        };
        self.write(&mut tensor)?;
        Ok(tensor)
    }

    /// Calls `body` with a tensor in the memory of a slice or view of cudarc, without a copy. The elements are in
    /// row-major order.
    ///
    /// The order is that of [`tensor`](Self::tensor). Afterwards, this stream waits for all work of the program on the
    /// tensor, and cudarc's work on the slice waits for this stream, without a host wait. So it is if `body` panics.
    ///
    /// # Errors
    /// As for [`tensor`](Self::tensor). Where the order afterwards cannot be made, the host waits for the device.
    ///
    /// # Safety
    /// The tensor does not live on in another form: no graph that was captured in `body` with it is launched after
    /// `body`, and no managed tensor of DLPack or address of it is used then.
    pub unsafe fn with_view_mut<T: Element, R, const N: usize>(
        &self,
        slice: &mut impl DevicePtrMut<T>,
        shape: [usize; N],
        body: impl FnOnce(&mut Tensor<T, N>) -> R,
    ) -> Result<R> {
        self.check_slice(slice, &shape)?;
        let theirs = slice.stream().clone();
        let (address, guard) = self.enqueue(|| {
            self.wait_for(&theirs)?;
            Ok(slice.device_ptr_mut(self.cudarc()))
        })?;
        // SAFETY: as below; cudarc lends the memory exclusively.
        unsafe { self.lend(address, guard, theirs, shape, body) }
    }

    /// As [`with_view_mut`](Self::with_view_mut), for a tensor that is only read.
    ///
    /// # Errors
    /// As for [`with_view_mut`](Self::with_view_mut).
    ///
    /// # Safety
    /// As for [`with_view_mut`](Self::with_view_mut).
    pub unsafe fn with_view<T: Element, R, const N: usize>(
        &self,
        slice: &impl DevicePtr<T>,
        shape: [usize; N],
        body: impl FnOnce(&Tensor<T, N>) -> R,
    ) -> Result<R> {
        self.check_slice(slice, &shape)?;
        let theirs = slice.stream().clone();
        let (address, guard) = self.enqueue(|| {
            self.wait_for(&theirs)?;
            Ok(slice.device_ptr(self.cudarc()))
        })?;
        // SAFETY: as below; cudarc lends the memory for reading, and `body` gets no `&mut`.
        unsafe { self.lend(address, guard, theirs, shape, |tensor| body(tensor)) }
    }

    /// # Safety
    /// As for [`with_view_mut`](Self::with_view_mut). The memory has the elements, and is lent as long as `guard` is
    /// borrowed: for writing, if `body` writes.
    unsafe fn lend<T: Element, R, const N: usize>(
        &self,
        address: u64,
        guard: SyncOnDrop<'_>,
        theirs: Arc<CudaStream>,
        shape: [usize; N],
        body: impl FnOnce(&mut Tensor<T, N>) -> R,
    ) -> Result<R> {
        // SAFETY: by the caller; nothing keeps the memory longer than this call, because `lent` orders all later work
        // of cudarc after that of the program.
        let mut tensor: Tensor<T, N> =
            unsafe { self.program().tensor_from_raw(rhi::DevicePtr(address), shape, ())? };
        self.write(&mut tensor)?;
        let mut lent = LentTensor { stream: self, tensor, theirs, guard: Some(guard) };
        // A slice cannot be moved out of its place by `body`.
        let result = {
            let mut whole = lent.tensor.reshape_mut(shape)?;
            body(&mut whole)
        };
        lent.finish()?;
        Ok(result)
    }

    fn check_slice<T>(&self, slice: &impl DeviceSlice<T>, shape: &[usize]) -> Result<()> {
        self.check_context_of(slice.stream().context(), "the memory")?;
        let elements = shape.iter().try_fold(1_usize, |all, extent| all.checked_mul(*extent));
        let is_empty = shape.contains(&0) && slice.is_empty();
        if elements != Some(slice.len()) && !is_empty {
            return Err(Error::Length { elements: slice.len(), shape: shape.to_vec() });
        }
        Ok(())
    }

    /// Calls `enqueue` with the context of the program, on this stream and not in a capture.
    pub(super) fn enqueue<R>(&self, enqueue: impl FnOnce() -> Result<R>) -> Result<R> {
        let theirs = self.cudarc().context();
        let enqueued = self.program().foreign(NAME, self, [], [], |call| {
            self.refuse_capture(call)?;
            // Errors of earlier drops.
            theirs.check_err()?;
            enqueue()
        })??;
        // Errors of calls that return none.
        theirs.check_err()?;
        Ok(enqueued)
    }

    /// An order that other work made, such as waits for cudarc's events, does not belong into a graph.
    pub(super) fn refuse_capture(&self, call: &ForeignCall<'_>) -> Result<()> {
        if call.stream == self.raw() {
            return Ok(());
        }
        Err(crate::Error::Capture { what: NAME }.into())
    }

    /// Makes this stream wait for the work of another stream so far.
    fn wait_for(&self, other: &CudaStream) -> Result<()> {
        if other.cu_stream() != self.cudarc().cu_stream() {
            self.cudarc().join(other)?;
        }
        Ok(())
    }

    /// Lets the waits on this stream count as a write of the tensor.
    fn write<T: Element, const N: usize>(&self, tensor: &mut Tensor<T, N>) -> Result<()> {
        self.program().foreign(NAME, self, [], writes![tensor], |_| ())?;
        Ok(())
    }
}

/// What messages name the operations here.
const NAME: &str = "memory of cudarc";

/// A slice that owns the memory of a tensor.
struct Owner<T>(ManuallyDrop<CudaSlice<T>>);

impl<T> Owner<T> {
    fn new(slice: CudaSlice<T>) -> Self {
        Self(ManuallyDrop::new(slice))
    }
}

impl<T> Drop for Owner<T> {
    fn drop(&mut self) {
        let context: Arc<CudaContext> = self.0.context().clone();
        // On any thread; cudarc frees memory of the default stream in the context that is current.
        let current = CurrentContext::new(&context);
        // SAFETY: dropped once, here, and not used after.
        unsafe { ManuallyDrop::drop(&mut self.0) };
        drop(current);
    }
}

/// A tensor in memory that cudarc lends. When it is dropped, later work of cudarc waits for that of the program.
struct LentTensor<'a, T, const N: usize>
where
    T: Element,
{
    stream: &'a SharedStream,
    tensor: Tensor<T, N>,
    /// The stream that cudarc allocated the memory on, and frees it.
    theirs: Arc<CudaStream>,
    /// Records cudarc's event. None after that.
    guard: Option<SyncOnDrop<'a>>,
}

impl<T: Element, const N: usize> LentTensor<'_, T, N> {
    fn finish(&mut self) -> Result<()> {
        let Some(guard) = self.guard.take() else { return Ok(()) };
        let ordered = self.order(guard);
        if ordered.is_err() {
            // A failure means that the device is lost, or that the program captures: then nothing is enqueued.
            self.stream.program().device_sync()?;
        }
        ordered
    }

    fn order(&self, guard: SyncOnDrop<'_>) -> Result<()> {
        let stream = self.stream;
        self.tensor.order_before(stream)?;
        let current = CurrentContext::new(stream.cudarc().context())?;
        if self.theirs.cu_stream() != stream.cudarc().cu_stream() {
            self.theirs.join(stream.cudarc())?;
        }
        drop(guard);
        drop(current);
        stream.cudarc().context().check_err()?;
        Ok(())
    }
}

impl<T: Element, const N: usize> Drop for LentTensor<'_, T, N> {
    fn drop(&mut self) {
        // Only after a panic or an error of `body`: an error here has nowhere to go.
        let _ = self.finish();
    }
}
