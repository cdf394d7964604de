//! Stream-ordered memory: freed blocks are handed out again at the first moment that stream order
//! allows, so that a program that forgot an edge finds its bytes changed.

use super::{Block, Memory, Origin};
use crate::{code::Result, queue::OpId};

/// A block of the pool that the program gave back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Freed {
    pub(crate) base: u64,
    /// The operation that frees it; none where it was freed at once.
    pub(crate) by: Option<OpId>,
    /// The stream of that operation.
    pub(crate) stream: Option<u64>,
}

/// So many of the blocks freed last are looked at for reuse, and as many of those freed first, so that a program on
/// many streams does not take new ones for ever.
const CANDIDATES: usize = 32;

impl Memory {
    /// Hands out a block of the pool: the one freed last among those that fit and that `reusable`
    /// allows, or a new one; and the operation that freed it, where it was one. Its life begins when the
    /// allocating operation runs.
    pub(crate) fn alloc_pooled(
        &mut self,
        bytes: usize,
        origin: Origin,
        mut reusable: impl FnMut(&Freed) -> bool,
    ) -> Result<(u64, Option<OpId>)> {
        let all = || self.pool.iter().enumerate();
        let found =
            all().rev().take(CANDIDATES).chain(all().take(CANDIDATES)).find(|(_, freed)| {
                self.block(freed.base).is_some_and(|block| fits(block, bytes)) && reusable(freed)
            });
        if let Some((at, _)) = found {
            let freed = self.pool.remove(at);
            self.live_blocks += 1;
            self.live_bytes += bytes;
            if let Some(block) = self.block_mut(freed.base) {
                block.handed_out = Some(bytes);
            }
            return Ok((freed.base, freed.by));
        }
        Ok((self.reserve(bytes, true, origin)?, None))
    }

    /// Notes that the program gave a block of the pool back.
    pub(crate) fn give_to_pool(&mut self, freed: Freed) {
        self.pool.push(freed);
    }

    /// The operations that free what is in the pool.
    pub(crate) fn pool_frees(&self) -> impl Iterator<Item = OpId> {
        self.pool.iter().filter_map(|freed| freed.by)
    }

    /// Gives the memory of pooled blocks that nothing uses any more back to the device.
    pub(crate) fn trim_pool(&mut self, done: impl Fn(OpId) -> bool) {
        let (idle, busy) = std::mem::take(&mut self.pool)
            .into_iter()
            .partition(|freed| freed.by.is_none_or(&done));
        self.pool = busy;
        let idle: Vec<Freed> = idle;
        for freed in idle {
            if let Some(block) = self.block_mut(freed.base) {
                block.release();
                let capacity = block.capacity;
                self.reserved -= capacity;
                self.tombstones += 1;
            }
        }
    }
}

/// Blocks are reused whole, so that a much larger one is left for who needs it.
fn fits(block: &Block, bytes: usize) -> bool {
    block.capacity >= bytes && block.capacity / 4 <= bytes.max(1024)
}
