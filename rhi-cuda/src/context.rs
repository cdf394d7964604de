//! The primary context of a device: retained while the device lives, and current in each call.

use std::{cell::Cell, sync::Arc};

use cudarc::driver::sys::{CUcontext, CUdevice};
use quadrants_rhi::{
    Entered, Result,
    table_device::{self, DriverContext as _, make_current, report_unless_shutting_down},
};

use crate::table::Table;

thread_local! {
    /// The context that `Device::make_current` made current on this thread, as a number; 0 for none. It need not be
    /// queried.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// How many contexts other code may have left on a thread that had none.
const MAX_LEFT: usize = 64;

/// A retained primary context.
#[derive(Debug)]
pub(crate) struct PrimaryContext {
    pub(crate) table: Arc<Table>,
    device: CUdevice,
    /// The `CUcontext` as a number: it is only compared and passed to the driver.
    handle: usize,
}

impl PrimaryContext {
    pub(crate) fn retain(table: Arc<Table>, device: CUdevice) -> Result<Self> {
        let mut context: CUcontext = std::ptr::null_mut();
        // SAFETY: the driver writes the context of a device that it returned.
        unsafe { table.retain_context(&mut context, device) }?;
        Ok(Self { table, device, handle: context as usize })
    }

    pub(crate) fn device(&self) -> CUdevice {
        self.device
    }

    pub(crate) fn raw(&self) -> CUcontext {
        self.handle as CUcontext
    }

    /// Makes the context current for other code, which may change it, until [`take_back`](Self::take_back).
    pub(crate) fn lend(&self) -> Result<Entered> {
        let mut before: CUcontext = std::ptr::null_mut();
        // SAFETY: the driver writes the current context or null, and this one is retained as long as `self` lives.
        unsafe {
            self.table.current_context(&mut before)?;
            if before as usize != self.handle {
                self.table.set_context(self.raw())?;
            }
        }
        // Not cached: the other code may change it.
        let outer = CURRENT.replace(0);
        Ok(Entered { outer: [outer as u64, 0], before: Some(before as u64) })
    }

    pub(crate) fn take_back(&self, entered: Entered) {
        CURRENT.set(entered.outer[0] as usize);
        let before = entered.before.unwrap_or(0) as usize;
        // "No context" only takes the topmost one off the thread, and the other code may have left several.
        for _ in 0..MAX_LEFT {
            let mut now: CUcontext = std::ptr::null_mut();
            // SAFETY: the driver writes the current context or null. The one before was current on this thread; if it
            // was destroyed since, the driver returns an error.
            let restored = unsafe {
                match self.table.current_context(&mut now) {
                    Ok(()) if now as usize == before => return,
                    Ok(()) => self.table.set_context(before as CUcontext),
                    error => error,
                }
            };
            if restored.is_err() || before != 0 {
                return report_unless_shutting_down("restoring the context", restored);
            }
        }
    }

    /// Whether a driver's context, as a number, is this one.
    pub(crate) fn is_own(&self, context: u64) -> bool {
        context as usize == self.handle
    }

    /// Makes the context current, and caches that it is, until [`restore_entered`](Self::restore_entered).
    pub(crate) fn make_current_until_restored(&self) -> Result<Entered> {
        let outer = CURRENT.get();
        let before = make_current(self)?;
        CURRENT.set(self.handle);
        Ok(Entered { outer: [outer as u64, 0], before })
    }

    pub(crate) fn restore_entered(&self, entered: Entered) {
        CURRENT.set(entered.outer[0] as usize);
        if let Some(before) = entered.before {
            self.restore(before);
        }
    }
}

impl table_device::DriverContext for PrimaryContext {
    type Table = Table;

    #[inline(always)]
    fn table(&self) -> &Table {
        &self.table
    }

    #[inline(always)]
    fn is_current(&self) -> Result<bool> {
        if CURRENT.get() == self.handle {
            return Ok(true);
        }
        let mut current: CUcontext = std::ptr::null_mut();
        // SAFETY: the driver writes the current context or null.
        unsafe { self.table.current_context(&mut current) }?;
        Ok(current as usize == self.handle)
    }

    /// Pushes the context.
    #[cold]
    fn make_current(&self) -> Result<u64> {
        // SAFETY: the context is retained as long as `self` lives.
        unsafe { self.table.push_context(self.raw()) }?;
        Ok(0)
    }

    /// Pops the context.
    #[cold]
    fn restore(&self, _before: u64) {
        let mut popped: CUcontext = std::ptr::null_mut();
        // SAFETY: this context was pushed on this thread, and all contexts that were pushed later are popped.
        let result = unsafe { self.table.pop_context(&mut popped) };
        report_unless_shutting_down("restoring the context", result);
    }
}

impl Drop for PrimaryContext {
    fn drop(&mut self) {
        // SAFETY: `retain` retained it once, and all users borrowed `self`.
        let released = unsafe { self.table.release_context(self.device) };
        report_unless_shutting_down("releasing the context", released);
    }
}
