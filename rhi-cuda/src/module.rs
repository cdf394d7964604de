//! Modules and their functions.

use std::ffi::{CStr, CString, c_void};

use cudarc::driver::sys::{CUfunction, CUjit_option, CUmodule};
use quadrants_rhi::{Error, FunctionHandle, Image, ModuleHandle, PaddedImage, Result};

use crate::{device::CudaDevice, error::is_image_rejected};

/// The size of the buffer for the driver's message about a rejected image. The driver truncates longer messages.
const LOG_BYTES: usize = 8192;

pub(crate) fn load(device: &CudaDevice, image: &Image<'_>) -> Result<ModuleHandle> {
    let Image::Binary(bytes) = image else {
        return Err(Error::Unsupported {
            operation: "load_module",
            reason: "a CUDA device loads `Image::Binary` (cubin or PTX)".to_owned(),
        });
    };
    let staged = PaddedImage::new(bytes)?;
    let context = device.enter()?;

    let mut log = vec![0u8; LOG_BYTES];
    let mut options =
        [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    // The driver expects the number in the place of a pointer. One byte is reserved for the final zero.
    let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), (LOG_BYTES - 1) as *mut c_void];
    let mut module: CUmodule = std::ptr::null_mut();
    // SAFETY: the image is padded, so the driver finds its end. There are two options with values: the first is a
    // buffer, the second its size. All live until the call returns.
    let loaded = unsafe {
        context.table.load_module(
            &mut module,
            staged.as_ptr(),
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    match loaded {
        Ok(()) => {
            tracing::debug!(bytes = bytes.len(), "module loaded");
            Ok(ModuleHandle::from_ptr(module))
        }
        Err(Error::Driver(error)) if is_image_rejected(&error) => {
            let log = CStr::from_bytes_until_nul(&log).unwrap_or_default().to_string_lossy();
            let log = if log.trim().is_empty() { error.to_string() } else { log.trim().to_owned() };
            Err(Error::ImageRejected { log, source: Some(error) })
        }
        Err(error) => Err(error),
    }
}

pub(crate) unsafe fn unload(device: &CudaDevice, module: ModuleHandle) -> Result<()> {
    let context = device.enter()?;
    // SAFETY: a module of this device that is not used again, as the caller guarantees.
    unsafe { context.table.unload_module(module.as_ptr()) }
}

pub(crate) unsafe fn function(
    device: &CudaDevice,
    module: ModuleHandle,
    name: &str,
) -> Result<FunctionHandle> {
    let name = CString::new(name).map_err(|_| Error::InvalidArgument {
        what: "a function name must not contain a zero byte".to_owned(),
    })?;
    let context = device.enter()?;
    let mut function: CUfunction = std::ptr::null_mut();
    // SAFETY: a module of this device, as the caller guarantees; the driver writes the function.
    unsafe { context.table.function(&mut function, module.as_ptr(), name.as_ptr()) }?;
    Ok(FunctionHandle::from_ptr(function))
}
