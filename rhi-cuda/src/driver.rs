//! Loading and initialization of libcuda.

use std::{
    ffi::{OsString, c_int, c_void},
    path::Path,
    sync::Arc,
};

use quadrants_rhi::{
    Device, Driver, DriverError, DriverErrorKind, Error, Result,
    table::{Library, Symbol},
};

use crate::{BACKEND, device::CudaDevice, table::Table};

/// The environment variable that selects another library than the system's libcuda.
pub const LIBRARY_VARIABLE: &str = "QUADRANTS_CUDA_LIBRARY";

/// The oldest supported driver version: 1000 * major + 10 * minor.
const OLDEST: c_int = 11_000;

/// Loads the driver: the library in [`LIBRARY_VARIABLE`] if it is set, else the system's libcuda.
///
/// Repeated calls are cheap, because the system loads a library once.
///
/// # Errors
/// [`Error::LibraryNotFound`], [`Error::SymbolMissing`], [`Error::DriverTooOld`], or the error of the driver's
/// initialization. A machine without a device is an error of [`Driver::open`], not of this function.
pub fn driver() -> Result<Arc<dyn Driver>> {
    let names = if cfg!(windows) { &["nvcuda.dll"][..] } else { &["libcuda.so.1", "libcuda.so"] };
    match std::env::var_os(LIBRARY_VARIABLE).filter(|path| !path.is_empty()) {
        Some(path) => from_candidates(&[path]),
        None => from_candidates(&names.iter().map(OsString::from).collect::<Vec<_>>()),
    }
}

/// Loads the driver in the library at `path`.
///
/// The library is trusted like a library on the system's search path: its initializers run, and its functions are
/// called with the CUDA driver's signatures.
///
/// # Errors
/// As for [`driver`].
pub fn driver_from_path(path: &Path) -> Result<Arc<dyn Driver>> {
    from_candidates(&[OsString::from(path)])
}

/// Makes a driver of functions that `resolve` finds by name, for a driver that is linked into this program.
///
/// # Errors
/// As for [`driver`], except [`Error::LibraryNotFound`].
///
/// # Safety
/// `resolve` returns the CUDA driver's C function of that name, or a function with the same behaviour. It stays
/// callable until the process ends.
pub unsafe fn driver_from_symbols(
    library_name: &str,
    resolve: impl Fn(&str) -> Option<*const c_void>,
) -> Result<Arc<dyn Driver>> {
    // SAFETY: the caller guarantees the conditions.
    let table = unsafe { Table::load(library_name, &resolve) }?;
    Ok(Arc::new(CudaDriver::new(Arc::new(table))?))
}

/// The rows of the driver table: all functions that this crate loads. For replacements of the driver.
#[must_use]
pub fn symbols() -> &'static [Symbol] {
    Table::SYMBOLS
}

fn from_candidates(candidates: &[OsString]) -> Result<Arc<dyn Driver>> {
    // SAFETY: these are the names of libcuda, or a library that the user selected as libcuda.
    let library = unsafe { Library::open(BACKEND, candidates, LIBRARY_VARIABLE) }?;
    // SAFETY: the functions of a libcuda, which is never unloaded.
    unsafe { driver_from_symbols(library.name(), |symbol| library.resolve(symbol)) }
}

#[derive(Debug)]
struct CudaDriver {
    table: Arc<Table>,
    version: c_int,
    /// The error of the initialization if there is no device.
    no_device: Option<DriverError>,
}

impl CudaDriver {
    fn new(table: Arc<Table>) -> Result<Self> {
        let mut version = 0;
        // SAFETY: the driver writes a number; the function needs no initialization.
        unsafe { table.driver_version(&mut version) }?;
        if version < OLDEST {
            let found = version_text(version);
            return Err(Error::DriverTooOld { backend: BACKEND, found, required: "11.0" });
        }
        // SAFETY: it may be called at any time and repeatedly; the only valid flags are 0.
        let no_device = match unsafe { table.init(0) } {
            Ok(()) => None,
            Err(Error::Driver(error)) if error.kind == DriverErrorKind::NoDevice => Some(error),
            Err(error) => return Err(error),
        };
        Ok(Self { table, version, no_device })
    }
}

// SAFETY: devices of one ordinal share the device's primary context.
unsafe impl Driver for CudaDriver {
    fn backend(&self) -> &'static str {
        BACKEND
    }

    fn version(&self) -> String {
        version_text(self.version)
    }

    fn device_count(&self) -> Result<usize> {
        if self.no_device.is_some() {
            return Ok(0);
        }
        let mut count = 0;
        // SAFETY: the driver is initialized and writes a number.
        match unsafe { self.table.device_count(&mut count) } {
            Ok(()) => Ok(usize::try_from(count).unwrap_or(0)),
            Err(Error::Driver(error)) if error.kind == DriverErrorKind::NoDevice => Ok(0),
            Err(error) => Err(error),
        }
    }

    fn open(&self, ordinal: usize) -> Result<Arc<dyn Device>> {
        let count = self.device_count()?;
        if count == 0 {
            return Err(Error::NoDevice { backend: BACKEND, source: self.no_device.clone() });
        }
        if ordinal >= count {
            return Err(Error::DeviceOrdinal { backend: BACKEND, ordinal, count });
        }
        Ok(Arc::new(CudaDevice::open(self.table.clone(), ordinal, self.version())?))
    }
}

fn version_text(version: c_int) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}
