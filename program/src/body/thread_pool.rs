//! The thread pool of CPU bodies, tuned for short loops. [`run`] splits a job into chunks and runs them on several
//! threads.
//!
//! - The calling thread works too, and does not wait for helper threads that have not started. A parked thread takes
//!   longer to wake than most loops take to run.
//! - A thread that has nothing to do spins for [`SPIN_TIME`] before it parks, because the next loop, or the end of the
//!   current one, usually follows soon.
//! - Helpers are not woken for short loops until such loops have run on one thread for [`SOLO_TIME`].
//! - Each helper communicates with callers through one cache line, its [`HelperSlot`]: the helper searches for a job,
//!   is offered one, works on it, is done. The overhead of a parallel loop is mostly the number of cache-line
//!   transfers.
//! - Each thread starts with the same chunks in every launch, whose data is then still in its caches.

use std::{
    any::Any,
    num::NonZero,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    ptr,
    sync::{
        LazyLock,
        atomic::{AtomicPtr, AtomicU64, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};
use smallvec::SmallVec;

/// How long a thread spins for work before it parks: roughly the cost of parking and waking.
const SPIN_TIME: Duration = Duration::from_micros(30);

/// How long short loops run on one thread before helpers are woken.
const SOLO_TIME: Duration = Duration::from_micros(20);

/// The number of spins between two reads of the clock.
const SPINS_PER_CLOCK_READ: u32 = 32;

static POOL: LazyLock<Pool> = LazyLock::new(|| {
    // If the first call comes from a rayon pool of the user, that pool may be smaller than the global one.
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let slots = 0..threads().max(processors);
    Pool {
        slots: slots.map(|_| CacheAligned(HelperSlot(AtomicPtr::new(FREE)))).collect(),
        waiting_jobs: Mutex::new(Vec::new()),
        solo_nanos: AtomicU64::new(0),
        parked: Mutex::new(()),
        helper_done: Condvar::new(),
    }
});

struct Pool {
    slots: Box<[CacheAligned<HelperSlot>]>,
    /// Jobs for which helpers were woken, each with the number of helpers that may still join.
    waiting_jobs: Mutex<Vec<(JobRef, usize)>>,
    /// The time in nanoseconds that loops have run on one thread since helpers were last woken.
    solo_nanos: AtomicU64,
    parked: Mutex<()>,
    helper_done: Condvar,
}

/// A value in cache lines of its own: threads that read it are not slowed down by threads that write another value.
/// Two lines of 64 bytes, because processors prefetch in pairs.
#[repr(align(128))]
struct CacheAligned<T>(T);

/// The state of one helper: [`FREE`], [`SEARCHING`], or the address of a job that was offered to it. Low bits of the
/// address are flags: [`WORKING`], [`AWAITED`].
///
/// Callers make only these transitions: they offer a job to a searching helper, withdraw a job that the helper has not
/// started, and set [`AWAITED`]. The helper makes all others.
struct HelperSlot(AtomicPtr<Job>);

/// No helper uses the slot.
const FREE: *mut Job = ptr::null_mut();

/// The helper searches for a job.
const SEARCHING: *mut Job = ptr::without_provenance_mut(4);

/// Flag in a job's address: the helper works on the job.
const WORKING: usize = 1;

/// Flag in a job's address: the caller has parked until the helper is done.
const AWAITED: usize = 2;

struct Job {
    /// The caller's function; called once per chunk.
    chunk: *const (dyn Fn(usize) + Sync),
    /// The chunks of the caller, then those of each helper.
    ranges: SmallVec<[CacheAligned<ChunkRange>; 4]>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// A reference to a job that other threads can see. The job lives until it is [closed](CloseOnDrop); then no helper
/// refers to it any more.
#[derive(Clone, Copy, PartialEq)]
struct JobRef(*mut Job);

/// Closes a job on drop: withdraws it from helpers that have not started, and waits for the others.
struct CloseOnDrop {
    job: JobRef,
    helpers_woken: bool,
}

/// A range of chunks that no thread has taken: the first in the high half, the end in the low half.
struct ChunkRange(AtomicU64);

// SAFETY: the address of a job whose fields are `Sync`, or, for `chunk`, safe to use until the job is closed.
unsafe impl Send for JobRef {}

pub(super) fn threads() -> usize {
    rayon::current_num_threads()
}

/// Calls `chunk` once for each number below `chunks`, on this thread and the pool's, and returns when all calls have
/// returned. A panic in a call is resumed here after all running calls have ended. If `long`, other threads are woken
/// at once.
pub(super) fn run(chunks: usize, long: bool, chunk: &(dyn Fn(usize) + Sync)) {
    let solo = !long && !POOL.slots.iter().any(|slot| slot.0.is_searching());
    let begun = if solo { POOL.run_solo(chunks, chunk) } else { 0 };
    run_together(begun, chunks, chunk);
}

fn run_together(begin: usize, end: usize, chunk: &(dyn Fn(usize) + Sync)) {
    let helpers = threads().min(end - begin).saturating_sub(1);
    if helpers == 0 {
        (begin..end).for_each(chunk);
        return;
    }
    let mut job = Job::new(begin, end, helpers, chunk);
    let job_ref = JobRef(&raw mut job);
    let missing = helpers - POOL.offer(job_ref, helpers);
    let closing = CloseOnDrop { job: job_ref, helpers_woken: missing > 0 };
    if closing.helpers_woken {
        POOL.waiting_jobs.lock().push((job_ref, missing));
        (0..missing).for_each(|_| rayon::spawn(|| POOL.run_helper()));
    }
    // SAFETY: the job lives until `closing` is dropped.
    unsafe { job_ref.work(0) };
    drop(closing);
    if let Some(panic) = job.panic.into_inner() {
        resume_unwind(panic);
    }
}

/// Spins until `condition` holds, for at most [`SPIN_TIME`]. Returns whether it held.
fn spin_until(condition: impl Fn() -> bool) -> bool {
    if condition() {
        return true;
    }
    let begin = Instant::now();
    loop {
        for _ in 0..SPINS_PER_CLOCK_READ {
            if condition() {
                return true;
            }
            std::hint::spin_loop();
        }
        if begin.elapsed() >= SPIN_TIME {
            return false;
        }
    }
}

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        if self.helpers_woken {
            POOL.waiting_jobs.lock().retain(|(job, _)| *job != self.job);
        }
        POOL.detach(self.job);
    }
}

impl Pool {
    /// Runs chunks on this thread until [`SOLO_TIME`] is used up. Returns how many it ran.
    fn run_solo(&self, chunks: usize, chunk: &(dyn Fn(usize) + Sync)) -> usize {
        let before = self.solo_nanos.load(SeqCst);
        let begin = Instant::now();
        let mut spent = before;
        for at in 0..chunks {
            if spent >= SOLO_TIME.as_nanos() as u64 {
                self.solo_nanos.store(0, SeqCst);
                return at;
            }
            chunk(at);
            spent = before.saturating_add(begin.elapsed().as_nanos() as u64);
        }
        self.solo_nanos.store(spent, SeqCst);
        chunks
    }

    /// Offers a job to at most `most` searching helpers. Returns how many took the offer.
    fn offer(&self, job: JobRef, most: usize) -> usize {
        self.slots.iter().filter(|slot| slot.0.offer(job)).take(most).count()
    }

    /// Withdraws a job from helpers that have not started it, and waits for those that have.
    fn detach(&self, job: JobRef) {
        for CacheAligned(slot) in &self.slots {
            if slot.withdraw(job) || spin_until(|| !slot.has(job)) {
                continue;
            }
            let mut parked = self.parked.lock();
            while slot.is_awaited(job) {
                self.helper_done.wait(&mut parked);
            }
        }
    }

    /// The main function of a helper: runs jobs as long as new ones follow soon.
    fn run_helper(&self) {
        let first = rayon::current_thread_index().unwrap_or(0);
        let Some((at, mut next)) = self.claim_slot(first) else { return };
        let CacheAligned(slot) = &self.slots[at];
        while let Some(job) = next.or_else(|| slot.next()) {
            // SAFETY: the slot refers to the job, so its caller waits.
            unsafe { job.work_as_helper(at) };
            if slot.0.swap(SEARCHING, SeqCst).addr() & AWAITED != 0 {
                // The lock ensures that a caller that set `AWAITED` is waiting on the condition variable by now.
                drop(self.parked.lock());
                self.helper_done.notify_all();
            }
            next = None;
        }
    }

    /// Claims a free slot, by preference number `first`, and takes a job for which helpers were woken, if there is one.
    fn claim_slot(&self, first: usize) -> Option<(usize, Option<JobRef>)> {
        let mut jobs = self.waiting_jobs.lock();
        let job = jobs.iter_mut().find(|(_, wanted)| *wanted > 0);
        let to = job.as_ref().map_or(SEARCHING, |(job, _)| job.working_on());
        let claim = |at: &usize| self.slots[*at].0.transition(FREE, to);
        let count = self.slots.len();
        let at = (0..count).map(|k| (first + k) % count).find(claim)?;
        let job = job.map(|(job, wanted)| {
            *wanted -= 1;
            *job
        });
        Some((at, job))
    }
}

impl HelperSlot {
    fn transition(&self, from: *mut Job, to: *mut Job) -> bool {
        self.0.compare_exchange(from, to, SeqCst, SeqCst).is_ok()
    }

    fn is_searching(&self) -> bool {
        self.0.load(SeqCst) == SEARCHING
    }

    /// Whether the slot refers to the job, started or not.
    fn has(&self, job: JobRef) -> bool {
        self.0.load(SeqCst).map_addr(|at| at & !(WORKING | AWAITED)) == job.0
    }

    /// Offers the job to the helper. Returns whether the helper was searching.
    fn offer(&self, job: JobRef) -> bool {
        self.is_searching() && self.transition(SEARCHING, job.0)
    }

    /// Withdraws the job. Returns whether the slot no longer refers to it.
    fn withdraw(&self, job: JobRef) -> bool {
        !self.has(job) || self.transition(job.0, SEARCHING)
    }

    /// Whether the helper still works on the job. If so, the helper will wake the caller when it is done.
    fn is_awaited(&self, job: JobRef) -> bool {
        let awaited = job.working_on().map_addr(|at| at | AWAITED);
        self.transition(job.working_on(), awaited) || self.0.load(SeqCst) == awaited
    }

    /// Waits for a job. Frees the slot and returns `None` if none comes soon.
    fn next(&self) -> Option<JobRef> {
        loop {
            if !spin_until(|| !self.is_searching()) && self.transition(SEARCHING, FREE) {
                return None;
            }
            let job = JobRef(self.0.load(SeqCst));
            // Fails if the job was withdrawn meanwhile.
            if job.0 != SEARCHING && self.transition(job.0, job.working_on()) {
                return Some(job);
            }
        }
    }
}

impl JobRef {
    fn working_on(self) -> *mut Job {
        self.0.map_addr(|at| at | WORKING)
    }

    /// Runs chunks until none is left, first those of range `own`. Keeps the first panic.
    ///
    /// # Safety
    /// The job must not be closed before this returns.
    unsafe fn work(self, own: usize) {
        // SAFETY: the caller's promise; all state shared between threads is in atomics and mutexes.
        unsafe { (*self.0).work(own) }
    }

    /// As [`work`](Self::work), on the helper with this slot.
    ///
    /// # Safety
    /// As for [`work`](Self::work).
    unsafe fn work_as_helper(self, slot: usize) {
        // SAFETY: as above.
        let job = unsafe { &*self.0 };
        job.work(1 + slot % (job.ranges.len() - 1));
    }
}

impl Job {
    fn new(begin: usize, end: usize, helpers: usize, chunk: &(dyn Fn(usize) + Sync)) -> Self {
        // SAFETY: changes only the lifetime. The job is closed before the borrow of `chunk` ends.
        let chunk: &'static (dyn Fn(usize) + Sync) = unsafe { std::mem::transmute(chunk) };
        let ranges = helpers + 1;
        let start = |k: usize| (begin + (end - begin) * k / ranges) as u64;
        let range = |k| CacheAligned(ChunkRange(AtomicU64::new(start(k) << 32 | start(k + 1))));
        Self { chunk, ranges: (0..ranges).map(range).collect(), panic: Mutex::new(None) }
    }

    fn work(&self, own: usize) {
        // SAFETY: all threads that work on the job end before the borrow of `chunk` ends.
        let chunk = unsafe { &*self.chunk };
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            while let Some(next) = self.ranges[own].0.take_first() {
                chunk(next);
            }
            for others in (1..self.ranges.len()).map(|k| (own + k) % self.ranges.len()) {
                while let Some(next) = self.ranges[others].0.take_last() {
                    chunk(next);
                }
            }
        }));
        if let Err(panic) = outcome {
            // Drops the chunks that no thread has taken.
            self.ranges.iter().for_each(|range| range.0.0.store(0, SeqCst));
            self.panic.lock().get_or_insert(panic);
        }
    }
}

