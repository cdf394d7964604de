//! The classification of libcuda's result codes.

use std::ffi::{CStr, c_char};

use cudarc::driver::sys::CUresult::{self, *};
use quadrants_rhi::{DriverError, DriverErrorKind, Error, table::Status};

/// Codes after which every call in the context fails, by the documentation of `CUresult`.
const CONTEXT_LOST: &[CUresult] = &[
    CUDA_ERROR_INVALID_CONTEXT, // we made it current ourselves, so someone destroyed it
    CUDA_ERROR_ECC_UNCORRECTABLE,
    CUDA_ERROR_NVLINK_UNCORRECTABLE,
    CUDA_ERROR_CONTAINED,
    CUDA_ERROR_ILLEGAL_ADDRESS,
    CUDA_ERROR_LAUNCH_TIMEOUT,
    CUDA_ERROR_CONTEXT_IS_DESTROYED,
    CUDA_ERROR_ASSERT,
    CUDA_ERROR_HARDWARE_STACK_ERROR,
    CUDA_ERROR_ILLEGAL_INSTRUCTION,
    CUDA_ERROR_MISALIGNED_ADDRESS,
    CUDA_ERROR_INVALID_ADDRESS_SPACE,
    CUDA_ERROR_INVALID_PC,
    CUDA_ERROR_LAUNCH_FAILED,
    CUDA_ERROR_TENSOR_MEMORY_LEAK,
    CUDA_ERROR_MPS_CLIENT_TERMINATED,
];

/// Codes that mean that the image is not valid for this device and driver.
const IMAGE_REJECTED: &[CUresult] = &[
    CUDA_ERROR_INVALID_IMAGE,
    CUDA_ERROR_NO_BINARY_FOR_GPU,
    CUDA_ERROR_INVALID_PTX,
    CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
    CUDA_ERROR_JIT_COMPILATION_DISABLED,
    CUDA_ERROR_INVALID_SOURCE,
    CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND,
    CUDA_ERROR_SHARED_OBJECT_INIT_FAILED,
];

type ErrorName = unsafe extern "C" fn(Status, *mut *const c_char) -> Status;

#[cold]
pub(crate) fn failed(
    error_name: ErrorName,
    call: &'static str,
    symbol: &'static str,
    status: Status,
) -> Error {
    DriverError::new(call, symbol, status.0, name(error_name, status), kind(status)).into()
}

pub(crate) fn is_image_rejected(error: &DriverError) -> bool {
    is_one_of(IMAGE_REJECTED, error.code)
}

pub(crate) fn kind(status: Status) -> DriverErrorKind {
    const OTHERS: &[(CUresult, DriverErrorKind)] = &[
        (CUDA_ERROR_OUT_OF_MEMORY, DriverErrorKind::OutOfMemory),
        (CUDA_ERROR_INVALID_VALUE, DriverErrorKind::InvalidValue),
        (CUDA_ERROR_INVALID_HANDLE, DriverErrorKind::InvalidHandle),
        (CUDA_ERROR_NOT_FOUND, DriverErrorKind::NotFound),
        (CUDA_ERROR_NO_DEVICE, DriverErrorKind::NoDevice),
        (CUDA_ERROR_NOT_SUPPORTED, DriverErrorKind::NotSupported),
        (CUDA_ERROR_NOT_READY, DriverErrorKind::NotReady),
        (CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, DriverErrorKind::Capturing),
        (CUDA_ERROR_DEINITIALIZED, DriverErrorKind::ShuttingDown),
    ];
    if is_one_of(CONTEXT_LOST, status.0) {
        return DriverErrorKind::ContextLost;
    }
    let found = OTHERS.iter().find(|(code, _)| *code as i32 == status.0);
    found.map_or(DriverErrorKind::Other, |(_, kind)| *kind)
}

fn is_one_of(codes: &[CUresult], code: i32) -> bool {
    codes.iter().any(|known| *known as i32 == code)
}

fn name(error_name: ErrorName, status: Status) -> String {
    let mut name = std::ptr::null();
    // SAFETY: the driver writes a pointer to a static string, or null for an unknown code. The table's checked method
    // is not used, because its error would query a name again.
    let found = unsafe { error_name(status, &mut name) };
    if found != Status::SUCCESS || name.is_null() {
        return "an unknown code".to_owned();
    }
    // SAFETY: it is not null and points to a static string.
    unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::ffi::c_char;

    use cudarc::driver::sys::CUresult::*;
    use quadrants_rhi::{DriverErrorKind, Error, Severity, table::Status};

    use super::{failed, is_image_rejected, kind};

    extern "C" fn error_name(error: Status, name: *mut *const c_char) -> Status {
        if error.0 != 2 {
            return Status(1);
        }
        // SAFETY: the caller passes a valid pointer.
        unsafe { *name = c"CUDA_ERROR_OUT_OF_MEMORY".as_ptr() };
        Status::SUCCESS
    }

    #[test]
    fn an_error_names_call_symbol_and_code() {
        let error = failed(error_name, "alloc", "cuMemAlloc_v2", Status(2));
        assert!(error.is_out_of_memory());
        assert_eq!(error.severity(), Severity::Recoverable);
        assert_eq!(
            error.to_string(),
            "alloc failed: cuMemAlloc_v2 returned CUDA_ERROR_OUT_OF_MEMORY (2); help: use smaller tensors, or drop some"
        );
    }

    #[test]
    fn an_unknown_code_is_an_error() {
        let error = failed(error_name, "launch", "cuLaunchKernel", Status(12_345));
        assert_eq!(error.driver_error().unwrap().kind, DriverErrorKind::Other);
        assert!(error.to_string().ends_with("an unknown code (12345)"), "{error}");
    }

    #[test]
    fn sticky_errors_lose_the_context() {
        for code in [CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_ASSERT] {
            assert_eq!(kind(Status(code as i32)).severity(), Severity::ContextLost);
        }
        assert_eq!(kind(Status(4)), DriverErrorKind::ShuttingDown);
        assert_eq!(kind(Status(600)), DriverErrorKind::NotReady);
        assert_eq!(kind(Status(1)).severity(), Severity::Recoverable);
    }

    #[test]
    fn rejected_images_differ_from_other_errors() {
        let error =
            |code| match failed(error_name, "load_module", "cuModuleLoadDataEx", Status(code)) {
                Error::Driver(error) => error,
                other => panic!("{other}"),
            };
        assert!(is_image_rejected(&error(200)) && is_image_rejected(&error(218)));
        assert!(!is_image_rejected(&error(2)) && !is_image_rejected(&error(700)));
    }
}
