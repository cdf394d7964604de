//! Hands pieces of work to the thread pool in a way that suits short loops.
//!
//! The calling thread works too, and does not wait for helpers that never began: a parked thread takes
//! longer to wake than most loops take to run. So a helper that comes late must not touch the
//! loop: it finds the job closed, in memory that it owns a share of. For the same reason neither a helper nor the
//! calling thread parks at once where it finds nothing to do: the next loop, or the end of this one, is mostly near. And
//! nobody is woken for short loops before they have run alone for about as long as waking takes.
//!
//! A thread begins with pieces of its own, the same ones each time: what it has touched is still in its caches when the
//! next launch goes over the same elements.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};
use smallvec::SmallVec;

/// So long a thread looks for what comes next before it parks: what parking and waking cost, roughly.
const PATIENCE: Duration = Duration::from_micros(30);

/// So long loops run on one thread before others are woken.
const ALONE: Duration = Duration::from_micros(20);

/// Looks between two at the clock.
const LOOKS: u32 = 32;

/// Set in [`Job::helpers`] when no further helper may begin.
const CLOSED: usize = 1 << (usize::BITS - 1);

/// The helpers that look for what comes next.
static IDLE: Idle = Idle {
    waiting: Apart(AtomicUsize::new(0)),
    offered: Apart(AtomicUsize::new(0)),
    alone: AtomicU64::new(0),
    jobs: Apart(Mutex::new(Vec::new())),
};

struct Idle {
    /// How many there are, or will be without any other wait. It becomes less under the lock of `jobs` alone, so that
    /// there are no more jobs than helpers that will look once more.
    waiting: Apart<AtomicUsize>,
    /// The length of `jobs`.
    offered: Apart<AtomicUsize>,
    /// The nanoseconds that loops have run alone since helpers were last woken.
    alone: AtomicU64,
    jobs: Apart<Mutex<Vec<Arc<Job>>>>,
}

/// Cache lines of its own, so that who looks at one thing does not disturb who changes another.
#[repr(align(128))]
struct Apart<T>(T);

