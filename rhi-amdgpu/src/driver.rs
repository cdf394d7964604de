//! Loading and initialization of libamdhip64.

use std::{
    ffi::{OsString, c_int, c_void},
    path::Path,
    sync::Arc,
};

use quadrants_rhi::{
    Device, Driver, DriverError, Error, Result,
    table::{Library, Symbol},
};

use crate::{BACKEND, device::HipDevice, generated::hip::hipError_t, table::Table};

/// The environment variable that selects another library than the system's libamdhip64.
pub const LIBRARY_VARIABLE: &str = "QUADRANTS_HIP_LIBRARY";

/// The oldest supported runtime version: 10000000 * major + 100000 * minor + patch.
const OLDEST: c_int = 50_000_000;

/// Loads the driver: the library in [`LIBRARY_VARIABLE`] if it is set, else the system's newest libamdhip64.
///
/// Repeated calls are cheap, because the system loads a library once.
///
/// # Errors
/// [`Error::LibraryNotFound`], [`Error::SymbolMissing`], [`Error::DriverTooOld`], or the error of the driver's
/// initialization. A machine without a device is an error of [`Driver::open`], not of this function.
pub fn driver() -> Result<Arc<dyn Driver>> {
    let names = if cfg!(windows) {
        &["amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll"][..]
    } else {
        &["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"]
    };
    match std::env::var_os(LIBRARY_VARIABLE).filter(|path| !path.is_empty()) {
        Some(path) => from_candidates(&[path]),
        None => from_candidates(&names.iter().map(OsString::from).collect::<Vec<_>>()),
    }
}

/// Loads the driver in the library at `path`.
///
/// The library is trusted like a library on the system's search path: its initializers run, and its functions are
/// called with the HIP runtime's signatures.
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
/// `resolve` returns the HIP runtime's C function of that name, or a function with the same behaviour. It stays
/// callable until the process ends.
pub unsafe fn driver_from_symbols(
    library_name: &str,
    resolve: impl Fn(&str) -> Option<*const c_void>,
) -> Result<Arc<dyn Driver>> {
    // SAFETY: the caller guarantees the conditions.
    let table = unsafe { Table::load(library_name, &resolve) }?;
    Ok(Arc::new(HipDriver::new(Arc::new(table))?))
}

/// The rows of the driver table: all functions that this crate loads. For replacements of the driver.
#[must_use]
pub fn symbols() -> &'static [Symbol] {
    Table::SYMBOLS
}

fn from_candidates(candidates: &[OsString]) -> Result<Arc<dyn Driver>> {
    // SAFETY: these are the names of libamdhip64, or a library that the user selected as libamdhip64.
    let library = unsafe { Library::open(BACKEND, candidates, LIBRARY_VARIABLE) }?;
    // SAFETY: the functions of a libamdhip64, which is never unloaded.
    unsafe { driver_from_symbols(library.name(), |symbol| library.resolve(symbol)) }
}

#[derive(Debug)]
struct HipDriver {
    table: Arc<Table>,
    version: c_int,
    /// The error of the initialization if there is no device.
    no_device: Option<DriverError>,
}

impl HipDriver {
    fn new(table: Arc<Table>) -> Result<Self> {
        // SAFETY: it may be called at any time and repeatedly; the only valid flags are 0.
        let absent = no_device(unsafe { table.init(0) })?;
        let mut version = 0;
        // SAFETY: the runtime writes a number. Without a device, some versions return an error here too.
        let refused = no_device(unsafe { table.driver_version(&mut version) })?;
        if refused.is_none() && version < OLDEST {
            let found = version_text(version);
            return Err(Error::DriverTooOld { backend: BACKEND, found, required: "5.0" });
        }
        Ok(Self { table, version, no_device: absent.or(refused) })
    }
}

// SAFETY: devices of one ordinal share the device's primary context.
unsafe impl Driver for HipDriver {
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
        // SAFETY: the runtime is initialized and writes a number.
        match no_device(unsafe { self.table.device_count(&mut count) })? {
            None => Ok(usize::try_from(count).unwrap_or(0)),
            Some(_) => Ok(0),
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
        Ok(Arc::new(HipDevice::open(self.table.clone(), ordinal, self.version, self.version())?))
    }
}

fn version_text(version: c_int) -> String {
    format!("{}.{}.{}", version / 10_000_000, version / 100_000 % 100, version % 100_000)
}

/// Separates "no device" from other errors of a call that does not name a device.
///
/// ROCm 5 returns `hipErrorInvalidDevice`, later versions `hipErrorNoDevice`.
fn no_device(result: Result<()>) -> Result<Option<DriverError>> {
    let codes = [hipError_t::hipErrorNoDevice, hipError_t::hipErrorInvalidDevice];
    match result {
        Ok(()) => Ok(None),
        Err(Error::Driver(error))
            if codes.iter().any(|code| code.0.cast_signed() == error.code) =>
        {
            Ok(Some(error))
        }
        Err(error) => Err(error),
    }
}
