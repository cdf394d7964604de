//! [`Pinned`]: owned pinned host memory.

use std::sync::Arc;

use crate::{
    Context, EventLease, Result,
    staging_pool::{Address, InFlight},
};

/// The size of the largest staging block, and of the chunks of long copies.
pub(crate) const STAGING_CHUNK: usize = 8 << 20;
const SMALLEST: usize = 4096;

/// Uploads wait for the oldest copy when the blocks in flight have this many bytes.
const MAX_IN_FLIGHT_BYTES: usize = 64 << 20;

/// A block of pinned host memory. The device accesses it at the same address as the host.
#[derive(Debug)]
pub struct Pinned {
    context: Arc<Context>,
    address: Address,
    bytes: usize,
    on_drop: OnDrop,
}

/// What the drop of a block does with its memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OnDrop {
    Pool,
    Free,
    /// Leaks it: the device may still access it.
    Leak,
}

// SAFETY: the memory is plain bytes, and the users of the raw pointer synchronize their accesses.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// Allocates a zeroed block outside the pool.
    ///
    /// # Errors
    /// The device's error, for example that it is out of memory.
    pub fn new(context: &Arc<Context>, bytes: usize) -> Result<Self> {
        let address = context.observe(context.device().alloc_pinned(bytes.max(1)))?;
        Ok(Self {
            context: context.clone(),
            address: Address(address),
            bytes,
            on_drop: OnDrop::Free,
        })
    }

    /// Takes a block of at least `bytes`, but at most the chunk size, from the pool. Its contents are undefined.
    pub(crate) fn staging(context: &Arc<Context>, bytes: usize) -> Result<Self> {
        let class = bytes.clamp(SMALLEST, STAGING_CHUNK).next_power_of_two();
        loop {
            if let Some(address) = context.staging.take(class) {
                let context = context.clone();
                return Ok(Self { context, address, bytes: class, on_drop: OnDrop::Pool });
            }
            let wait = context.staging.in_flight_bytes() + class > MAX_IN_FLIGHT_BYTES;
            if !context.reclaim_staging(wait)? {
                break;
            }
        }
        let mut block = Self::new(context, class)?;
        context.staging.created(class);
        block.on_drop = OnDrop::Pool;
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

    /// Leaks the memory: the device may still access it.
    pub fn leak(mut self) {
        self.on_drop = OnDrop::Leak;
    }

    /// Returns the block to the pool when `event` is complete. The event was recorded after the copies that use the
    /// block.
    pub(crate) fn retire(mut self, event: EventLease) {
        debug_assert_eq!(self.on_drop, OnDrop::Pool, "a block of the pool");
        self.on_drop = OnDrop::Leak;
        let (class, block) = (self.bytes, self.address);
        self.context.staging.retire(event.into_handle(), class, block);
    }

    /// Drops a block that a copy may still access because waiting for the copy failed. Waits for the device; if that
    /// fails too, leaks the block.
    pub(crate) fn wait_or_leak(mut self) {
        if self.context.synchronize().is_err() {
            self.context.staging.leaked(self.bytes);
            self.on_drop = OnDrop::Leak;
        }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let keep = match self.on_drop {
            OnDrop::Pool => self.context.staging.put(self.bytes, self.address),
            OnDrop::Leak => true,
            OnDrop::Free => false,
        };
        if !keep {
            // SAFETY: `new` allocated it on this device, and the owner does not use it any more.
            self.context.destroyed(unsafe { self.context.device().free_pinned(self.address.0) });
        }
    }
}

impl Context {
    /// Returns the oldest staging block in flight to the pool, if its copies are complete or after waiting for them.
    /// Returns whether it did.
    ///
    /// # Errors
    /// The failure of earlier work.
    pub(crate) fn reclaim_staging(self: &Arc<Self>, wait: bool) -> Result<bool> {
        let Some(entry) = self.staging.take_in_flight() else { return Ok(false) };
        // SAFETY: the pool owns the event.
        let complete = unsafe {
            match wait {
                true => self.wait_for_event(entry.event).map(|()| true),
                false => self.observe(self.device().event_query(entry.event)),
            }
        };
        if !matches!(complete, Ok(true)) {
            self.staging.return_in_flight(entry);
            return complete;
        }
        self.pool_staging(&entry);
        Ok(true)
    }

    /// Returns the staging blocks among the first `retired` to the pool, whose copies are complete.
    pub(crate) fn reclaim_complete_staging(self: &Arc<Self>, retired: u64) {
        while let Some(entry) = self.staging.take_in_flight_before(retired) {
            self.pool_staging(&entry);
        }
    }

    fn pool_staging(self: &Arc<Self>, entry: &InFlight) {
        drop(EventLease::from_handle(self, entry.event));
        let (context, address, bytes) = (self.clone(), entry.block, entry.class);
        drop(Pinned { context, address, bytes, on_drop: OnDrop::Pool });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::staging_pool::MAX_IDLE_BYTES;

    #[test]
    fn idle_staging_memory_is_limited() {
        let device = quadrants_rhi_cpu::driver().and_then(|driver| driver.open(0)).unwrap();
        let context = Context::new(device).unwrap();
        let blocks: Vec<_> =
            (0..12).map(|_| Pinned::staging(&context, STAGING_CHUNK).unwrap()).collect();
        drop(blocks);
        let counts = context.staging.counts();
        assert_eq!((counts.bytes, counts.idle_bytes), (MAX_IDLE_BYTES, MAX_IDLE_BYTES));
        assert_eq!(counts.peak, 12 * STAGING_CHUNK);
        let again = Pinned::staging(&context, STAGING_CHUNK).unwrap();
        assert_eq!(context.staging.counts().idle_bytes, MAX_IDLE_BYTES - STAGING_CHUNK);
        context.trim_pools();
        let counts = context.staging.counts();
        assert_eq!((counts.bytes, counts.idle_bytes), (STAGING_CHUNK, 0));
        drop(again);
    }
}
