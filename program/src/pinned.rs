//! [`Pinned`]: page-locked host memory, which tensors are copied to and from without a host wait.

use std::{fmt, marker::PhantomData, panic::Location, sync::Arc};

use parking_lot::Mutex;
use quadrants_rhi::EventOptions;
use quadrants_runtime as rt;

use crate::{
    Element, Error, Event, Program, Result, Tensor,
    arguments::operation_tensors::OperationTensors,
    launcher::operation_names::OperationUse,
    state::{ProgramInner, StreamState, device_tensor::DeviceTensor},
    tensor::{Elements, check_count},
    thread_state::{capture, current_stream::with_current_or_default},
};

/// Page-locked host memory for `len` scalars, made by [`Program::pinned`].
///
/// [`Tensor::read_async`] and [`Tensor::write_async`] copy to and from it in the order of a stream, while the host goes
/// on. [`as_slice`](Self::as_slice) and [`as_mut_slice`](Self::as_mut_slice) wait for those copies, so nobody sees a
/// copy that is not complete. Dropping it waits for them too.
///
/// # Examples
/// ```
/// # fn main() -> quadrants_program::Result<()> {
/// # let device = quadrants_rhi_cpu::driver()?.open(0)?;
/// # let opened = quadrants_program::Opened { device, compiler: None };
/// # let prog = quadrants_program::Program::open(opened)?;
/// let mut host = prog.pinned::<f32>(4)?;
/// host.as_mut_slice()?.fill(2.0);
/// let mut t = prog.zeros([2, 2])?;
/// t.write_async(&host)?; // returns at once
/// t.set([0, 0], 1.0)?;
/// t.read_async(&mut host)?;
/// assert_eq!(host.as_slice()?, [1.0, 2.0, 2.0, 2.0]); // waits for the copy
/// # Ok(())
/// # }
/// ```
pub struct Pinned<T> {
    /// None once it is dropped or leaked.
    memory: Option<rt::Pinned>,
    len: usize,
    /// The copies on each stream. The events are kept, so that repeated copies create nothing.
    copies: Mutex<Vec<CopiesOfStream>>,
    program: Arc<ProgramInner>,
    element: PhantomData<T>,
}

#[derive(Debug)]
struct CopiesOfStream {
    stream: u32,
    /// Whether a copy that may be in flight reads the pinned memory, or writes it.
    reads: bool,
    writes: bool,
    /// Recorded after them.
    event: Event,
    /// Whether the event could not be recorded after the last of them, nor the host wait for it.
    is_unrecorded: bool,
}

impl CopiesOfStream {
    fn wait(&self, program: &ProgramInner) -> Result<()> {
        match self.is_unrecorded {
            true => Ok(program.shared.context.synchronize()?),
            false => self.event.synchronize(),
        }
    }
}

impl Program {
    /// Allocates zeroed page-locked host memory for `len` scalars.
    ///
    /// # Errors
    /// [`Error::TooLarge`], out of memory, or an error of the device.
    pub fn pinned<T: Element>(&self, len: usize) -> Result<Pinned<T>> {
        const { assert!(T::ANY_BITS, "device memory of `bool` may have bits that are no `bool`") };
        let bytes = len.checked_mul(size_of::<T>()).filter(|bytes| isize::try_from(*bytes).is_ok());
        let bytes = bytes.ok_or_else(|| Error::TooLarge { shape: vec![len] })?;
        let memory = Some(rt::Pinned::new(&self.shared().context, bytes)?);
        let (copies, program) = (Mutex::default(), self.inner().clone());
        Ok(Pinned { memory, len, copies, program, element: PhantomData })
    }
}

