//! The few functions of cuBLAS and hipBLAS that the example uses, loaded at run time.
//!
//! Signatures: `cublas_api.h` of CUDA 13, unchanged since CUDA 6; `hipblas.h` of ROCm 7, unchanged since ROCm 3. The
//! example was never run with hipBLAS.

use std::{
    ffi::{CStr, c_int, c_void},
    ptr,
};

use libloading::Library;
use quadrants::rhi::{DevicePtr, StreamHandle};

use crate::{Error, Result};

/// What differs between the libraries.
struct Family {
    name: &'static str,
    files: [&'static str; 3],
    create: &'static CStr,
    destroy: &'static CStr,
    set_stream: &'static CStr,
    sgemm: &'static CStr,
    /// The number for a matrix as it is.
    as_it_is: c_int,
}

const CUBLAS: Family = Family {
    name: "cuBLAS",
    files: ["libcublas.so.13", "libcublas.so.12", "libcublas.so"],
    create: c"cublasCreate_v2",
    destroy: c"cublasDestroy_v2",
    set_stream: c"cublasSetStream_v2",
    sgemm: c"cublasSgemm_v2",
    // `CUBLAS_OP_N`.
    as_it_is: 0,
};

const HIPBLAS: Family = Family {
    name: "hipBLAS",
    files: ["libhipblas.so.3", "libhipblas.so.2", "libhipblas.so"],
    create: c"hipblasCreate",
    destroy: c"hipblasDestroy",
    set_stream: c"hipblasSetStream",
    sgemm: c"hipblasSgemm",
    // `HIPBLAS_OP_N`.
    as_it_is: 111,
};

type Sgemm = unsafe extern "C" fn(
    *mut c_void,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const f32,
    *const f32,
    c_int,
    *const f32,
    c_int,
    *const f32,
    *mut f32,
    c_int,
) -> c_int;

/// A handle of cuBLAS or hipBLAS, for the context or device that was current when it was created.
#[derive(Debug)]
pub struct Blas {
    handle: *mut c_void,
    destroy: unsafe extern "C" fn(*mut c_void) -> c_int,
    set_stream: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int,
    sgemm: Sgemm,
    as_it_is: c_int,
    _library: Library,
}

impl Blas {
    /// Loads cuBLAS and creates a handle for the current context.
    ///
    /// # Errors
    /// [`Error::NoLibrary`] without cuBLAS, or its status.
    pub fn cublas() -> Result<Self> {
        Self::load(&CUBLAS)
    }

    /// Loads hipBLAS and creates a handle for the current device.
    ///
    /// # Errors
    /// [`Error::NoLibrary`] without hipBLAS, or its status.
    pub fn hipblas() -> Result<Self> {
        Self::load(&HIPBLAS)
    }

    fn load(family: &Family) -> Result<Self> {
        // SAFETY: loading these libraries has no effects that anything here depends on.
        let library = family.files.iter().find_map(|name| unsafe { Library::new(*name) }.ok());
        let library = library.ok_or(Error::NoLibrary { name: family.name })?;
        // SAFETY: the types are those of both headers, and `library` outlives the functions in the result.
        unsafe {
            let create: unsafe extern "C" fn(*mut *mut c_void) -> c_int =
                *library.get(family.create)?;
            let destroy = *library.get(family.destroy)?;
            let set_stream = *library.get(family.set_stream)?;
            let sgemm = *library.get(family.sgemm)?;
            let mut handle = ptr::null_mut();
            check("create", create(&raw mut handle))?;
            let as_it_is = family.as_it_is;
            Ok(Self { handle, destroy, set_stream, sgemm, as_it_is, _library: library })
        }
    }

    /// Enqueues `c = a * b` on a stream, for square row-major matrices with `n` rows.
    ///
    /// # Errors
    /// The status of the library.
    ///
    /// # Safety
    /// The matrices have `n * n` elements on the device of the handle, whose context is current; `c` overlaps neither
    /// of the others. Nothing writes them before the work is complete.
    pub unsafe fn multiply(
        &self,
        stream: StreamHandle,
        n: usize,
        [a, b]: [DevicePtr; 2],
        c: DevicePtr,
    ) -> Result<()> {
        let size = c_int::try_from(n).map_err(|_| Error::TooLarge { n })?;
        let (one, zero) = (1.0_f32, 0.0_f32);
        // SAFETY: the caller's promise. The factors are read before the call returns, in the default mode.
        unsafe {
            check("set stream", (self.set_stream)(self.handle, stream.0 as usize as *mut c_void))?;
            // Both libraries have column-major matrices, which are the transposed ones: c' = b' * a'.
            let (a, b, c) = (a.as_ptr::<f32>(), b.as_ptr::<f32>(), c.as_ptr::<f32>());
            let status = (self.sgemm)(
                self.handle,
                self.as_it_is,
                self.as_it_is,
                size,
                size,
                size,
                &raw const one,
                b,
                size,
                a,
                size,
                &raw const zero,
                c,
                size,
            );
            check("sgemm", status)
        }
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        // SAFETY: the handle is valid, and nothing uses it afterwards. A failure leaves nothing to do.
        unsafe { (self.destroy)(self.handle) };
    }
}

fn check(call: &'static str, status: c_int) -> Result<()> {
    if status == 0 { Ok(()) } else { Err(Error::Status { call, status }) }
}
