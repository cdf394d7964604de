//! Tensors as views of cudarc, while other code enqueues work.

use std::{
    any::type_name,
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use cudarc::driver::{
    CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtrMut, DriverError, sys::CUresult,
};

use super::{Element, Error, Result, SharedStream};
use crate::{ForeignRead, ForeignWrite, RawTensor};

/// A tensor of [`reads!`](crate::reads), for cudarc.
#[derive(Debug)]
pub struct ReadView<'a>(LentSlice<'a>);

/// A tensor of [`writes!`](crate::writes), for cudarc.
#[derive(Debug)]
pub struct WriteView<'a>(LentSlice<'a>);

impl SharedStream {
    /// As [`Program::foreign`](crate::Program::foreign), for code that uses cudarc: calls `call` once, with this stream
    /// and the tensors, of which it makes views of cudarc. It enqueues work on the views.
    ///
    /// The views are ordered as slices of cudarc are: work that uses them may be on other streams of cudarc, if the
    /// context tracks events. This stream waits for it at the end. Of several such streams that only read a tensor,
    /// only the last one is waited for.
    ///
    /// cudarc keeps no memory alive for its graphs: a graph that `call` captures with a view must be launched in it
    /// only.
    ///
    /// In a capture of the program, the call is refused: events of cudarc do not belong into a graph. Use
    /// [`Program::foreign`](crate::Program::foreign) there, with the functions of cudarc that take addresses.
    ///
    /// # Errors
    /// [`Error::Quadrants`] with the errors of [`Program::foreign`](crate::Program::foreign), or with
    /// [`crate::Error::Capture`] in any capture; [`Error::Driver`]. What `call` returns is passed on.
    ///
    /// # Examples
    /// ```no_run
    /// # use quadrants::{self as qd, cudarc::SharedStream, writes};
    /// # fn of(prog: &qd::Program, stream: &SharedStream) -> qd::cudarc::Result<()> {
    /// let mut y = prog.zeros::<f32, 2>([8, 8])?;
    /// stream.foreign("clear", [], writes![&mut y], |stream, [], [mut y]| {
    ///     stream.memset_zeros(&mut y.view_mut::<f32>()?)?;
    ///     Ok::<(), qd::cudarc::Error>(())
    /// })?
    /// # }
    /// ```
    #[track_caller]
    pub fn foreign<R, const READS: usize, const WRITES: usize>(
        &self,
        name: &'static str,
        reads: [ForeignRead<'_>; READS],
        writes: [ForeignWrite<'_>; WRITES],
        call: impl for<'a> FnOnce(
            &'a Arc<CudaStream>,
            [ReadView<'a>; READS],
            [WriteView<'a>; WRITES],
        ) -> R,
    ) -> Result<R> {
        let theirs = self.cudarc();
        let result = self.program().foreign(name, self, reads, writes, |raw| {
            self.refuse_capture(raw)?;
            // Returns the errors of earlier drops.
            theirs.context().bind_to_thread()?;
            let reads = lend_all::<READS>(theirs, raw.reads)?.map(ReadView);
            let writes = lend_all::<WRITES>(theirs, raw.writes)?.map(WriteView);
            Ok::<R, Error>(call(theirs, reads, writes))
        })??;
        // Those of calls that return none, such as the waits of views.
        theirs.context().check_err()?;
        Ok(result)
    }
}

impl ReadView<'_> {
    /// The elements, in row-major order.
    ///
    /// # Errors
    /// [`Error::ElementType`], [`Error::Gaps`]
    pub fn view<T: Element>(&self) -> Result<CudaView<'_, T>> {
        self.0.view()
    }

    /// Where the tensor is.
    #[must_use]
    pub fn raw(&self) -> &RawTensor {
        self.0.raw
    }
}

impl WriteView<'_> {
    /// The elements, in row-major order.
    ///
    /// # Errors
    /// [`Error::ElementType`], [`Error::Gaps`]
    pub fn view<T: Element>(&self) -> Result<CudaView<'_, T>> {
        self.0.view()
    }

    /// The elements, in row-major order, for reading and writing.
    ///
    /// # Errors
    /// [`Error::ElementType`], [`Error::Gaps`]
    pub fn view_mut<T: Element>(&mut self) -> Result<CudaViewMut<'_, T>> {
        let len = self.0.len::<T>()?;
        let bytes = self.0.slice.as_mut();
        // SAFETY: the elements are of the type `T`, of which any bits are a value.
        let view = bytes.and_then(|bytes| unsafe { bytes.transmute_mut(len) });
        view.ok_or(Error::Gaps { position: self.0.position })
    }

    /// Where the tensor is.
    #[must_use]
    pub fn raw(&self) -> &RawTensor {
        self.0.raw
    }
}

/// The memory of a tensor as a slice of cudarc, which never frees it.
#[derive(Debug)]
struct LentSlice<'a> {
    /// Some until the drop.
    slice: Option<CudaSlice<u8>>,
    raw: &'a RawTensor,
    position: usize,
    stream: PhantomData<&'a CudaStream>,
}

impl<'a> LentSlice<'a> {
    fn new(stream: &Arc<CudaStream>, raw: &'a RawTensor, position: usize) -> Result<Self> {
        // cudarc panics where it cannot make the events of the slice.
        // SAFETY: the memory has this size, and the slice is never dropped. Only views of the tensor's own type are
        // made of it.
        let make = || unsafe { stream.upgrade_device_ptr::<u8>(raw.address.raw(), raw.bytes) };
        let made = catch_unwind(AssertUnwindSafe(make));
        let mut slice = made.map_err(|_| DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY))?;
        // Records the event of writes: other streams of cudarc wait for the work on this stream so far.
        drop(slice.device_ptr_mut(stream));
        Ok(Self { slice: Some(slice), raw, position, stream: PhantomData })
    }

    /// The number of elements, where they are values of the type `T` side by side.
    fn len<T: Element>(&self) -> Result<usize> {
        let position = self.position;
        if !self.raw.is_of::<T>() {
            return Err(Error::ElementType { position, wanted: type_name::<T>() });
        }
        let mut components = self.raw.components().iter();
        if !components.all(|of| of.element_stride == size_of::<T>()) {
            return Err(Error::Gaps { position });
        }
        Ok(self.raw.bytes / size_of::<T>())
    }

    fn view<T: Element>(&self) -> Result<CudaView<'_, T>> {
        let len = self.len::<T>()?;
        // SAFETY: the elements are of the type `T`.
        let view = self.slice.as_ref().and_then(|bytes| unsafe { bytes.transmute(len) });
        view.ok_or(Error::Gaps { position: self.position })
    }
}

impl Drop for LentSlice<'_> {
    fn drop(&mut self) {
        if let Some(slice) = self.slice.take() {
            // Makes the stream wait for the uses on other streams, and destroys the events, but not the memory.
            slice.leak();
        }
    }
}

fn lend_all<'a, const COUNT: usize>(
    stream: &Arc<CudaStream>,
    raw: &'a [RawTensor],
) -> Result<[LentSlice<'a>; COUNT]> {
    let lent = raw.iter().enumerate().map(|(position, raw)| LentSlice::new(stream, raw, position));
    let lent: Vec<LentSlice<'a>> = lent.collect::<Result<_>>()?;
    // The lists have the lengths of those that were passed.
    lent.try_into().map_err(|_| Error::from(DriverError(CUresult::CUDA_ERROR_INVALID_VALUE)))
}
