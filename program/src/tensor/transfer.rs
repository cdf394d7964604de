//! Copies of elements between the host and device memory.

use std::{panic::Location, sync::Arc};

use quadrants_runtime::{Buffer, Completed};

use crate::{
    KernelValue, Result,
    capture::active,
    hazards::order::wait_for_stamps,
    state::ProgramInner,
    tensor::{device_tensor::DeviceTensor, layout::StorageLayout},
};

impl DeviceTensor {
    /// A tensor in new memory with these elements, as many as `storage` has.
    pub(crate) fn with_elements<T: KernelValue>(
        program: &Arc<ProgramInner>,
        elements: &[T],
        storage: impl Into<Arc<StorageLayout>>,
    ) -> Result<Self> {
        let (context, storage) = (&program.shared.context, storage.into());
        let buffer = match T::bytes(elements) {
            Some(bytes) => Buffer::from_bytes(context, bytes)?,
            None => {
                let mut memory = words(&storage);
                storage.write(&mut memory, elements.iter().copied());
                Buffer::from_bytes(context, &as_bytes(&memory)[..storage.bytes])?
            }
        };
        Ok(Self::new(buffer, storage, program))
    }

    /// Copies the first `count` elements to the host, after the launches that wrote them, and returns the errors of
    /// those.
    pub(crate) fn read<T: KernelValue>(&self, count: usize) -> Result<Vec<T>> {
        let (shared, buffer) = (&self.program.shared, &self.buffer);
        active::refuse(shared, "reading a tensor")?;
        let exclusion = shared.host_exclusion.lock(|| buffer.is_shared());
        let host_storage = self.storage.resized(count);
        let mut memory = words(&host_storage);
        wait_for_stamps(shared, buffer.writers(), || {
            let mut completed = Completed::new();
            for span in self.storage.spans(self.first, &host_storage) {
                let host = &mut as_bytes_mut(&mut memory)[span.host..][..span.bytes];
                completed.extend(buffer.read_completing(span.device, host)?);
            }
            Ok(completed)
        })?;
        drop(exclusion);
        // The writers after the wait: it covered also those that came since its start.
        for stamp in buffer.writers() {
            if let Some(stream) = shared.manager.find(stamp) {
                stream.print_complete();
                stream.check()?;
            }
        }
        Ok(host_storage.read(&memory))
    }

    #[track_caller]
    pub(super) fn write<T: KernelValue>(&self, elements: &[T]) -> Result<()> {
        let host_storage = self.storage.resized(elements.len());
        if let Some(bytes) = T::bytes(elements) {
            return self.write_bytes(&host_storage, bytes);
        }
        let mut memory = words(&host_storage);
        host_storage.write(&mut memory, elements.iter().copied());
        self.write_bytes(&host_storage, as_bytes(&memory))
    }

    #[track_caller]
    fn write_bytes(&self, host_storage: &StorageLayout, bytes: &[u8]) -> Result<()> {
        let (shared, buffer) = (&self.program.shared, &self.buffer);
        let at = Location::caller();
        let captured = active::with(shared, |recorder| {
            let spans = self.storage.spans(self.first, host_storage);
            recorder.copy(self, host_storage.count(), bytes, &spans, at)
        });
        if let Some(captured) = captured {
            return captured;
        }
        let _exclusion = shared.host_exclusion.lock(|| buffer.is_shared());
        wait_for_stamps(shared, buffer.users(), || {
            let mut completed = Completed::new();
            for span in self.storage.spans(self.first, host_storage) {
                completed.extend(
                    buffer.write_completing(span.device, &bytes[span.host..][..span.bytes])?,
                );
            }
            Ok(completed)
        })
    }
}

/// Zeroed memory for elements, aligned for all scalars.
fn words(storage: &StorageLayout) -> Vec<u64> {
    vec![0; storage.bytes.div_ceil(8)]
}

fn as_bytes(words: &[u64]) -> &[u8] {
    // SAFETY: words have no padding, and bytes no alignment.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

fn as_bytes_mut(words: &mut [u64]) -> &mut [u8] {
    // SAFETY: as above, and any bytes make words.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
}
