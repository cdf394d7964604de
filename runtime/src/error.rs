//! The error type of the runtime.

use std::{error::Error as StdError, fmt, sync::Arc};

use quadrants_rhi::{self as rhi, Severity};

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the runtime.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A device operation failed.
    #[error(transparent)]
    Device(#[from] rhi::Error),
    /// An earlier error lost the context. Every later call returns this error.
    #[error(
        "the device context is lost, and every call fails until the program is opened again: {cause}"
    )]
    ContextLost {
        /// The error that lost the context.
        #[source]
        cause: Box<rhi::Error>,
    },
    /// Objects of different contexts were used together.
    #[error("{what} belongs to another device context; help: use objects of one program together")]
    OtherContext {
        /// The object of the other context.
        what: &'static str,
    },
    /// There are more streams at once than stamps can distinguish.
    #[error("a context has at most {limit} streams at once; help: drop streams, or reuse them")]
    TooManyStreams {
        /// The largest number of streams.
        limit: u32,
    },
    /// Work of other code failed and was ended; what it writes is undefined.
    #[error(
        "work of another library failed, and the tensors that it writes are undefined: {source}; help: write them again"
    )]
    Watched {
        /// Its source is the error of the other code's [`Watch`](crate::Watch).
        #[source]
        source: SharedError,
    },
    /// An error of other code that no call could return, such as that of a drop.
    #[error("{source}")]
    Foreign {
        /// Its source is the error.
        #[source]
        source: SharedError,
    },
    /// A byte range is not inside its buffer.
    #[error("bytes {offset}..{} are not inside a buffer of {bytes} bytes; help: use a range within 0..{bytes}", .offset + .len)]
    OutOfBuffer {
        /// The start of the range in bytes.
        offset: usize,
        /// The length of the range in bytes.
        len: usize,
        /// The size of the buffer in bytes.
        bytes: usize,
    },
}

/// An error of other code, which several waits may return. Its [`source`](StdError::source) is that error, for a
/// downcast.
#[derive(Debug, Clone)]
pub struct SharedError(pub(crate) Arc<dyn StdError + Send + Sync>);

impl fmt::Display for SharedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for SharedError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.0)
    }
}

impl Error {
    /// The error of every call on a lost context.
    #[cold]
    pub(crate) fn lost(cause: &rhi::Error) -> Self {
        Self::ContextLost { cause: Box::new(cause.clone()) }
    }

    /// The error of other code, which no call could return.
    pub fn foreign(source: Arc<dyn StdError + Send + Sync>) -> Self {
        Self::Foreign { source: SharedError(source) }
    }

    /// The state of the context after the error.
    #[must_use]
    pub fn severity(&self) -> Severity {
        match self {
            Self::Device(e) => e.severity(),
            Self::ContextLost { .. } => Severity::ContextLost,
            Self::Watched { .. } => Severity::LostData,
            Self::OtherContext { .. }
            | Self::TooManyStreams { .. }
            | Self::Foreign { .. }
            | Self::OutOfBuffer { .. } => Severity::Recoverable,
        }
    }
}

/// The error if an object cannot be created that does not belong to a context yet.
pub(crate) fn creation_error(error: rhi::Error) -> Error {
    match error.severity() {
        Severity::ContextLost => Error::ContextLost { cause: Box::new(error) },
        _ => Error::Device(error),
    }
}
