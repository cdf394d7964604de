//! What can go wrong in the runtime.

use quadrants_rhi::{self as rhi, Severity};

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong in the runtime.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The device refused or failed an operation.
    #[error(transparent)]
    Device(#[from] rhi::Error),
    /// The context broke earlier; every call since says so.
    #[error(
        "the device context is lost, and every call fails until the program is opened anew: {cause}"
    )]
    ContextLost {
        /// The first error that said so.
        #[source]
        cause: Box<rhi::Error>,
    },
    /// Two things of different contexts were used together.
    #[error("{what} belongs to another device context")]
    OtherContext {
        /// What was used in the wrong place.
        what: &'static str,
    },
    /// More streams exist at once than stamps can tell apart.
    #[error("a context has at most {limit} streams at once")]
    TooManyStreams {
        /// The most there can be.
        limit: u32,
    },
    /// A range does not lie in a buffer.
    #[error("bytes {offset}..{} do not lie in a buffer of {bytes} bytes", .offset + .len)]
    OutOfBuffer {
        /// Where the range starts, in bytes.
        offset: usize,
        /// How long it is, in bytes.
        len: usize,
        /// The buffer's size in bytes.
        bytes: usize,
    },
}

impl Error {
    /// What every call says once the context is lost.
    #[cold]
    pub(crate) fn lost(cause: &rhi::Error) -> Self {
        Self::ContextLost { cause: Box::new(cause.clone()) }
    }

    /// What the error leaves behind.
    #[must_use]
    pub fn severity(&self) -> Severity {
        match self {
            Self::Device(e) => e.severity(),
            Self::ContextLost { .. } => Severity::ContextLost,
            Self::OtherContext { .. } | Self::TooManyStreams { .. } | Self::OutOfBuffer { .. } => {
                Severity::Recoverable
            }
        }
    }
}
