//! Loading of modules.

use std::ffi::{CStr, c_void};

use cudarc::driver::sys::{CUjit_option, CUmodule};
use quadrants_rhi::{Result, table_device::load_error};

use crate::{error::is_image_rejected, table::Table};

/// The size of the buffer for the driver's message about a rejected image. The driver truncates longer messages.
const LOG_BYTES: usize = 8192;

/// Loads a module.
///
/// # Safety
/// The context is current, and the driver finds the end of the image.
pub(crate) unsafe fn load(
    table: &Table,
    module: &mut CUmodule,
    image: *const c_void,
) -> Result<()> {
    let mut log = vec![0u8; LOG_BYTES];
    let mut options =
        [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    // The driver expects the number in the place of a pointer. One byte is reserved for the final zero.
    let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), (LOG_BYTES - 1) as *mut c_void];
    let (options, values) = (&mut options[..], &mut values[..]);
    let (count, options, values) =
        (options.len() as u32, options.as_mut_ptr(), values.as_mut_ptr());
    // SAFETY: the caller guarantees the image. There are two options with values: the first is a buffer, the second
    // its size. All live until the call returns.
    let loaded = unsafe { table.load_module(module, image, count, options, values) };
    loaded.map_err(|error| {
        let log = CStr::from_bytes_until_nul(&log).unwrap_or_default().to_string_lossy();
        load_error(error, &log, is_image_rejected)
    })
}
