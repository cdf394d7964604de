//! Result codes.

use std::ffi::{CStr, c_int};

use crate::code::Code;

/// `ncclResult_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Status(pub(crate) c_int);

impl Status {
    pub(crate) const SUCCESS: Self = Self(0);
    pub(crate) const UNHANDLED_CUDA_ERROR: Self = Self(1);
    pub(crate) const SYSTEM_ERROR: Self = Self(2);
    pub(crate) const INTERNAL_ERROR: Self = Self(3);
    pub(crate) const INVALID_ARGUMENT: Self = Self(4);
    pub(crate) const INVALID_USAGE: Self = Self(5);
    pub(crate) const REMOTE_ERROR: Self = Self(6);
    pub(crate) const IN_PROGRESS: Self = Self(7);

    pub(crate) fn text(self) -> &'static CStr {
        match self {
            Self::SUCCESS => c"no error",
            Self::UNHANDLED_CUDA_ERROR => c"unhandled cuda error",
            Self::SYSTEM_ERROR => c"unhandled system error",
            Self::INTERNAL_ERROR => c"internal error",
            Self::INVALID_ARGUMENT => c"invalid argument",
            Self::INVALID_USAGE => c"invalid usage",
            Self::REMOTE_ERROR => c"remote process exited or there was a network error",
            Self::IN_PROGRESS => c"NCCL operation in progress",
            _ => c"unknown result code",
        }
    }

    pub(crate) fn is_error(self) -> bool {
        !matches!(self, Self::SUCCESS | Self::IN_PROGRESS)
    }

    /// An error unless it is success.
    pub(crate) fn ok(self) -> Result<(), Self> {
        if self == Self::SUCCESS { Ok(()) } else { Err(self) }
    }
}

/// Errors of the driver.
impl From<Code> for Status {
    fn from(_code: Code) -> Self {
        Self::UNHANDLED_CUDA_ERROR
    }
}
