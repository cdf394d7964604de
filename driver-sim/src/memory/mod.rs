//! A world's memory: device blocks at addresses that are not host addresses, with gaps between them, and pinned host
//! memory.
//!
//! Fresh bytes contain [`POISON`](block::POISON). The address of a freed block is not reused, so that a late access is
//! recognized. Only the blocks of the pool are reused, as soon as stream order allows.

mod access;
mod access_recorder;
mod block;
mod defined;
mod pinned;
mod pool;
mod shadow;
mod touched;

use crate::{
    code::{Code, Result},
    op_id::OpId,
};

pub use access::InvalidAccess;
pub(crate) use access::{AccessError, Payload, Uninitialized};
pub(crate) use access_recorder::AllocationKey;
pub use block::Origin;
pub(crate) use block::{BlockState, End, MemoryBlock};
pub(crate) use pool::Freed;
pub use touched::AccessKind;

/// Device addresses are at least this, above everything that processors can map.
pub(crate) const DEVICE_BASE: u64 = 1 << 52;
/// log2 of the number of addresses of one world.
const WORLD_BITS: u32 = 44;
const ALIGN: u64 = 512;
/// The smallest gap between two blocks in bytes.
const GAP: u64 = 256;
/// The largest number of tombstones. They distinguish a use after free from a random address.
const TOMBSTONES: usize = 8192;

#[derive(Debug, Default)]
pub(crate) struct Memory {
    next: u64,
    end: u64,
    /// Sorted by address.
    blocks: Vec<MemoryBlock>,
    /// Recently accessed live blocks: kernels alternate between a few. Cleared whenever the phase or the location of
    /// any block changes.
    hot: [CachedRange; 4],
    hot_next: usize,
    tombstones: usize,
    pub(crate) pinned: pinned::PinnedMap,
    pub(crate) pool: Vec<Freed>,
    /// The size of the simulated device memory in bytes.
    pub(crate) limit: usize,
    reserved: usize,
    live_blocks: usize,
    live_bytes: usize,
    /// The first read of uninitialized bytes of the current operation.
    pub(crate) uninitialized: Option<Uninitialized>,
    recorder: access_recorder::AccessRecorder,
}

/// The accessible address range of a live block. Empty if the end is before the start.
#[derive(Clone, Copy, Debug, Default)]
struct CachedRange {
    base: u64,
    end: u64,
    at: usize,
}

impl Memory {
    pub(crate) fn new(world: u16) -> Self {
        let base = DEVICE_BASE + (u64::from(world) << WORLD_BITS);
        Self {
            next: base + ALIGN,
            end: base + (1 << WORLD_BITS),
            limit: 8 << 30,
            ..Self::default()
        }
    }

    /// Allocates a block outside stream order.
    pub(crate) fn alloc(&mut self, bytes: usize, origin: Origin) -> Result<u64> {
        let base = self.reserve(bytes, false, origin)?;
        if let Some(block) = self.blocks.last_mut() {
            block.begin(bytes, origin);
        }
        Ok(base)
    }

    /// Makes a block of at least `bytes`. Its life starts later.
    fn reserve(&mut self, bytes: usize, pool: bool, origin: Origin) -> Result<u64> {
        if bytes == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let capacity = bytes.checked_next_multiple_of(64).ok_or(Code::OUT_OF_MEMORY)?;
        let reserved = self.reserved.checked_add(capacity).ok_or(Code::OUT_OF_MEMORY)?;
        let after = self.next.checked_add(capacity as u64 + GAP).ok_or(Code::OUT_OF_MEMORY)?;
        if reserved > self.limit || after > self.end {
            return Err(Code::OUT_OF_MEMORY);
        }
        let block = MemoryBlock::new(self.next, bytes, capacity, pool, origin)?;
        let base = block.base;
        self.reserved = reserved;
        self.next = after.next_multiple_of(ALIGN);
        self.blocks.push(block);
        self.live_blocks += 1;
        self.live_bytes += bytes;
        Ok(base)
    }

