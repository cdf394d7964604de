//! Owners of the device objects that cases create.

use quadrants_rhi::{
    Device, DevicePtr, Error, EventHandle, EventOptions, FunctionHandle, ModuleHandle,
    StreamHandle, StreamOptions,
};

use crate::{AddKernel, CaseFailure};

pub(crate) type CaseResult = Result<crate::Outcome, CaseFailure>;

/// Ends the case with a failure if the condition is false.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err($crate::CaseFailure::Contract(format!($($message)+)));
        }
    };
}
pub(crate) use ensure;

/// Device memory of a case.
pub(crate) struct Buffer<'a> {
    pub(crate) device: &'a dyn Device,
    pub(crate) memory: DevicePtr,
    pub(crate) bytes: usize,
}

pub(crate) struct Pinned<'a> {
    device: &'a dyn Device,
    pub(crate) memory: *mut u8,
    bytes: usize,
}

pub(crate) struct Stream<'a> {
    device: &'a dyn Device,
    pub(crate) handle: StreamHandle,
}

pub(crate) struct Event<'a> {
    device: &'a dyn Device,
    pub(crate) handle: EventHandle,
}

pub(crate) struct Loaded<'a> {
    device: &'a dyn Device,
    module: ModuleHandle,
    pub(crate) function: FunctionHandle,
    kernel: &'a AddKernel,
}

impl<'a> Buffer<'a> {
    pub(crate) fn new(device: &'a dyn Device, bytes: usize) -> Result<Self, CaseFailure> {
        Ok(Self { device, memory: device.alloc(bytes)?, bytes })
    }

    /// Allocates a buffer and copies `data` to it; the copy is complete on return.
    pub(crate) fn holding(device: &'a dyn Device, data: &[u8]) -> Result<Self, CaseFailure> {
        let buffer = Self::new(device, data.len())?;
        let stream = StreamHandle::DEFAULT;
        // SAFETY: both sides have that many bytes, and `data` lives until the copy is complete.
        unsafe {
            device.copy_htod_async(buffer.memory, data.as_ptr(), data.len(), stream)?;
            device.stream_synchronize(stream)?;
        }
        Ok(buffer)
    }

    pub(crate) fn fill(&self, value: u8, stream: StreamHandle) -> Result<(), CaseFailure> {
        // SAFETY: the buffer has that many bytes, and is freed after all work.
        unsafe { self.device.fill_u8_async(self.memory, value, self.bytes, stream) }?;
        Ok(())
    }

    pub(crate) fn fill_words(&self, value: u32, stream: StreamHandle) -> Result<(), CaseFailure> {
        // SAFETY: the buffer has that many words, aligned as allocations are, and is freed after all work.
        unsafe { self.device.fill_u32_async(self.memory, value, self.bytes / 4, stream) }?;
        Ok(())
    }

    pub(crate) fn copy_to(
        &self,
        other: &Buffer<'_>,
        stream: StreamHandle,
    ) -> Result<(), CaseFailure> {
        let bytes = self.bytes.min(other.bytes);
        // SAFETY: both have that many bytes, are two allocations, and are freed after all work.
        unsafe { self.device.copy_dtod_async(other.memory, self.memory, bytes, stream) }?;
        Ok(())
    }

    /// Reads the contents after all work of `stream`.
    pub(crate) fn read(&self, stream: StreamHandle) -> Result<Vec<u8>, CaseFailure> {
        let mut host = vec![0xa5; self.bytes];
        // SAFETY: both sides have that many bytes, and `host` lives until the copy is complete.
        unsafe {
            self.device.copy_dtoh_async(host.as_mut_ptr(), self.memory, self.bytes, stream)?;
            self.device.stream_synchronize(stream)?;
        }
        Ok(host)
    }

    /// Checks that all 32-bit words have a value.
    pub(crate) fn expect_words(
        &self,
        stream: StreamHandle,
        expected: u32,
    ) -> Result<(), CaseFailure> {
        let words = self.read_words(stream)?;
        ensure!(words.iter().all(|word| *word == expected), "{} instead of {expected}", words[0]);
        Ok(())
    }

    pub(crate) fn read_words(&self, stream: StreamHandle) -> Result<Vec<u32>, CaseFailure> {
        let bytes = self.read(stream)?;
        let words = bytes
            .chunks_exact(4)
            .map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
        Ok(words.collect())
    }
}

impl<'a> Pinned<'a> {
    pub(crate) fn new(device: &'a dyn Device, bytes: usize) -> Result<Self, CaseFailure> {
        Ok(Self { device, memory: device.alloc_pinned(bytes)?, bytes })
    }

    /// The contents. No copy into the memory may be pending.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the memory has that many initialized bytes, and cases wait for their copies before they read.
        unsafe { std::slice::from_raw_parts(self.memory, self.bytes) }
    }

    /// The contents, mutably. No copy into or out of the memory may be pending.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `bytes`, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.memory, self.bytes) }
    }
}

impl<'a> Stream<'a> {
    pub(crate) fn new(device: &'a dyn Device) -> Result<Self, CaseFailure> {
        Self::with_priority(device, 0)
    }

    pub(crate) fn with_priority(
        device: &'a dyn Device,
        priority: i32,
    ) -> Result<Self, CaseFailure> {
        Ok(Self { device, handle: device.create_stream(StreamOptions { priority })? })
    }

