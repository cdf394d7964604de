//! Page-locked host memory: owned blocks, and the pool that copies are staged through.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::{Context, Result};

/// The largest block that stays in the pool, and the piece that long copies are cut into.
pub(crate) const STAGING_CHUNK: usize = 8 << 20;
const SMALLEST: usize = 4096;
/// So much stays idle. Page-locked memory is taken from all other programs.
const IDLE_AT_MOST: usize = 64 << 20;

/// Idle staging blocks by size class: powers of two from 4 KiB to 8 MiB.
#[derive(Debug, Default)]
pub(crate) struct StagingPool {
    state: Mutex<StagingState>,
}

#[derive(Debug, Default)]
struct StagingState {
    idle: Vec<(usize, Address)>,
    counts: StagingCounts,
}

#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct StagingCounts {
    pub(crate) bytes: usize,
    pub(crate) idle_bytes: usize,
    pub(crate) peak: usize,
}

#[derive(Debug, Clone, Copy)]
struct Address(*mut u8);

// SAFETY: the address of page-locked memory that the pool owns; it is read and written only
// through the lease that took it out.
unsafe impl Send for Address {}

impl StagingPool {
    fn take(&self, class: usize) -> Option<Address> {
        let mut state = self.state.lock();
        let at = state.idle.iter().rposition(|(size, _)| *size == class)?;
        state.counts.idle_bytes -= class;
        Some(state.idle.swap_remove(at).1)
    }

    fn made(&self, class: usize) {
        let counts = &mut self.state.lock().counts;
        counts.bytes += class;
        counts.peak = counts.peak.max(counts.bytes);
    }

    /// Takes a block back; says whether it did. Else it is the caller's.
    fn put(&self, class: usize, block: Address) -> bool {
        let mut state = self.state.lock();
        let room = state.counts.idle_bytes + class <= IDLE_AT_MOST;
        if room {
            state.counts.idle_bytes += class;
            state.idle.push((class, block));
        } else {
            state.counts.bytes -= class;
        }
        room
    }

    fn lost(&self, class: usize) {
        self.state.lock().counts.bytes -= class;
    }

    pub(crate) fn counts(&self) -> StagingCounts {
        self.state.lock().counts
    }

    /// Gives all idle blocks up.
    pub(crate) fn drain(&self) -> Vec<*mut u8> {
        let mut state = self.state.lock();
        state.counts.bytes -= state.counts.idle_bytes;
        state.counts.idle_bytes = 0;
        std::mem::take(&mut state.idle).into_iter().map(|(_, block)| block.0).collect()
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
        if let Some(address) = context.staging.take(class) {
            let context = context.clone();
            return Ok(Self { context, address, bytes: class, at_end: AtEnd::Pool });
        }
        let mut block = Self::new(context, class)?;
        context.staging.made(class);
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
            self.context.staging.lost(self.bytes);
            self.at_end = AtEnd::Leak;
        }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let keep = match self.at_end {
            AtEnd::Pool => self.context.staging.put(self.bytes, self.address),
            AtEnd::Leak => true,
            AtEnd::Free => false,
        };
        if !keep {
            // SAFETY: allocated by this device in `new`; the owner gives it up here.
            self.context.destroyed(unsafe { self.context.device().free_pinned(self.address.0) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_much_stays_idle_and_no_more() {
        let device = quadrants_rhi_cpu::driver().and_then(|driver| driver.open(0)).unwrap();
        let context = Context::new(device).unwrap();
        let blocks: Vec<_> =
            (0..12).map(|_| Pinned::staging(&context, STAGING_CHUNK).unwrap()).collect();
        drop(blocks);
        let counts = context.staging.counts();
        assert_eq!((counts.bytes, counts.idle_bytes), (IDLE_AT_MOST, IDLE_AT_MOST));
        assert_eq!(counts.peak, 12 * STAGING_CHUNK);
        let again = Pinned::staging(&context, STAGING_CHUNK).unwrap();
        assert_eq!(context.staging.counts().idle_bytes, IDLE_AT_MOST - STAGING_CHUNK);
        context.trim_pools();
        let counts = context.staging.counts();
        assert_eq!((counts.bytes, counts.idle_bytes), (STAGING_CHUNK, 0));
        drop(again);
    }
}