impl<T: Element> Pinned<T> {
    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements, after the copies that write them.
    ///
    /// # Errors
    /// [`Error::Kernel`] where a kernel on the stream of a copy reported an error that was not returned yet;
    /// [`Error::Capture`]; or an error of the device.
    pub fn as_slice(&self) -> Result<&[T]> {
        self.wait(false)?;
        // SAFETY: the memory has that many elements, which were zeroed and later written as such, and is aligned to 256
        // bytes. No copy in flight writes them, and a new one needs a borrow by `&mut`.
        Ok(unsafe { std::slice::from_raw_parts(self.first(), self.len) })
    }

    /// The elements for writing, after all copies that use them.
    ///
    /// # Errors
    /// As for [`as_slice`](Self::as_slice).
    pub fn as_mut_slice(&mut self) -> Result<&mut [T]> {
        self.wait(true)?;
        // SAFETY: as above; no copy in flight uses them, and a new one needs a borrow.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.first(), self.len) })
    }

    fn first(&self) -> *mut T {
        let first = self.memory.as_ref().map(|memory| memory.as_ptr().cast());
        first.unwrap_or(std::ptr::NonNull::dangling().as_ptr())
    }
}

impl<T> Pinned<T> {
    /// Waits for the copies that write the pinned memory, and for those that read it if `all`.
    fn wait(&self, all: bool) -> Result<()> {
        let mut copies = self.copies.lock();
        for copies in copies.iter_mut().filter(|of| of.writes || (all && of.reads)) {
            let waited = copies.wait(&self.program);
            // After an error of a kernel, the copies are complete.
            if matches!(waited, Ok(()) | Err(Error::Kernel(_))) {
                (copies.reads, copies.writes) = (false, false);
                copies.is_unrecorded = false;
            }
            waited?;
        }
        Ok(())
    }

    /// Enqueues a copy on a stream after those on other streams that it conflicts with, and remembers it.
    fn copy_on(
        &self,
        stream: &StreamState,
        writes: bool,
        copy: impl FnOnce(*mut u8) -> Result<()>,
    ) -> Result<()> {
        let Some(memory) = &self.memory else { return Ok(()) };
        let (mut copies, id) = (self.copies.lock(), stream.stream.id());
        let at = match copies.iter().position(|earlier| earlier.stream == id) {
            Some(at) => at,
            None => {
                let event = Event::create(&self.program, EventOptions::default())?;
                let (reads, writes, is_unrecorded) = (false, false, false);
                copies.push(CopiesOfStream { stream: id, reads, writes, event, is_unrecorded });
                copies.len() - 1
            }
        };
        for earlier in copies.iter().filter(|earlier| earlier.stream != id) {
            if earlier.writes || (writes && earlier.reads) {
                match earlier.is_unrecorded {
                    true => earlier.wait(&self.program)?,
                    false => earlier.event.wait_on(stream)?,
                }
            }
        }
        if writes {
            // Whoever waits for this copy waits for them.
            for earlier in copies.iter_mut().filter(|earlier| earlier.stream != id) {
                (earlier.reads, earlier.writes) = (false, false);
                earlier.is_unrecorded = false;
            }
        }
        copies[at].reads |= !writes;
        copies[at].writes |= writes;
        let copied = copy(memory.as_ptr());
        // Also after a failure: a part of the copy may be enqueued.
        if let Err(error) = copies[at].event.record_on(stream) {
            // Without the event, nothing else tells when the copy is complete.
            copies[at].is_unrecorded = true;
            stream.stream.synchronize()?;
            copies[at].is_unrecorded = false;
            return Err(error);
        }
        copies[at].is_unrecorded = false;
        copied
    }
}

impl<T> Drop for Pinned<T> {
    fn drop(&mut self) {
        let mut is_complete = true;
        for copy in self.copies.get_mut().iter().filter(|of| of.reads || of.writes) {
            let waited = match copy.is_unrecorded {
                true => copy.wait(&self.program),
                false => copy.event.wait_at_end(),
            };
            if let Err(error) = waited {
                is_complete = false;
                self.program.shared.defer(error);
            }
        }
        if let Some(memory) = self.memory.take().filter(|_| !is_complete) {
            // A copy may still be in flight.
            memory.leak();
        }
    }
}

