//! Real two-dimensional transforms by cuFFT, whose functions cudarc loads at run time.

use std::ffi::c_int;

use cudarc::cufft::sys::{self, cufftResult, cufftType};
use quadrants::rhi::{DevicePtr, StreamHandle};

use crate::{Error, Result, poisson::RealTransforms};

/// The plans of a grid in both directions, for the context that was current when they were made.
#[derive(Debug)]
pub struct RealGrid {
    forward: Plan,
    inverse: Plan,
}

#[derive(Debug)]
struct Plan(sys::cufftHandle);

impl RealGrid {
    /// Plans the transforms of `n` times `n` doubles in the current context, which allocates memory for them.
    ///
    /// # Errors
    /// [`Error::NoLibrary`] without cuFFT, or its status.
    pub fn new(n: usize) -> Result<Self> {
        // SAFETY: loading cuFFT has no effects that anything here depends on.
        if !unsafe { sys::is_culib_present() } {
            return Err(Error::NoLibrary { name: "cuFFT" });
        }
        let size = c_int::try_from(n).map_err(|_| Error::TooLarge { n })?;
        let plan = |kind| {
            let mut plan = 0;
            // SAFETY: cuFFT writes a plan.
            let status = unsafe { sys::cufftPlan2d(&raw mut plan, size, size, kind) };
            check("cufftPlan2d", status).map(|()| Plan(plan))
        };
        Ok(Self { forward: plan(cufftType::CUFFT_D2Z)?, inverse: plan(cufftType::CUFFT_Z2D)? })
    }
}

impl RealTransforms for RealGrid {
    unsafe fn forward(
        &self,
        stream: StreamHandle,
        grid: DevicePtr,
        spectrum: DevicePtr,
    ) -> Result<()> {
        let Plan(plan) = self.forward;
        // SAFETY: the caller's promise. cuFFT does not write the input of this transform.
        unsafe {
            check(
                "cufftSetStream",
                sys::cufftSetStream(plan, stream.0 as usize as sys::cudaStream_t),
            )?;
            check("cufftExecD2Z", sys::cufftExecD2Z(plan, grid.as_ptr(), spectrum.as_ptr()))
        }
    }

    unsafe fn inverse(
        &self,
        stream: StreamHandle,
        spectrum: DevicePtr,
        grid: DevicePtr,
    ) -> Result<()> {
        let Plan(plan) = self.inverse;
        // SAFETY: the caller's promise.
        unsafe {
            check(
                "cufftSetStream",
                sys::cufftSetStream(plan, stream.0 as usize as sys::cudaStream_t),
            )?;
            check("cufftExecZ2D", sys::cufftExecZ2D(plan, spectrum.as_ptr(), grid.as_ptr()))
        }
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        // SAFETY: the plan is valid, and nothing uses it afterwards. A failure leaves nothing to do.
        let _ = unsafe { sys::cufftDestroy(self.0) };
    }
}

fn check(call: &'static str, status: cufftResult) -> Result<()> {
    match status {
        cufftResult::CUFFT_SUCCESS => Ok(()),
        status => Err(Error::Status { call, status: status as i32 }),
    }
}
