//! The bytes of an allocation that an operation accesses.

use std::ops::Range;

use super::defined::InitMask;

/// The kinds of accesses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum AccessKind {
    /// Read.
    Read,
    /// Written.
    Write,
    /// Atomic read-modify-write or atomic read.
    Atomic,
    /// Allocation in stream order.
    Alloc,
    /// Free.
    Free,
}

/// The bytes of one allocation that the current operation has accessed so far.
#[derive(Debug, Default)]
pub(crate) struct AccessedBytes {
    /// By kind: read, write, atomic. Empty until the first access.
    bits: [InitMask; 3],
    /// The hull of all accesses.
    within: Range<usize>,
}

impl AccessedBytes {
    /// Records an access; returns whether it was the first. `capacity` is the size of the allocation.
    pub(crate) fn note(
        &mut self,
        offset: usize,
        bytes: usize,
        access: AccessKind,
        capacity: usize,
    ) -> bool {
        let first = self.within.is_empty();
        let bits = &mut self.bits[index(access)];
        if bits.is_empty() {
            *bits = InitMask::new(capacity);
        }
        bits.set(offset, bytes);
        let end = offset + bytes;
        self.within = match first {
            true => offset..end,
            false => self.within.start.min(offset)..self.within.end.max(end),
        };
        first
    }

    /// Takes the ranges that were accessed since the last call, merged.
    pub(crate) fn take(&mut self) -> Vec<(Range<usize>, AccessKind)> {
        let within = std::mem::take(&mut self.within);
        let mut ranges = Vec::new();
        for access in [AccessKind::Read, AccessKind::Write, AccessKind::Atomic] {
            let bits = &mut self.bits[index(access)];
            if bits.is_empty() {
                continue;
            }
            bits.ranges(within.clone(), |range| ranges.push((range, access)));
            bits.unset(within.start, within.len());
        }
        ranges
    }
}

fn index(access: AccessKind) -> usize {
    match access {
        AccessKind::Read => 0,
        AccessKind::Atomic => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_merged_and_taken_once() {
        let mut touched = AccessedBytes::default();
        assert!(touched.note(8, 4, AccessKind::Write, 4096));
        for at in (0..1024).step_by(4) {
            assert!(!touched.note(at, 4, AccessKind::Read, 4096));
        }
        touched.note(2000, 8, AccessKind::Read, 4096);
        touched.note(12, 4, AccessKind::Write, 4096);
        let read = |range| (range, AccessKind::Read);
        assert_eq!(touched.take(), [read(0..1024), read(2000..2008), (8..16, AccessKind::Write)]);
        assert_eq!(touched.take(), []);
        assert!(touched.note(5, 1, AccessKind::Atomic, 4096));
        assert_eq!(touched.take(), [(5..6, AccessKind::Atomic)]);
    }
}
