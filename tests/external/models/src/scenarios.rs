//! The scenarios: concurrent operations, and assertions that must hold in every interleaving.

use std::sync::Arc;

use loom::{
    cell::UnsafeCell,
    sync::atomic::{
        AtomicBool, AtomicU32, AtomicU64,
        Ordering::{Relaxed, Release},
    },
    thread,
};
use quadrants_ir::abi::ErrorRecord;
use quadrants_rhi::StreamHandle;

use crate::{
    Stamp, report_slot,
    handle_pool::HandlePool,
    stream_registry::{PendingWork, StreamRegistry},
    seqlock::Seqlock,
    stamps::Stamps,
};

fn stamp(stream: u32, sequence: u64) -> Stamp {
    Stamp { stream, sequence }
}

/// Several streams stamp one buffer concurrently: exactly the newest stamp of each stream is kept.
pub fn stamps_keep_the_newest_of_every_stream() {
    loom::model(|| {
        let stamps = Arc::new(Stamps::default());
        let threads: Vec<_> = [[(1, 1), (2, 5)], [(2, 4), (1, 3)]]
            .into_iter()
            .map(|mine| {
                let stamps = stamps.clone();
                thread::spawn(move || mine.map(|(stream, at)| stamps.put(stamp(stream, at))))
            })
            .collect();
        threads.into_iter().for_each(|thread| drop(thread.join()));
        let mut all: Vec<_> = stamps.all().iter().map(|s| (s.stream, s.sequence)).collect();
        all.sort_unstable();
        assert_eq!(all, [(1, 3), (2, 5)]);
    });
}

/// As above when all lock-free slots but one are taken.
pub fn stamps_beyond_the_slots_are_kept_too() {
    loom::model(|| {
        let stamps = Arc::new(Stamps::default());
        (1..=3).for_each(|stream| stamps.put(stamp(stream, 1)));
        let other = stamps.clone();
        let thread = thread::spawn(move || other.put(stamp(8, 1)));
        stamps.put(stamp(9, 1));
        thread.join().expect("no panic");
        stamps.put(stamp(8, 2));
        stamps.put(stamp(9, 2));
        let mut all: Vec<_> = stamps.all().iter().map(|s| (s.stream, s.sequence)).collect();
        all.sort_unstable();
        assert_eq!(all, [(1, 1), (2, 1), (3, 1), (8, 2), (9, 2)]);
    });
}

/// A thread that sees a position as complete sees the effects of the wait. A wait up to a position includes its work.
pub fn a_position_that_is_complete_shows_its_work() {
    loom::model(|| {
        let registry = StreamRegistry::default();
        let (_, position) = registry.allocate_id().expect("a number");
        let enqueued = Arc::new(AtomicU64::new(0));
        let (work, launching) = (enqueued.clone(), position.clone());
        let launches = thread::spawn(move || {
            work.store(1, Relaxed);
            launching.advance();
        });
        let (work, waiting) = (enqueued.clone(), position.clone());
        let waits = thread::spawn(move || {
            let upto = waiting.enqueued();
            // The driver would wait for all work that was enqueued before.
            let given = work.load(Relaxed);
            assert!(upto == 0 || given == 1, "a position was seen before its work");
            waiting.complete(upto);
        });
        if position.is_complete(1) {
            assert_eq!(enqueued.load(Relaxed), 1, "complete, but its work is not visible");
        }
        launches.join().expect("no panic");
        waits.join().expect("no panic");
    });
}

