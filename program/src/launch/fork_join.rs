//! What a region forks to and joins by: worker streams, each with the event of its join, and the event of the fork.
//!
//! A launch stream keeps what its last region used, so that a repeated one leases nothing, and an event is always
//! recorded on the same stream, which costs drivers least.

use std::sync::Arc;

use quadrants_rhi::StreamHandle;
use quadrants_runtime::{self as rt, Context, EventLease, StreamLease};

use crate::{program::ProgramShared, stream::StreamState};

/// At most this many blocks of a region run beside each other; further ones follow on the workers of
/// earlier ones. More streams than the device has queues gain nothing.
pub(crate) const MAX_WORKERS: usize = 31;

/// What a launch stream keeps from one region to the next.
#[derive(Debug)]
pub(crate) struct WorkerSet {
    fork: EventLease,
    /// In the order of the blocks that they ran.
    workers: Vec<Worker>,
}

#[derive(Debug)]
struct Worker {
    stream: StreamLease,
    join: EventLease,
}

/// The workers of one region under way. On every way out they are joined where they have work, and
/// given back to the launch stream; one that cannot be joined is waited for and destroyed.
pub(crate) struct ForkJoin<'a> {
    shared: &'a ProgramShared,
    stream: &'a StreamState,
    /// All that the stream had; the first `count` work. None once it is given back.
    worker_set: Option<Box<WorkerSet>>,
    count: usize,
    joined: usize,
    /// Whether all are joined, and none failed to be.
    all: bool,
}

impl WorkerSet {
    #[cold]
    fn new(context: &Arc<Context>) -> rt::Result<Box<Self>> {
        Ok(Box::new(Self { fork: context.lease_event()?, workers: Vec::new() }))
    }

    #[cold]
    fn grow(&mut self, context: &Arc<Context>, count: usize) -> rt::Result<()> {
        while self.workers.len() < count {
            let stream = context.lease_stream()?;
            self.workers.push(Worker { stream, join: context.lease_event()? });
        }
        Ok(())
    }
}

impl<'a> ForkJoin<'a> {
    /// Those that the launch stream joined last, in the same order, and further ones from the pool.
    pub(crate) fn take(
        shared: &'a ProgramShared,
        stream: &'a StreamState,
        count: usize,
    ) -> rt::Result<Self> {
        let idle = stream.worker_set.lock().take();
        let worker_set = match idle {
            Some(worker_set) => worker_set,
            None => WorkerSet::new(&shared.context)?,
        };
        let workers = worker_set.workers.len();
        let mut taken =
            Self { shared, stream, worker_set: Some(worker_set), count: 0, joined: 0, all: false };
        if let Some(worker_set) = &mut taken.worker_set
            && workers < count
        {
            worker_set.grow(&shared.context, count)?;
        }
        taken.count = count;
        Ok(taken)
    }

    /// Makes the workers wait for what the launch stream was given so far.
    #[inline]
    pub(crate) fn fork(&mut self) -> rt::Result<()> {
        let Some(worker_set) = &self.worker_set else { return Ok(()) };
        let (context, fork) = (&*self.shared.context, worker_set.fork.handle());
        let device = &**context.device();
        // SAFETY: the event and the workers are leased to us, the launch stream is held by its state.
        unsafe {
            context.observe(device.event_record(fork, self.stream.stream.handle()))?;
            for worker in &worker_set.workers[..self.count] {
                context.observe(device.stream_wait_event(worker.stream.handle(), fork))?;
            }
        }
        Ok(())
    }

    /// The worker of the next block, which is given work now. Further blocks than there are workers begin again at the
    /// first.
    #[inline]
    pub(crate) fn next_worker(&mut self, next: &mut usize) -> StreamHandle {
        let workers =
            self.worker_set.as_mut().map_or(&mut [][..], |worker_set| &mut worker_set.workers);
        let worker = &mut workers[*next];
        *next = if *next + 1 == self.count { 0 } else { *next + 1 };
        worker.stream.set_unjoined(true);
        worker.stream.handle()
    }

    /// Makes the launch stream wait for all workers that are not joined yet.
    #[inline]
    pub(crate) fn join(&mut self) -> rt::Result<()> {
        let Some(worker_set) = &mut self.worker_set else { return Ok(()) };
        let (context, launch_stream) = (&*self.shared.context, self.stream.stream.handle());
        let device = &**context.device();
        for worker in &mut worker_set.workers[self.joined..self.count] {
            self.joined += 1;
            // SAFETY: event and worker are leased to us, the launch stream is held by its state. The
            // wait keeps the record, so that the event may be recorded again at once.
            unsafe {
                context
                    .observe(device.event_record(worker.join.handle(), worker.stream.handle()))?;
                context.observe(device.stream_wait_event(launch_stream, worker.join.handle()))?;
            }
            worker.stream.set_unjoined(false);
        }
        self.all = true;
        Ok(())
    }

    /// After a failure: joins those that can be, and lets go of the others, which are waited for.
    #[cold]
    fn join_rest(&mut self) {
        while self.joined < self.count {
            // A worker that cannot be joined keeps its mark, and its lease then waits for it.
            if let Err(error) = self.join() {
                self.shared.context.defer(error);
            }
        }
        if let Some(worker_set) = &mut self.worker_set {
            worker_set.workers.retain(|worker| !worker.stream.is_unjoined());
        }
    }

    /// Where another thread has given its team back meanwhile: ours come in front of its, so that the next
    /// region finds them in the same order.
    #[cold]
    fn merge(&self, mut ours: Box<WorkerSet>) {
        let mut beyond = Vec::new();
        // Events and streams go back behind the lock: a full pool destroys them.
        let _theirs = {
            let mut idle = self.stream.worker_set.lock();
            let theirs = idle.take().map(|mut theirs| {
                ours.workers.append(&mut theirs.workers);
                theirs
            });
            let most = ours.workers.len().min(MAX_WORKERS);
            beyond.extend(ours.workers.drain(most..));
            *idle = Some(ours);
            theirs
        };
        // Joined, but under way: a stranger would wait for this launch.
        beyond.iter_mut().for_each(|worker| worker.stream.set_busy(true));
    }
}

impl Drop for ForkJoin<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.all {
            self.join_rest();
        }
        let Some(worker_set) = self.worker_set.take() else { return };
        if worker_set.workers.is_empty() {
            return;
        }
        {
            let mut idle = self.stream.worker_set.lock();
            if idle.is_none() {
                *idle = Some(worker_set);
                return;
            }
        }
        self.merge(worker_set);
    }
}
