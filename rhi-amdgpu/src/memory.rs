//! Device memory, stream-ordered memory and its fallback, pinned memory, copies and fills.

use std::{
    ffi::{c_int, c_void},
    sync::Once,
};

use quadrants_rhi::{DevicePtr, Error, Result, StreamHandle};

use crate::{
    device::{HipDevice, attribute_of},
    generated::hip::{
        hipDeviceAttribute_t, hipHostMallocMapped, hipHostMallocPortable, hipMemPool_t,
        hipMemPoolAttr,
    },
    table::Table,
};

/// Chips that report memory pools and hang when they are used.
const HANGING_ARCHS: &[&str] = &["gfx90c"];

/// Decides whether stream-ordered memory is used, and configures the device's default pool for it. `off` is set by the
/// environment.
///
/// # Errors
/// The reason why it is not used.
pub(crate) fn prepare_pool(
    table: &Table,
    ordinal: c_int,
    arch: &str,
    off: bool,
) -> Result<(), String> {
    if off {
        return Err("QUADRANTS_MEMPOOL=0".to_owned());
    }
    if HANGING_ARCHS.contains(&arch) {
        return Err(format!("hipMallocAsync hangs on {arch}"));
    }
    let functions = &table.functions;
    if functions.alloc_async.is_none() || functions.free_async.is_none() {
        return Err("the runtime has no hipMallocAsync (since 5.2)".to_owned());
    }
    let attribute = hipDeviceAttribute_t::hipDeviceAttributeMemoryPoolsSupported;
    match attribute_of(table, ordinal, attribute) {
        Ok(0) => return Err("the device has no memory pools".to_owned()),
        Ok(_) => {}
        Err(error) => return Err(error.to_string()),
    }
    if let Err(error) = tune_default_pool(table, ordinal) {
        // Allocation also works with the driver's default settings, but slower and with more waits.
        tracing::warn!(%error, "the memory pool keeps the driver's settings");
    }
    Ok(())
}

/// Logs once per process that stream-ordered memory is not used.
pub(crate) fn log_fallback_once(reason: &str) {
    static LOGGED: Once = Once::new();
    LOGGED
        .call_once(|| tracing::warn!(reason, "stream-ordered memory is off, so allocations block"));
}

fn tune_default_pool(table: &Table, ordinal: c_int) -> Result<()> {
    let mut pool: hipMemPool_t = std::ptr::null_mut();
    // The driver may reuse memory that was freed on another stream by inserting a wait between the streams. Unordered
    // streams must stay independent, so this is turned off.
    let mut internal_dependencies: c_int = 0;
    // By default, every synchronization returns free memory to the system, and later allocations map it again.
    let mut release_threshold = u64::MAX;
    // SAFETY: the runtime writes the pool, and reads an int and a u64, as documented for the attributes.
    unsafe {
        table.device_default_pool(&mut pool, ordinal)?;
        table.set_pool_attribute(
            pool,
            hipMemPoolAttr::hipMemPoolReuseAllowInternalDependencies,
            (&raw mut internal_dependencies).cast(),
        )?;
        table.set_pool_attribute(
            pool,
            hipMemPoolAttr::hipMemPoolAttrReleaseThreshold,
            (&raw mut release_threshold).cast(),
        )
    }
}

pub(crate) fn info(device: &HipDevice) -> Result<(u64, u64)> {
    let context = device.enter()?;
    let (mut free, mut total) = (0, 0);
    // SAFETY: the runtime writes two numbers.
    unsafe { context.table.memory_info(&mut free, &mut total) }?;
    Ok((free as u64, total as u64))
}

pub(crate) fn alloc(device: &HipDevice, bytes: usize) -> Result<DevicePtr> {
    not_empty(bytes)?;
    let context = device.enter()?;
    let mut memory: *mut c_void = std::ptr::null_mut();
    // SAFETY: the runtime writes the address.
    unsafe { context.table.alloc(&mut memory, bytes) }?;
    Ok(DevicePtr::from_ptr(memory))
}

pub(crate) unsafe fn free(device: &HipDevice, memory: DevicePtr) -> Result<()> {
    let context = device.enter()?;
    // SAFETY: the memory is of this device and unused, as the caller guarantees.
    unsafe { context.table.free(memory.as_ptr()) }
}