impl<T> fmt::Debug for Pinned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pinned").field("len", &self.len).finish_non_exhaustive()
    }
}

impl<T: Element, const N: usize> Tensor<T, N> {
    /// Copies all elements to pinned memory, as work of this thread's current stream. The host does not wait;
    /// [`Pinned::as_slice`] does. Other streams are not waited for, so order this stream after the work that writes the
    /// tensor, as for a launch that reads it.
    ///
    /// # Errors
    /// [`Error::Shape`] where the number of elements is not that of the tensor; [`Error::HostArray`]; [`Error::View`]
    /// where the tensor is not [contiguous](Self::is_contiguous);
    /// [`Error::OtherProgram`]; [`Error::Capture`]; and those of [`Launch::launch`](crate::Launch::launch).
    #[track_caller]
    pub fn read_async(&self, to: &mut Pinned<T>) -> Result<()> {
        const READ: (&str, OperationUse) = ("Tensor::read_async", OperationUse::reads("self"));
        let at = Location::caller();
        self.copy_pinned(to, READ, at, |device_tensor, stream, host, bytes| {
            let source = device_tensor.address();
            // SAFETY: both have the bytes, and are used after that only as the caller's stamps and events allow.
            unsafe {
                let device = device_tensor.program.shared.context.device();
                device.copy_dtoh_async(host, source, bytes, stream.stream.handle())
            }
        })
    }

    /// Overwrites all elements from pinned memory, as work of this thread's current stream. The host does not wait;
    /// [`Pinned::as_mut_slice`] does. Other streams are not waited for, so order this stream after the work that uses
    /// the tensor, as for a launch that writes it.
    ///
    /// # Errors
    /// As for [`read_async`](Self::read_async).
    #[track_caller]
    pub fn write_async(&mut self, from: &Pinned<T>) -> Result<()> {
        const WRITE: (&str, OperationUse) = ("Tensor::write_async", OperationUse::writes("self"));
        let at = Location::caller();
        self.copy_pinned(from, WRITE, at, |device_tensor, stream, host, bytes| {
            let target = device_tensor.address();
            // SAFETY: as above.
            unsafe {
                let device = device_tensor.program.shared.context.device();
                device.copy_htod_async(target, host, bytes, stream.stream.handle())
            }
        })
    }

    fn copy_pinned(
        &self,
        pinned: &Pinned<T>,
        (name, of): (&'static str, OperationUse),
        at: &'static Location<'static>,
        copy: impl FnOnce(&DeviceTensor, &StreamState, *mut u8, usize) -> quadrants_rhi::Result<()>,
    ) -> Result<()> {
        self.check_address()?;
        check_count(&self.shape(), self.len(), pinned.len)?;
        let Elements::Device(device_tensor) = &self.elements else {
            return Err(Error::HostArray { what: "a copy to or from pinned memory" });
        };
        device_tensor.check_contiguous("a copy to or from pinned memory")?;
        let program = &device_tensor.program;
        program.check_same(&pinned.program, "the pinned memory")?;
        capture::refuse(&program.shared, "a copy to or from pinned memory")?;
        with_current_or_default(program, |stream| {
            stream.refuse_captured()?;
            device_tensor.order_fill_before(&stream.stream)?;
            let (shape, mut tensors) = (self.shape(), OperationTensors::default());
            tensors.push(device_tensor, &shape, of);
            program.shared.submit_operation(stream, name, &tensors, at, || {
                // A copy that reads the tensor writes the pinned memory.
                pinned.copy_on(stream, !of.writes, |host| {
                    let bytes = pinned.len * size_of::<T>();
                    let copied = copy(device_tensor, stream, host, bytes);
                    Ok(program.shared.context.observe(copied)?)
                })
            })
        })
    }
}
