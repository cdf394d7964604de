//! Copies of elements between the host and device memory.

use std::{panic::Location, sync::Arc};

use quadrants_runtime::{self as rt, Buffer, Completed, TransferPiece};

use crate::{
    Error, KernelValue, Result,
    arguments::operation_tensors::OperationTensors,
    launcher::operation_names::OperationUse,
    state::{ProgramInner, device_tensor::DeviceTensor, order::wait_for_stamps},
    thread_state::{
        capture,
        current_stream::{with_current_or_default, with_likely},
    },
    value::layout::{CopyRange, StorageLayout},
};

/// The name of a copy between tensors, and its uses of the two.
pub(crate) const COPY_FROM: (&str, OperationUse, OperationUse) =
    ("Tensor::copy_from", OperationUse::reads("from"), OperationUse::writes("self"));

impl DeviceTensor {
    /// A tensor in new memory with these elements, as many as `storage` has.
    pub(crate) fn with_elements<T: KernelValue>(
        program: &Arc<ProgramInner>,
        elements: &[T],
        storage: impl Into<Arc<StorageLayout>>,
    ) -> Result<Self> {
        let context = &program.shared.context;
        Self::from_bytes(program, elements, storage.into(), |bytes| {
            with_likely(program, |stream| Buffer::from_bytes_async(context, bytes, stream))
        })
    }

    /// The same for use on one stream, on which the elements are copied.
    pub(crate) fn with_elements_on<T: KernelValue>(
        program: &Arc<ProgramInner>,
        elements: &[T],
        storage: Arc<StorageLayout>,
        stream: &rt::Stream,
    ) -> Result<Self> {
        Self::from_bytes(program, elements, storage, |bytes| Buffer::from_bytes_on(stream, bytes))
    }

    fn from_bytes<T: KernelValue>(
        program: &Arc<ProgramInner>,
        elements: &[T],
        storage: Arc<StorageLayout>,
        make: impl FnOnce(&[u8]) -> rt::Result<Buffer>,
    ) -> Result<Self> {
        let buffer = match T::bytes(elements) {
            Some(bytes) => make(bytes)?,
            None => {
                let mut memory = words(&storage);
                storage.write(&mut memory, elements.iter().copied());
                make(&as_bytes(&memory)[..storage.bytes])?
            }
        };
        Ok(Self::new(buffer, storage, program))
    }

    /// Copies the first `count` elements to the host, after the launches that wrote them, and returns the errors of
    /// those.
    pub(crate) fn read<T: KernelValue>(&self, count: usize) -> Result<Vec<T>> {
        let host_storage = self.storage.resized(count);
        let mut memory = words(&host_storage);
        self.read_bytes(&host_storage, as_bytes_mut(&mut memory))?;
        Ok(host_storage.read(&memory))
    }

    /// As [`read`](Self::read), into existing elements.
    pub(super) fn read_into<T: KernelValue>(&self, out: &mut [T]) -> Result<()> {
        let host_storage = self.storage.resized(out.len());
        if let Some(bytes) = T::bytes_mut(out) {
            return self.read_bytes(&host_storage, bytes);
        }
        let mut memory = words(&host_storage);
        self.read_bytes(&host_storage, as_bytes_mut(&mut memory))?;
        out.iter_mut().zip(host_storage.elements(&memory)).for_each(|(to, from)| *to = from);
        Ok(())
    }

    pub(super) fn read_bytes(&self, host_storage: &StorageLayout, memory: &mut [u8]) -> Result<()> {
        let (shared, buffer) = (&self.program.shared, &self.buffer);
        capture::refuse(shared, "reading a tensor")?;
        let exclusion = shared.host_exclusion.lock(|| buffer.is_shared());
        wait_for_stamps(shared, buffer.writers(), || {
            Ok(match &self.spans(host_storage)[..] {
                [] => Completed::new(),
                [one] => {
                    buffer.read_completing(one.device, &mut memory[one.host..][..one.bytes])?
                }
                spans => buffer.read_pieces(&pieces(spans), memory)?,
            })
        })?;
        drop(exclusion);
        // The writers after the wait: it covered also those that came since its start.
        for stamp in buffer.writers() {
            if let Some(stream) = shared.manager.find(stamp) {
                stream.print_complete();
                stream.check()?;
            }
        }
        Ok(())
    }

    #[track_caller]
    pub(super) fn write<T: KernelValue>(&mut self, elements: &[T]) -> Result<()> {
        let host_storage = self.storage.resized(elements.len());
        if let Some(bytes) = T::bytes(elements) {
            return self.write_bytes(&host_storage, bytes);
        }
        let mut memory = words(&host_storage);
        host_storage.write(&mut memory, elements.iter().copied());
        self.write_bytes(&host_storage, as_bytes(&memory))
    }

