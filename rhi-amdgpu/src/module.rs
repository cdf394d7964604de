//! Loading of modules.

use std::ffi::c_void;

use quadrants_rhi::{Result, table_device::load_error};

use crate::{error::is_image_rejected, generated::hip::hipModule_t, table::Table};

/// Loads a module.
///
/// # Safety
/// The device is current, and the runtime finds the end of the image.
pub(crate) unsafe fn load(
    table: &Table,
    module: &mut hipModule_t,
    image: *const c_void,
) -> Result<()> {
    // SAFETY: the caller guarantees the image.
    let loaded = unsafe { table.load_module(module, image) };
    // The runtime reports only the code. Its environment variables make it print the reason.
    loaded.map_err(|error| load_error(error, "", is_image_rejected))
}
