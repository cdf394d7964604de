//! Hands pieces of work to the thread pool in a way that suits short loops.
//!
//! The calling thread works too, and does not wait for helpers that never began: a parked thread takes
//! longer to wake than most loops take to run. So a helper that comes late must not touch the
//! loop: it finds the job closed, in memory that it owns a share of. For the same reason neither a helper nor the
//! calling thread parks at once where it finds nothing to do: the next loop, or the end of this one, is mostly near.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex, MutexGuard};

/// So long a thread looks for what comes next before it parks: what parking and waking cost, roughly.
const PATIENCE: Duration = Duration::from_micros(30);

/// Rests between two looks.
const RESTS: u32 = 16;

/// The helpers that look for what comes next.
static IDLE: Idle = Idle {
    waiting: AtomicUsize::new(0),
    offered: AtomicUsize::new(0),
    jobs: Mutex::new(Vec::new()),
};

struct Idle {
    /// How many there are. Changed under the lock of `jobs` alone, so that there are no more jobs than helpers that
    /// will look once more.
    waiting: AtomicUsize,
    /// The length of `jobs`.
    offered: AtomicUsize,
    jobs: Mutex<Vec<Arc<Job>>>,
}

struct Job {
    /// The caller's function, dereferenced by registered helpers alone.
    piece: *const (dyn Fn(usize) + Sync),
    pieces: usize,
    next: AtomicUsize,
    state: Mutex<State>,
    left: Condvar,
}

#[derive(Default)]
struct State {
    closed: bool,
    helpers: usize,
    panic: Option<Box<dyn Any + Send>>,
}

// SAFETY: `piece` is a `Sync` function, and is used only while the caller of `run` waits.
unsafe impl Send for Job {}
// SAFETY: as above.
unsafe impl Sync for Job {}

/// How many threads can work at once.
pub(super) fn threads() -> usize {
    rayon::current_num_threads()
}

/// Calls `piece` once for each number below `pieces`, here and on the pool's threads, and returns when
/// all calls have returned. A panic in one is raised here, after the others that began have ended.
pub(super) fn run(pieces: usize, piece: &(dyn Fn(usize) + Sync)) {
    let helpers = threads().min(pieces).saturating_sub(1);
    if helpers == 0 {
        (0..pieces).for_each(piece);
        return;
    }
    // SAFETY: only the lifetime changes. `finish` closes the job and waits for all registered
    // helpers before this function returns, and no helper registers with a closed job.
    let piece: &'static (dyn Fn(usize) + Sync) = unsafe { std::mem::transmute(piece) };
    let job = Arc::new(Job {
        piece,
        pieces,
        next: AtomicUsize::new(0),
        state: Mutex::default(),
        left: Condvar::new(),
    });
    let offered = IDLE.offer(&job, helpers);
    for _ in offered..helpers {
        let job = Arc::clone(&job);
        rayon::spawn(move || IDLE.help(job));
    }
    job.work(piece);
    let panic = job.finish();
    if offered > 0 {
        IDLE.withdraw(&job);
    }
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

impl Idle {
    /// Offers a job to waiting helpers, to `most` at most, and says to how many.
    fn offer(&self, job: &Arc<Job>, most: usize) -> usize {
        if self.waiting.load(SeqCst) == 0 {
            return 0;
        }
        let mut jobs = self.jobs.lock();
        let count = most.min(self.waiting.load(SeqCst).saturating_sub(jobs.len()));
        jobs.extend((0..count).map(|_| Arc::clone(job)));
        self.offered.store(jobs.len(), SeqCst);
        count
    }

    /// Takes back what nobody took of a job that is over.
    fn withdraw(&self, job: &Arc<Job>) {
        let mut jobs = self.jobs.lock();
        jobs.retain(|offered| !Arc::ptr_eq(offered, job));
        self.offered.store(jobs.len(), SeqCst);
    }

    /// A helper's life: a job, and the next as long as they come soon.
    fn help(&self, job: Arc<Job>) {
        job.help();
        drop(job);
        while let Some(next) = self.next() {
            next.help();
        }
    }

    /// Waits for a job, but not long.
    fn next(&self) -> Option<Arc<Job>> {
        {
            let _changing = self.jobs.lock();
            self.waiting.fetch_add(1, SeqCst);
        }
        let until = Instant::now() + PATIENCE;
        while self.offered.load(SeqCst) == 0 && Instant::now() < until {
            (0..RESTS).for_each(|_| std::hint::spin_loop());
        }
        let mut jobs = self.jobs.lock();
        self.waiting.fetch_sub(1, SeqCst);
        let next = jobs.pop();
        self.offered.store(jobs.len(), SeqCst);
        next
    }
}

impl Job {
    /// A helper's part: all there is to do, if the job is still open.
    fn help(&self) {
        {
            let mut state = self.state.lock();
            if state.closed {
                return;
            }
            state.helpers += 1;
        }
        // SAFETY: this helper is registered, so the caller of `run` waits for it.
        self.work(unsafe { &*self.piece });
        let mut state = self.state.lock();
        state.helpers -= 1;
        if state.helpers == 0 {
            self.left.notify_all();
        }
    }

    /// Takes pieces until none is left. Keeps the first panic.
    fn work(&self, piece: &(dyn Fn(usize) + Sync)) {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            loop {
                let next = self.next.fetch_add(1, SeqCst);
                if next >= self.pieces {
                    break;
                }
                piece(next);
            }
        }));
        if let Err(panic) = outcome {
            // What nobody has begun is left undone.
            self.next.store(self.pieces, SeqCst);
            self.state.lock().panic.get_or_insert(panic);
        }
    }

    /// Closes the job, waits for its helpers, and gives the first panic.
    fn finish(&self) -> Option<Box<dyn Any + Send>> {
        let mut state = self.state.lock();
        state.closed = true;
        if state.helpers > 0 {
            let until = Instant::now() + PATIENCE;
            while state.helpers > 0 && Instant::now() < until {
                let rest = || (0..RESTS).for_each(|_| std::hint::spin_loop());
                MutexGuard::unlocked(&mut state, rest);
            }
        }
        while state.helpers > 0 {
            self.left.wait(&mut state);
        }
        state.panic.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_runs_once() {
        for pieces in [0, 1, 2, 3, 1000] {
            let counts: Vec<AtomicUsize> = (0..pieces).map(|_| AtomicUsize::new(0)).collect();
            run(pieces, &|k| {
                counts[k].fetch_add(1, SeqCst);
            });
            assert!(counts.iter().all(|count| count.load(SeqCst) == 1));
        }
    }

    #[test]
    fn jobs_that_follow_each_other_from_many_threads_run_whole() {
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for pieces in 2..400 {
                        let count = AtomicUsize::new(0);
                        run(pieces, &|_| {
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
        run(8, &|_| {
            run(8, &|_| {
                total.fetch_add(1, SeqCst);
            });
        });
        assert_eq!(total.load(SeqCst), 64);
    }

    #[test]
    fn a_panic_comes_back_and_the_pool_goes_on() {
        for _ in 0..50 {
            let outcome = catch_unwind(|| {
                run(64, &|k| {
                    if k == 5 {
                        resume_unwind(Box::new("five"));
                    }
                });
            });
            assert_eq!(outcome.unwrap_err().downcast_ref::<&str>(), Some(&"five"));
        }
        run(64, &|_| {});
    }
}
