//! The driver of the CPU, which has exactly one device.

use std::sync::Arc;

use quadrants_rhi::{Device, Driver, Error, Result};

use crate::{BACKEND, device::CpuDevice};

/// Returns the CPU's driver.
///
/// # Errors
/// None; the signature is that of all backends.
pub fn driver() -> Result<Arc<dyn Driver>> {
    Ok(Arc::new(CpuDriver))
}

#[derive(Debug)]
struct CpuDriver;

// SAFETY: there is one device, and its memory is the memory of the process.
unsafe impl Driver for CpuDriver {
    fn backend(&self) -> &'static str {
        BACKEND
    }

    fn version(&self) -> String {
        env!("CARGO_PKG_VERSION").to_owned()
    }

    fn device_count(&self) -> Result<usize> {
        Ok(1)
    }

    fn open(&self, ordinal: usize) -> Result<Arc<dyn Device>> {
        match ordinal {
            0 => Ok(Arc::new(CpuDevice::open(self.version()))),
            _ => Err(Error::DeviceOrdinal { backend: BACKEND, ordinal, count: 1 }),
        }
    }
}
