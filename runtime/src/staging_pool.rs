//! The pool of idle staging blocks.

use parking_lot::Mutex;

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
