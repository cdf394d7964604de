//! The classification and names of HIP's result codes.

use quadrants_rhi::{DriverError, DriverErrorKind, Error, table::Status};

use crate::generated::hip::hipError_t;

/// Codes after which every call on the device fails.
const CONTEXT_LOST: &[hipError_t] = &[
    hipError_t::hipErrorInvalidContext, // we made the device current ourselves, so someone reset it
    hipError_t::hipErrorECCNotCorrectable,
    hipError_t::hipErrorIllegalAddress,
    hipError_t::hipErrorLaunchTimeOut,
    hipError_t::hipErrorContextIsDestroyed,
    hipError_t::hipErrorAssert,
    hipError_t::hipErrorLaunchFailure,
];

/// Codes that mean that the image is not valid for this device and runtime.
const IMAGE_REJECTED: &[hipError_t] = &[
    hipError_t::hipErrorInvalidImage,
    hipError_t::hipErrorNoBinaryForGpu,
    hipError_t::hipErrorInvalidKernelFile,
    hipError_t::hipErrorInvalidSource,
    hipError_t::hipErrorSharedObjectSymbolNotFound,
    hipError_t::hipErrorSharedObjectInitFailed,
];

macro_rules! names {
    ($($name:ident)*) => {
        const NAMES: &[(hipError_t, &str)] = &[$((hipError_t::$name, stringify!($name))),*];
    };
}

// `hipGetErrorName` is not used: it returns a string instead of a code, and only knows the codes of its version.
names! {
    hipErrorInvalidValue hipErrorOutOfMemory hipErrorNotInitialized hipErrorDeinitialized
    hipErrorInvalidConfiguration hipErrorInvalidPitchValue hipErrorInvalidSymbol
    hipErrorInvalidDevicePointer hipErrorInvalidMemcpyDirection hipErrorInsufficientDriver
    hipErrorMissingConfiguration hipErrorPriorLaunchFailure hipErrorInvalidDeviceFunction
    hipErrorNoDevice hipErrorInvalidDevice hipErrorInvalidImage hipErrorInvalidContext
    hipErrorContextAlreadyCurrent hipErrorMapFailed hipErrorUnmapFailed hipErrorNoBinaryForGpu
    hipErrorNotMapped hipErrorECCNotCorrectable hipErrorUnsupportedLimit
    hipErrorContextAlreadyInUse hipErrorPeerAccessUnsupported hipErrorInvalidKernelFile
    hipErrorInvalidSource hipErrorFileNotFound hipErrorSharedObjectSymbolNotFound
    hipErrorSharedObjectInitFailed hipErrorOperatingSystem hipErrorInvalidHandle
    hipErrorIllegalState hipErrorNotFound hipErrorNotReady hipErrorIllegalAddress
    hipErrorLaunchOutOfResources hipErrorLaunchTimeOut hipErrorPeerAccessAlreadyEnabled
    hipErrorPeerAccessNotEnabled hipErrorSetOnActiveProcess hipErrorContextIsDestroyed
    hipErrorAssert hipErrorHostMemoryAlreadyRegistered hipErrorHostMemoryNotRegistered
    hipErrorLaunchFailure hipErrorCooperativeLaunchTooLarge hipErrorNotSupported
    hipErrorStreamCaptureUnsupported hipErrorStreamCaptureInvalidated hipErrorCapturedEvent
    hipErrorGraphExecUpdateFailure hipErrorUnknown hipErrorRuntimeMemory hipErrorRuntimeOther
}

/// Makes the error of a failed call, for the methods of a table.
#[cold]
pub(crate) fn check<T>(_: &T, call: &'static str, symbol: &'static str, status: Status) -> Error {
    DriverError::new(call, symbol, status.0, name(status), kind(status)).into()
}

pub(crate) fn is_image_rejected(error: &DriverError) -> bool {
    is_one_of(IMAGE_REJECTED, error.code)
}

pub(crate) fn kind(status: Status) -> DriverErrorKind {
    const OTHERS: &[(hipError_t, DriverErrorKind)] = &[
        (hipError_t::hipErrorOutOfMemory, DriverErrorKind::OutOfMemory),
        (hipError_t::hipErrorInvalidValue, DriverErrorKind::InvalidValue),
        (hipError_t::hipErrorInvalidHandle, DriverErrorKind::InvalidHandle),
        (hipError_t::hipErrorNotFound, DriverErrorKind::NotFound),
        (hipError_t::hipErrorNoDevice, DriverErrorKind::NoDevice),
        (hipError_t::hipErrorNotSupported, DriverErrorKind::NotSupported),
        (hipError_t::hipErrorNotReady, DriverErrorKind::NotReady),
        (hipError_t::hipErrorStreamCaptureUnsupported, DriverErrorKind::Capturing),
        (hipError_t::hipErrorDeinitialized, DriverErrorKind::ShuttingDown),
    ];
    if is_one_of(CONTEXT_LOST, status.0) {
        return DriverErrorKind::ContextLost;
    }
    let found = OTHERS.iter().find(|(code, _)| is_one_of(&[*code], status.0));
    found.map_or(DriverErrorKind::Other, |(_, kind)| *kind)
}

fn is_one_of(codes: &[hipError_t], code: i32) -> bool {
    codes.iter().any(|known| known.0.cast_signed() == code)
}

fn name(status: Status) -> &'static str {
    let found = NAMES.iter().find(|(code, _)| is_one_of(&[*code], status.0));
    found.map_or("an unknown code", |(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use quadrants_rhi::{DriverErrorKind, Severity, table::Status};

    use super::{NAMES, check, is_image_rejected, kind, name};

    #[test]
    fn an_error_names_call_symbol_and_code() {
        let error = check(&(), "alloc", "hipMalloc", Status(2));
        assert!(error.is_out_of_memory());
        let text = error.to_string();
        assert!(text.starts_with("alloc failed: hipMalloc returned hipErrorOutOfMemory (2)"));
        let refused = check(&(), "load_module", "hipModuleLoadData", Status(209));
        assert!(is_image_rejected(refused.driver_error().unwrap()));
    }

    #[test]
    fn codes_have_their_kind_and_name() {
        for code in [700, 710, 719] {
            assert_eq!(
                kind(Status(code)).severity(),
                Severity::ContextLost,
                "{}",
                name(Status(code))
            );
        }
        assert_eq!(kind(Status(4)), DriverErrorKind::ShuttingDown);
        assert_eq!(kind(Status(600)), DriverErrorKind::NotReady);
        assert_eq!(kind(Status(100)), DriverErrorKind::NoDevice);
        assert_eq!(kind(Status(1)).severity(), Severity::Recoverable);
        assert_eq!(
            (kind(Status(777)), name(Status(777))),
            (DriverErrorKind::Other, "an unknown code")
        );
    }

    #[test]
    fn no_code_has_two_names() {
        for (code, given) in NAMES {
            assert_eq!(name(Status(code.0.cast_signed())), *given);
        }
    }
}