    /// Copies the first `count` elements of another tensor on the current stream.
    #[track_caller]
    pub(super) fn copy_from(&self, from: &Self, count: usize) -> Result<()> {
        let (program, at) = (&self.program, Location::caller());
        if !Arc::ptr_eq(program, &from.program) {
            return self.copy_from_other(from, count, at);
        }
        let spans = self.storage.copies(&self.runs(count), &from.storage, &from.runs(count));
        let (from_layout, to) = (from.storage.layout(), self.storage.layout());
        let spans = spans.ok_or(Error::CopyLayout { from: from_layout, to })?;
        let shared = &program.shared;
        with_current_or_default(program, |stream| {
            let captured = capture::with(shared, |recorder| {
                recorder.device_copy(self, from, count, &spans, stream, at)
            });
            if let Some(captured) = captured {
                return captured;
            }
            stream.refuse_captured()?;
            self.order_fill_before(&stream.stream)?;
            from.order_fill_before(&stream.stream)?;
            let (shape, mut tensors) = ([count], OperationTensors::default());
            tensors.push(from, &shape, COPY_FROM.1);
            tensors.push(self, &shape, COPY_FROM.2);
            shared.submit_operation(stream, COPY_FROM.0, &tensors, at, || {
                let (dst, src) = (self.buffer.address(), from.buffer.address());
                let ranges = spans.iter().map(CopyRange::within_device);
                // SAFETY: both buffers have the bytes. They do not overlap: one is borrowed by `&mut`, the other by
                // `&`; and no two elements of a tensor are one. The stream is live as long as its state; the caller
                // stamps the buffers.
                Ok(unsafe { shared.context.copy_ranges(dst, src, ranges, stream.stream.handle()) }?)
            })
        })
    }

    #[track_caller]
    pub(super) fn write_bytes(&mut self, host_storage: &StorageLayout, bytes: &[u8]) -> Result<()> {
        let at = Location::caller();
        let captured = capture::with(&self.program.shared, |recorder| {
            let spans = self.spans(host_storage);
            recorder.copy(self, host_storage.count(), bytes, &spans, at)
        });
        if let Some(captured) = captured {
            return captured;
        }
        if self.write_without_wait(host_storage, bytes)? {
            return Ok(());
        }
        let (shared, buffer) = (&self.program.shared, &self.buffer);
        let _exclusion = shared.host_exclusion.lock(|| buffer.is_shared());
        wait_for_stamps(shared, buffer.users(), || {
            Ok(match &self.spans(host_storage)[..] {
                [] => Completed::new(),
                [one] => buffer.write_completing(one.device, &bytes[one.host..][..one.bytes])?,
                spans => buffer.write_pieces(&pieces(spans), bytes)?,
            })
        })
    }
}

impl DeviceTensor {
    /// Writes in the order of the streams that use the tensor, as a first fill is ordered. Returns false where the host
    /// has to wait: where there are other views, which do not order their launches after the write.
    fn write_without_wait(&mut self, host_storage: &StorageLayout, bytes: &[u8]) -> Result<bool> {
        let [span] = self.spans(host_storage)[..] else { return Ok(false) };
        let Some(buffer) = Arc::get_mut(&mut self.buffer) else { return Ok(false) };
        let is_written = with_current_or_default(&self.program, |stream| {
            let bytes = &bytes[span.host..][..span.bytes];
            match stream.is_captured() {
                true => Ok(false),
                false => buffer.write_without_wait(span.device, bytes, &stream.stream),
            }
        });
        // Also after an error: a part of the bytes may be on their way.
        if !matches!(is_written, Ok(false)) {
            self.usability.set_fill_pending();
        }
        let is_written = is_written?;
        if is_written {
            // Earlier uses are ordered before the write, and later ones after it.
            if let Some(tracker) = &self.program.shared.hazards {
                tracker.forget(buffer);
            }
        }
        Ok(is_written)
    }
}

fn pieces(spans: &[CopyRange]) -> Vec<TransferPiece> {
    let piece = |span: &CopyRange| TransferPiece {
        offset: span.device,
        host: span.host,
        bytes: span.bytes,
    };
    spans.iter().map(piece).collect()
}

/// Zeroed memory for elements, aligned for all scalars.
pub(super) fn words(storage: &StorageLayout) -> Vec<u64> {
    vec![0; storage.bytes.div_ceil(8)]
}

pub(super) fn as_bytes(words: &[u64]) -> &[u8] {
    // SAFETY: words have no padding, and bytes no alignment.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

pub(super) fn as_bytes_mut(words: &mut [u64]) -> &mut [u8] {
    // SAFETY: as above, and any bytes make words.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
}
