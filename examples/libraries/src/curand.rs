//! Random numbers by cuRAND, whose functions cudarc loads at run time.

use std::ptr;

use cudarc::curand::sys::{self, curandRngType_t, curandStatus};
use quadrants::rhi::{DevicePtr, StreamHandle};

use crate::{Error, Result};

/// A generator of cuRAND's default kind, XORWOW, for the context that was current when it was created.
#[derive(Debug)]
pub struct Generator(sys::curandGenerator_t);

impl Generator {
    /// Creates a generator in the current context.
    ///
    /// # Errors
    /// [`Error::NoLibrary`] without cuRAND, or its status.
    pub fn new(seed: u64) -> Result<Self> {
        // SAFETY: loading cuRAND has no effects that anything here depends on.
        if !unsafe { sys::is_culib_present() } {
            return Err(Error::NoLibrary { name: "cuRAND" });
        }
        let mut generator = ptr::null_mut();
        let kind = curandRngType_t::CURAND_RNG_PSEUDO_DEFAULT;
        // SAFETY: cuRAND writes a generator.
        let status = unsafe { sys::curandCreateGenerator(&raw mut generator, kind) };
        check("curandCreateGenerator", status)?;
        let generator = Self(generator);
        // SAFETY: the generator was just created.
        let status = unsafe { sys::curandSetPseudoRandomGeneratorSeed(generator.0, seed) };
        check("curandSetPseudoRandomGeneratorSeed", status)?;
        Ok(generator)
    }

    /// Enqueues the next `count` uniform numbers in (0, 1] on a stream.
    ///
    /// # Errors
    /// The status of cuRAND.
    ///
    /// # Safety
    /// `to` has `count` elements on the device of the generator, whose context is current. Nothing else uses them
    /// before the work is complete. Earlier work of the generator is complete, or ordered before on the device.
    pub unsafe fn uniform(&self, stream: StreamHandle, to: DevicePtr, count: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            self.set_stream(stream)?;
            check("curandGenerateUniform", sys::curandGenerateUniform(self.0, to.as_ptr(), count))
        }
    }

    /// Enqueues the next `count` numbers of the standard normal distribution on a stream. The count is even.
    ///
    /// # Errors
    /// The status of cuRAND.
    ///
    /// # Safety
    /// As for [`uniform`](Self::uniform).
    pub unsafe fn normal(&self, stream: StreamHandle, to: DevicePtr, count: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            self.set_stream(stream)?;
            let status = sys::curandGenerateNormal(self.0, to.as_ptr(), count, 0.0, 1.0);
            check("curandGenerateNormal", status)
        }
    }

    /// # Safety
    /// A stream of the generator's context.
    unsafe fn set_stream(&self, stream: StreamHandle) -> Result<()> {
        // SAFETY: the caller's promise.
        let status =
            unsafe { sys::curandSetStream(self.0, stream.0 as usize as sys::cudaStream_t) };
        check("curandSetStream", status)
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        // SAFETY: the generator is valid, and nothing uses it afterwards. A failure leaves nothing to do.
        let _ = unsafe { sys::curandDestroyGenerator(self.0) };
    }
}

fn check(call: &'static str, status: curandStatus) -> Result<()> {
    match status {
        curandStatus::CURAND_STATUS_SUCCESS => Ok(()),
        status => Err(Error::Status { call, status: status as i32 }),
    }
}
