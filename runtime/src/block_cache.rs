//! The cache of the memory of dropped buffers: which blocks it has, by size class. It makes no driver calls.

use std::collections::{BTreeMap, VecDeque};

use parking_lot::Mutex;
use quadrants_rhi::{DevicePtr, EventHandle};
use smallvec::SmallVec;

use crate::Stamp;

/// The bytes of a word. GPUs have no atomics on single bytes, so that kernels access the whole word around a bool.
pub(crate) const WORD: usize = 4;

/// The limits of the cache. Beyond them, the oldest blocks are freed.
pub(crate) const MAX_CACHED_BYTES: usize = 64 << 20;
pub(crate) const MAX_CACHED_BLOCKS: usize = 4096;

/// A size class is a number of words: a block is used again for a buffer of the same size. With larger classes a write
/// past the end of a tensor would not leave its block, so that the simulator would not report it.
pub(crate) const LARGEST_CLASS: usize = 1 << 20;

/// An allocation considers this many blocks of its class, so that its lock is short.
const MAX_CONSIDERED_BLOCKS: usize = 32;

/// Blocks of device memory that no buffer owns, oldest first in each size class.
#[derive(Debug)]
pub(crate) struct BlockCache {
    is_on: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    classes: BTreeMap<usize, VecDeque<CachedBlock>>,
    counts: BlockCounts,
    /// The number of blocks that were ever put into the cache.
    numbers: u64,
}

/// The contents of the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockCounts {
    pub(crate) bytes: usize,
    pub(crate) blocks: usize,
}

/// A cached block. The cache owns the memory and the events.
#[derive(Debug)]
pub(crate) struct CachedBlock {
    pub(crate) memory: DevicePtr,
    /// The size in bytes.
    pub(crate) class: usize,
    /// The uses that may be incomplete, at most one per stream.
    pub(crate) uses: LastUses,
    number: u64,
}

/// The last use of a block on one stream, and an event that was recorded on the stream after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastUse {
    pub(crate) stamp: Stamp,
    pub(crate) event: EventHandle,
}

pub(crate) type LastUses = SmallVec<[LastUse; 1]>;

/// Blocks that left the cache because it was full; the caller frees them.
pub(crate) type Evicted = SmallVec<[CachedBlock; 1]>;

impl BlockCache {
    /// An empty cache. Unless it `is_on`, no size has a class, so that it stays empty.
    pub(crate) fn new(is_on: bool) -> Self {
        Self { is_on, state: Mutex::default() }
    }

    /// The size class of an allocation. `None` if its block is not for the cache.
    pub(crate) fn class_of(&self, bytes: usize) -> Option<usize> {
        let has_class = self.is_on && (1..=LARGEST_CLASS).contains(&bytes);
        has_class.then(|| bytes.next_multiple_of(WORD))
    }

    /// Takes the oldest block of a class whose uses are all ready. If there is none, takes the oldest block whose uses
    /// are on none of the streams `busy`; the caller has to find out whether they are complete.
    pub(crate) fn take(
        &self,
        class: usize,
        busy: &[u32],
        is_ready: impl Fn(Stamp) -> bool,
    ) -> Option<CachedBlock> {
        let mut state = self.state.lock();
        let blocks = state.classes.get_mut(&class)?;
        let oldest = |is_candidate: &dyn Fn(Stamp) -> bool| {
            let mut considered = blocks.iter().take(MAX_CONSIDERED_BLOCKS);
            considered.position(|block| block.uses.iter().all(|last| is_candidate(last.stamp)))
        };
        let at = oldest(&is_ready).or_else(|| oldest(&|stamp| !busy.contains(&stamp.stream)))?;
        let block = blocks.remove(at)?;
        if blocks.is_empty() {
            state.classes.remove(&class);
        }
        state.counts.remove(&block);
        Some(block)
    }

    /// Puts the memory of a dropped buffer into the cache.
    #[must_use]
    pub(crate) fn put(&self, memory: DevicePtr, class: usize, uses: LastUses) -> Evicted {
        let mut state = self.state.lock();
        let number = state.numbers;
        state.numbers += 1;
        state.insert(CachedBlock { memory, class, uses, number })
    }

    /// Puts a block of [`take`](Self::take) back to its place.
    #[must_use]
    pub(crate) fn put_back(&self, block: CachedBlock) -> Evicted {
        self.state.lock().insert(block)
    }

    /// The number of blocks that were ever put into the cache.
    pub(crate) fn numbers(&self) -> u64 {
        self.state.lock().numbers
    }

    /// Marks the uses of the first `numbers` blocks as complete. Returns their events.
    pub(crate) fn complete_before(&self, numbers: u64) -> Vec<EventHandle> {
        let mut state = self.state.lock();
        let blocks = state.classes.values_mut().flatten().filter(|block| block.number < numbers);
        blocks.flat_map(|block| std::mem::take(&mut block.uses)).map(|last| last.event).collect()
    }

    /// Takes all blocks; the caller frees them.
    pub(crate) fn drain(&self) -> Vec<CachedBlock> {
        let mut state = self.state.lock();
        state.counts = BlockCounts::default();
        std::mem::take(&mut state.classes).into_values().flatten().collect()
    }

    pub(crate) fn counts(&self) -> BlockCounts {
        self.state.lock().counts
    }
}

