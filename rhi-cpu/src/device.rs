//! The CPU as a device: one stream, on which every operation is complete when its call returns.

use std::any::Any;

use quadrants_rhi::{
    Capabilities, Device, DeviceInfo, DevicePtr, DlpackNames, Error, EventHandle, EventOptions,
    FunctionHandle, Image, ImageKind, LaunchConfig, ModuleHandle, Result, StreamHandle,
    StreamOptions,
    table_device::{launch_parameters, not_a_peer},
};

use crate::{BACKEND, launch, memory, module};

/// Arguments are passed as a slice without a copy. The limit is finite only so that code above needs no special case
/// for the CPU.
const MAX_ARGUMENT_BYTES: usize = 1 << 30;

/// Blocks have heap memory. They can have as much as on any GPU.
const MAX_SHARED_BYTES: u32 = 256 << 10;

#[derive(Debug)]
pub(crate) struct CpuDevice {
    info: DeviceInfo,
    capabilities: Capabilities,
}

impl CpuDevice {
    pub(crate) fn open(version: String) -> Self {
        let arch = std::env::consts::ARCH.to_owned();
        let mut info = DeviceInfo::new(BACKEND, 0, processor_name(), arch);
        info.driver_version = version;
        info.total_memory = memory::machine().map_or(0, |(_, total)| total);
        info.max_shared_bytes = MAX_SHARED_BYTES;
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        info.multiprocessors = u32::try_from(processors).unwrap_or(u32::MAX);
        // `kDLCPU`; `kDLCUDAHost` and `kDLROCMHost` are pinned memory.
        info.dlpack =
            Some(DlpackNames { device_type: 1, also_accessible: &[3, 11], default_stream: None });

        let mut capabilities = Capabilities::new(ImageKind::Native);
        capabilities.asynchronous = false;
        capabilities.max_argument_bytes = MAX_ARGUMENT_BYTES;
        capabilities.stream_ordered_memory_reason =
            Some("every operation is complete when its call returns".to_owned());
        Self { info, capabilities }
    }
}

fn processor_name() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split_once(':'))
        .map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}