impl ChunkRange {
    fn take_first(&self) -> Option<usize> {
        let taken = self.take(|begin, end| (begin + 1, end))?;
        Some((taken >> 32) as usize)
    }

    fn take_last(&self) -> Option<usize> {
        let taken = self.take(|begin, end| (begin, end - 1))?;
        Some((taken & u64::from(u32::MAX)) as usize - 1)
    }

    fn take(&self, rest: impl Fn(u64, u64) -> (u64, u64)) -> Option<u64> {
        let shortened = |chunks: u64| {
            let (begin, end) = (chunks >> 32, chunks & u64::from(u32::MAX));
            (begin < end).then(|| rest(begin, end)).map(|(begin, end)| begin << 32 | end)
        };
        self.0.fetch_update(SeqCst, SeqCst, shortened).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn every_chunk_runs_once() {
        for chunks in [0, 1, 2, 3, 1000] {
            let counts: Vec<AtomicUsize> = (0..chunks).map(|_| AtomicUsize::new(0)).collect();
            run(chunks, false, &|k| {
                counts[k].fetch_add(1, SeqCst);
            });
            run(chunks, true, &|k| {
                counts[k].fetch_add(1, SeqCst);
            });
            assert!(counts.iter().all(|count| count.load(SeqCst) == 2));
        }
    }

    #[test]
    fn jobs_that_follow_each_other_from_many_threads_run_whole() {
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for chunks in 2..400 {
                        let count = AtomicUsize::new(0);
                        run(chunks, true, &|_| {
                            count.fetch_add(1, SeqCst);
                        });
                        assert_eq!(count.load(SeqCst), chunks);
                    }
                });
            }
        });
    }

    #[test]
    fn a_helper_that_is_woken_joins_while_the_caller_is_in_a_chunk() {
        if threads() < 2 {
            return;
        }
        for _ in 0..20 {
            let met = AtomicUsize::new(0);
            run(2, true, &|_| {
                met.fetch_add(1, SeqCst);
                while met.load(SeqCst) < 2 {
                    std::thread::yield_now();
                }
            });
            // Longer than a helper searches for work.
            std::thread::sleep(4 * SPIN_TIME);
        }
    }

    #[test]
    fn a_caller_that_has_parked_is_woken_by_its_helpers() {
        let count = AtomicUsize::new(0);
        for _ in 0..20 {
            run(threads(), true, &|k| {
                std::thread::sleep(SPIN_TIME * 10 * k as u32);
                count.fetch_add(1, SeqCst);
            });
        }
        assert_eq!(count.load(SeqCst), 20 * threads());
    }

    #[test]
    fn runs_within_runs_end() {
        let total = AtomicUsize::new(0);
        run(8, true, &|_| {
            run(8, true, &|_| {
                total.fetch_add(1, SeqCst);
            });
        });
        assert_eq!(total.load(SeqCst), 64);
    }

    #[test]
    fn a_panic_comes_back_and_the_pool_goes_on() {
        for _ in 0..50 {
            let outcome = catch_unwind(|| {
                run(64, true, &|k| {
                    if k == 5 {
                        resume_unwind(Box::new("five"));
                    }
                });
            });
            assert_eq!(outcome.unwrap_err().downcast_ref::<&str>(), Some(&"five"));
        }
        run(64, false, &|_| {});
    }

    #[test]
    fn a_range_is_taken_from_both_ends_once() {
        let range = ChunkRange(AtomicU64::new(3 << 32 | 7));
        let taken = [
            range.take_first(),
            range.take_last(),
            range.take_last(),
            range.take_first(),
            range.take_first(),
        ];
        assert_eq!(taken, [Some(3), Some(6), Some(5), Some(4), None]);
        assert_eq!(range.take_last(), None);
    }
}
