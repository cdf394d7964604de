//! Streams.

use quadrants_rhi::{EventHandle, Result, StreamHandle, StreamOptions};

use crate::{
    device::HipDevice,
    event::ready,
    generated::hip::{hipStream_t, hipStreamNonBlocking},
};

pub(crate) fn create(device: &HipDevice, options: StreamOptions) -> Result<StreamHandle> {
    let context = device.enter()?;
    let range = device.capabilities.priorities;
    // Not `clamp`, which would panic if a driver swapped the two ends.
    let priority = options.priority.min(range.least).max(range.greatest);
    let mut stream: hipStream_t = std::ptr::null_mut();
    // SAFETY: the runtime writes the stream.
    unsafe { context.table.create_stream(&mut stream, hipStreamNonBlocking, priority) }?;
    Ok(StreamHandle::from_ptr(stream))
}

pub(crate) unsafe fn destroy(device: &HipDevice, stream: StreamHandle) -> Result<()> {
    let context = device.enter()?;
    // SAFETY: a stream of this device that is not used again, as the caller guarantees.
    unsafe { context.table.destroy_stream(stream.as_ptr()) }
}

pub(crate) unsafe fn query(device: &HipDevice, stream: StreamHandle) -> Result<bool> {
    let context = device.enter()?;
    // SAFETY: a stream of this device, as the caller guarantees.
    ready(unsafe { context.table.stream_query(stream.as_ptr()) })
}

pub(crate) unsafe fn synchronize(device: &HipDevice, stream: StreamHandle) -> Result<()> {
    let context = device.enter()?;
    // SAFETY: a stream of this device, as the caller guarantees.
    unsafe { context.table.stream_synchronize(stream.as_ptr()) }
}

#[inline(always)]
pub(crate) unsafe fn wait_event(
    device: &HipDevice,
    stream: StreamHandle,
    event: EventHandle,
) -> Result<()> {
    let context = device.enter()?;
    // SAFETY: a stream and an event of this device, as the caller guarantees; no flags.
    unsafe { context.table.stream_wait_event(stream.as_ptr(), event.as_ptr(), 0) }
}
