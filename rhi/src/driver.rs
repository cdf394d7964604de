//! The trait by which a backend's driver is found.

use std::{fmt, sync::Arc};

use crate::{Device, Result};

/// A loaded driver: it counts devices and opens them.
///
/// Opening a driver loads its library and initializes it; it creates no context.
pub trait Driver: Send + Sync + fmt::Debug {
    /// The backend's short name: `cuda`, `amdgpu` or `cpu`.
    fn backend(&self) -> &'static str;

    /// The driver's version, in its own notation.
    fn version(&self) -> String;

    /// How many devices there are. Zero is an answer, not an error.
    ///
    /// # Errors
    /// What the driver returns, other than "no device".
    fn device_count(&self) -> Result<usize>;

    /// Opens a device: its primary context is retained until the last `Arc` is dropped. Opening the
    /// same ordinal again gives a device over the same context.
    ///
    /// # Errors
    /// [`Error::NoDevice`](crate::Error::NoDevice) where there is none at all,
    /// [`Error::DeviceOrdinal`](crate::Error::DeviceOrdinal) where the ordinal is too large, or what
    /// the driver returns.
    fn open(&self, ordinal: usize) -> Result<Arc<dyn Device>>;
}
