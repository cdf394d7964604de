//! The current device of a thread.
//!
//! The HIP runtime has one context per device, created at its first use and kept until the process ends. There is
//! nothing to retain, and "current" is a device ordinal per thread.

use std::{cell::Cell, ffi::c_int, sync::Arc};

use quadrants_rhi::{
    Entered, Result,
    table_device::{self, DriverContext as _, make_current, report_unless_shutting_down},
};

use crate::table::Table;

thread_local! {
    /// The library, as the address of its table, and the device ordinal that `Device::make_current` made current on
    /// this thread; 0 and 0 for none. It need not be queried.
    static CURRENT: Cell<(usize, c_int)> = const { Cell::new((0, 0)) };
}

#[derive(Debug)]
pub(crate) struct DeviceContext {
    pub(crate) table: Arc<Table>,
    ordinal: c_int,
}

impl DeviceContext {
    pub(crate) fn new(table: Arc<Table>, ordinal: c_int) -> Self {
        Self { table, ordinal }
    }

    pub(crate) fn ordinal(&self) -> c_int {
        self.ordinal
    }

    #[inline(always)]
    fn current(&self) -> Result<c_int> {
        let mut current = 0;
        // SAFETY: the runtime writes a number.
        unsafe { self.table.current_device(&mut current) }?;
        Ok(current)
    }

    /// The value of [`CURRENT`] for this context.
    #[inline(always)]
    fn key(&self) -> (usize, c_int) {
        (Arc::as_ptr(&self.table).addr(), self.ordinal)
    }

    /// Makes the device current for other code, which may change it, until [`take_back`](Self::take_back).
    pub(crate) fn lend(&self) -> Result<Entered> {
        let before = self.current()?;
        if before != self.ordinal {
            // SAFETY: the ordinal of an existing device.
            unsafe { self.table.set_device(self.ordinal) }?;
        }
        // Not cached: the other code may change it.
        let (table, ordinal) = CURRENT.replace((0, 0));
        Ok(Entered { outer: [table as u64, ordinal as u64], before: Some(before as u64) })
    }

    pub(crate) fn take_back(&self, entered: Entered) {
        let [table, ordinal] = entered.outer;
        CURRENT.set((table as usize, ordinal as c_int));
        let before = entered.before.unwrap_or(0);
        if !matches!(self.current(), Ok(now) if now as u64 == before) {
            self.restore(before);
        }
    }

    /// There are no contexts, so memory belongs to none.
    pub(crate) fn is_own(&self, _context: u64) -> bool {
        true
    }

    /// Makes the device current, and caches that it is, until [`restore_entered`](Self::restore_entered).
    pub(crate) fn make_current_until_restored(&self) -> Result<Entered> {
        let (table, ordinal) = CURRENT.get();
        let before = make_current(self)?;
        CURRENT.set(self.key());
        Ok(Entered { outer: [table as u64, ordinal as u64], before })
    }

    pub(crate) fn restore_entered(&self, entered: Entered) {
        let [table, ordinal] = entered.outer;
        CURRENT.set((table as usize, ordinal as c_int));
        if let Some(before) = entered.before {
            self.restore(before);
        }
    }
}

impl table_device::DriverContext for DeviceContext {
    type Table = Table;

    #[inline(always)]
    fn table(&self) -> &Table {
        &self.table
    }

    #[inline(always)]
    fn is_current(&self) -> Result<bool> {
        Ok(CURRENT.get() == self.key() || self.current()? == self.ordinal)
    }

    #[cold]
    fn make_current(&self) -> Result<u64> {
        let before = self.current()?;
        // SAFETY: the ordinal of an existing device.
        unsafe { self.table.set_device(self.ordinal) }?;
        Ok(before as u64)
    }

    #[cold]
    fn restore(&self, before: u64) {
        // SAFETY: the runtime returned this ordinal as the current device.
        let result = unsafe { self.table.set_device(before as c_int) };
        report_unless_shutting_down("restoring the current device", result);
    }
}
