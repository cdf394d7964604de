//! The CUDA device: its context, properties and capabilities, and the `Device` trait, delegated to the other modules.

use std::{
    cell::Cell,
    ffi::{CStr, c_char, c_int},
    marker::PhantomData,
    sync::Arc,
};

use cudarc::driver::sys::{CUcontext, CUdevice, CUdevice_attribute};
use quadrants_rhi::{
    self as rhi, Capabilities, Device, DeviceInfo, DevicePtr, DriverErrorKind, Error, EventHandle,
    EventOptions, FunctionHandle, GraphExecHandle, GraphHandle, GraphNodeHandle, Image, ImageKind,
    LaunchConfig, ModuleHandle, PriorityRange, Result, StreamHandle, StreamOptions, environment,
};

use crate::{BACKEND, event, graph, launch, memory, module, stream, table::Table};

thread_local! {
    /// The context that [`Device::make_current`] made current on this thread, as a number; 0 for none. It need not be
    /// queried.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// A retained primary context.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) table: Arc<Table>,
    device: CUdevice,
    /// The `CUcontext` as a number: it is only compared and passed to the driver.
    handle: usize,
}

/// A guard that keeps a context current.
pub(crate) struct Entered<'a> {
    /// The functions, to be called while the context is current.
    pub(crate) table: &'a Table,
    pushed: bool,
    /// A context is current on one thread, so the guard must not move to another.
    not_send: PhantomData<*const ()>,
}

/// An open CUDA device.
#[derive(Debug)]
pub(crate) struct CudaDevice {
    pub(crate) context: Context,
    pub(crate) info: DeviceInfo,
    pub(crate) capabilities: Capabilities,
}

impl Context {
    fn retain(table: Arc<Table>, device: CUdevice) -> Result<Self> {
        let mut context: CUcontext = std::ptr::null_mut();
        // SAFETY: the driver writes the context of a device that it returned.
        unsafe { table.retain_context(&mut context, device) }?;
        Ok(Self { table, device, handle: context as usize })
    }

    pub(crate) fn raw(&self) -> CUcontext {
        self.handle as CUcontext
    }

    /// Makes the context current if it is not. Dropping the result restores the previous context.
    #[inline(always)]
    pub(crate) fn enter(&self) -> Result<Entered<'_>> {
        let pushed = CURRENT.get() != self.handle && self.push()?;
        Ok(Entered { table: &self.table, pushed, not_send: PhantomData })
    }

    /// Makes the context current if it is not. Returns whether it changed the current context.
    #[inline(always)]
    fn push(&self) -> Result<bool> {
        if self.is_current()? { Ok(false) } else { self.push_slow() }
    }

    #[inline(always)]
    fn is_current(&self) -> Result<bool> {
        let mut current: CUcontext = std::ptr::null_mut();
        // SAFETY: the driver writes the current context or null.
        unsafe { self.table.current_context(&mut current) }?;
        Ok(current as usize == self.handle)
    }

    #[cold]
    fn push_slow(&self) -> Result<bool> {
        // SAFETY: the context is retained as long as `self` lives.
        unsafe { self.table.push_context(self.handle as CUcontext) }?;
        Ok(true)
    }
}

/// Restores the context that was current before a `push` that returned true.
#[cold]
fn pop(table: &Table) {
    let mut popped: CUcontext = std::ptr::null_mut();
    // SAFETY: this context was pushed on this thread, and all contexts that were pushed later are popped.
    let result = unsafe { table.pop_context(&mut popped) };
    report_unless_shutting_down("restoring the context", result);
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: `retain` retained it once, and all users borrowed `self`.
        let released = unsafe { self.table.release_context(self.device) };
        report_unless_shutting_down("releasing the context", released);
    }
}

impl Drop for Entered<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.pushed {
            // The guard cannot leave its thread, and guards that were created later are dropped before.
            pop(self.table);
        }
    }
}

/// Logs an error that a drop cannot return, unless the driver is shutting down: then nothing is leaked.
fn report_unless_shutting_down(what: &'static str, result: Result<()>) {
    if let Err(error) = result {
        let kind = error.driver_error().map(|e| e.kind);
        if kind != Some(DriverErrorKind::ShuttingDown) {
            tracing::warn!(%error, "{what} failed");
        }
    }
}

impl CudaDevice {
    pub(crate) fn open(table: Arc<Table>, ordinal: usize, driver_version: String) -> Result<Self> {
        let number = c_int::try_from(ordinal).map_err(|_| Error::DeviceOrdinal {
            backend: BACKEND,
            ordinal,
            count: 0,
        })?;
        let mut device = 0;
        // SAFETY: the driver writes the device of an ordinal below the count.
        unsafe { table.device(&mut device, number) }?;
        let info = read_info(&table, device, ordinal, driver_version)?;

        let context = Context::retain(table, device)?;
        let mut capabilities = Capabilities::new(ImageKind::Binary);
        let entered = context.enter()?;
        capabilities.priorities = read_priorities(entered.table)?;
        capabilities.graphs = graph::available(entered.table);
        let off = environment::memory_pools_disabled()?;
        match memory::prepare_pool(entered.table, device, off) {
            Ok(()) => capabilities.stream_ordered_memory = true,
            Err(reason) => {
                memory::log_fallback_once(&reason);
                capabilities.stream_ordered_memory_reason = Some(reason);
            }
        }
        drop(entered);
        tracing::info!(
            backend = BACKEND,
            ordinal,
            name = info.name,
            arch = info.arch,
            simulated = info.simulated,
            "device opened"
        );
        Ok(Self { context, info, capabilities })
    }

