//! Streams.

use cudarc::driver::sys::{CUstream, CUstream_flags};
use quadrants_rhi::{EventHandle, Result, StreamHandle, StreamOptions};

use crate::{device::CudaDevice, event::ready};

pub(crate) fn create(device: &CudaDevice, options: StreamOptions) -> Result<StreamHandle> {
    let context = device.enter()?;
    let range = device.capabilities.priorities;
    // Not `clamp`, which would panic if a driver swapped the two ends.
    let priority = options.priority.min(range.least).max(range.greatest);
    let flags = CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
    let mut stream: CUstream = std::ptr::null_mut();
    // SAFETY: the driver writes the stream.
    unsafe { context.table.create_stream(&mut stream, flags, priority) }?;
    Ok(StreamHandle::from_ptr(stream))
}

pub(crate) unsafe fn destroy(device: &CudaDevice, stream: StreamHandle) -> Result<()> {
    let context = device.enter()?;
    // SAFETY: a stream of this device that is not used again, as the caller guarantees.
    unsafe { context.table.destroy_stream(stream.as_ptr()) }
}

pub(crate) unsafe fn query(device: &CudaDevice, stream: StreamHandle) -> Result<bool> {
    let context = device.enter()?;
    // SAFETY: a stream of this device, as the caller guarantees.
    ready(unsafe { context.table.stream_query(stream.as_ptr()) })
}

pub(crate) unsafe fn synchronize(device: &CudaDevice, stream: StreamHandle) -> Result<()> {
    let context = device.enter()?;
    // SAFETY: a stream of this device, as the caller guarantees.
    unsafe { context.table.stream_synchronize(stream.as_ptr()) }
}

#[inline(always)]
pub(crate) unsafe fn wait_event(
    device: &CudaDevice,
    stream: StreamHandle,
    event: EventHandle,
) -> Result<()> {
    device.with_current(move |table| {
        // SAFETY: a stream and an event of this device, as the caller guarantees; no flags.
        unsafe { table.stream_wait_event(stream.as_ptr(), event.as_ptr(), 0) }
    })
}
