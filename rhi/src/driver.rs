//! The [`Driver`] trait: counts and opens devices.

use std::{fmt, sync::Arc};

use crate::{Device, Result};

/// A loaded and initialized driver. It has not created a context.
///
/// # Safety
/// Code above relies on the devices that a driver opens. An implementation guarantees that each device keeps the
/// contract of [`Device`], and that devices with the same ordinal share one context, so that handles and addresses of
/// one are valid for the other.
///
/// Therefore the trait is unsafe to implement:
/// ```compile_fail,E0200
/// #[derive(Debug)]
/// struct Liar;
/// impl quadrants_rhi::Driver for Liar {
///     fn backend(&self) -> &'static str { "liar" }
///     fn version(&self) -> String { String::new() }
///     fn device_count(&self) -> quadrants_rhi::Result<usize> { Ok(0) }
///     fn open(&self, _: usize) -> quadrants_rhi::Result<std::sync::Arc<dyn quadrants_rhi::Device>> { unreachable!() }
/// }
/// ```
pub unsafe trait Driver: Send + Sync + fmt::Debug {
    /// The short name of the backend: `cuda`, `amdgpu` or `cpu`.
    fn backend(&self) -> &'static str;

    /// The driver's version in its own notation; not empty.
    fn version(&self) -> String;

    /// The name or path that the driver's library was loaded by; none where there is no library.
    fn library(&self) -> Option<&str> {
        None
    }

    /// Returns the number of devices. A machine without a device gives `Ok(0)`, not an error.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver) with the driver's error, except for "no device".
    fn device_count(&self) -> Result<usize>;

    /// Opens a device and retains its primary context until the last `Arc` is dropped.
    ///
    /// Opening the same ordinal again returns a device with the same context.
    ///
    /// # Errors
    /// - [`Error::NoDevice`](crate::Error::NoDevice) if there is no device.
    /// - [`Error::DeviceOrdinal`](crate::Error::DeviceOrdinal) if `ordinal` is not less than the number of devices.
    /// - [`Error::Environment`](crate::Error::Environment) if a variable that the backend reads is not valid UTF-8.
    /// - [`Error::Driver`](crate::Error::Driver) with the driver's error.
    fn open(&self, ordinal: usize) -> Result<Arc<dyn Device>>;
}
