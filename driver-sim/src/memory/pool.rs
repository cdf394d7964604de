//! Stream-ordered memory: freed blocks are reused as early as stream order allows, so that a program with a missing
//! dependency finds its bytes changed.

use super::{Memory, MemoryBlock, Origin};
use crate::{code::Result, op_id::OpId};

/// A block of the pool that the program freed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Freed {
    pub(crate) base: u64,
    /// The operation that frees it; `None` if it was freed at once.
    pub(crate) by: Option<OpId>,
    /// The stream of that operation.
    pub(crate) stream: Option<u64>,
}

/// The number of the most recently freed blocks that are tried for reuse, and of the least recently freed ones, so that
/// a program with many streams does not allocate new blocks forever.
const CANDIDATES: usize = 32;

impl Memory {
    /// Takes a block of the pool: the most recently freed one that fits and that `reusable` allows, or a new one. Also
    /// returns the operation that freed it, if any. Its life starts when the allocating operation runs.
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

    /// Releases the memory of pooled blocks that no operation uses.
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

/// Blocks are reused whole, so a much larger block is not used for a small allocation.
fn fits(block: &MemoryBlock, bytes: usize) -> bool {
    block.capacity >= bytes && block.capacity / 4 <= bytes.max(1024)
}
