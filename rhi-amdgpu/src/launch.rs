//! Launches: one by-value parameter, which the runtime copies before the call returns.
//!
//! HIP takes parameters as an array of addresses or as one packed buffer (`extra`). This module uses the array. For one
//! struct both pass the same bytes; with the array the runtime takes the size from the code object, so it does not read
//! beyond the function's parameters, and graph nodes use the array too.

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
    // compiled for, as the caller guarantees. The driver has read it when the call returns.
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

/// The array of parameter addresses. There is one parameter, the argument block.
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
    let bytes = size_of_val(args);
    let what = format!("an argument block of {bytes} bytes; the limit is {limit}");
    Error::InvalidArgument { what }
}
