//! The AMD device: its properties and capabilities, and the `Device` trait.

use std::{
    any::Any,
    ffi::{c_int, c_void},
    mem::offset_of,
    sync::Arc,
};

use quadrants_rhi::{
    Capabilities, Copy2d, CopySides, Device, DeviceInfo, DevicePtr, DlpackNames, Result,
    StreamHandle, table_device,
};

use crate::{
    BACKEND,
    context::DeviceContext,
    generated::hip::{
        hipDeviceAttribute_t, hipDeviceProp_t, hipEventDefault, hipEventDisableTiming,
        hipHostMallocMapped, hipHostMallocPortable, hipMemPoolAttr, hipStreamNonBlocking,
    },
    graph, module,
    rccl::RCCL,
    table::Table,
};

/// Chips that report memory pools and hang when they are used.
const HANGING_ARCHS: &[&str] = &["gfx90c"];

/// An open AMD device: what only the HIP runtime reports.
#[derive(Debug)]
pub struct HipDevice {
    context: DeviceContext,
    info: DeviceInfo,
    capabilities: Capabilities,
    arch_with_modes: String,
}

impl HipDevice {
    /// The AMD device that `device` is. `None` if it is of another backend.
    #[must_use]
    pub fn from_device<'a>(device: &'a (dyn Device + 'static)) -> Option<&'a Self> {
        (device as &dyn Any).downcast_ref()
    }

    /// The architecture name with the chip's modes: `gfx90a:sramecc+:xnack-`. Kernels that are exported for this name
    /// run only in these modes.
    #[must_use]
    pub fn arch_with_modes(&self) -> &str {
        &self.arch_with_modes
    }

    pub(crate) fn open(
        table: Arc<Table>,
        ordinal: usize,
        version: c_int,
        driver_version: String,
    ) -> Result<Self> {
        let number = table_device::device_number(BACKEND, ordinal)?;
        let context = DeviceContext::new(table, number);
        let entered = table_device::enter(&context)?;
        let table = entered.table;
        let arch_with_modes = architecture(table, number)?;
        // Code that is compiled for the name alone runs in all modes.
        let arch = arch_with_modes.split(':').next().unwrap_or_default().to_owned();
        let mut info = read_info(table, number, ordinal, arch, driver_version)?;
        // The runtime counts the threads of an axis in 32 bits; above, it returns hipErrorInvalidConfiguration. No
        // attribute reports this.
        info.max_grid_threads = [u32::MAX.into(); 3];
        // `kDLROCM`; `kDLROCMHost` is pinned memory.
        info.dlpack =
            Some(DlpackNames { device_type: 10, also_accessible: &[11], default_stream: Some(0) });
        info.collectives = Some(&RCCL);
        let hangs = HANGING_ARCHS.contains(&info.arch.as_str());
        let pools =
            if hangs { Err(format!("hipMallocAsync hangs on {}", info.arch)) } else { Ok(()) };
        let graphs = graph::available(table, version);
        let capabilities = read_capabilities(table, number, &info, graphs, pools)?;
        drop(entered);
        Ok(Self { context, info, capabilities, arch_with_modes })
    }
}

quadrants_rhi::table_properties! {
    Table, BACKEND, hipDeviceAttribute_t,
    multiprocessors: hipDeviceAttribute_t::hipDeviceAttributeMultiprocessorCount,
    warp_size: hipDeviceAttribute_t::hipDeviceAttributeWarpSize,
    max_threads: hipDeviceAttribute_t::hipDeviceAttributeMaxThreadsPerBlock,
    resident_threads: hipDeviceAttribute_t::hipDeviceAttributeMaxThreadsPerMultiProcessor,
    clock: hipDeviceAttribute_t::hipDeviceAttributeClockRate,
    memory_clock: hipDeviceAttribute_t::hipDeviceAttributeMemoryClockRate,
    memory_bus: hipDeviceAttribute_t::hipDeviceAttributeMemoryBusWidth,
    max_shared: [hipDeviceAttribute_t::hipDeviceAttributeMaxSharedMemoryPerBlock],
    max_grid: [
        hipDeviceAttribute_t::hipDeviceAttributeMaxGridDimX,
        hipDeviceAttribute_t::hipDeviceAttributeMaxGridDimY,
        hipDeviceAttribute_t::hipDeviceAttributeMaxGridDimZ
    ],
    has_pools: hipDeviceAttribute_t::hipDeviceAttributeMemoryPoolsSupported,
    reuse_with_waits: hipMemPoolAttr::hipMemPoolReuseAllowInternalDependencies,
    release_threshold: hipMemPoolAttr::hipMemPoolAttrReleaseThreshold,
}

/// The runtime finds the way of the copy by itself, whether or not peer access is enabled.
///
/// # Safety
/// As for [`Device::copy_from_peer_async`].
unsafe fn copy_peer(
    device: &HipDevice,
    table: &Table,
    dst: DevicePtr,
    (peer, src): (&HipDevice, DevicePtr),
    bytes: usize,
    stream: StreamHandle,
) -> Result<()> {
    let (to, from) = (device.context.ordinal(), peer.context.ordinal());
    // SAFETY: by the caller.
    unsafe { table.copy_peer_async(dst.as_ptr(), to, src.as_ptr(), from, bytes, stream.as_ptr()) }
}

/// # Safety
/// As for [`Device::copy_2d_async`]. The context is current.
unsafe fn copy_2d(
    table: &Table,
    sides: CopySides,
    shape: &Copy2d,
    stream: StreamHandle,
) -> Result<()> {
    // `hipMemcpyHostToDevice`, `hipMemcpyDeviceToHost` and `hipMemcpyDeviceToDevice`.
    let (dst, src, kind): (*mut c_void, *const c_void, _) = match sides {
        CopySides::HostToDevice { dst, src } => (dst.as_ptr(), src.cast(), 1),
        CopySides::DeviceToHost { dst, src } => (dst.cast(), src.as_ptr(), 2),
        CopySides::WithinDevice { dst, src } => (dst.as_ptr(), src.as_ptr(), 3),
    };
    let Copy2d { width, height, dst_pitch, src_pitch } = *shape;
    let stream = stream.as_ptr();
    // SAFETY: by the caller.
    unsafe { table.copy_2d_async(dst, dst_pitch, src, src_pitch, width, height, kind, stream) }
}

/// The architecture name with the chip's modes after a colon. No attribute has it, so it is read from the device
/// properties.
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
    Ok(String::from_utf8_lossy(name).into_owned())
}

