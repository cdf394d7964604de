//! Records of the memory that operations access, for the race detector.

use std::ops::Range;

use super::{
    AccessKind, DEVICE_BASE, Memory,
    block::{BlockState, End},
    shadow::Shadow,
};
use crate::op_id::OpId;

/// A memory allocation with an access history of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AllocationKey {
    /// The block at this base.
    Block(u64),
    /// The pinned allocation at this base.
    Pinned(usize),
}

/// The accesses of the current operation.
#[derive(Debug, Default)]
pub(crate) struct AccessRecorder {
    pub(super) on: bool,
    allocations: Vec<AllocationKey>,
    /// Blocks that were accessed as a whole.
    whole: Vec<(u64, AccessKind)>,
    /// Memory on which the current operation is only atomic.
    atomic: Vec<Range<u64>>,
}

/// The accesses of a allocation.
pub(crate) type Ranges = Vec<(Range<usize>, AccessKind)>;

impl AllocationKey {
    pub(crate) fn base(self) -> u64 {
        match self {
            Self::Block(base) => base,
            Self::Pinned(base) => base as u64,
        }
    }
}

impl Memory {
    pub(crate) fn record_accesses(&mut self, on: bool) {
        self.recorder = AccessRecorder { on, ..AccessRecorder::default() };
        self.blocks.iter_mut().for_each(|block| block.shadow.clear());
        self.pinned.live.values_mut().for_each(|pinned| pinned.shadow.clear());
    }

    /// Sets the memory on which the current operation is only atomic.
    pub(crate) fn set_atomic(&mut self, ranges: impl FnOnce() -> Vec<Range<u64>>) {
        if self.recorder.on {
            self.recorder.atomic = ranges();
        }
    }

    /// Adds memory on which the current operation is only atomic.
    pub(crate) fn add_atomic(&mut self, range: Range<u64>) {
        if self.recorder.on {
            self.recorder.atomic.push(range);
        }
    }

    pub(super) fn touch(&mut self, at: usize, offset: usize, bytes: usize, access: AccessKind) {
        let block = &mut self.blocks[at];
        let access = self.recorder.kind(block.base + offset as u64, access);
        if block.touched.note(offset, bytes, access, block.capacity) {
            self.recorder.allocations.push(AllocationKey::Block(block.base));
        }
    }

    pub(super) fn touch_pinned(&mut self, address: usize, bytes: usize, access: AccessKind) {
        let access = self.recorder.kind(address as u64, access);
        let Some(pinned) = self.pinned.at(address) else { return };
        let (base, capacity) = (pinned.base, pinned.layout.size());
        if pinned.touched.note(address - base, bytes, access, capacity) {
            self.recorder.allocations.push(AllocationKey::Pinned(base));
        }
    }

    pub(crate) fn touch_whole(&mut self, base: u64, access: AccessKind) {
        if self.recorder.on {
            self.recorder.whole.push((base, access));
        }
    }

    /// Takes the accesses since the last call.
    pub(crate) fn take_touched(&mut self) -> Vec<(AllocationKey, Ranges)> {
        let allocations = std::mem::take(&mut self.recorder.allocations);
        let whole = std::mem::take(&mut self.recorder.whole);
        self.recorder.atomic.clear();
        let mut all = Vec::new();
        for allocation in allocations {
            let ranges = match allocation {
                AllocationKey::Block(base) => {
                    self.block_mut(base).map(|block| block.touched.take())
                }
                AllocationKey::Pinned(base) => {
                    self.pinned.at(base).map(|pinned| pinned.touched.take())
                }
            };
            all.push((allocation, ranges.unwrap_or_default()));
        }
        for (base, access) in whole {
            let capacity = self.block(base).map_or(0, |block| block.capacity);
            all.push((AllocationKey::Block(base), vec![(0..capacity, access)]));
        }
        all
    }

    /// The latest accesses of a allocation's bytes.
    pub(crate) fn shadow(&mut self, allocation: AllocationKey) -> Option<&mut Shadow> {
        match allocation {
            AllocationKey::Block(base) => self.exact(base).map(|at| &mut self.blocks[at].shadow),
            AllocationKey::Pinned(base) => self.pinned.live.get_mut(&base).map(|p| &mut p.shadow),
        }
    }

    /// Records the operation that allocates a block.
    pub(crate) fn set_alloc_op(&mut self, base: u64, op: OpId) {
        if let Some(at) = self.exact(base) {
            self.blocks[at].begun = Some(op);
        }
    }

    /// Records the operation that frees a block.
    pub(crate) fn set_free_op(&mut self, base: u64, op: OpId) {
        if let Some(at) = self.exact(base) {
            self.blocks[at].ended = Some(End::By(op));
        }
    }

    /// The reason why the memory at an address is not accessible, if it once was or will be.
    pub(crate) fn end_of(&self, address: u64) -> Option<End> {
        if address < DEVICE_BASE {
            let (last, call) = self.pinned.freed(address as usize)?;
            return Some(End::ByHost { last, call });
        }
        let after = self.blocks.partition_point(|block| block.base <= address);
        let block = &self.blocks[after.checked_sub(1)?];
        match block.phase {
            BlockState::Unborn => block.begun.map(End::NotBegunBy),
            _ => block.ended,
        }
    }
}

impl AccessRecorder {
    fn kind(&self, address: u64, access: AccessKind) -> AccessKind {
        if self.atomic.iter().any(|range| range.contains(&address)) {
            AccessKind::Atomic
        } else {
            access
        }
    }
}
