//! The scenes: what threads do at once, and what must hold whatever order they do it in.

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

/// Readers of one buffer on several streams, and two launches on one: each stream's newest stamp stays, and one only.
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

/// The same where the slots without a lock are taken, all but one.
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

/// Who finds a stream's position complete sees what was visible behind the wait; who waits up to a position waits for
/// the work that it stands for.
pub fn a_position_that_is_complete_shows_its_work() {
    loom::model(|| {
        let live = StreamRegistry::default();
        let (_, position) = live.number().expect("a number");
        let enqueued = Arc::new(AtomicU64::new(0));
        let (work, launching) = (enqueued.clone(), position.clone());
        let launches = thread::spawn(move || {
            work.store(1, Relaxed);
            launching.advance();
        });
        let (work, waiting) = (enqueued.clone(), position.clone());
        let waits = thread::spawn(move || {
            let upto = waiting.enqueued();
            // What the driver would wait for: all that it was given before.
            let given = work.load(Relaxed);
            assert!(upto == 0 || given == 1, "a position was seen before its work");
            waiting.complete(upto);
        });
        if position.is_complete(1) {
            assert_eq!(enqueued.load(Relaxed), 1, "complete, and not there");
        }
        launches.join().expect("no panic");
        waits.join().expect("no panic");
    });
}

/// A stream is found in a stamp and used, while its owner takes it off the list and destroys it.
pub fn a_stream_is_destroyed_when_nobody_uses_it() {
    loom::model(|| {
        let live = Arc::new(StreamRegistry::default());
        let (id, position) = live.number().expect("a number");
        live.register(id, StreamHandle(7), &position);
        let sequence = position.advance();
        let destroyed = Arc::new(AtomicBool::new(false));
        let (theirs, gone) = (live.clone(), destroyed.clone());
        let user = thread::spawn(move || {
            if let Some(PendingWork::Stream(lease)) = theirs.find(stamp(id, sequence)) {
                assert_eq!(lease.handle(), StreamHandle(7));
                assert!(!gone.load(Relaxed), "used behind its destruction");
                drop(lease);
            }
        });
        live.retire(id, &position);
        destroyed.store(true, Relaxed);
        user.join().expect("no panic");
        assert!(live.find(stamp(id, sequence)).is_none());
        let (again, later) = live.number().expect("a number");
        assert_eq!(again, id);
        assert!(!later.issued(sequence), "an old stamp names the new stream");
    });
}

/// No handle is out twice, and none is lost.
pub fn a_pooled_handle_is_one_threads_at_a_time() {
    loom::model(|| {
        let pool = Arc::new(HandlePool::new(2));
        (0..2).for_each(|_| pool.made());
        (0..2u32).for_each(|handle| assert!(pool.put(handle, false).is_none()));
        let out = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
        let turn = |pool: &HandlePool<u32>, out: &[AtomicBool; 2]| {
            let Some(handle) = pool.take() else { return };
            assert!(!out[handle as usize].swap(true, Relaxed), "handed out twice");
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

/// A kernel's report, and two threads that ask at once when the stream is drained: one gets it, whole.
pub fn a_report_is_taken_once_and_whole() {
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
                // SAFETY: claimed, so that nobody else reads or writes it.
                value.with_mut(|value| unsafe { *value = 9 });
                slot.store(ErrorRecord::FULL, Release);
            }
        });
        let take = |state: &AtomicU32, report: &UnsafeCell<u64>| {
            // SAFETY: read while it is claimed, and full before.
            report_slot::take(state, || report.with(|report| unsafe { *report }))
        };
        let (slot, value) = (state.clone(), report.clone());
        let asks = thread::spawn(move || take(&slot, &value));
        let mine = take(&state, &report);
        let theirs = asks.join().expect("no panic");
        kernel.join().expect("no panic");
        let found: Vec<u64> = [mine, theirs, take(&state, &report)].into_iter().flatten().collect();
        assert_eq!(found, [9]);
    });
}

/// Two launches write what they found while a third reads: it reads what one of them wrote, or nothing.
pub fn what_is_recalled_was_written_together() {
    loom::model(|| {
        let recall = Arc::new(Seqlock::new(2));
        let threads: Vec<_> = [[1, 1], [2, 2]]
            .into_iter()
            .map(|words| {
                let recall = recall.clone();
                thread::spawn(move || recall.write(words))
            })
            .collect();
        if let Some((version, words)) = recall.read() {
            let [a, b] = [0, 1].map(|at| words[at].load(Relaxed));
            assert!(!recall.validate(version) || a == b, "{a} and {b}");
        }
        threads.into_iter().for_each(|thread| drop(thread.join()));
        assert!(recall.read().is_some());
    });
}