// SAFETY: each method is one operation of the HIP runtime, whose documentation states the guarantees. Operations that
// the runtime lacks are errors.
unsafe impl Device for HipDevice {
    quadrants_rhi::table_operations! {
        non_blocking_stream: hipStreamNonBlocking,
        timing_event: hipEventDefault,
        event_without_timing: hipEventDisableTiming,
        pinned_memory: hipHostMallocPortable | hipHostMallocMapped,
        pointer_attribute: |attribute| attribute as u32,
        copy_peer: copy_peer,
        copy_2d: copy_2d,
        // `HIP_FUNC_ATTRIBUTE_NUM_REGS`, `_LOCAL_SIZE_BYTES` and `_SHARED_SIZE_BYTES`.
        function_attributes: [4, 3, 1],
        // `hipStreamCaptureModeRelaxed`: a library may allocate memory meanwhile.
        capture_mode: 2,
        image: "a code object",
        graphs_since: "ROCm 6.0",
    }

    fn can_access_peer(&self, ordinal: usize) -> Result<bool> {
        let (peer, mut can) = (table_device::device_number(BACKEND, ordinal)?, 0);
        // SAFETY: the runtime writes a number, and returns an error if there is no device.
        unsafe {
            self.context.table.can_access_peer(&mut can, self.context.ordinal(), peer)?;
        }
        Ok(can != 0)
    }

    #[cfg(feature = "compiler")]
    fn activities(&self) -> Result<Option<Arc<dyn quadrants_rhi::Activities>>> {
        crate::roctracer::open(self.info.simulated)
    }
}
