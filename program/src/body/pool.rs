//! Hands pieces of work to the thread pool in a way that suits short loops.
//!
//! The calling thread works too, and does not wait for helpers that never began: a parked thread takes
//! longer to wake than most loops take to run. So neither a helper nor the calling thread parks at once where it finds
//! nothing to do: the next loop, or the end of this one, is mostly near. And nobody is woken for short loops before they
//! have run alone for about as long as waking takes.
//!
//! Each helper has a [`HelperSlot`], a cache line in which all is said between the two: that it looks for a job, which one it
//! is offered, that it works on it, that it is done. What a loop costs on several threads is mostly how often lines go
//! from one processor to another.
//!
//! A thread begins with pieces of its own, the same ones each time: what it has touched is still in its caches when the
//! next launch goes over the same elements.

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

/// So long a thread looks for what comes next before it parks: what parking and waking cost, roughly.
const SPIN_TIME: Duration = Duration::from_micros(30);

/// So long loops run on one thread before others are woken.
const SOLO_TIME: Duration = Duration::from_micros(20);

/// Looks between two at the clock.
const SPINS_PER_CLOCK_READ: u32 = 32;

static POOL: LazyLock<Pool> = LazyLock::new(|| {
    // A pool of the author's, in which this may be, can be smaller.
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let slots = 0..threads().max(processors);
    Pool {
        slots: slots.map(|_| CacheAligned(HelperSlot(AtomicPtr::new(FREE)))).collect(),
        open: Mutex::new(Vec::new()),
        solo: AtomicU64::new(0),
        parked: Mutex::new(()),
        helper_done: Condvar::new(),
    }
});

struct Pool {
    slots: Box<[CacheAligned<HelperSlot>]>,
    /// Jobs for which helpers were woken, and how many may still come.
    open: Mutex<Vec<(JobRef, usize)>>,
    /// The nanoseconds that loops have run alone since helpers were last woken.
    solo: AtomicU64,
    parked: Mutex<()>,
    helper_done: Condvar,
}

/// Cache lines of its own, so that who looks at one thing does not disturb who changes another.
#[repr(align(128))]
struct CacheAligned<T>(T);

/// What a helper is at: [`FREE`], [`SEARCHING`], or a job, which it is offered or works on ([`WORKING`]).
///
/// Callers offer a job to who looks, and withdraw it from who has not begun. All else is said by the helper.
struct HelperSlot(AtomicPtr<Job>);

/// The seat is free.
const FREE: *mut Job = ptr::null_mut();

/// A helper looks for a job.
const SEARCHING: *mut Job = ptr::without_provenance_mut(4);

/// Set in a job's address where the helper works on it.
const WORKING: usize = 1;

/// Set in a job's address where its caller has parked until the helper is done.
const AWAITED: usize = 2;