pub(crate) unsafe fn alloc_async(
    device: &HipDevice,
    bytes: usize,
    stream: StreamHandle,
) -> Result<DevicePtr> {
    if !device.capabilities.stream_ordered_memory {
        return alloc(device, bytes);
    }
    not_empty(bytes)?;
    let context = device.enter()?;
    let mut memory: *mut c_void = std::ptr::null_mut();
    // SAFETY: the runtime writes the address; the stream is valid, as the caller guarantees.
    unsafe { context.table.alloc_async(&mut memory, bytes, stream.as_ptr()) }?;
    Ok(DevicePtr::from_ptr(memory))
}

pub(crate) unsafe fn free_async(
    device: &HipDevice,
    memory: DevicePtr,
    stream: StreamHandle,
) -> Result<()> {
    let context = device.enter()?;
    if device.capabilities.stream_ordered_memory {
        // SAFETY: uses of the memory are ordered before this point of the stream, as the caller guarantees.
        return unsafe { context.table.free_async(memory.as_ptr(), stream.as_ptr()) };
    }
    // SAFETY: all uses are finished or ordered before this point of the stream, and so finished after it.
    unsafe {
        context.table.stream_synchronize(stream.as_ptr())?;
        context.table.free(memory.as_ptr())
    }
}

pub(crate) fn alloc_pinned(device: &HipDevice, bytes: usize) -> Result<*mut u8> {
    not_empty(bytes)?;
    let context = device.enter()?;
    let mut memory: *mut c_void = std::ptr::null_mut();
    let flags = hipHostMallocPortable | hipHostMallocMapped;
    // SAFETY: the runtime writes the address.
    unsafe { context.table.alloc_pinned(&mut memory, bytes, flags) }?;
    let memory = memory.cast::<u8>();
    // SAFETY: `bytes` were just allocated, and no other code has the address.
    unsafe { memory.write_bytes(0, bytes) };
    Ok(memory)
}

pub(crate) unsafe fn free_pinned(device: &HipDevice, memory: *mut u8) -> Result<()> {
    let context = device.enter()?;
    // SAFETY: from `alloc_pinned` and unused, as the caller guarantees.
    unsafe { context.table.free_pinned(memory.cast()) }
}

pub(crate) unsafe fn copy_htod_async(
    device: &HipDevice,
    dst: DevicePtr,
    src: *const u8,
    bytes: usize,
    stream: StreamHandle,
) -> Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    let context = device.enter()?;
    // SAFETY: both sides have `bytes` and the stream is valid, as the caller guarantees.
    unsafe {
        context.table.copy_htod_async(dst.as_ptr(), src.cast_mut().cast(), bytes, stream.as_ptr())
    }
}

pub(crate) unsafe fn copy_dtoh_async(
    device: &HipDevice,
    dst: *mut u8,
    src: DevicePtr,
    bytes: usize,
    stream: StreamHandle,
) -> Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    let context = device.enter()?;
    // SAFETY: both sides have `bytes` and the stream is valid, as the caller guarantees.
    unsafe { context.table.copy_dtoh_async(dst.cast(), src.as_ptr(), bytes, stream.as_ptr()) }
}

pub(crate) unsafe fn copy_dtod_async(
    device: &HipDevice,
    dst: DevicePtr,
    src: DevicePtr,
    bytes: usize,
    stream: StreamHandle,
) -> Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    let context = device.enter()?;
    // SAFETY: both sides have `bytes` and the stream is valid, as the caller guarantees.
    unsafe { context.table.copy_dtod_async(dst.as_ptr(), src.as_ptr(), bytes, stream.as_ptr()) }
}

pub(crate) unsafe fn fill_u8_async(
    device: &HipDevice,
    dst: DevicePtr,
    value: u8,
    bytes: usize,
    stream: StreamHandle,
) -> Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    let context = device.enter()?;
    // SAFETY: `dst` has `bytes` and the stream is valid, as the caller guarantees.
    unsafe { context.table.fill_u8_async(dst.as_ptr(), value, bytes, stream.as_ptr()) }
}

pub(crate) unsafe fn fill_u32_async(
    device: &HipDevice,
    dst: DevicePtr,
    value: u32,
    words: usize,
    stream: StreamHandle,
) -> Result<()> {
    if words == 0 {
        return Ok(());
    }
    let context = device.enter()?;
    // SAFETY: `dst` is aligned and has the words, and the stream is valid, as the caller guarantees.
    unsafe {
        context.table.fill_u32_async(dst.as_ptr(), value.cast_signed(), words, stream.as_ptr())
    }
}

fn not_empty(bytes: usize) -> Result<()> {
    if bytes == 0 {
        return Err(Error::InvalidArgument {
            what: "an allocation of zero bytes; allocate at least 1".to_owned(),
        });
    }
    Ok(())
}
