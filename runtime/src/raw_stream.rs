//! The destruction of a stream by its handle.

use quadrants_rhi::{self as rhi, Device, StreamHandle};

/// Destroys a stream, unless it is the default stream, as all streams of the CPU are.
///
/// # Safety
/// As for [`Device::destroy_stream`], except that `handle` may be the default stream.
pub(crate) unsafe fn destroy_stream(device: &dyn Device, handle: StreamHandle) -> rhi::Result<()> {
    if handle == StreamHandle::DEFAULT {
        return Ok(());
    }
    // SAFETY: the caller guarantees the conditions, and it is not the default stream.
    unsafe { device.destroy_stream(handle) }
}