    #[inline(always)]
    pub(crate) fn enter(&self) -> Result<Entered<'_>> {
        self.context.enter()
    }

    /// Whether the context is current.
    #[inline(always)]
    pub(crate) fn is_current_cached(&self) -> Result<bool> {
        Ok(CURRENT.get() == self.context.handle || self.context.is_current()?)
    }

    /// Makes a call with the context current. Optimized for the common case that it is current already.
    #[inline(always)]
    pub(crate) fn with_current(&self, call: impl FnOnce(&Table) -> Result<()>) -> Result<()> {
        if self.is_current_cached()? {
            call(&self.context.table)
        } else {
            self.enter_and_call(call)
        }
    }

    #[cold]
    #[inline(never)]
    fn enter_and_call(&self, call: impl FnOnce(&Table) -> Result<()>) -> Result<()> {
        let context = self.enter()?;
        call(context.table)
    }
}

fn read_info(
    table: &Table,
    device: CUdevice,
    ordinal: usize,
    driver_version: String,
) -> Result<DeviceInfo> {
    use CUdevice_attribute::*;
    let number = |attribute| attribute_of(table, device, attribute);

    let mut name: [c_char; 256] = [0; 256];
    let mut total = 0;
    // SAFETY: the driver writes at most that many bytes with a final zero, and a number.
    unsafe {
        table.device_name(name.as_mut_ptr(), name.len() as c_int - 1, device)?;
        table.device_total_memory(&mut total, device)?;
    }
    // SAFETY: the driver may not write the last byte, so it is zero.
    let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
    let arch = format!(
        "sm_{}{}",
        number(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
        number(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?
    );
    let mut info = DeviceInfo::new(BACKEND, ordinal, name, arch);
    info.driver_version = driver_version;
    info.simulated = table.functions.simulator.is_some();
    info.total_memory = total as u64;
    info.multiprocessors = number(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
    info.warp_size = number(CU_DEVICE_ATTRIBUTE_WARP_SIZE)?;
    info.max_threads_per_block = number(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?;
    info.max_grid_dim = [
        number(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
        number(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?,
        number(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)?,
    ];
    Ok(info)
}

pub(crate) fn attribute_of(
    table: &Table,
    device: CUdevice,
    attribute: CUdevice_attribute,
) -> Result<u32> {
    let mut value = 0;
    // SAFETY: the driver writes a number.
    unsafe { table.device_attribute(&mut value, attribute, device) }?;
    Ok(u32::try_from(value).unwrap_or(0))
}

fn read_priorities(table: &Table) -> Result<PriorityRange> {
    let (mut least, mut greatest) = (0, 0);
    // SAFETY: the driver writes two numbers about the current context.
    unsafe { table.priority_range(&mut least, &mut greatest) }?;
    Ok(PriorityRange { least, greatest })
}

// SAFETY: each method is one operation of the CUDA driver, whose documentation states the guarantees. Operations that
// the driver lacks are errors.
unsafe impl Device for CudaDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    unsafe fn make_current(&self) -> Result<rhi::Entered> {
        let outer = CURRENT.get();
        let pushed = outer != self.context.handle && self.context.push()?;
        CURRENT.set(self.context.handle);
        Ok(rhi::Entered { outer: [outer as u64, 0], before: pushed.then_some(0) })
    }

    unsafe fn restore_current(&self, entered: rhi::Entered) {
        CURRENT.set(entered.outer[0] as usize);
        if entered.before.is_some() {
            pop(&self.context.table);
        }
    }

    fn memory_info(&self) -> Result<(u64, u64)> {
        memory::info(self)
    }

    fn synchronize(&self) -> Result<()> {
        let context = self.enter()?;
        // SAFETY: it has no conditions; it waits for the current context.
        unsafe { context.table.synchronize() }
    }

    fn alloc(&self, bytes: usize) -> Result<DevicePtr> {
        memory::alloc(self, bytes)
    }

    unsafe fn free(&self, memory: DevicePtr) -> Result<()> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { memory::free(self, memory) }
    }

    unsafe fn alloc_async(&self, bytes: usize, stream: StreamHandle) -> Result<DevicePtr> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { memory::alloc_async(self, bytes, stream) }
    }

    unsafe fn free_async(&self, memory: DevicePtr, stream: StreamHandle) -> Result<()> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { memory::free_async(self, memory, stream) }
    }

    fn alloc_pinned(&self, bytes: usize) -> Result<*mut u8> {
        memory::alloc_pinned(self, bytes)
    }

    unsafe fn free_pinned(&self, memory: *mut u8) -> Result<()> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { memory::free_pinned(self, memory) }
    }

    unsafe fn copy_htod_async(
        &self,
        dst: DevicePtr,
        src: *const u8,
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { memory::copy_htod_async(self, dst, src, bytes, stream) }
    }

    unsafe fn copy_dtoh_async(
        &self,
        dst: *mut u8,
        src: DevicePtr,
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { memory::copy_dtoh_async(self, dst, src, bytes, stream) }
    }

    unsafe fn copy_dtod_async(
        &self,
        dst: DevicePtr,
        src: DevicePtr,
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { memory::copy_dtod_async(self, dst, src, bytes, stream) }
    }

    unsafe fn fill_u8_async(
        &self,
        dst: DevicePtr,
        value: u8,
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { memory::fill_u8_async(self, dst, value, bytes, stream) }
    }

    unsafe fn fill_u32_async(
        &self,
        dst: DevicePtr,
        value: u32,
        words: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { memory::fill_u32_async(self, dst, value, words, stream) }
    }

    fn create_stream(&self, options: StreamOptions) -> Result<StreamHandle> {
        stream::create(self, options)
    }

    unsafe fn destroy_stream(&self, stream: StreamHandle) -> Result<()> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { stream::destroy(self, stream) }
    }

    unsafe fn stream_query(&self, stream: StreamHandle) -> Result<bool> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { stream::query(self, stream) }
    }

    unsafe fn stream_synchronize(&self, stream: StreamHandle) -> Result<()> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { stream::synchronize(self, stream) }
    }

    unsafe fn stream_wait_event(&self, stream: StreamHandle, event: EventHandle) -> Result<()> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { stream::wait_event(self, stream, event) }
    }

    fn create_event(&self, options: EventOptions) -> Result<EventHandle> {
        event::create(self, options)
    }

    unsafe fn destroy_event(&self, event: EventHandle) -> Result<()> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { event::destroy(self, event) }
    }

    unsafe fn event_record(&self, event: EventHandle, stream: StreamHandle) -> Result<()> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { event::record(self, event, stream) }
    }

    unsafe fn event_query(&self, event: EventHandle) -> Result<bool> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { event::query(self, event) }
    }

    unsafe fn event_synchronize(&self, event: EventHandle) -> Result<()> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { event::synchronize(self, event) }
    }

    unsafe fn event_elapsed_ms(&self, start: EventHandle, end: EventHandle) -> Result<f32> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { event::elapsed_ms(self, start, end) }
    }

    fn load_module(&self, image: &Image<'_>) -> Result<ModuleHandle> {
        module::load(self, image)
    }

    unsafe fn unload_module(&self, module: ModuleHandle) -> Result<()> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { module::unload(self, module) }
    }

    unsafe fn function(&self, module: ModuleHandle, name: &str) -> Result<FunctionHandle> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { module::function(self, module, name) }
    }

    unsafe fn launch(
        &self,
        function: FunctionHandle,
        config: &LaunchConfig,
        args: &[u64],
        stream: StreamHandle,
    ) -> Result<()> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { launch::launch(self, function, config, args, stream) }
    }

    fn create_graph(&self) -> Result<GraphHandle> {
        graph::create(self)
    }

    unsafe fn destroy_graph(&self, graph: GraphHandle) -> Result<()> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { graph::destroy(self, graph) }
    }

    unsafe fn add_kernel_node(
        &self,
        graph: GraphHandle,
        dependencies: &[GraphNodeHandle],
        function: FunctionHandle,
        config: &LaunchConfig,
        args: &[u64],
    ) -> Result<GraphNodeHandle> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { graph::add_kernel_node(self, graph, dependencies, function, config, args) }
    }

    unsafe fn add_copy_node(
        &self,
        graph: GraphHandle,
        dependencies: &[GraphNodeHandle],
        dst: DevicePtr,
        src: DevicePtr,
        bytes: usize,
    ) -> Result<GraphNodeHandle> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { graph::add_copy_node(self, graph, dependencies, dst, src, bytes) }
    }

    unsafe fn instantiate_graph(&self, graph: GraphHandle) -> Result<GraphExecHandle> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { graph::instantiate(self, graph) }
    }

    unsafe fn destroy_graph_exec(&self, exec: GraphExecHandle) -> Result<()> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { graph::destroy_exec(self, exec) }
    }

    unsafe fn update_kernel_node(
        &self,
        exec: GraphExecHandle,
        node: GraphNodeHandle,
        function: FunctionHandle,
        config: &LaunchConfig,
        args: &[u64],
    ) -> Result<()> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { graph::update_kernel_node(self, exec, node, function, config, args) }
    }

    unsafe fn launch_graph(&self, exec: GraphExecHandle, stream: StreamHandle) -> Result<()> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { graph::launch(self, exec, stream) }
    }
}
