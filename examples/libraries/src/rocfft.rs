//! Real two-dimensional transforms by rocFFT, which is loaded at run time. Never run: it was only compiled.
//!
//! Signatures and numbers: `rocfft.h` of ROCm 6.

use std::{
    ffi::{c_int, c_void},
    ptr,
};

use libloading::Library;
use quadrants::rhi::{DevicePtr, StreamHandle};

use crate::{Error, Result, poisson::RealTransforms};

/// `rocfft_placement_notinplace`.
const NOT_IN_PLACE: c_int = 1;
/// `rocfft_transform_type_real_forward` and `rocfft_transform_type_real_inverse`.
const KINDS: [c_int; 2] = [2, 3];
/// `rocfft_precision_double`.
const DOUBLE: c_int = 1;

type Handle = *mut c_void;
type PlanCreate = unsafe extern "C" fn(
    *mut Handle,
    c_int,
    c_int,
    c_int,
    usize,
    *const usize,
    usize,
    Handle,
) -> c_int;
type Execute = unsafe extern "C" fn(Handle, *mut *mut c_void, *mut *mut c_void, Handle) -> c_int;
type Destroy = unsafe extern "C" fn(Handle) -> c_int;

/// The plans of a grid in both directions, for the device that was current when they were made.
#[derive(Debug)]
pub struct RealGrid {
    plans: [Handle; 2],
    info: Handle,
    set_stream: unsafe extern "C" fn(Handle, *mut c_void) -> c_int,
    execute: Execute,
    destroy_plan: Destroy,
    destroy_info: Destroy,
    cleanup: unsafe extern "C" fn() -> c_int,
    _library: Library,
}

impl RealGrid {
    /// Plans the transforms of `n` times `n` doubles for the current device.
    ///
    /// # Errors
    /// [`Error::NoLibrary`] without rocFFT, or its status.
    pub fn new(n: usize) -> Result<Self> {
        let files = ["librocfft.so.0", "librocfft.so"];
        // SAFETY: loading rocFFT has no effects that anything here depends on.
        let library = files.iter().find_map(|name| unsafe { Library::new(*name) }.ok());
        let library = library.ok_or(Error::NoLibrary { name: "rocFFT" })?;
        // SAFETY: the types are those of the header, and `library` outlives the functions in the result.
        let mut grid = unsafe {
            let setup: unsafe extern "C" fn() -> c_int = *library.get(c"rocfft_setup")?;
            let grid = Self {
                plans: [ptr::null_mut(); 2],
                info: ptr::null_mut(),
                set_stream: *library.get(c"rocfft_execution_info_set_stream")?,
                execute: *library.get(c"rocfft_execute")?,
                destroy_plan: *library.get(c"rocfft_plan_destroy")?,
                destroy_info: *library.get(c"rocfft_execution_info_destroy")?,
                cleanup: *library.get(c"rocfft_cleanup")?,
                _library: library,
            };
            check("rocfft_setup", setup())?;
            grid
        };
        let lengths = [n, n];
        // SAFETY: rocFFT writes the handles and reads two lengths. The description may be null.
        unsafe {
            let create: PlanCreate = *grid._library.get(c"rocfft_plan_create")?;
            for (plan, kind) in grid.plans.iter_mut().zip(KINDS) {
                let lengths = lengths.as_ptr();
                let status =
                    create(plan, NOT_IN_PLACE, kind, DOUBLE, 2, lengths, 1, ptr::null_mut());
                check("rocfft_plan_create", status)?;
            }
            let create: unsafe extern "C" fn(*mut Handle) -> c_int =
                *grid._library.get(c"rocfft_execution_info_create")?;
            check("rocfft_execution_info_create", create(&raw mut grid.info))?;
        }
        Ok(grid)
    }

    /// Enqueues a plan.
    ///
    /// # Safety
    /// As for [`RealTransforms::forward`].
    unsafe fn enqueue(
        &self,
        plan: Handle,
        stream: StreamHandle,
        [from, to]: [DevicePtr; 2],
    ) -> Result<()> {
        let (mut from, mut to) = ([from.as_ptr::<c_void>()], [to.as_ptr::<c_void>()]);
        // SAFETY: the caller's promise; one array each, which rocFFT reads before it returns. It allocates its work
        // memory itself.
        unsafe {
            let stream = stream.0 as usize as *mut c_void;
            check("rocfft_execution_info_set_stream", (self.set_stream)(self.info, stream))?;
            let status = (self.execute)(plan, from.as_mut_ptr(), to.as_mut_ptr(), self.info);
            check("rocfft_execute", status)
        }
    }
}

impl RealTransforms for RealGrid {
    unsafe fn forward(
        &self,
        stream: StreamHandle,
        grid: DevicePtr,
        spectrum: DevicePtr,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.enqueue(self.plans[0], stream, [grid, spectrum]) }
    }

    unsafe fn inverse(
        &self,
        stream: StreamHandle,
        spectrum: DevicePtr,
        grid: DevicePtr,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.enqueue(self.plans[1], stream, [spectrum, grid]) }
    }
}

impl Drop for RealGrid {
    fn drop(&mut self) {
        // SAFETY: the handles are valid or null, and nothing uses them afterwards. A failure leaves nothing to do.
        unsafe {
            if !self.info.is_null() {
                (self.destroy_info)(self.info);
            }
            for plan in self.plans.into_iter().filter(|plan| !plan.is_null()) {
                (self.destroy_plan)(plan);
            }
            (self.cleanup)();
        }
    }
}

fn check(call: &'static str, status: c_int) -> Result<()> {
    // `rocfft_status_success`.
    if status == 0 { Ok(()) } else { Err(Error::Status { call, status }) }
}