// SAFETY: memory is from the global allocator, aligned and zeroed as the contract requires, and every operation is
// complete when its call returns.
unsafe impl Device for CpuDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn memory_info(&self) -> Result<(u64, u64)> {
        memory::machine().ok_or_else(|| Error::Unsupported {
            operation: "memory_info",
            reason: "this system does not report its memory; help: make /proc/meminfo readable"
                .to_owned(),
        })
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }

    fn alloc(&self, bytes: usize) -> Result<DevicePtr> {
        memory::allocate(bytes, false).map(DevicePtr::from_ptr)
    }

    unsafe fn free(&self, memory: DevicePtr) -> Result<()> {
        // SAFETY: from `alloc` and unused, as the caller guarantees.
        unsafe { memory::free(memory.as_ptr()) };
        Ok(())
    }

    unsafe fn alloc_async(&self, bytes: usize, _stream: StreamHandle) -> Result<DevicePtr> {
        self.alloc(bytes)
    }

    unsafe fn free_async(&self, memory: DevicePtr, _stream: StreamHandle) -> Result<()> {
        // SAFETY: from `alloc_async`; all earlier work is complete, as on every return.
        unsafe { self.free(memory) }
    }

    fn alloc_pinned(&self, bytes: usize) -> Result<*mut u8> {
        memory::allocate(bytes, true)
    }

    unsafe fn free_pinned(&self, memory: *mut u8) -> Result<()> {
        // SAFETY: from `alloc_pinned` and unused, as the caller guarantees.
        unsafe { memory::free(memory) };
        Ok(())
    }

    unsafe fn copy_htod_async(
        &self,
        dst: DevicePtr,
        src: *const u8,
        bytes: usize,
        _stream: StreamHandle,
    ) -> Result<()> {
        // SAFETY: both sides have `bytes`, as the caller guarantees; `copy` allows overlap.
        unsafe { std::ptr::copy(src, dst.as_ptr(), bytes) };
        Ok(())
    }

    unsafe fn copy_dtoh_async(
        &self,
        dst: *mut u8,
        src: DevicePtr,
        bytes: usize,
        _stream: StreamHandle,
    ) -> Result<()> {
        // SAFETY: both sides have `bytes`, as the caller guarantees; `copy` allows overlap.
        unsafe { std::ptr::copy(src.as_ptr(), dst, bytes) };
        Ok(())
    }

    unsafe fn copy_dtod_async(
        &self,
        dst: DevicePtr,
        src: DevicePtr,
        bytes: usize,
        _stream: StreamHandle,
    ) -> Result<()> {
        // SAFETY: both sides have `bytes` and do not overlap, as the caller guarantees.
        unsafe { std::ptr::copy_nonoverlapping(src.as_ptr::<u8>(), dst.as_ptr(), bytes) };
        Ok(())
    }

    fn is_peer(&self, other: &(dyn Device + 'static)) -> bool {
        (other as &dyn Any).is::<Self>()
    }

    fn can_access_peer(&self, ordinal: usize) -> Result<bool> {
        match ordinal {
            0 => Ok(false),
            _ => Err(Error::DeviceOrdinal { backend: BACKEND, ordinal, count: 1 }),
        }
    }

    unsafe fn copy_from_peer_async(
        &self,
        dst: DevicePtr,
        source: &(dyn Device + 'static),
        src: DevicePtr,
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        if !self.is_peer(source) {
            return Err(not_a_peer());
        }
        // SAFETY: all devices of the CPU have the memory of this process; the caller guarantees the rest.
        unsafe { self.copy_dtod_async(dst, src, bytes, stream) }
    }

    unsafe fn fill_u8_async(
        &self,
        dst: DevicePtr,
        value: u8,
        bytes: usize,
        _stream: StreamHandle,
    ) -> Result<()> {
        // SAFETY: `dst` has `bytes`, as the caller guarantees.
        unsafe { dst.as_ptr::<u8>().write_bytes(value, bytes) };
        Ok(())
    }

    unsafe fn fill_u32_async(
        &self,
        dst: DevicePtr,
        value: u32,
        words: usize,
        _stream: StreamHandle,
    ) -> Result<()> {
        let dst = dst.as_ptr::<u32>();
        for index in 0..words {
            // SAFETY: `dst` is aligned and has the words, as the caller guarantees.
            unsafe { dst.add(index).write(value) };
        }
        Ok(())
    }

    fn create_stream(&self, _options: StreamOptions) -> Result<StreamHandle> {
        Ok(StreamHandle::DEFAULT)
    }

    unsafe fn destroy_stream(&self, _stream: StreamHandle) -> Result<()> {
        Ok(())
    }

    unsafe fn stream_query(&self, _stream: StreamHandle) -> Result<bool> {
        Ok(true)
    }

    unsafe fn stream_synchronize(&self, _stream: StreamHandle) -> Result<()> {
        Ok(())
    }

    unsafe fn stream_wait_event(&self, _stream: StreamHandle, _event: EventHandle) -> Result<()> {
        Ok(())
    }

    fn create_event(&self, _options: EventOptions) -> Result<EventHandle> {
        Ok(EventHandle(0))
    }

    unsafe fn destroy_event(&self, _event: EventHandle) -> Result<()> {
        Ok(())
    }

    unsafe fn event_record(&self, _event: EventHandle, _stream: StreamHandle) -> Result<()> {
        Ok(())
    }

    unsafe fn event_query(&self, _event: EventHandle) -> Result<bool> {
        Ok(true)
    }

    unsafe fn event_synchronize(&self, _event: EventHandle) -> Result<()> {
        Ok(())
    }

    unsafe fn event_elapsed_ms(&self, _start: EventHandle, _end: EventHandle) -> Result<f32> {
        Ok(0.0)
    }

    fn load_module(&self, image: &Image<'_>) -> Result<ModuleHandle> {
        module::load(image)
    }

    unsafe fn unload_module(&self, module: ModuleHandle) -> Result<()> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { module::unload(module) };
        Ok(())
    }

    unsafe fn function(&self, module: ModuleHandle, name: &str) -> Result<FunctionHandle> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { module::function(module, name) }
    }

    unsafe fn launch(
        &self,
        function: FunctionHandle,
        _config: &LaunchConfig,
        args: &[u64],
        _stream: StreamHandle,
    ) -> Result<()> {
        launch_parameters(args, MAX_ARGUMENT_BYTES)?;
        // SAFETY: a function of this device, whose module stays loaded while it runs, as the caller guarantees.
        launch::launch(unsafe { module::resolve(function) }, args)
    }
}
