//! The AMD device: making it current, properties and capabilities, and the `Device` trait, delegated to the other
//! modules.
//!
//! The HIP runtime has one context per device, created at its first use and kept until the process ends. There is
//! nothing to retain, and "current" is a device ordinal per thread.

use std::{
    cell::Cell,
    ffi::{CStr, c_char, c_int, c_void},
    marker::PhantomData,
    mem::offset_of,
    ptr,
    sync::Arc,
};

use quadrants_rhi::{
    self as rhi, Capabilities, Device, DeviceInfo, DevicePtr, DriverErrorKind, Error, EventHandle,
    EventOptions, FunctionHandle, GraphExecHandle, GraphHandle, GraphNodeHandle, Image, ImageKind,
    LaunchConfig, ModuleHandle, PriorityRange, Result, StreamHandle, StreamOptions, environment,
};

use crate::{
    BACKEND, event,
    generated::hip::{hipDeviceAttribute_t, hipDeviceProp_t},
    graph, launch, memory, module, stream,
    table::Table,
};

thread_local! {
    /// The library, as the address of its table, and the device ordinal that [`Device::make_current`] made current on
    /// this thread; 0 and 0 for none. It need not be queried.
    static CURRENT: Cell<(usize, c_int)> = const { Cell::new((0, 0)) };
}

/// A guard that keeps a device current.
pub(crate) struct Entered<'a> {
    /// The functions, to be called while the device is current.
    pub(crate) table: &'a Table,
    /// The previously current device, if it was another one.
    before: Option<c_int>,
    /// A device is current on one thread, so the guard must not move to another.
    not_send: PhantomData<*const ()>,
}

/// An open AMD device.
#[derive(Debug)]
pub(crate) struct HipDevice {
    table: Arc<Table>,
    ordinal: c_int,
    pub(crate) info: DeviceInfo,
    pub(crate) capabilities: Capabilities,
}

impl Drop for Entered<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(before) = self.before {
            restore(self.table, before);
        }
    }
}

/// Makes a device current if it is not. Dropping the result restores the previous device.
#[inline(always)]
fn enter(table: &Table, ordinal: c_int) -> Result<Entered<'_>> {
    let is_current = CURRENT.get() == (ptr::from_ref(table).addr(), ordinal);
    let before = if is_current { None } else { make_current(table, ordinal)? };
    Ok(Entered { table, before, not_send: PhantomData })
}

/// Makes a device current if it is not. Returns the previous device if it was another one.
#[inline(always)]
fn make_current(table: &Table, ordinal: c_int) -> Result<Option<c_int>> {
    let mut current = 0;
    // SAFETY: the runtime writes a number, and then reads the ordinal of an existing device.
    unsafe {
        table.current_device(&mut current)?;
        if current != ordinal {
            table.set_device(ordinal)?;
        }
    }
    Ok((current != ordinal).then_some(current))
}

/// Restores the previously current device.
#[cold]
fn restore(table: &Table, before: c_int) {
    // SAFETY: the runtime returned this ordinal as the current device.
    if let Err(error) = unsafe { table.set_device(before) } {
        // Nothing is leaked if the driver is shutting down.
        if error.driver_error().map(|e| e.kind) != Some(DriverErrorKind::ShuttingDown) {
            tracing::warn!(%error, "restoring the current device failed");
        }
    }
}

impl HipDevice {
    pub(crate) fn open(
        table: Arc<Table>,
        ordinal: usize,
        version: c_int,
        driver_version: String,
    ) -> Result<Self> {
        let number = c_int::try_from(ordinal).map_err(|_| Error::DeviceOrdinal {
            backend: BACKEND,
            ordinal,
            count: 0,
        })?;
        let entered = enter(&table, number)?;
        let info = read_info(&table, number, ordinal, driver_version)?;
        let mut capabilities = Capabilities::new(ImageKind::Binary);
        capabilities.priorities = read_priorities(&table)?;
        capabilities.graphs = graph::available(&table, version);
        let off = environment::memory_pools_disabled()?;
        match memory::prepare_pool(&table, number, &info.arch, off) {
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
        Ok(Self { table, ordinal: number, info, capabilities })
    }

    pub(crate) fn enter(&self) -> Result<Entered<'_>> {
        enter(&self.table, self.ordinal)
    }
}