impl State {
    /// Adds a block at the place of its age, and removes the oldest blocks if there are too many.
    fn insert(&mut self, block: CachedBlock) -> Evicted {
        self.counts.blocks += 1;
        self.counts.bytes += block.class;
        let blocks = self.classes.entry(block.class).or_default();
        let at = blocks.partition_point(|other| other.number < block.number);
        blocks.insert(at, block);
        let mut evicted = Evicted::new();
        while self.counts.blocks > MAX_CACHED_BLOCKS || self.counts.bytes > MAX_CACHED_BYTES {
            let oldest = self.classes.values_mut().filter(|blocks| !blocks.is_empty());
            let oldest = oldest.min_by_key(|blocks| blocks.front().map(|block| block.number));
            let Some(block) = oldest.and_then(VecDeque::pop_front) else { break };
            if self.classes.get(&block.class).is_some_and(VecDeque::is_empty) {
                self.classes.remove(&block.class);
            }
            self.counts.remove(&block);
            evicted.push(block);
        }
        evicted
    }
}

impl BlockCounts {
    fn remove(&mut self, block: &CachedBlock) {
        self.blocks -= 1;
        self.bytes -= block.class;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used_on(streams: &[u32]) -> LastUses {
        let last = |stream: &u32| LastUse {
            stamp: Stamp { stream: *stream, sequence: 1 },
            event: EventHandle(u64::from(*stream) as _),
        };
        streams.iter().map(last).collect()
    }

    fn put(cache: &BlockCache, memory: u64, class: usize, streams: &[u32]) -> Vec<u64> {
        let evicted = cache.put(DevicePtr(memory), class, used_on(streams));
        evicted.iter().map(|block| block.memory.0).collect()
    }

    fn taken(cache: &BlockCache, class: usize, ready: &[u32], busy: &[u32]) -> Option<u64> {
        let block = cache.take(class, busy, |stamp| ready.contains(&stamp.stream));
        block.map(|block| block.memory.0)
    }

    #[test]
    fn a_class_has_the_requested_size_in_words() {
        let cache = BlockCache::new(true);
        let some = [(1, 4), (4, 4), (5, 8), (LARGEST_CLASS - 1, LARGEST_CLASS)];
        for (bytes, class) in some {
            assert_eq!(cache.class_of(bytes), Some(class));
        }
        assert_eq!((cache.class_of(0), cache.class_of(LARGEST_CLASS + 1)), (None, None));
        assert_eq!(BlockCache::new(false).class_of(1), None);
    }

    #[test]
    fn the_oldest_ready_block_or_else_the_oldest_without_a_busy_stream_is_taken() {
        let cache = BlockCache::new(true);
        put(&cache, 1, 256, &[7]);
        put(&cache, 2, 256, &[7, 8]);
        put(&cache, 3, 256, &[9]);
        put(&cache, 4, 512, &[]);
        assert_eq!(taken(&cache, 256, &[], &[7, 9]), None);
        let first = cache.take(256, &[], |_| false).unwrap();
        assert_eq!(first.memory.0, 1);
        assert!(cache.put_back(first).is_empty());
        assert_eq!(taken(&cache, 256, &[9], &[]), Some(3), "ready, though not the oldest");
        assert_eq!(taken(&cache, 256, &[7], &[7]), Some(1), "ready, though its stream is busy");
        assert_eq!(taken(&cache, 256, &[7], &[7]), None, "also used on stream 8");
        assert_eq!(taken(&cache, 256, &[], &[9]), Some(2));
        assert_eq!(cache.counts(), BlockCounts { bytes: 512, blocks: 1 });
    }

    #[test]
    fn a_block_that_is_put_back_keeps_its_age() {
        let cache = BlockCache::new(true);
        (1..=3).for_each(|memory| assert!(put(&cache, memory, 256, &[1]).is_empty()));
        let taken: Vec<_> = (0..2).map(|_| cache.take(256, &[], |_| false).unwrap()).collect();
        for block in taken {
            assert!(cache.put_back(block).is_empty());
        }
        let order: Vec<_> = cache.drain().iter().map(|block| block.memory.0).collect();
        assert_eq!(order, [1, 2, 3]);
        assert_eq!(cache.counts(), BlockCounts::default());
    }

    #[test]
    fn the_oldest_blocks_of_all_classes_leave_a_full_cache() {
        let cache = BlockCache::new(true);
        let large = (MAX_CACHED_BYTES / LARGEST_CLASS) as u64;
        assert!(put(&cache, 1000, 256, &[]).is_empty());
        for memory in 0..large - 1 {
            assert!(put(&cache, memory, LARGEST_CLASS, &[]).is_empty());
        }
        assert_eq!(put(&cache, large, LARGEST_CLASS, &[]), [1000], "too many bytes");
        assert_eq!(put(&cache, large + 1, LARGEST_CLASS, &[]), [0]);
        cache.drain();
        for memory in 0..MAX_CACHED_BLOCKS as u64 {
            assert!(put(&cache, memory, 256 << (memory % 2), &[]).is_empty());
        }
        assert_eq!(put(&cache, 9999, 256, &[]), [0], "too many blocks");
        assert_eq!(cache.counts().blocks, MAX_CACHED_BLOCKS);
    }

    #[test]
    fn uses_before_a_number_are_marked_complete() {
        let cache = BlockCache::new(true);
        put(&cache, 1, 256, &[3, 4]);
        let before = cache.numbers();
        put(&cache, 2, 256, &[5]);
        assert_eq!(cache.complete_before(before).len(), 2);
        assert!(cache.take(256, &[], |_| false).unwrap().uses.is_empty());
        assert_eq!(cache.take(256, &[], |_| false).unwrap().uses.len(), 1);
    }
}
