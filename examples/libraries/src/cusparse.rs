//! Products of a sparse matrix and a vector by cuSPARSE, whose functions cudarc loads at run time.

use std::{ffi::c_void, ptr};

use cudarc::cusparse::sys::{
    self, cudaDataType_t::CUDA_R_64F, cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO,
    cusparseIndexType_t::CUSPARSE_INDEX_32I, cusparseOperation_t::CUSPARSE_OPERATION_NON_TRANSPOSE,
    cusparseSpMVAlg_t::CUSPARSE_SPMV_ALG_DEFAULT, cusparseStatus_t,
};
use quadrants::rhi::{DevicePtr, StreamHandle};

use crate::{Error, Result};

/// A square matrix of doubles in compressed rows with indices of 32 bits, and a handle for the context that was current
/// when it was made.
#[derive(Debug)]
pub struct Rows {
    handle: sys::cusparseHandle_t,
    matrix: sys::cusparseSpMatDescr_t,
    x: sys::cusparseDnVecDescr_t,
    y: sys::cusparseDnVecDescr_t,
}

/// Where the matrix is, and the memory that cuSPARSE works in.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    /// The position of each row's first entry, and the number of entries: `n + 1` numbers of type `i32`.
    pub offsets: DevicePtr,
    /// The column of each entry, of type `i32`.
    pub columns: DevicePtr,
    /// The value of each entry, of type `f64`.
    pub values: DevicePtr,
    /// The bytes that [`Rows::work_bytes`] asks for.
    pub work: DevicePtr,
}

impl Rows {
    /// Describes a matrix with `n` rows and `entries` entries in the current context.
    ///
    /// # Errors
    /// [`Error::NoLibrary`] without cuSPARSE, or its status.
    ///
    /// # Safety
    /// The addresses are those of the matrix, as long as the result is used.
    pub unsafe fn new(
        n: usize,
        entries: usize,
        of: Memory,
        x: DevicePtr,
        y: DevicePtr,
    ) -> Result<Self> {
        // SAFETY: loading cuSPARSE has no effects that anything here depends on.
        if !unsafe { sys::is_culib_present() } {
            return Err(Error::NoLibrary { name: "cuSPARSE" });
        }
        let size = |n: usize| match i32::try_from(n) {
            Ok(size) => Ok(i64::from(size)),
            Err(_) => Err(Error::TooLarge { n }),
        };
        let (n, entries) = (size(n)?, size(entries)?);
        // The drop destroys what was made before an error.
        let mut rows = Self {
            handle: ptr::null_mut(),
            matrix: ptr::null_mut(),
            x: ptr::null_mut(),
            y: ptr::null_mut(),
        };
        // SAFETY: cuSPARSE writes a handle and descriptors, which only contain the addresses.
        unsafe {
            check("cusparseCreate", sys::cusparseCreate(&raw mut rows.handle))?;
            let status = sys::cusparseCreateCsr(
                &raw mut rows.matrix,
                n,
                n,
                entries,
                of.offsets.as_ptr(),
                of.columns.as_ptr(),
                of.values.as_ptr(),
                CUSPARSE_INDEX_32I,
                CUSPARSE_INDEX_32I,
                CUSPARSE_INDEX_BASE_ZERO,
                CUDA_R_64F,
            );
            check("cusparseCreateCsr", status)?;
            for (vector, at) in [(&mut rows.x, x), (&mut rows.y, y)] {
                let status = sys::cusparseCreateDnVec(vector, n, at.as_ptr(), CUDA_R_64F);
                check("cusparseCreateDnVec", status)?;
            }
        }
        Ok(rows)
    }

    /// The number of bytes that a product works in.
    ///
    /// # Errors
    /// The status of cuSPARSE.
    pub fn work_bytes(&self) -> Result<usize> {
        let (one, zero, mut bytes) = (1.0_f64, 0.0_f64, 0);
        // SAFETY: the descriptors are valid, and cuSPARSE writes a number.
        let status = unsafe {
            sys::cusparseSpMV_bufferSize(
                self.handle,
                CUSPARSE_OPERATION_NON_TRANSPOSE,
                (&raw const one).cast(),
                self.matrix,
                self.x,
                (&raw const zero).cast(),
                self.y,
                CUDA_R_64F,
                CUSPARSE_SPMV_ALG_DEFAULT,
                &raw mut bytes,
            )
        };
        check("cusparseSpMV_bufferSize", status)?;
        Ok(bytes)
    }

    /// Enqueues `y = A x` on a stream.
    ///
    /// # Errors
    /// The status of cuSPARSE.
    ///
    /// # Safety
    /// All addresses have their elements on the device of the handle, whose context is current; the matrix and the work
    /// memory are those of [`new`](Self::new) and of the size of [`work_bytes`](Self::work_bytes). `y` and the work
    /// memory overlap nothing, and nothing else uses them before the work is complete.
    pub unsafe fn multiply(
        &self,
        stream: StreamHandle,
        work: DevicePtr,
        x: DevicePtr,
        y: DevicePtr,
    ) -> Result<()> {
        let (one, zero) = (1.0_f64, 0.0_f64);
        // SAFETY: the caller's promise. The factors are read before the call returns, in cuSPARSE's default mode.
        unsafe {
            let stream = stream.0 as usize as sys::cudaStream_t;
            check("cusparseSetStream", sys::cusparseSetStream(self.handle, stream))?;
            let status = sys::cusparseDnVecSetValues(self.x, x.as_ptr());
            check("cusparseDnVecSetValues", status)?;
            let status = sys::cusparseDnVecSetValues(self.y, y.as_ptr());
            check("cusparseDnVecSetValues", status)?;
            let status = sys::cusparseSpMV(
                self.handle,
                CUSPARSE_OPERATION_NON_TRANSPOSE,
                (&raw const one).cast(),
                self.matrix,
                self.x,
                (&raw const zero).cast(),
                self.y,
                CUDA_R_64F,
                CUSPARSE_SPMV_ALG_DEFAULT,
                work.as_ptr::<c_void>(),
            );
            check("cusparseSpMV", status)
        }
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        // SAFETY: each is valid or null, and nothing uses it afterwards. A failure leaves nothing to do.
        unsafe {
            for vector in [self.x, self.y].into_iter().filter(|of| !of.is_null()) {
                let _ = sys::cusparseDestroyDnVec(vector);
            }
            if !self.matrix.is_null() {
                let _ = sys::cusparseDestroySpMat(self.matrix);
            }
            if !self.handle.is_null() {
                let _ = sys::cusparseDestroy(self.handle);
            }
        }
    }
}

fn check(call: &'static str, status: cusparseStatus_t) -> Result<()> {
    match status {
        cusparseStatus_t::CUSPARSE_STATUS_SUCCESS => Ok(()),
        status => Err(Error::Status { call, status: status as i32 }),
    }
}
