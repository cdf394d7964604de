//! Page-locked host memory: owned blocks, and the pool that copies are staged through.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::{Context, Result};

/// The largest block that stays in the pool, and the piece that long copies are cut into.
pub(crate) const STAGING_CHUNK: usize = 8 << 20;
const SMALLEST: usize = 4096;

/// Idle staging blocks by size class: powers of two from 4 KiB to 8 MiB.
#[derive(Debug, Default)]
pub(crate) struct StagingPool {
    idle: Mutex<Vec<(usize, Address)>>,
}

#[derive(Debug, Clone, Copy)]
struct Address(*mut u8);

// SAFETY: the address of page-locked memory that the pool owns; it is read and written only
// through the lease that took it out.
unsafe impl Send for Address {}

impl StagingPool {
    pub(crate) fn drain(&self) -> Vec<*mut u8> {
        std::mem::take(&mut *self.idle.lock()).into_iter().map(|(_, a)| a.0).collect()
    }
}

/// A block of page-locked host memory that the device sees at the same address.
#[derive(Debug)]
pub struct Pinned {
    context: Arc<Context>,
    address: Address,
    bytes: usize,
    at_end: AtEnd,
}

/// What becomes of a block when its owner is dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AtEnd {
    Pool,
    Free,
    /// Nothing: the device may still touch it.
    Leak,
}

// SAFETY: the memory is plain bytes; access goes through raw pointers whose users synchronize.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// A zeroed block of its own.
    ///
    /// # Errors
    /// What the device returns, out of memory above all.
    pub fn new(context: &Arc<Context>, bytes: usize) -> Result<Self> {
        let address = context.observe(context.device().alloc_pinned(bytes.max(1)))?;
        Ok(Self { context: context.clone(), address: Address(address), bytes, at_end: AtEnd::Free })
    }

    /// A block of at least `bytes`, up to the chunk size, from the pool. Its contents are undefined.
    pub(crate) fn staging(context: &Arc<Context>, bytes: usize) -> Result<Self> {
        let class = bytes.clamp(SMALLEST, STAGING_CHUNK).next_power_of_two();
        let found = {
            let mut idle = context.staging.idle.lock();
            idle.iter().rposition(|(size, _)| *size == class).map(|at| idle.swap_remove(at).1)
        };
        let mut block = match found {
            Some(address) => {
                Self { context: context.clone(), address, bytes: class, at_end: AtEnd::Pool }
            }
            None => Self::new(context, class)?,
        };
        block.at_end = AtEnd::Pool;
        Ok(block)
    }

    /// The address, the same for host and device.
    #[must_use]
    pub fn as_ptr(&self) -> *mut u8 {
        self.address.0
    }

    /// The size in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Gives up a block that a copy may still touch, because waiting for it failed: waits for the device,
    /// and where that fails too leaves the block alone for ever.
    pub(crate) fn give_up(mut self) {
        if self.context.synchronize().is_err() {
            self.at_end = AtEnd::Leak;
        }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        match self.at_end {
            AtEnd::Pool => {
                self.context.staging.idle.lock().push((self.bytes, self.address));
                return;
            }
            AtEnd::Leak => return,
            AtEnd::Free => {}
        }
        // SAFETY: allocated by this device in `new`; the owner gives it up here.
        let freed = unsafe { self.context.device().free_pinned(self.address.0) };
        if let Err(error) = self.context.observe(freed) {
            self.context.defer(error);
        }
    }
}
