//! Launches: one by-value parameter, which the driver copies before the call returns.

use std::ffi::c_void;

use quadrants_rhi::{Error, FunctionHandle, LaunchConfig, Result, StreamHandle};

use crate::device::CudaDevice;

#[inline(always)]
pub(crate) unsafe fn launch(
    device: &CudaDevice,
    function: FunctionHandle,
    config: &LaunchConfig,
    args: &[u64],
    stream: StreamHandle,
) -> Result<()> {
    // `CudaDevice::with_current` is not used: it would pass the captured values through memory, seven instructions per
    // launch.
    if device.is_current_cached()? {
        // SAFETY: the caller guarantees the conditions.
        unsafe { launch_current(device, function, config, args, stream) }
    } else {
        // SAFETY: the caller guarantees the conditions.
        unsafe { enter_and_launch(device, function, config, args, stream) }
    }
}

#[cold]
#[inline(never)]
unsafe fn enter_and_launch(
    device: &CudaDevice,
    function: FunctionHandle,
    config: &LaunchConfig,
    args: &[u64],
    stream: StreamHandle,
) -> Result<()> {
    let _entered = device.enter()?;
    // SAFETY: the caller guarantees the conditions.
    unsafe { launch_current(device, function, config, args, stream) }
}

/// Launches while the context is current.
#[inline(always)]
unsafe fn launch_current(
    device: &CudaDevice,
    function: FunctionHandle,
    config: &LaunchConfig,
    args: &[u64],
    stream: StreamHandle,
) -> Result<()> {
    let mut parameters = parameters(device, args)?;
    let ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]) =
        (config.grid_dim, config.block_dim);
    // SAFETY: function and stream are of this device, and the block is the one that the function was
    // compiled for, as the caller guarantees. The driver has read it when the call returns.
    unsafe {
        device.context.table.launch(
            function.as_ptr(),
            grid_x,
            grid_y,
            grid_z,
            block_x,
            block_y,
            block_z,
            config.shared_bytes,
            stream.as_ptr(),
            parameters.as_mut_ptr(),
            std::ptr::null_mut(),
        )
    }
}

/// The array of parameter addresses. There is one parameter, the argument block.
#[inline(always)]
pub(crate) fn parameters(device: &CudaDevice, args: &[u64]) -> Result<[*mut c_void; 1]> {
    let limit = device.capabilities.max_argument_bytes;
    if size_of_val(args) > limit {
        return Err(too_long(args, limit));
    }
    Ok([args.as_ptr().cast_mut().cast()])
}

#[cold]
fn too_long(args: &[u64], limit: usize) -> Error {
    let bytes = size_of_val(args);
    let what = format!("an argument block of {bytes} bytes; the limit is {limit}");
    Error::InvalidArgument { what }
}
