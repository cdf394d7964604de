//! The trait by which a backend's driver is found.

use std::{fmt, sync::Arc};

use crate::{Device, Result};

/// A loaded driver: it counts devices and opens them.
///
/// Opening a driver loads its library and initializes it; it creates no context.
///
/// # Safety
/// What is built on a driver trusts the devices that it opens. An implementation promises that each keeps the contract of
/// [`Device`], and that devices of one ordinal share one context, so that a handle or address of one is good for the
/// other.
///
/// So no safe code implements it:
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
