//! Events.

use cudarc::driver::sys::{CUevent, CUevent_flags};
use quadrants_rhi::{DriverErrorKind, Error, EventHandle, EventOptions, Result, StreamHandle};

use crate::device::CudaDevice;

pub(crate) fn create(device: &CudaDevice, options: EventOptions) -> Result<EventHandle> {
    let context = device.enter()?;
    let flags = match options.timing {
        true => CUevent_flags::CU_EVENT_DEFAULT,
        false => CUevent_flags::CU_EVENT_DISABLE_TIMING,
    };
    let mut event: CUevent = std::ptr::null_mut();
    // SAFETY: the driver writes the event.
    unsafe { context.table.create_event(&mut event, flags as u32) }?;
    Ok(EventHandle::from_ptr(event))
}

pub(crate) unsafe fn destroy(device: &CudaDevice, event: EventHandle) -> Result<()> {
    let context = device.enter()?;
    // SAFETY: an event of this device that is not used again, as the caller guarantees.
    unsafe { context.table.destroy_event(event.as_ptr()) }
}

#[inline(always)]
pub(crate) unsafe fn record(
    device: &CudaDevice,
    event: EventHandle,
    stream: StreamHandle,
) -> Result<()> {
    // SAFETY: an event and a stream of this device, as the caller guarantees.
    device.with_current(move |table| unsafe { table.event_record(event.as_ptr(), stream.as_ptr()) })
}

pub(crate) unsafe fn query(device: &CudaDevice, event: EventHandle) -> Result<bool> {
    let context = device.enter()?;
    // SAFETY: an event of this device, as the caller guarantees.
    ready(unsafe { context.table.event_query(event.as_ptr()) })
}

pub(crate) unsafe fn synchronize(device: &CudaDevice, event: EventHandle) -> Result<()> {
    let context = device.enter()?;
    // SAFETY: an event of this device, as the caller guarantees.
    unsafe { context.table.event_synchronize(event.as_ptr()) }
}

pub(crate) unsafe fn elapsed_ms(
    device: &CudaDevice,
    start: EventHandle,
    end: EventHandle,
) -> Result<f32> {
    let context = device.enter()?;
    let mut milliseconds = 0.0;
    // SAFETY: events of this device, as the caller guarantees; the driver writes a number.
    unsafe {
        context.table.event_elapsed_ms(&mut milliseconds, start.as_ptr(), end.as_ptr())?;
    }
    Ok(milliseconds)
}

/// Converts the result of a query: "not ready" is `Ok(false)`.
pub(crate) fn ready(result: Result<()>) -> Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(Error::Driver(error)) if error.kind == DriverErrorKind::NotReady => Ok(false),
        Err(error) => Err(error),
    }
}
