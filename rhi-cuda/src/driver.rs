//! Loading and initialization of libcuda.

use std::{ffi::c_int, sync::Arc};

use quadrants_rhi::{Driver as _, DriverError, DriverErrorKind, Error, Result};

use crate::{BACKEND, device::CudaDevice, table::Table};

/// The environment variable that selects another library than the system's libcuda.
pub const LIBRARY_VARIABLE: &str = "QUADRANTS_CUDA_LIBRARY";

const NAMES: &[&str] =
    if cfg!(windows) { &["nvcuda.dll"] } else { &["libcuda.so.1", "libcuda.so"] };

/// The oldest supported driver version: 1000 * major + 10 * minor.
const OLDEST: c_int = 11_000;

quadrants_rhi::table_driver! { CudaDriver, Table, BACKEND, "libcuda" }

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
        let no_device = no_device(unsafe { table.init(0) })?;
        Ok(Self { table, version, no_device })
    }

    fn open_device(&self, ordinal: usize) -> Result<CudaDevice> {
        CudaDevice::open(self.table.clone(), ordinal, self.version())
    }
}

fn version_text(version: c_int) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

fn no_device(result: Result<()>) -> Result<Option<DriverError>> {
    match result {
        Ok(()) => Ok(None),
        Err(Error::Driver(error)) if error.kind == DriverErrorKind::NoDevice => Ok(Some(error)),
        Err(error) => Err(error),
    }
}
