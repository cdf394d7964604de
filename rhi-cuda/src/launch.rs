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
    // Not `CudaDevice::within`: what its closure holds would go through memory, seven instructions of each launch.
    if device.is_within()? {
        // SAFETY: the caller's promise.
        unsafe { launch_within(device, function, config, args, stream) }
    } else {
        // SAFETY: the caller's promise.
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
    // SAFETY: the caller's promise.
    unsafe { launch_within(device, function, config, args, stream) }
}

/// Launches, where the context is current.
#[inline(always)]
unsafe fn launch_within(
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
    // compiled for, by the caller's promise. The driver has read it when the call returns.
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

/// The array of addresses of a function's parameters, which here is one: of the argument block.
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
    let what = format!("{} bytes of arguments, of at most {limit}", size_of_val(args));
    Error::InvalidArgument { what }
}