struct Job {
    /// The caller's function.
    piece: *const (dyn Fn(usize) + Sync),
    /// The caller's share, and one for each helper.
    shares: SmallVec<[CacheAligned<PieceRange>; 4]>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// A job that its caller has made known. It lives until it is [closed](CloseOnDrop), when nobody has it any more.
#[derive(Clone, Copy, PartialEq)]
struct JobRef(*mut Job);

/// Closes a job when it goes.
struct CloseOnDrop {
    job: JobRef,
    /// Whether helpers were woken for it.
    is_open: bool,
}

/// Pieces that nobody has begun: the first in the high half, the one after the last in the low.
struct PieceRange(AtomicU64);

// SAFETY: the address of a job, whose parts are `Sync`, with the promise of `piece`.
unsafe impl Send for JobRef {}

/// How many threads can work at once.
pub(super) fn threads() -> usize {
    rayon::current_num_threads()
}

/// Calls `piece` once for each number below `pieces`, here and on the pool's threads, and returns when
/// all calls have returned. A panic in one is raised here, after the others that began have ended. Where all of it takes
/// `long`, other threads are woken at once.
pub(super) fn run(pieces: usize, long: bool, piece: &(dyn Fn(usize) + Sync)) {
    let solo = !long && !POOL.slots.iter().any(|slot| slot.0.is_searching());
    let begun = if solo { POOL.run_solo(pieces, piece) } else { 0 };
    run_together(begun, pieces, piece);
}

fn run_together(begin: usize, end: usize, piece: &(dyn Fn(usize) + Sync)) {
    let helpers = threads().min(end - begin).saturating_sub(1);
    if helpers == 0 {
        (begin..end).for_each(piece);
        return;
    }
    let mut job = Job::new(begin, end, helpers, piece);
    let job_ref = JobRef(&raw mut job);
    let missing = helpers - POOL.offer(job_ref, helpers);
    let closing = CloseOnDrop { job: job_ref, is_open: missing > 0 };
    if closing.is_open {
        POOL.open.lock().push((job_ref, missing));
        (0..missing).for_each(|_| rayon::spawn(|| POOL.run_helper()));
    }
    // SAFETY: it lives until it is closed.
    unsafe { job_ref.work(0) };
    drop(closing);
    if let Some(panic) = job.panic.into_inner() {
        resume_unwind(panic);
    }
}

/// Looks whether something is so, but not for long.
fn spin_until(is_so: impl Fn() -> bool) -> bool {
    if is_so() {
        return true;
    }
    let begin = Instant::now();
    loop {
        for _ in 0..SPINS_PER_CLOCK_READ {
            if is_so() {
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
        if self.is_open {
            POOL.open.lock().retain(|(open, _)| *open != self.job);
        }
        POOL.detach(self.job);
    }
}

impl Pool {
    /// Runs pieces, all of them or until it is time to wake others, and says how many.
    fn run_solo(&self, pieces: usize, piece: &(dyn Fn(usize) + Sync)) -> usize {
        let before = self.solo.load(SeqCst);
        let begin = Instant::now();
        let mut spent = before;
        for at in 0..pieces {
            if spent >= SOLO_TIME.as_nanos() as u64 {
                self.solo.store(0, SeqCst);
                return at;
            }
            piece(at);
            spent = before.saturating_add(begin.elapsed().as_nanos() as u64);
        }
        self.solo.store(spent, SeqCst);
        pieces
    }

    /// Offers a job to helpers that look for one, to `most` at most, and says to how many.
    fn offer(&self, job: JobRef, most: usize) -> usize {
        self.slots.iter().filter(|slot| slot.0.offer(job)).take(most).count()
    }

    /// Withdraws a job from who has not begun with it, and waits for who has.
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

    /// A helper's life: a job, and the next as long as they come soon.
    fn run_helper(&self) {
        let first = rayon::current_thread_index().unwrap_or(0);
        let Some((at, mut next)) = self.claim_slot(first) else { return };
        let CacheAligned(slot) = &self.slots[at];
        while let Some(job) = next.or_else(|| slot.next()) {
            // SAFETY: the seat has it, so its caller waits.
            unsafe { job.work_as_helper(at) };
            if slot.0.swap(SEARCHING, SeqCst).addr() & AWAITED != 0 {
                // Whoever has seen this helper at work sleeps by now.
                drop(self.parked.lock());
                self.helper_done.notify_all();
            }
            next = None;
        }
    }

    /// Takes a free seat, the same one each time where it can be, and a job for which helpers were woken, where there is one.
    fn claim_slot(&self, first: usize) -> Option<(usize, Option<JobRef>)> {
        let mut open = self.open.lock();
        let job = open.iter_mut().find(|(_, wanted)| *wanted > 0);
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

    /// Whether the helper has the job, begun or not.
    fn has(&self, job: JobRef) -> bool {
        self.0.load(SeqCst).map_addr(|at| at & !(WORKING | AWAITED)) == job.0
    }

    /// Offers the job to a helper, if there is one that looks for any.
    fn offer(&self, job: JobRef) -> bool {
        self.is_searching() && self.transition(SEARCHING, job.0)
    }

    /// Whether the helper does not have the job, or not any more.
    fn withdraw(&self, job: JobRef) -> bool {
        !self.has(job) || self.transition(job.0, SEARCHING)
    }

    /// Whether the helper still works on the job: then it wakes the caller when it is done.
    fn is_awaited(&self, job: JobRef) -> bool {
        let awaited = job.working_on().map_addr(|at| at | AWAITED);
        self.transition(job.working_on(), awaited) || self.0.load(SeqCst) == awaited
    }

    /// Waits for a job, but not long: then the seat is free.
    fn next(&self) -> Option<JobRef> {
        loop {
            if !spin_until(|| !self.is_searching()) && self.transition(SEARCHING, FREE) {
                return None;
            }
            let job = JobRef(self.0.load(SeqCst));
            // It may have been withdrawn.
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

    /// Takes pieces until none is left, those of one share first. Keeps the first panic.
    ///
    /// # Safety
    /// The job is not closed before this returns.
    unsafe fn work(self, own: usize) {
        // SAFETY: the caller's promise; what several threads change are atomics and mutexes.
        unsafe { (*self.0).work(own) }
    }

    /// The same, of a helper with this seat.
    ///
    /// # Safety
    /// As for [`work`](Self::work).
    unsafe fn work_as_helper(self, slot: usize) {
        // SAFETY: as above.
        let job = unsafe { &*self.0 };
        job.work(1 + slot % (job.shares.len() - 1));
    }
}

impl Job {
    fn new(begin: usize, end: usize, helpers: usize, piece: &(dyn Fn(usize) + Sync)) -> Self {
        // SAFETY: only the lifetime changes. The job is closed before `piece` goes.
        let piece: &'static (dyn Fn(usize) + Sync) = unsafe { std::mem::transmute(piece) };
        let shares = helpers + 1;
        let at = |share: usize| (begin + (end - begin) * share / shares) as u64;
        let share = |k| CacheAligned(PieceRange(AtomicU64::new(at(k) << 32 | at(k + 1))));
        Self { piece, shares: (0..shares).map(share).collect(), panic: Mutex::new(None) }
    }

    fn work(&self, own: usize) {
        // SAFETY: whoever works on the job is waited for before `piece` goes.
        let piece = unsafe { &*self.piece };
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            while let Some(next) = self.shares[own].0.first() {
                piece(next);
            }
            for others in (1..self.shares.len()).map(|k| (own + k) % self.shares.len()) {
                while let Some(next) = self.shares[others].0.last() {
                    piece(next);
                }
            }
        }));
        if let Err(panic) = outcome {
            // What nobody has begun is left undone.
            self.shares.iter().for_each(|share| share.0.0.store(0, SeqCst));
            self.panic.lock().get_or_insert(panic);
        }
    }
}

impl PieceRange {
    /// Takes the first piece.
    fn first(&self) -> Option<usize> {
        let taken = self.take(|begin, end| (begin + 1, end))?;
        Some((taken >> 32) as usize)
    }

    /// Takes the last piece.
    fn last(&self) -> Option<usize> {
        let taken = self.take(|begin, end| (begin, end - 1))?;
        Some((taken & u64::from(u32::MAX)) as usize - 1)
    }

    fn take(&self, rest: impl Fn(u64, u64) -> (u64, u64)) -> Option<u64> {
        let some = |pieces: u64| {
            let (begin, end) = (pieces >> 32, pieces & u64::from(u32::MAX));
            (begin < end).then(|| rest(begin, end)).map(|(begin, end)| begin << 32 | end)
        };
        self.0.fetch_update(SeqCst, SeqCst, some).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn every_piece_runs_once() {
        for pieces in [0, 1, 2, 3, 1000] {
            let counts: Vec<AtomicUsize> = (0..pieces).map(|_| AtomicUsize::new(0)).collect();
            run(pieces, false, &|k| {
                counts[k].fetch_add(1, SeqCst);
            });
            run(pieces, true, &|k| {
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
                    for pieces in 2..400 {
                        let count = AtomicUsize::new(0);
                        run(pieces, true, &|_| {
                            count.fetch_add(1, SeqCst);
                        });
                        assert_eq!(count.load(SeqCst), pieces);
                    }
                });
            }
        });
    }

    #[test]
    fn a_helper_that_is_woken_joins_while_the_caller_is_in_a_piece() {
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
            // Longer than a helper looks for work.
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
    fn a_share_is_taken_from_both_ends_once() {
        let share = PieceRange(AtomicU64::new(3 << 32 | 7));
        let taken = [share.first(), share.last(), share.last(), share.first(), share.first()];
        assert_eq!(taken, [Some(3), Some(6), Some(5), Some(4), None]);
        assert_eq!(share.last(), None);
    }
}
