//! Pinned host memory: real memory of this process that the device can access.

use std::{
    alloc::{Layout, alloc, dealloc},
    collections::BTreeMap,
};

use super::{Memory, block::POISON, shadow::Shadow, touched::AccessedBytes};
use crate::{
    code::{Code, Result},
    op_id::OpId,
};

/// An allocation. Dropping it frees the memory.
#[derive(Debug)]
pub(super) struct Pinned {
    pub(super) base: usize,
    pub(super) layout: Layout,
    pub(super) touched: AccessedBytes,
    pub(super) shadow: Shadow,
}

#[derive(Debug, Default)]
pub(crate) struct PinnedMap {
    pub(super) live: BTreeMap<usize, Pinned>,
    /// Freed allocations with the call that freed them. They are kept until the operations that were enqueued before
    /// are complete, so that a late operation cannot access what the host allocates there next.
    retired: Vec<(OpId, u64, Pinned)>,
}

const PAGE: usize = 4096;

impl Pinned {
    fn new(bytes: usize) -> Result<Self> {
        if bytes == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let layout = Layout::from_size_align(bytes, PAGE).map_err(|_| Code::OUT_OF_MEMORY)?;
        // SAFETY: the size is not zero.
        let base = unsafe { alloc(layout) };
        if base.is_null() {
            return Err(Code::OUT_OF_MEMORY);
        }
        // SAFETY: the allocation is new and of this length.
        unsafe { base.write_bytes(POISON, bytes) };
        let (touched, shadow) = (AccessedBytes::default(), Shadow::default());
        Ok(Self { base: base as usize, layout, touched, shadow })
    }

    fn holds(&self, address: usize) -> bool {
        address.checked_sub(self.base).is_some_and(|offset| offset < self.layout.size())
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: `base` was allocated with this layout, and `self` is its only owner.
        unsafe { dealloc(self.base as *mut u8, self.layout) };
    }
}

impl PinnedMap {
    /// Whether the range is inside one live allocation.
    pub(crate) fn contains(&self, address: usize, bytes: usize) -> bool {
        self.live.range(..=address).next_back().is_some_and(|(&base, pinned)| {
            let size = pinned.layout.size();
            address - base < size.max(1) && bytes <= size - (address - base)
        })
    }

    /// The first address and the size of the live allocation at an address.
    pub(crate) fn allocation(&self, address: usize) -> Option<(u64, usize)> {
        let (&base, pinned) = self.live.range(..=address).next_back()?;
        pinned.holds(address).then_some((base as u64, pinned.layout.size()))
    }

    /// The free of the memory at an address, if it is recent: the last operation before it, and the call.
    pub(crate) fn freed(&self, address: usize) -> Option<(OpId, u64)> {
        let (last, call, _) =
            self.retired.iter().rev().find(|(_, _, pinned)| pinned.holds(address))?;
        Some((*last, *call))
    }

    /// The allocation that contains an address.
    pub(super) fn at(&mut self, address: usize) -> Option<&mut Pinned> {
        let (_, pinned) = self.live.range_mut(..=address).next_back()?;
        pinned.holds(address).then_some(pinned)
    }
}

impl Memory {
    pub(crate) fn alloc_pinned(&mut self, bytes: usize) -> Result<usize> {
        let pinned = Pinned::new(bytes)?;
        let base = pinned.base;
        self.pinned.live.insert(base, pinned);
        Ok(base)
    }

    /// Frees pinned memory. `last` is the last enqueued operation, all operations before `done` are complete, and
    /// `call` is the call that frees it.
    pub(crate) fn free_pinned(
        &mut self,
        base: usize,
        last: OpId,
        done: OpId,
        call: u64,
    ) -> Result<()> {
        let pinned = self.pinned.live.remove(&base).ok_or(Code::INVALID_VALUE)?;
        self.pinned.retired.retain(|(op, ..)| *op > done);
        if last > done {
            self.pinned.retired.push((last, call, pinned));
        }
        Ok(())
    }

    /// The number and total size of the pinned allocations that the program owns.
    pub(crate) fn live_pinned(&self) -> (usize, usize) {
        let live = &self.pinned.live;
        (live.len(), live.values().map(|pinned| pinned.layout.size()).sum())
    }
}
