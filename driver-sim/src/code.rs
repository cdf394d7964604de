//! Result codes. CUDA and HIP use the same numbers for nearly all of them, so the engine has one type. The exported
//! functions map the differences.

use std::ffi::CStr;

/// A driver's result code other than success.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Code(pub i32);

pub(crate) type Result<T, E = Code> = std::result::Result<T, E>;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $cuda:literal;)*) => {
        impl Code {
            $($(#[$doc])* pub const $name: Self = Self($number);)*

            /// libcuda's name for the code.
            #[must_use]
            pub fn cuda_name(self) -> Option<&'static CStr> {
                match self.0 {
                    0 => Some(c"CUDA_SUCCESS"),
                    $($number => Some($cuda),)*
                    _ => None,
                }
            }
        }
    };
}

codes! {
    /// An argument is outside its range.
    INVALID_VALUE = 1, c"CUDA_ERROR_INVALID_VALUE";
    /// The device is out of memory.
    OUT_OF_MEMORY = 2, c"CUDA_ERROR_OUT_OF_MEMORY";
    /// The driver was not initialized.
    NOT_INITIALIZED = 3, c"CUDA_ERROR_NOT_INITIALIZED";
    /// The driver is shutting down.
    DEINITIALIZED = 4, c"CUDA_ERROR_DEINITIALIZED";
    /// The shape of a launch is invalid (only HIP; CUDA returns [`INVALID_VALUE`](Self::INVALID_VALUE)).
    INVALID_CONFIGURATION = 9, c"CUDA_ERROR_UNKNOWN";
    /// There is no device.
    NO_DEVICE = 100, c"CUDA_ERROR_NO_DEVICE";
    /// No device has this ordinal.
    INVALID_DEVICE = 101, c"CUDA_ERROR_INVALID_DEVICE";
    /// The device cannot load the image.
    INVALID_IMAGE = 200, c"CUDA_ERROR_INVALID_IMAGE";
    /// No context is current.
    INVALID_CONTEXT = 201, c"CUDA_ERROR_INVALID_CONTEXT";
    /// The image has no code for this device.
    NO_BINARY_FOR_GPU = 209, c"CUDA_ERROR_NO_BINARY_FOR_GPU";
    /// A handle is invalid.
    INVALID_HANDLE = 400, c"CUDA_ERROR_INVALID_HANDLE";
    /// No object has this name.
    NOT_FOUND = 500, c"CUDA_ERROR_NOT_FOUND";
    /// The work is not complete.
    NOT_READY = 600, c"CUDA_ERROR_NOT_READY";
    /// Device code or a copy accessed invalid memory. The context is lost.
    ILLEGAL_ADDRESS = 700, c"CUDA_ERROR_ILLEGAL_ADDRESS";
    /// A wait did not end within its limit, because ranks have not made their calls.
    LAUNCH_TIMEOUT = 702, c"CUDA_ERROR_LAUNCH_TIMEOUT";
    /// The context may access the other one's memory already.
    PEER_ACCESS_ALREADY_ENABLED = 704, c"CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED";
    /// The current context was destroyed.
    CONTEXT_IS_DESTROYED = 709, c"CUDA_ERROR_CONTEXT_IS_DESTROYED";
    /// A launch failed. The context is lost.
    LAUNCH_FAILED = 719, c"CUDA_ERROR_LAUNCH_FAILED";
    /// The operation is not supported.
    NOT_SUPPORTED = 801, c"CUDA_ERROR_NOT_SUPPORTED";
    /// The operation cannot be captured.
    STREAM_CAPTURE_UNSUPPORTED = 900, c"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED";
    /// The simulator itself failed.
    UNKNOWN = 999, c"CUDA_ERROR_UNKNOWN";
}
