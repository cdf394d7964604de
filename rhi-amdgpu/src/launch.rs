//! Launches: one by-value parameter, which the runtime copies before the call returns.
//!
//! HIP takes parameters as an array of addresses or as one packed buffer (`extra`). The array is used: for
//! one struct both mean the same bytes, the runtime then takes the size from the code object and reads no more
//! than the function has, and graph nodes have the array too.

use std::ffi::c_void;

use quadrants_rhi::{Error, FunctionHandle, LaunchConfig, Result, StreamHandle};

use crate::device::HipDevice;

#[inline(always)]
pub(crate) unsafe fn launch(
    device: &HipDevice,
    function: FunctionHandle,
    config: &LaunchConfig,
    args: &[u64],
    stream: StreamHandle,
) -> Result<()> {
    let mut parameters = parameters(device, args)?;
    let context = device.enter()?;
    let ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]) =
        (config.grid_dim, config.block_dim);
    // SAFETY: function and stream are of this device, and the block is the one that the function was
    // compiled for, by the caller's promise. The driver has read it when the call returns.
    unsafe {
        context.table.launch(
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
pub(crate) fn parameters(device: &HipDevice, args: &[u64]) -> Result<[*mut c_void; 1]> {
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
