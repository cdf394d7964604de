//! Modules and their functions.

use std::ffi::CString;

use quadrants_rhi::{Error, FunctionHandle, Image, ModuleHandle, PaddedImage, Result};

use crate::{
    device::HipDevice,
    error::is_image_rejected,
    generated::hip::{hipFunction_t, hipModule_t},
};

pub(crate) fn load(device: &HipDevice, image: &Image<'_>) -> Result<ModuleHandle> {
    let Image::Binary(bytes) = image else {
        return Err(Error::Unsupported {
            operation: "load_module",
            reason: "an AMD device loads `Image::Binary` (a code object)".to_owned(),
        });
    };
    let staged = PaddedImage::new(bytes)?;
    let context = device.enter()?;

    let mut module: hipModule_t = std::ptr::null_mut();
    // SAFETY: the image is complete and padded, so the runtime finds its end; it lives until the call returns.
    let loaded = unsafe { context.table.load_module(&mut module, staged.as_ptr()) };
    match loaded {
        Ok(()) => {
            tracing::debug!(bytes = bytes.len(), "module loaded");
            Ok(ModuleHandle::from_ptr(module))
        }
        Err(Error::Driver(error)) if is_image_rejected(&error) => {
            // The runtime reports only the code. Its environment variables make it print the reason.
            let log = error.to_string();
            Err(Error::ImageRejected { log, source: Some(error) })
        }
        Err(error) => Err(error),
    }
}

pub(crate) unsafe fn unload(device: &HipDevice, module: ModuleHandle) -> Result<()> {
    let context = device.enter()?;
    // SAFETY: a module of this device that is not used again, as the caller guarantees.
    unsafe { context.table.unload_module(module.as_ptr()) }
}

pub(crate) unsafe fn function(
    device: &HipDevice,
    module: ModuleHandle,
    name: &str,
) -> Result<FunctionHandle> {
    let name = CString::new(name).map_err(|_| Error::InvalidArgument {
        what: "a function name must not contain a zero byte".to_owned(),
    })?;
    let context = device.enter()?;
    let mut function: hipFunction_t = std::ptr::null_mut();
    // SAFETY: a module of this device, as the caller guarantees; the runtime writes the function.
    unsafe { context.table.function(&mut function, module.as_ptr(), name.as_ptr()) }?;
    Ok(FunctionHandle::from_ptr(function))
}