fn read_info(
    table: &Table,
    number: c_int,
    ordinal: usize,
    driver_version: String,
) -> Result<DeviceInfo> {
    type Attribute = hipDeviceAttribute_t;
    let read = |attribute| attribute_of(table, number, attribute);

    let mut name: [c_char; 256] = [0; 256];
    let mut total = 0;
    // SAFETY: the runtime writes at most that many bytes with a final zero, and a number. A `hipDevice_t` is the
    // ordinal.
    unsafe {
        table.device_name(name.as_mut_ptr(), name.len() as c_int - 1, number)?;
        table.device_total_memory(&mut total, number)?;
    }
    // SAFETY: the runtime may not write the last byte, so it is zero.
    let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
    let mut info = DeviceInfo::new(BACKEND, ordinal, name, architecture(table, number)?);
    info.driver_version = driver_version;
    info.simulated = table.functions.simulator.is_some();
    info.total_memory = total as u64;
    info.multiprocessors = read(Attribute::hipDeviceAttributeMultiprocessorCount)?;
    info.warp_size = read(Attribute::hipDeviceAttributeWarpSize)?;
    info.max_threads_per_block = read(Attribute::hipDeviceAttributeMaxThreadsPerBlock)?;
    info.max_grid_dim = [
        read(Attribute::hipDeviceAttributeMaxGridDimX)?,
        read(Attribute::hipDeviceAttributeMaxGridDimY)?,
        read(Attribute::hipDeviceAttributeMaxGridDimZ)?,
    ];
    // The runtime counts the threads of an axis in 32 bits; above, it returns hipErrorInvalidConfiguration. No
    // attribute reports this.
    info.max_grid_threads = [u32::MAX.into(); 3];
    Ok(info)
}

/// The architecture name that compilers take. No attribute has it, so it is read from the device properties.
fn architecture(table: &Table, ordinal: c_int) -> Result<String> {
    /// Larger than the struct of all versions: 1472 bytes in ROCm 6 and 7, 792 before.
    type Buffer = [u64; 512];
    /// The offset of `gcnArchName` in ROCm 6's struct `hipDeviceProp_tR0600`, by its declaration in
    /// `hip_runtime_api.h`: after CUDA's fields (1032 bytes) and 32 reserved numbers.
    const NAME_R0600: usize = 1160;
    const NAME_BEFORE: usize = offset_of!(hipDeviceProp_t, gcnArchName);
    const NAME_BYTES: usize = 256;

    let mut buffer: Buffer = [0; _];
    let properties: *mut c_void = buffer.as_mut_ptr().cast();
    // SAFETY: each function writes the struct of its version; the buffer is larger and sufficiently aligned.
    let at = unsafe {
        if table.functions.device_properties_r0600.is_some() {
            table.device_properties_r0600(properties, ordinal)?;
            NAME_R0600
        } else if table.functions.device_properties.is_some() {
            table.device_properties(properties, ordinal)?;
            NAME_BEFORE
        } else {
            return Ok("unknown".to_owned());
        }
    };
    let bytes: Vec<u8> = buffer.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let name = bytes[at..at + NAME_BYTES].split(|byte| *byte == 0).next().unwrap_or_default();
    let name = String::from_utf8_lossy(name);
    // After a colon follow the chip's modes (`gfx90a:sramecc+:xnack-`). Code that is compiled for the name alone runs
    // in all modes.
    Ok(name.split(':').next().unwrap_or_default().to_owned())
}

pub(crate) fn attribute_of(
    table: &Table,
    ordinal: c_int,
    attribute: hipDeviceAttribute_t,
) -> Result<u32> {
    let mut value = 0;
    // SAFETY: the runtime writes a number.
    unsafe { table.device_attribute(&mut value, attribute, ordinal) }?;
    Ok(u32::try_from(value).unwrap_or(0))
}

fn read_priorities(table: &Table) -> Result<PriorityRange> {
    let (mut least, mut greatest) = (0, 0);
    // SAFETY: the runtime writes two numbers about the current device.
    unsafe { table.priority_range(&mut least, &mut greatest) }?;
    Ok(PriorityRange { least, greatest })
}

// SAFETY: each method is one operation of the HIP runtime, whose documentation states the guarantees. Operations that
// the runtime lacks are errors.
unsafe impl Device for HipDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    unsafe fn make_current(&self) -> Result<rhi::Entered> {
        let outer = CURRENT.get();
        let mine = (Arc::as_ptr(&self.table).addr(), self.ordinal);
        let before = if outer == mine { None } else { make_current(&self.table, self.ordinal)? };
        CURRENT.set(mine);
        let before = before.map(|ordinal| ordinal as u64);
        Ok(rhi::Entered { outer: [outer.0 as u64, outer.1 as u64], before })
    }

    unsafe fn restore_current(&self, entered: rhi::Entered) {
        let [table, ordinal] = entered.outer;
        CURRENT.set((table as usize, ordinal as c_int));
        if let Some(before) = entered.before {
            restore(&self.table, before as c_int);
        }
    }

    fn memory_info(&self) -> Result<(u64, u64)> {
        memory::info(self)
    }

    fn synchronize(&self) -> Result<()> {
        let context = self.enter()?;
        // SAFETY: it has no conditions; it waits for the current device.
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