struct Job {
    /// The caller's function, dereferenced by registered helpers alone.
    piece: *const (dyn Fn(usize) + Sync),
    /// The caller's share, and one for each helper.
    shares: SmallVec<[Apart<Share>; 4]>,
    /// How many helpers are at work, and [`CLOSED`].
    helpers: AtomicUsize,
    asleep: Mutex<()>,
    left: Condvar,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// Pieces that nobody has begun: the first in the high half, the one after the last in the low.
struct Share(AtomicU64);

// SAFETY: `piece` is a `Sync` function, and is used only while the caller of `run` waits.
unsafe impl Send for Job {}
// SAFETY: as above.
unsafe impl Sync for Job {}

/// How many threads can work at once.
pub(super) fn threads() -> usize {
    rayon::current_num_threads()
}

/// Calls `piece` once for each number below `pieces`, here and on the pool's threads, and returns when
/// all calls have returned. A panic in one is raised here, after the others that began have ended. Where all of it takes
/// `long`, other threads are woken at once.
pub(super) fn run(pieces: usize, long: bool, piece: &(dyn Fn(usize) + Sync)) {
    let alone = !long && IDLE.waiting.0.load(SeqCst) == 0;
    let begun = if alone { IDLE.run_alone(pieces, piece) } else { 0 };
    run_together(begun, pieces, piece);
}

fn run_together(begin: usize, end: usize, piece: &(dyn Fn(usize) + Sync)) {
    let helpers = threads().min(end - begin).saturating_sub(1);
    if helpers == 0 {
        (begin..end).for_each(piece);
        return;
    }
    // SAFETY: only the lifetime changes. `finish` closes the job and waits for all registered
    // helpers before this function returns, and no helper registers with a closed job.
    let piece: &'static (dyn Fn(usize) + Sync) = unsafe { std::mem::transmute(piece) };
    let job = Arc::new(Job::new(begin, end, helpers, piece));
    let offered = IDLE.offer(&job, helpers);
    for _ in offered..helpers {
        let job = Arc::clone(&job);
        rayon::spawn(move || IDLE.help(job));
    }
    job.work(0, piece);
    let panic = job.finish();
    if offered > 0 {
        IDLE.withdraw(&job);
    }
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

/// Looks whether something is so, but not for long.
fn soon(is_so: impl Fn() -> bool) -> bool {
    let begin = Instant::now();
    loop {
        for _ in 0..LOOKS {
            if is_so() {
                return true;
            }
            std::hint::spin_loop();
        }
        if begin.elapsed() >= PATIENCE {
            return false;
        }
    }
}

impl Idle {
    /// Runs pieces, all of them or until it is time to wake others, and says how many.
    fn run_alone(&self, pieces: usize, piece: &(dyn Fn(usize) + Sync)) -> usize {
        let before = self.alone.load(SeqCst);
        let begin = Instant::now();
        let mut spent = before;
        for at in 0..pieces {
            if spent >= ALONE.as_nanos() as u64 {
                self.alone.store(0, SeqCst);
                return at;
            }
            piece(at);
            spent = before.saturating_add(begin.elapsed().as_nanos() as u64);
        }
        self.alone.store(spent, SeqCst);
        pieces
    }

    /// Offers a job to waiting helpers, to `most` at most, and says to how many.
    fn offer(&self, job: &Arc<Job>, most: usize) -> usize {
        if self.waiting.0.load(SeqCst) == 0 {
            return 0;
        }
        let mut jobs = self.jobs.0.lock();
        let count = most.min(self.waiting.0.load(SeqCst).saturating_sub(jobs.len()));
        jobs.extend((0..count).map(|_| Arc::clone(job)));
        self.offered.0.store(jobs.len(), SeqCst);
        count
    }

    /// Takes back what nobody took of a job that is over.
    fn withdraw(&self, job: &Arc<Job>) {
        if self.offered.0.load(SeqCst) == 0 {
            return;
        }
        let mut jobs = self.jobs.0.lock();
        jobs.retain(|offered| !Arc::ptr_eq(offered, job));
        self.offered.0.store(jobs.len(), SeqCst);
    }

    /// A helper's life: a job, and the next as long as they come soon.
    fn help(&self, job: Arc<Job>) {
        job.help(self);
        drop(job);
        while let Some(next) = self.next() {
            next.help(self);
        }
    }

    /// Waits for a job, but not long. The helper is among the waiting ones already.
    fn next(&self) -> Option<Arc<Job>> {
        soon(|| self.offered.0.load(SeqCst) > 0);
        let mut jobs = self.jobs.0.lock();
        self.waiting.0.fetch_sub(1, SeqCst);
        let next = jobs.pop();
        self.offered.0.store(jobs.len(), SeqCst);
        next
    }
}

impl Job {
    fn new(
        begin: usize,
        end: usize,
        helpers: usize,
        piece: &'static (dyn Fn(usize) + Sync),
    ) -> Self {
        let shares = helpers + 1;
        let at = |share: usize| (begin + (end - begin) * share / shares) as u64;
        let share = |k| Apart(Share(AtomicU64::new(at(k) << 32 | at(k + 1))));
        Self {
            piece,
            shares: (0..shares).map(share).collect(),
            helpers: AtomicUsize::new(0),
            asleep: Mutex::new(()),
            left: Condvar::new(),
            panic: Mutex::new(None),
        }
    }

    /// A helper's part: all there is to do, if the job is still open. Then the helper waits for the next, from before the
    /// caller can know that this one is over.
    fn help(&self, idle: &Idle) {
        let open = |helpers| (helpers & CLOSED == 0).then_some(helpers + 1);
        if self.helpers.fetch_update(SeqCst, SeqCst, open).is_err() {
            idle.waiting.0.fetch_add(1, SeqCst);
            return;
        }
        let share = 1 + rayon::current_thread_index().unwrap_or(0) % (self.shares.len() - 1);
        // SAFETY: this helper is registered, so the caller of `run` waits for it.
        self.work(share, unsafe { &*self.piece });
        idle.waiting.0.fetch_add(1, SeqCst);
        if self.helpers.fetch_sub(1, SeqCst) == CLOSED | 1 {
            // Whoever has seen this helper at work sleeps by now.
            drop(self.asleep.lock());
            self.left.notify_all();
        }
    }

    /// Takes pieces until none is left, those of one share first. Keeps the first panic.
    fn work(&self, own: usize, piece: &(dyn Fn(usize) + Sync)) {
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

    /// Closes the job, waits for its helpers, and gives the first panic.
    fn finish(&self) -> Option<Box<dyn Any + Send>> {
        self.helpers.fetch_or(CLOSED, SeqCst);
        let are_gone = || self.helpers.load(SeqCst) == CLOSED;
        if !soon(are_gone) {
            let mut asleep = self.asleep.lock();
            while !are_gone() {
                self.left.wait(&mut asleep);
            }
        }
        self.panic.lock().take()
    }
}

impl Share {
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
        let share = Share(AtomicU64::new(3 << 32 | 7));
        let taken = [share.first(), share.last(), share.last(), share.first(), share.first()];
        assert_eq!(taken, [Some(3), Some(6), Some(5), Some(4), None]);
        assert_eq!(share.last(), None);
    }
}
