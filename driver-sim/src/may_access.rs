//! The memory that an operation may access, known before it runs.
//!
//! It includes more than the operation accesses: a launch counts as accessing all of each tensor that its task names.

use quadrants_ir::abi::{ArgLayout, TEMPORARIES_WORD, temporary_bytes};
use smallvec::SmallVec;

use crate::{
    launch::{KernelLaunch, tensor_memory, word},
    memory::Memory,
    op::Work,
};

/// Memory ranges, each with a flag for writes.
#[derive(Debug, Default)]
pub(crate) struct AccessRanges {
    ranges: SmallVec<[AccessRange; 4]>,
}

#[derive(Clone, Copy, Debug)]
struct AccessRange {
    start: u64,
    end: u64,
    write: bool,
}

impl AccessRanges {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether both may access a byte that one of them may write.
    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        self.ranges.iter().any(|a| {
            let meets =
                |b: &AccessRange| a.start < b.end && b.start < a.end && (a.write || b.write);
            other.ranges.iter().any(meets)
        })
    }

    fn add(&mut self, start: u64, bytes: u64, write: bool) {
        if bytes > 0 {
            self.ranges.push(AccessRange { start, end: start.saturating_add(bytes), write });
        }
    }
}

impl Work {
    pub(crate) fn may_access(&self, memory: &Memory) -> AccessRanges {
        let mut ranges = AccessRanges::default();
        match self {
            Self::Marker => {}
            Self::Launch(launch) => launch.add_ranges(memory, &mut ranges),
            Self::Copy { dst, src, rows } => {
                let (target, source) = rows.reach();
                ranges.add(*src, source, false);
                ranges.add(*dst, target, true);
            }
            Self::Upload { dst, rows, .. } => ranges.add(*dst, rows.reach().0, true),
            Self::Fill { dst, bytes, .. } => ranges.add(*dst, *bytes as u64, true),
            Self::PeerRead { src, bytes, .. } => ranges.add(*src, *bytes as u64, false),
            Self::PeerWrite { dst, bytes, .. } => ranges.add(*dst, *bytes as u64, true),
            Self::Collective(part) => {
                if let Some((address, bytes, write)) = part.access() {
                    ranges.add(address, bytes as u64, write);
                }
            }
            Self::Allocate { base, .. } | Self::Free { base, .. } => {
                let capacity = memory.block(*base).map_or(0, |block| block.capacity);
                ranges.add(*base, capacity as u64, true);
            }
        }
        ranges
    }
}

impl KernelLaunch {
    fn add_ranges(&self, memory: &Memory, ranges: &mut AccessRanges) {
        let (kernel, task) = self.task();
        let Some(args) = self.peek_args(memory) else {
            // The argument block is not written yet, so the launch may access anything.
            return ranges.add(0, u64::MAX, true);
        };
        ranges.add(word(&args, TEMPORARIES_WORD), temporary_bytes(kernel) as u64, true);
        let layout = ArgLayout::new(&kernel.params);
        for access in &task.accesses {
            if let Some((start, bytes)) = tensor_memory(kernel, &layout, access, &args) {
                ranges.add(start, bytes, access.write || access.atomic);
            }
        }
    }
}
