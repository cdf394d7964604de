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
            reason: "an AMD device loads binary images (code objects)".to_owned(),
        });
    };
    let staged = PaddedImage::new(bytes)?;
    let context = device.enter()?;

    let mut module: hipModule_t = std::ptr::null_mut();
    // SAFETY: the image is whole and padded, so that its end is found; it lives until the call returns.
    let loaded = unsafe { context.table.load_module(&mut module, staged.as_ptr()) };
    match loaded {
        Ok(()) => {
            tracing::debug!(bytes = bytes.len(), "module loaded");
            Ok(ModuleHandle::from_ptr(module))
        }
        Err(Error::Driver(error)) if is_image_rejected(&error) => {
            // The runtime has no more to say than the code: it prints its reasons where told to by its own variables.
            let log = error.to_string();
            Err(Error::ImageRejected { log, source: Some(error) })
        }
        Err(error) => Err(error),
    }
}

pub(crate) unsafe fn unload(device: &HipDevice, module: ModuleHandle) -> Result<()> {
    let context = device.enter()?;
    // SAFETY: a module of this device that is not used again, by the caller's promise.
    unsafe { context.table.unload_module(module.as_ptr()) }
}

pub(crate) unsafe fn function(
    device: &HipDevice,
    module: ModuleHandle,
    name: &str,
) -> Result<FunctionHandle> {
    let name = CString::new(name).map_err(|_| Error::InvalidArgument {
        what: "a function's name with a zero byte in it".to_owned(),
    })?;
    let context = device.enter()?;
    let mut function: hipFunction_t = std::ptr::null_mut();
    // SAFETY: a module of this device, by the caller's promise; the runtime writes the function.
    unsafe { context.table.function(&mut function, module.as_ptr(), name.as_ptr()) }?;
    Ok(FunctionHandle::from_ptr(function))
}
