//! The context of cudarc on a thread, for code that cudarc calls without one.

use std::ptr;

use cudarc::driver::{CudaContext, DriverError, result::ctx, sys::CUcontext};

/// Keeps the context current on this thread, and restores the earlier one when it is dropped.
///
/// Some functions of cudarc make their context current and leave it so, and some need one that is current already.
pub(super) struct CurrentContext {
    /// None where the context was current already.
    before: Option<CUcontext>,
}

impl CurrentContext {
    pub(super) fn new(context: &CudaContext) -> Result<Self, DriverError> {
        let before = ctx::get_current()?;
        if before == Some(context.cu_ctx()) {
            return Ok(Self { before: None });
        }
        // SAFETY: `context` retains its context, and has it while it is borrowed; the guard restores the earlier one
        // before anybody else runs on this thread.
        unsafe { ctx::set_current(context.cu_ctx()) }?;
        Ok(Self { before: Some(before.unwrap_or(ptr::null_mut())) })
    }
}

impl Drop for CurrentContext {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // SAFETY: it was current on this thread, or it is null. If it was destroyed meanwhile, the driver returns
            // an error, and nothing is left to do.
            let _ = unsafe { ctx::set_current(before) };
        }
    }
}