    pub(crate) fn wait_for(&self, event: &Event<'_>) -> Result<(), CaseFailure> {
        // SAFETY: both handles are valid.
        unsafe { self.device.stream_wait_event(self.handle, event.handle) }?;
        Ok(())
    }

    pub(crate) fn synchronize(&self) -> Result<(), CaseFailure> {
        // SAFETY: the stream is valid.
        unsafe { self.device.stream_synchronize(self.handle) }?;
        Ok(())
    }

    /// Takes the handle out; the case destroys the stream.
    pub(crate) fn into_handle(self) -> StreamHandle {
        let handle = self.handle;
        std::mem::forget(self);
        handle
    }
}

impl<'a> Event<'a> {
    pub(crate) fn new(device: &'a dyn Device) -> Result<Self, CaseFailure> {
        Ok(Self { device, handle: device.create_event(EventOptions::default())? })
    }

    pub(crate) fn with_timing(device: &'a dyn Device) -> Result<Self, CaseFailure> {
        Ok(Self { device, handle: device.create_event(EventOptions { timing: true })? })
    }

    pub(crate) fn record(&self, stream: StreamHandle) -> Result<(), CaseFailure> {
        // SAFETY: both handles are valid.
        unsafe { self.device.event_record(self.handle, stream) }?;
        Ok(())
    }

    pub(crate) fn is_complete(&self) -> Result<bool, CaseFailure> {
        // SAFETY: the event is valid.
        Ok(unsafe { self.device.event_query(self.handle) }?)
    }

    pub(crate) fn synchronize(&self) -> Result<(), CaseFailure> {
        // SAFETY: the event is valid.
        unsafe { self.device.event_synchronize(self.handle) }?;
        Ok(())
    }
}

impl<'a> Loaded<'a> {
    pub(crate) fn new(device: &'a dyn Device, kernel: &'a AddKernel) -> Result<Self, CaseFailure> {
        let module = device.load_module(&kernel.image)?;
        // SAFETY: just loaded.
        match unsafe { device.function(module, &kernel.function) } {
            Ok(function) => Ok(Self { device, module, function, kernel }),
            Err(error) => {
                // SAFETY: none of its functions was launched.
                unsafe { device.unload_module(module) }?;
                Err(error.into())
            }
        }
    }

    pub(crate) fn launch(
        &self,
        buffer: &Buffer<'_>,
        add: u32,
        stream: StreamHandle,
    ) -> Result<(), CaseFailure> {
        let (config, args) = self.shape(buffer, add);
        // SAFETY: the argument block is for this kernel, and the buffer has that many words.
        unsafe { self.device.launch(self.function, &config, &args, stream) }?;
        Ok(())
    }

    /// The shape and arguments of a launch that adds `add` to all words of `buffer`.
    pub(crate) fn shape(
        &self,
        buffer: &Buffer<'_>,
        add: u32,
    ) -> (quadrants_rhi::LaunchConfig, Vec<u64>) {
        let words = buffer.bytes as u64 / 4;
        let config = quadrants_rhi::LaunchConfig::linear(words, self.kernel.block_dim);
        (config, (self.kernel.args)(buffer.memory.raw(), words, add))
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        // If this fails, the device is broken and the case has failed already.
        if self.device.synchronize().is_ok() {
            // SAFETY: allocated by `new`; all work is complete.
            let _ = unsafe { self.device.free(self.memory) };
        }
    }
}

impl Drop for Pinned<'_> {
    fn drop(&mut self) {
        if self.device.synchronize().is_ok() {
            // SAFETY: allocated by `new`; all work is complete.
            let _ = unsafe { self.device.free_pinned(self.memory) };
        }
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        // SAFETY: created by `with_priority`, and destroyed here only.
        let _ = unsafe { self.device.destroy_stream(self.handle) };
    }
}

impl Drop for Event<'_> {
    fn drop(&mut self) {
        // SAFETY: created by `new` or `with_timing`, and destroyed here only.
        let _ = unsafe { self.device.destroy_event(self.handle) };
    }
}

impl Drop for Loaded<'_> {
    fn drop(&mut self) {
        if self.device.synchronize().is_ok() {
            // SAFETY: loaded by `new`; all launches are complete.
            let _ = unsafe { self.device.unload_module(self.module) };
        }
    }
}

pub(crate) fn pattern(bytes: usize, seed: u8) -> Vec<u8> {
    let mut state = u32::from(seed).wrapping_mul(0x9e37_79b9) | 1;
    let step = |_| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as u8
    };
    (0..bytes).map(step).collect()
}

/// Repeats a query until it returns true, for at most 20 seconds.
pub(crate) fn becomes(
    mut query: impl FnMut() -> Result<bool, CaseFailure>,
) -> Result<bool, CaseFailure> {
    let start = std::time::Instant::now();
    while start.elapsed().as_secs() < 20 {
        if query()? {
            return Ok(true);
        }
        std::thread::yield_now();
    }
    Ok(false)
}

pub(crate) fn is_invalid_argument<T>(result: &Result<T, Error>) -> bool {
    matches!(result, Err(Error::InvalidArgument { .. }))
}
