//! What can go wrong at a driver, in types.

use std::fmt;

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong at a driver.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The driver's library is not on this machine.
    #[error("the {backend} driver library was not found (tried {}): {reason}", .tried.join(", "))]
    LibraryNotFound {
        /// The backend.
        backend: &'static str,
        /// The names and paths tried, in order.
        tried: Vec<String>,
        /// The loader's own words for the last one.
        reason: String,
    },
    /// The library lacks a function.
    #[error("{library} has no function {symbol}{}", introduced(.since))]
    SymbolMissing {
        /// The library.
        library: String,
        /// The C name of the function.
        symbol: &'static str,
        /// The driver version that introduced it, where it is optional.
        since: Option<&'static str>,
    },
    /// The driver is older than this crate can use.
    #[error("the {backend} driver is version {found}; {required} or newer is needed")]
    DriverTooOld {
        /// The backend.
        backend: &'static str,
        /// The version found.
        found: String,
        /// The oldest usable version.
        required: &'static str,
    },
    /// The driver is there and sees no device.
    #[error("the {backend} driver found no device{}", because(.source))]
    NoDevice {
        /// The backend.
        backend: &'static str,
        /// The driver's answer, where it was an error code and not a count of zero.
        #[source]
        source: Option<DriverError>,
    },
    /// The ordinal names no device.
    #[error("there is no {backend} device {ordinal}: {count} found")]
    DeviceOrdinal {
        /// The backend.
        backend: &'static str,
        /// The ordinal asked for.
        ordinal: usize,
        /// How many devices there are.
        count: usize,
    },
    /// A driver call failed.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The device refused a module's image.
    #[error("the image was refused{}{}", said(.log), because(.source))]
    ImageRejected {
        /// What the loader said.
        log: String,
        /// The failed call, where a driver call failed.
        #[source]
        source: Option<DriverError>,
    },
    /// The device or this driver cannot do that.
    #[error("{operation} is not supported: {reason}")]
    Unsupported {
        /// The operation.
        operation: &'static str,
        /// Why not.
        reason: String,
    },
    /// A variable of the environment is no text.
    #[error("the environment variable {variable} is not valid UTF-8: {value:?}")]
    Environment {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: std::ffi::OsString,
    },
    /// An argument that no driver call was made with.
    #[error("invalid argument: {what}")]
    InvalidArgument {
        /// What is wrong with it.
        what: String,
    },
    /// A native function panicked.
    #[error("the kernel body panicked: {message}")]
    Panicked {
        /// The panic's message.
        message: String,
    },
}

/// The reason, where there is one.
fn because(source: &Option<DriverError>) -> String {
    source.as_ref().map(|source| format!(": {source}")).unwrap_or_default()
}

fn said(log: &str) -> String {
    if log.is_empty() { String::new() } else { format!(": {log}") }
}

fn introduced(version: &Option<&'static str>) -> String {
    version.map(|v| format!(" (since {v})")).unwrap_or_default()
}

impl Error {
    /// What the error leaves behind.
    #[must_use]
    pub fn severity(&self) -> Severity {
        match self {
            Self::Driver(e) => e.kind.severity(),
            Self::ImageRejected { source: Some(e), .. } => e.kind.severity(),
            Self::Panicked { .. } => Severity::LostData,
            _ => Severity::Recoverable,
        }
    }

    /// The driver error inside, where there is one.
    #[must_use]
    pub fn driver_error(&self) -> Option<&DriverError> {
        match self {
            Self::Driver(e) => Some(e),
            Self::NoDevice { source, .. } | Self::ImageRejected { source, .. } => source.as_ref(),
            _ => None,
        }
    }

    /// Whether the device is out of memory.
    #[must_use]
    pub fn is_out_of_memory(&self) -> bool {
        self.driver_error().is_some_and(|e| e.kind == DriverErrorKind::OutOfMemory)
    }
}

/// A driver call that returned an error code.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DriverError {
    /// The operation, in this crate's words: `launch`, `create_stream`.
    pub call: &'static str,
    /// The C function.
    pub symbol: &'static str,
    /// The driver's code.
    pub code: i32,
    /// The driver's name of the code: `CUDA_ERROR_OUT_OF_MEMORY`.
    pub name: String,
    /// The class that code falls in.
    pub kind: DriverErrorKind,
}

impl DriverError {
    /// An error of `call`, made by the C function `symbol`.
    #[must_use]
    pub fn new(
        call: &'static str,
        symbol: &'static str,
        code: i32,
        name: impl Into<String>,
        kind: DriverErrorKind,
    ) -> Self {
        Self { call, symbol, code, name: name.into(), kind }
    }
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} failed: {} returned {} ({})", self.call, self.symbol, self.name, self.code)
    }
}

impl std::error::Error for DriverError {}

/// Classes of driver codes that callers decide by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DriverErrorKind {
    /// No memory left.
    OutOfMemory,
    /// An argument was wrong.
    InvalidValue,
    /// A handle was wrong.
    InvalidHandle,
    /// A named thing was not found.
    NotFound,
    /// No device.
    NoDevice,
    /// Not supported here.
    NotSupported,
    /// Work in flight is not complete. Queries turn it into `false`.
    NotReady,
    /// The driver is shutting down with the process: nothing can leak any more.
    ShuttingDown,
    /// The context is broken: every later call fails too.
    ContextLost,
    /// Anything else.
    Other,
}

impl DriverErrorKind {
    /// What an error of this class leaves behind.
    #[must_use]
    pub fn severity(self) -> Severity {
        match self {
            Self::ContextLost | Self::ShuttingDown => Severity::ContextLost,
            _ => Severity::Recoverable,
        }
    }
}

/// What an error leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The operation did not happen; all is as before.
    Recoverable,
    /// Work on a stream failed: what it wrote is undefined.
    LostData,
    /// The context is broken: every later call fails.
    ContextLost,
}
