//! The CUDA device: its context, properties and capabilities, and the `Device` trait.

use std::{
    any::Any,
    ptr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use cudarc::driver::sys::{
    CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE, CUDA_MEMCPY2D_st,
    CUdevice_attribute::{self, *},
    CUevent_flags, CUfunction_attribute, CUmemAccess_flags, CUmemAccessDesc, CUmemLocation,
    CUmemLocationType, CUmemPool_attribute, CUmemorytype, CUmoduleLoadingMode, CUpointer_attribute,
    CUstream_flags, CUstreamCaptureMode,
};
use quadrants_rhi::{
    Capabilities, Copy2d, CopySides, Device, DeviceInfo, DevicePtr, DlpackNames, FunctionHandle,
    Result, StreamHandle,
    table_device::{self, PointerAttribute},
};

use crate::{BACKEND, context::PrimaryContext, graph, module, nccl::NCCL, table::Table};

/// An open CUDA device: what only the CUDA driver reports.
///
/// # Examples
/// ```no_run
/// use quadrants_rhi_cuda::{CudaDevice, driver};
///
/// let device = driver()?.open(0)?;
/// let cuda = CudaDevice::from_device(&*device).expect("it is of this backend");
/// println!("code is loaded at its first use: {}", cuda.loads_lazily()?);
/// # Ok::<(), quadrants_rhi_cuda::rhi::Error>(())
/// ```
#[derive(Debug)]
pub struct CudaDevice {
    pub(crate) context: PrimaryContext,
    pub(crate) info: DeviceInfo,
    pub(crate) capabilities: Capabilities,
    /// The ordinals of devices that this one was asked to access: a bit each, of the first 64.
    peers: AtomicU64,
}

impl CudaDevice {
    /// The CUDA device that `device` is. `None` if it is of another backend.
    #[must_use]
    pub fn from_device<'a>(device: &'a (dyn Device + 'static)) -> Option<&'a Self> {
        (device as &dyn Any).downcast_ref()
    }

    /// Whether the driver loads the code of a function at its first use, not with its module. The first launch then
    /// takes longer and may wait for other work. The environment variable `CUDA_MODULE_LOADING` decides.
    ///
    /// # Errors
    /// [`Error::SymbolMissing`](quadrants_rhi::Error::SymbolMissing) before CUDA 11.7.
    pub fn loads_lazily(&self) -> Result<bool> {
        // A number, because a newer driver may return a mode that the enum lacks.
        let mut mode = 0u32;
        // SAFETY: the driver writes a number of the enum's size.
        unsafe { self.context.table.loading_mode((&raw mut mode).cast()) }?;
        Ok(mode == CUmoduleLoadingMode::CU_MODULE_LAZY_LOADING as u32)
    }

    pub(crate) fn open(table: Arc<Table>, ordinal: usize, driver_version: String) -> Result<Self> {
        let number = table_device::device_number(BACKEND, ordinal)?;
        let mut device = 0;
        // SAFETY: the driver writes the device of an ordinal below the count.
        unsafe { table.device(&mut device, number) }?;
        let capability = |attribute_name| attribute(&table, device, attribute_name);
        let arch = format!(
            "sm_{}{}",
            capability(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            capability(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?
        );
        let accesses_pageable = capability(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS)? != 0;
        let mut info = read_info(&table, device, ordinal, arch, driver_version)?;
        // `kDLCUDA`; `kDLCUDAHost` is pinned memory, `kDLCUDAManaged` managed memory.
        info.dlpack = Some(DlpackNames {
            device_type: 2,
            also_accessible: &[3, 13],
            default_stream: Some(1),
        });
        info.collectives = Some(&NCCL);

        let context = PrimaryContext::retain(table, device)?;
        let capabilities = {
            let entered = table_device::enter(&context)?;
            let graphs = graph::available(entered.table);
            let mut capabilities = read_capabilities(entered.table, device, &info, graphs, Ok(()))?;
            // Drivers stage such a copy before the call returns, also behind unfinished work; the API reference
            // ("API synchronization behavior") no longer says when. A device that accesses pageable memory itself may
            // read it later.
            capabilities.pageable_uploads = !accesses_pageable;
            capabilities
        };
        Ok(Self { context, info, capabilities, peers: AtomicU64::new(0) })
    }

    /// Lets copies from the memory of a peer go directly, where the hardware can. They also work without, through host
    /// memory. The context is current.
    fn access(&self, peer: &Self) {
        let ordinal = peer.info.ordinal;
        let bit = 1u64.checked_shl(ordinal as u32).unwrap_or(0);
        // Beyond the bits, the driver stages the copies.
        if bit == 0 || self.peers.fetch_or(bit, Relaxed) & bit != 0 {
            return;
        }
        if !self.can_access_peer(ordinal).unwrap_or(false) {
            return;
        }
        // SAFETY: the other context is retained as long as `peer` lives; there are no flags.
        let enabled = unsafe { self.context.table.enable_peer_access(peer.context.raw(), 0) };
        if let Err(error) = enabled {
            // Other code may have enabled it: libraries do, and other programs on the device.
            tracing::debug!(%error, peer = ordinal, "access to the memory of a peer is not enabled");
        }
        if let Err(error) = self.access_pool(peer) {
            tracing::debug!(%error, peer = ordinal, "access to the memory pool of a peer is not enabled");
        }
    }

    /// The same for memory of the peer's pool, to which the access to its context does not extend.
    fn access_pool(&self, peer: &Self) -> Result<()> {
        let table = &*self.context.table;
        let device = CUmemAccessDesc {
            location: CUmemLocation {
                type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
                id: self.context.device(),
            },
            flags: CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        };
        let mut pool = ptr::null_mut();
        // SAFETY: the driver writes the pool of a device that it has, and reads one description.
        unsafe {
            table.device_default_pool(&mut pool, peer.context.device())?;
            table.set_pool_access(pool, &raw const device, 1)
        }
    }
}

/// # Safety
/// As for [`Device::copy_from_peer_async`].
unsafe fn copy_peer(
    device: &CudaDevice,
    table: &Table,
    dst: DevicePtr,
    (peer, src): (&CudaDevice, DevicePtr),
    bytes: usize,
    stream: StreamHandle,
) -> Result<()> {
    if device.info.ordinal != peer.info.ordinal {
        device.access(peer);
    }
    let (to, from) = (device.context.raw(), peer.context.raw());
    // SAFETY: both contexts are retained; the rest by the caller.
    unsafe { table.copy_peer_async(dst.into(), to, src.into(), from, bytes, stream.as_ptr()) }
}

/// # Safety
/// As for [`Device::copy_2d_async`]. The context is current.
unsafe fn copy_2d(
    table: &Table,
    sides: CopySides,
    shape: &Copy2d,
    stream: StreamHandle,
) -> Result<()> {
    use CUmemorytype::{CU_MEMORYTYPE_DEVICE as DEVICE, CU_MEMORYTYPE_HOST as HOST};
    let mut copy = CUDA_MEMCPY2D_st {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: DEVICE,
        srcHost: ptr::null(),
        srcDevice: 0,
        srcArray: ptr::null_mut(),
        srcPitch: shape.src_pitch,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: DEVICE,
        dstHost: ptr::null_mut(),
        dstDevice: 0,
        dstArray: ptr::null_mut(),
        dstPitch: shape.dst_pitch,
        WidthInBytes: shape.width,
        Height: shape.height,
    };
    match sides {
        CopySides::HostToDevice { dst, src } => {
            (copy.srcMemoryType, copy.srcHost, copy.dstDevice) = (HOST, src.cast(), dst.raw());
        }
        CopySides::DeviceToHost { dst, src } => {
            (copy.dstMemoryType, copy.dstHost, copy.srcDevice) = (HOST, dst.cast(), src.raw());
        }
        CopySides::WithinDevice { dst, src } => {
            (copy.dstDevice, copy.srcDevice) = (dst.raw(), src.raw());
        }
    }
    // SAFETY: the driver reads the description before the call returns; the rest by the caller.
    unsafe { table.copy_2d_async(&raw const copy, stream.as_ptr()) }
}

quadrants_rhi::table_properties! {
    Table, BACKEND, CUdevice_attribute,
    multiprocessors: CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
    warp_size: CU_DEVICE_ATTRIBUTE_WARP_SIZE,
    max_threads: CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
    resident_threads: CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
    clock: CU_DEVICE_ATTRIBUTE_CLOCK_RATE,
    memory_clock: CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE,
    memory_bus: CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH,
    max_shared: [
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK,
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    ],
    max_grid: [
        CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,
        CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
        CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z
    ],
    has_pools: CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED,
    reuse_with_waits: CUmemPool_attribute::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES,
    release_threshold: CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
}

fn pointer_attribute(attribute: PointerAttribute) -> CUpointer_attribute {
    use CUpointer_attribute::*;
    match attribute {
        PointerAttribute::Context => CU_POINTER_ATTRIBUTE_CONTEXT,
        PointerAttribute::IsManaged => CU_POINTER_ATTRIBUTE_IS_MANAGED,
        PointerAttribute::RangeStart => CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
        PointerAttribute::RangeSize => CU_POINTER_ATTRIBUTE_RANGE_SIZE,
        _ => CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
    }
}

// SAFETY: each method is one operation of the CUDA driver, whose documentation states the guarantees. Operations that
// the driver lacks are errors.
unsafe impl Device for CudaDevice {
    quadrants_rhi::table_operations! {
        non_blocking_stream: CUstream_flags::CU_STREAM_NON_BLOCKING as u32,
        timing_event: CUevent_flags::CU_EVENT_DEFAULT as u32,
        event_without_timing: CUevent_flags::CU_EVENT_DISABLE_TIMING as u32,
        pinned_memory: CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP,
        pointer_attribute: pointer_attribute,
        copy_peer: copy_peer,
        copy_2d: copy_2d,
        function_attributes: [
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS,
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
        ],
        // A library may allocate memory meanwhile.
        capture_mode: CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED,
        image: "cubin or PTX",
        graphs_since: "CUDA 11.4",
    }

    fn can_access_peer(&self, ordinal: usize) -> Result<bool> {
        let table = &*self.context.table;
        let (number, mut peer, mut can) = (table_device::device_number(BACKEND, ordinal)?, 0, 0);
        // SAFETY: the driver writes the device of an ordinal and a number; it returns an error if there is no device.
        unsafe {
            table.device(&mut peer, number)?;
            table.can_access_peer(&mut can, self.context.device(), peer)?;
        }
        Ok(can != 0)
    }

    #[cfg(feature = "compiler")]
    fn activities(&self) -> Result<Option<Arc<dyn quadrants_rhi::Activities>>> {
        crate::cupti::open(self.info.simulated)
    }

    unsafe fn allow_shared_bytes(&self, function: FunctionHandle, bytes: u32) -> Result<()> {
        let context = table_device::enter(&self.context)?;
        let (attribute, bytes) = (
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            i32::try_from(bytes).unwrap_or(i32::MAX),
        );
        // SAFETY: a function of this device, as the caller guarantees.
        unsafe { context.table.set_function_attribute(function.as_ptr(), attribute, bytes) }
    }
}
