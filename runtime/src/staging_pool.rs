//! The pool of staging blocks: idle ones, and those that a copy in flight still uses.

use std::collections::VecDeque;

use parking_lot::Mutex;
use quadrants_rhi::EventHandle;

/// The limit of idle staging memory. The system cannot give pinned memory to other programs.
pub(crate) const MAX_IDLE_BYTES: usize = 64 << 20;

/// Idle staging blocks by size class: powers of two from 4 KiB to 8 MiB.
#[derive(Debug, Default)]
pub(crate) struct StagingPool {
    state: Mutex<StagingState>,
}

#[derive(Debug, Default)]
struct StagingState {
    idle: Vec<(usize, Address)>,
    /// Oldest first.
    in_flight: VecDeque<InFlight>,
    in_flight_bytes: usize,
    /// The number of blocks that were ever retired.
    retired: u64,
    counts: StagingCounts,
}

#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct StagingCounts {
    pub(crate) bytes: usize,
    pub(crate) idle_bytes: usize,
    pub(crate) peak: usize,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Address(pub(crate) *mut u8);

/// A block that copies use until an event is complete. The pool owns both.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) event: EventHandle,
    pub(crate) class: usize,
    pub(crate) block: Address,
    number: u64,
}

// SAFETY: an address of pinned memory that the pool owns. Only the lease that took it reads and writes the memory.
unsafe impl Send for Address {}

impl StagingPool {
    pub(crate) fn take(&self, class: usize) -> Option<Address> {
        let mut state = self.state.lock();
        let at = state.idle.iter().rposition(|(size, _)| *size == class)?;
        state.counts.idle_bytes -= class;
        Some(state.idle.swap_remove(at).1)
    }

    pub(crate) fn created(&self, class: usize) {
        let counts = &mut self.state.lock().counts;
        counts.bytes += class;
        counts.peak = counts.peak.max(counts.bytes);
    }

    /// Returns a block to the pool. If the pool is full, returns false, and the caller frees the block.
    pub(crate) fn put(&self, class: usize, block: Address) -> bool {
        let mut state = self.state.lock();
        let room = state.counts.idle_bytes + class <= MAX_IDLE_BYTES;
        if room {
            state.counts.idle_bytes += class;
            state.idle.push((class, block));
        } else {
            state.counts.bytes -= class;
        }
        room
    }

    /// Keeps a block until the event is complete.
    pub(crate) fn retire(&self, event: EventHandle, class: usize, block: Address) {
        let mut state = self.state.lock();
        state.in_flight_bytes += class;
        let number = state.retired;
        state.retired += 1;
        state.in_flight.push_back(InFlight { event, class, block, number });
    }

    /// The number of blocks that were ever retired.
    pub(crate) fn retired(&self) -> u64 {
        self.state.lock().retired
    }

    /// Takes the oldest block in flight.
    pub(crate) fn take_in_flight(&self) -> Option<InFlight> {
        self.take_in_flight_before(u64::MAX)
    }

    /// Takes the oldest block in flight, if it is among the first `retired`.
    pub(crate) fn take_in_flight_before(&self, retired: u64) -> Option<InFlight> {
        let mut state = self.state.lock();
        let entry = state.in_flight.pop_front_if(|entry| entry.number < retired)?;
        state.in_flight_bytes -= entry.class;
        Some(entry)
    }

    /// Returns a block of [`take_in_flight`](Self::take_in_flight) that is still in use.
    pub(crate) fn return_in_flight(&self, entry: InFlight) {
        let mut state = self.state.lock();
        state.in_flight_bytes += entry.class;
        state.in_flight.push_front(entry);
    }

    /// The bytes of the blocks in flight.
    pub(crate) fn in_flight_bytes(&self) -> usize {
        self.state.lock().in_flight_bytes
    }

    pub(crate) fn leaked(&self, class: usize) {
        self.state.lock().counts.bytes -= class;
    }

    pub(crate) fn counts(&self) -> StagingCounts {
        self.state.lock().counts
    }

    /// Takes all idle blocks; the caller frees them.
    pub(crate) fn drain(&self) -> Vec<*mut u8> {
        let mut state = self.state.lock();
        state.counts.bytes -= state.counts.idle_bytes;
        state.counts.idle_bytes = 0;
        std::mem::take(&mut state.idle).into_iter().map(|(_, block)| block.0).collect()
    }
}
