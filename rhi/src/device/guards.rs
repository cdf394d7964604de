//! The guards that keep a device's context current on a thread.

use std::marker::PhantomData;

use super::Device;
use crate::Result;

/// The state that [`Device::make_current`] saves and [`Device::restore_current`] restores.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Entered {
    /// The thread's cached current context before the call, in the backend's own representation.
    pub outer: [u64; 2],
    /// The driver's current context before the call; `None` if it was this device's context already.
    pub before: Option<u64>,
}

/// A guard that keeps a device's context current on this thread.
///
/// Dropping it restores the context that was current before. While it exists, the device's methods do not query the
/// current context.
#[derive(Debug)]
pub struct Current<'a> {
    device: &'a dyn Device,
    entered: Entered,
    /// A context is current on one thread, so the guard must not move to another.
    not_send: PhantomData<*const ()>,
}

impl<'a> Current<'a> {
    /// Makes the device's context current.
    ///
    /// # Errors
    /// As for [`Device::make_current`].
    ///
    /// # Safety
    /// The guard is dropped, and guards that this thread creates later are dropped before it. Until then, no other code
    /// changes the current context of this thread, unless it restores this one before it returns.
    #[inline]
    pub unsafe fn enter(device: &'a dyn Device) -> Result<Self> {
        // SAFETY: `drop` calls `restore_current`; the caller guarantees the rest.
        let entered = unsafe { device.make_current()? };
        Ok(Self { device, entered, not_send: PhantomData })
    }
}

impl Drop for Current<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: `entered` is from this device and this thread, and the caller of `enter` guarantees the drop order.
        unsafe { self.device.restore_current(self.entered) };
    }
}

/// A guard that makes a device's context current on this thread for code that is not of this workspace, such as a call
/// of a library. That code may change the current context. Dropping the guard restores the context that was current
/// before, whatever is current then.
#[derive(Debug)]
pub struct LentContext<'a> {
    device: &'a dyn Device,
    entered: Entered,
    /// A context is current on one thread, so the guard must not move to another.
    not_send: PhantomData<*const ()>,
}

impl<'a> LentContext<'a> {
    /// Makes the device's context current.
    ///
    /// # Errors
    /// As for [`Device::lend_context`].
    ///
    /// # Safety
    /// The guard is dropped, and guards that this thread creates later are dropped before it.
    #[inline]
    pub unsafe fn enter(device: &'a dyn Device) -> Result<Self> {
        // SAFETY: `drop` calls `take_context_back`; the caller guarantees the rest.
        let entered = unsafe { device.lend_context()? };
        Ok(Self { device, entered, not_send: PhantomData })
    }
}

impl Drop for LentContext<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: `entered` is from this device and this thread, and the caller of `enter` guarantees the drop order.
        unsafe { self.device.take_context_back(self.entered) };
    }
}