    /// Frees a block at once, outside stream order; `last` is the last operation enqueued so far. Memory of the pool
    /// returns to the pool.
    pub(crate) fn free(&mut self, base: u64, origin: Origin, last: OpId) -> Result<()> {
        let pool = self.mark_freed(base)?;
        let block = self.block_mut(base).ok_or(Code::INVALID_VALUE)?;
        block.end(origin);
        block.ended = Some(End::ByHost { last, call: origin.call });
        if pool {
            self.pool.push(Freed { base, by: None, stream: None });
        } else {
            block.release();
            self.reserved -= block.capacity;
            self.tombstones += 1;
            if self.tombstones > TOMBSTONES {
                self.bury();
            }
        }
        Ok(())
    }

    /// Records that the program freed a block. Returns whether it belongs to the pool.
    pub(crate) fn mark_freed(&mut self, base: u64) -> Result<bool> {
        let at = self.exact(base).ok_or(Code::INVALID_VALUE)?;
        let bytes = self.blocks[at].handed_out.take().ok_or(Code::INVALID_VALUE)?;
        self.live_blocks -= 1;
        self.live_bytes -= bytes;
        Ok(self.blocks[at].pool)
    }

    /// Whether `base` is a block of the pool that the program owns.
    pub(crate) fn holds_pooled(&self, base: u64) -> bool {
        self.exact(base).is_some_and(|at| {
            let block = &self.blocks[at];
            block.pool && block.handed_out.is_some()
        })
    }

    /// The world of a device address, which need not be of a block.
    pub(crate) fn world_of(address: u64) -> Option<u16> {
        u16::try_from(address.checked_sub(DEVICE_BASE)? >> WORLD_BITS).ok()
    }

    /// The first address and the size of the device block or pinned allocation at an address, while the program owns
    /// it.
    pub(crate) fn allocation(&self, address: u64) -> Option<(u64, usize)> {
        if address < DEVICE_BASE {
            return self.pinned.allocation(usize::try_from(address).ok()?);
        }
        let after = self.blocks.partition_point(|block| block.base <= address);
        let block = &self.blocks[after.checked_sub(1)?];
        let bytes = block.handed_out?;
        (address - block.base < bytes as u64).then_some((block.base, bytes))
    }

    /// The block that begins at `base`, for reports and tests.
    pub(crate) fn block(&self, base: u64) -> Option<&MemoryBlock> {
        self.exact(base).map(|at| &self.blocks[at])
    }

    /// The block that begins at `base`, to change its life.
    pub(crate) fn block_mut(&mut self, base: u64) -> Option<&mut MemoryBlock> {
        self.hot = [CachedRange::default(); 4];
        self.exact(base).map(|at| &mut self.blocks[at])
    }

    /// Frees everything. Addresses are not reused.
    pub(crate) fn clear(&mut self) {
        self.blocks.clear();
        self.pool.clear();
        self.pinned = pinned::PinnedMap::default();
        self.hot = [CachedRange::default(); 4];
        self.tombstones = 0;
        self.reserved = 0;
        self.live_blocks = 0;
        self.live_bytes = 0;
    }

    /// The number and total size of the device blocks that the program owns.
    pub(crate) fn live(&self) -> (usize, usize) {
        (self.live_blocks, self.live_bytes)
    }

    /// The free device memory in bytes.
    pub(crate) fn available(&self) -> usize {
        self.limit.saturating_sub(self.live_bytes)
    }

    fn exact(&self, base: u64) -> Option<usize> {
        self.blocks.binary_search_by_key(&base, |block| block.base).ok()
    }

    /// Removes the older half of the tombstones.
    fn bury(&mut self) {
        let mut forget = self.tombstones / 2;
        self.tombstones -= forget;
        self.blocks.retain(|block| {
            let buried = forget > 0 && block.released;
            forget -= usize::from(buried);
            !buried
        });
        self.hot = [CachedRange::default(); 4];
    }
}