/// A thread leases a stream through a stamp while the owner removes and destroys the stream.
pub fn a_stream_is_destroyed_after_its_last_lease() {
    loom::model(|| {
        let registry = Arc::new(StreamRegistry::default());
        let (id, position) = registry.allocate_id().expect("a number");
        registry.register(id, StreamHandle(7), &position);
        let sequence = position.advance();
        let destroyed = Arc::new(AtomicBool::new(false));
        let (theirs, gone) = (registry.clone(), destroyed.clone());
        let user = thread::spawn(move || {
            if let Some(PendingWork::Stream(lease)) = theirs.find(stamp(id, sequence)) {
                assert_eq!(lease.handle, StreamHandle(7));
                assert!(!gone.load(Relaxed), "used after its destruction");
                drop(lease);
            }
        });
        registry.retire(id, &position);
        destroyed.store(true, Relaxed);
        user.join().expect("no panic");
        assert!(registry.find(stamp(id, sequence)).is_none());
        let (reused, later) = registry.allocate_id().expect("a number");
        assert_eq!(reused, id);
        assert!(!later.issued(sequence), "an old stamp belongs to the new stream");
    });
}

/// No handle is in use twice, and none is lost.
pub fn a_pooled_handle_has_one_user_at_a_time() {
    loom::model(|| {
        let pool = Arc::new(HandlePool::new(2));
        (0..2).for_each(|_| pool.created());
        (0..2u32).for_each(|handle| assert!(pool.put(handle, false).is_none()));
        let out = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
        let turn = |pool: &HandlePool<u32>, out: &[AtomicBool; 2]| {
            let Some(handle) = pool.take() else { return };
            assert!(!out[handle as usize].swap(true, Relaxed), "in use twice");
            out[handle as usize].store(false, Relaxed);
            assert!(pool.put(handle, handle == 1).is_none());
        };
        let (theirs, marks) = (pool.clone(), out.clone());
        let other = thread::spawn(move || turn(&theirs, &marks));
        turn(&pool, &out);
        other.join().expect("no panic");
        let mut left: Vec<_> = std::iter::from_fn(|| pool.take()).collect();
        left.sort_unstable();
        assert_eq!(left, [0, 1]);
    });
}

/// A kernel writes an error report while two threads take it: one thread receives it, complete.
pub fn an_error_report_is_taken_once_and_complete() {
    loom::model(|| {
        let state = Arc::new(AtomicU32::new(ErrorRecord::EMPTY));
        let report = Arc::new(UnsafeCell::new(0u64));
        let (slot, value) = (state.clone(), report.clone());
        let kernel = thread::spawn(move || {
            let claimed = slot.compare_exchange(
                ErrorRecord::EMPTY,
                ErrorRecord::CLAIMED,
                Relaxed,
                Relaxed,
            );
            if claimed.is_ok() {
                // SAFETY: it is claimed, so no other thread reads or writes it.
                value.with_mut(|value| unsafe { *value = 9 });
                slot.store(ErrorRecord::FULL, Release);
            }
        });
        let take = |state: &AtomicU32, report: &UnsafeCell<u64>| {
            // SAFETY: it was full and is claimed while it is read.
            report_slot::take(state, || report.with(|report| unsafe { *report }))
        };
        let (slot, value) = (state.clone(), report.clone());
        let other = thread::spawn(move || take(&slot, &value));
        let mine = take(&state, &report);
        let theirs = other.join().expect("no panic");
        kernel.join().expect("no panic");
        let found: Vec<u64> = [mine, theirs, take(&state, &report)].into_iter().flatten().collect();
        assert_eq!(found, [9]);
    });
}

/// Two threads write a seqlock while a third reads: the reader gets the words of one writer, or nothing.
pub fn a_seqlock_read_returns_the_words_of_one_write() {
    loom::model(|| {
        let seqlock = Arc::new(Seqlock::new(2));
        let threads: Vec<_> = [[1, 1], [2, 2]]
            .into_iter()
            .map(|words| {
                let seqlock = seqlock.clone();
                thread::spawn(move || seqlock.write(words))
            })
            .collect();
        if let Some((version, words)) = seqlock.read() {
            let [a, b] = [0, 1].map(|at| words[at].load(Relaxed));
            assert!(!seqlock.validate(version) || a == b, "{a} and {b}");
        }
        threads.into_iter().for_each(|thread| drop(thread.join()));
        assert!(seqlock.read().is_some());
    });
}
