//! The error types of drivers and devices.

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a driver or a device.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The driver's library could not be loaded.
    #[error(
        "the {backend} library could not be loaded (tried {}): {reason}; help: \
         install the driver, or set {variable} to the path of its library",
        .tried.join(", ")
    )]
    LibraryNotFound {
        /// The backend.
        backend: &'static str,
        /// The names and paths that were tried, in order.
        tried: Vec<String>,
        /// The loader's message for the last one.
        reason: String,
        /// The environment variable that selects another library.
        variable: &'static str,
    },
    /// The library does not export a function.
    #[error("{library} does not export {symbol}{}; help: install a newer driver", introduced(.since))]
    SymbolMissing {
        /// The library.
        library: String,
        /// The C name of the function.
        symbol: &'static str,
        /// The driver version that introduced it, if the function is optional.
        since: Option<&'static str>,
    },
    /// The driver is older than the oldest supported version.
    #[error("the {backend} driver has version {found}; help: install version {required} or newer")]
    DriverTooOld {
        /// The backend.
        backend: &'static str,
        /// The installed version.
        found: String,
        /// The oldest supported version.
        required: &'static str,
    },
    /// The driver works and reports no device.
    #[error("the {backend} driver reports no device{}; help: make one visible to the process (CUDA_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES), or run `quadrants doctor`", because(.source))]
    NoDevice {
        /// The backend.
        backend: &'static str,
        /// The driver's error. `None` if it returned a count of zero.
        #[source]
        source: Option<DriverError>,
    },
    /// There is no device with this ordinal.
    #[error(
        "there is no {backend} device {ordinal}: the driver reports {count}; help: use an ordinal in 0..{count}"
    )]
    DeviceOrdinal {
        /// The backend.
        backend: &'static str,
        /// The requested ordinal.
        ordinal: usize,
        /// The number of devices.
        count: usize,
    },
    /// A driver call failed.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The device cannot load a module's image.
    #[error("the device cannot load the image{}{}; help: compile it for the architecture of the device; for a cached kernel, run `quadrants cache clear`", detail(.log), because(.source))]
    ImageRejected {
        /// The loader's message.
        log: String,
        /// The failed driver call, if any.
        #[source]
        source: Option<DriverError>,
    },
    /// The device or the installed driver lacks an operation.
    #[error("{operation} is not supported: {reason}")]
    Unsupported {
        /// The operation.
        operation: &'static str,
        /// The reason.
        reason: String,
    },
    /// The value of an environment variable is not valid UTF-8.
    #[error(
        "the environment variable {variable} is not valid UTF-8: {value:?}; help: change or unset it"
    )]
    Environment {
        /// The variable.
        variable: &'static str,
        /// The value of the variable.
        value: std::ffi::OsString,
    },
    /// The backend rejected an argument before it called the driver.
    #[error("invalid argument: {what}")]
    InvalidArgument {
        /// The argument, and the rule that it violates.
        what: String,
    },
    /// A native function panicked.
    #[error("a native function panicked: {message}; what it wrote is undefined")]
    Panicked {
        /// The panic's message.
        message: String,
        /// The source line, if the payload was a [`SourcePanic`](crate::SourcePanic).
        line: Option<u32>,
    },
}

fn because(source: &Option<DriverError>) -> String {
    source.as_ref().map(|source| format!(": {source}")).unwrap_or_default()
}

fn detail(log: &str) -> String {
    if log.is_empty() { String::new() } else { format!(": {log}") }
}

fn introduced(version: &Option<&'static str>) -> String {
    version.map(|v| format!(" (since version {v})")).unwrap_or_default()
}

impl Error {
    /// The state of the device after the error.
    #[must_use]
    pub fn severity(&self) -> Severity {
        match self {
            Self::Driver(e) => e.kind.severity(),
            Self::ImageRejected { source: Some(e), .. } => e.kind.severity(),
            Self::Panicked { .. } => Severity::LostData,
            _ => Severity::Recoverable,
        }
    }

    /// The driver's error that caused this one, if any.
    #[must_use]
    pub fn driver_error(&self) -> Option<&DriverError> {
        match self {
            Self::Driver(e) => Some(e),
            Self::NoDevice { source, .. } | Self::ImageRejected { source, .. } => source.as_ref(),
            _ => None,
        }
    }

    /// Whether the cause is that the device is out of memory.
    #[must_use]
    pub fn is_out_of_memory(&self) -> bool {
        self.driver_error().is_some_and(|e| e.kind == DriverErrorKind::OutOfMemory)
    }
}

/// A driver call that returned an error code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{call} failed: {symbol} returned {name} ({code}){}", .kind.remedy())]
#[non_exhaustive]
pub struct DriverError {
    /// The operation, by its row in the driver table: `launch`, `create_stream`.
    pub call: &'static str,
    /// The name of the C function.
    pub symbol: &'static str,
    /// The driver's result code.
    pub code: i32,
    /// The driver's name for the code: `CUDA_ERROR_OUT_OF_MEMORY`.
    pub name: String,
    /// The class of the code.
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

/// The classes of driver result codes that callers distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DriverErrorKind {
    /// The device is out of memory.
    OutOfMemory,
    /// An argument is invalid.
    InvalidValue,
    /// A handle is invalid.
    InvalidHandle,
    /// No object has this name, for example no function of a module.
    NotFound,
    /// There is no device.
    NoDevice,
    /// The operation is not supported.
    NotSupported,
    /// Enqueued work is not complete. Queries return `Ok(false)` instead.
    NotReady,
    /// A stream of the context is captured, here or by another library, which the call does not allow.
    Capturing,
    /// The driver is shutting down with the process, so resources need not be released.
    ShuttingDown,
    /// The context is lost: every later call fails too.
    ContextLost,
    /// Any other code.
    Other,
}

impl DriverErrorKind {
    /// How to fix an error of this class, where its code does not say it.
    const fn remedy(self) -> &'static str {
        match self {
            Self::OutOfMemory => "; help: use smaller tensors, or drop some",
            Self::InvalidHandle => "; help: keep foreign handles alive while they are used",
            Self::Capturing => "; help: end the capture first",
            _ => "",
        }
    }

    /// The state of the device after an error of this class.
    #[must_use]
    pub fn severity(self) -> Severity {
        match self {
            Self::ContextLost | Self::ShuttingDown => Severity::ContextLost,
            _ => Severity::Recoverable,
        }
    }
}

/// The state of the device after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The operation did not happen and changed nothing.
    Recoverable,
    /// Work on a stream failed; what it wrote is undefined.
    LostData,
    /// The context is lost: every later call fails.
    ContextLost,
}
