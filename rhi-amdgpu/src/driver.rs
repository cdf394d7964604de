//! Loading and initialization of libamdhip64.

use std::{ffi::c_int, sync::Arc};

use quadrants_rhi::{Driver as _, DriverError, Error, Result};

use crate::{BACKEND, device::HipDevice, generated::hip::hipError_t, table::Table};

/// The environment variable that selects another library than the system's libamdhip64.
pub const LIBRARY_VARIABLE: &str = "QUADRANTS_HIP_LIBRARY";

/// The oldest supported runtime version: 10000000 * major + 100000 * minor + patch.
const OLDEST: c_int = 50_000_000;

/// The names of the library, the newest first.
const NAMES: &[&str] = if cfg!(windows) {
    &["amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll"]
} else {
    &["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"]
};

quadrants_rhi::table_driver! { HipDriver, Table, BACKEND, "libamdhip64" }

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

    fn open_device(&self, ordinal: usize) -> Result<HipDevice> {
        HipDevice::open(self.table.clone(), ordinal, self.version, self.version())
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
