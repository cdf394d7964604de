//! Fork and join of regions: worker streams, each with the event of its join, and the event of the fork.
//!
//! A launch stream keeps the workers and events of its last region. So a repeated region leases nothing, and an event
//! is always recorded on the same stream, which is what drivers handle fastest.

use std::sync::Arc;

use parking_lot::Mutex;
use quadrants_rhi::{Device, StreamHandle};
use quadrants_runtime::{self as rt, Context, EventLease, StreamLease};

/// The largest number of worker streams of a region. Further blocks run on the workers of earlier ones. More streams
/// than the device has queues gain nothing.
pub(crate) const MAX_REGION_WORKERS: usize = 31;

/// Where a launch stream keeps its workers from one region to the next.
#[derive(Debug, Default)]
pub(crate) struct WorkerSetCache(Mutex<Option<Box<LaunchWorkers>>>);

/// The workers and the fork event that a launch stream keeps from one region to the next.
#[derive(Debug)]
struct LaunchWorkers {
    fork: EventLease,
    /// In the order of the blocks that they ran.
    workers: Vec<Worker>,
}

#[derive(Debug)]
struct Worker {
    stream: StreamLease,
    join: EventLease,
}

/// The workers of a region that is being launched. On every exit path, workers with work are joined, and all are given
/// back to the launch stream. A worker that cannot be joined is waited for and destroyed.
pub(crate) struct ForkJoin<'a> {
    context: &'a Arc<Context>,
    device: &'a Arc<dyn Device>,
    stream: StreamHandle,
    cache: &'a WorkerSetCache,
    /// The worker set of the stream, of which the first `count` workers are used. None once it is given back.
    worker_set: Option<Box<LaunchWorkers>>,
    count: usize,
    joined: usize,
    /// Whether all workers were joined without a failure.
    all_joined: bool,
}

impl<'a> ForkJoin<'a> {
    /// Takes the workers that the cache of the launch stream has, in the same order.
    #[inline]
    pub(crate) fn take(
        context: &'a Arc<Context>,
        device: &'a Arc<dyn Device>,
        stream: StreamHandle,
        cache: &'a WorkerSetCache,
    ) -> Self {
        let worker_set = cache.0.lock().take();
        Self { context, device, stream, cache, worker_set, count: 0, joined: 0, all_joined: false }
    }

    /// Leases workers from the pool until there are `count`.
    #[cold]
    fn grow(&mut self, count: usize) -> rt::Result<()> {
        let worker_set = match &mut self.worker_set {
            Some(worker_set) => worker_set,
            none => {
                let fork = self.context.lease_event()?;
                none.insert(Box::new(LaunchWorkers { fork, workers: Vec::new() }))
            }
        };
        while worker_set.workers.len() < count {
            let stream = self.context.lease_stream()?;
            worker_set.workers.push(Worker { stream, join: self.context.lease_event()? });
        }
        Ok(())
    }

    /// Makes `count` workers wait for the work that the launch stream has so far.
    #[inline]
    pub(crate) fn fork(&mut self, count: usize) -> rt::Result<()> {
        if self.worker_set.as_ref().is_none_or(|worker_set| worker_set.workers.len() < count) {
            self.grow(count)?;
        }
        let Some(worker_set) = &self.worker_set else { return Ok(()) };
        self.count = count;
        let (context, device, fork) = (self.context, &**self.device, worker_set.fork.handle());
        // SAFETY: the event and the workers are leased, and the launch stream is held by its state.
        unsafe {
            context.observe(device.event_record(fork, self.stream))?;
            for worker in &worker_set.workers[..count] {
                context.observe(device.stream_wait_event(worker.stream.handle(), fork))?;
            }
        }
        Ok(())
    }

    /// The worker for the next block, which enqueues work on it. Where there are more blocks than workers, they start
    /// again at the first.
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
        let (context, device, launch_stream) = (self.context, &**self.device, self.stream);
        for worker in &mut worker_set.workers[self.joined..self.count] {
            self.joined += 1;
            // SAFETY: the event and the worker are leased, and the launch stream is held by its state. The wait keeps
            // the record that it saw, so that the event may be recorded again at once.
            unsafe {
                context
                    .observe(device.event_record(worker.join.handle(), worker.stream.handle()))?;
                context.observe(device.stream_wait_event(launch_stream, worker.join.handle()))?;
            }
            worker.stream.set_unjoined(false);
        }
        self.all_joined = true;
        Ok(())
    }

    /// After a failure: joins the workers that can be joined, and drops the others, which waits for them.
    #[cold]
    fn join_rest(&mut self) {
        while self.joined < self.count {
            // A worker that cannot be joined stays marked as unjoined, and the drop of its lease waits for it.
            if let Err(error) = self.join() {
                self.context.defer(error);
            }
        }
        if let Some(worker_set) = &mut self.worker_set {
            worker_set.workers.retain(|worker| !worker.stream.is_unjoined());
        }
    }

    /// Gives the workers back if another thread has returned others in the meantime. This thread's workers come first,
    /// so that the next region uses them in the same order.
    #[cold]
    fn merge(&self, mut ours: Box<LaunchWorkers>) {
        let mut surplus = Vec::new();
        // Surplus events and streams are dropped after the lock is released: a full pool destroys them.
        let _others = {
            let mut cache = self.cache.0.lock();
            let others = cache.take().map(|mut others| {
                ours.workers.append(&mut others.workers);
                others
            });
            let most = ours.workers.len().min(MAX_REGION_WORKERS);
            surplus.extend(ours.workers.drain(most..));
            *cache = Some(ours);
            others
        };
        // They are joined but may still be busy: a new user would wait for this launch.
        surplus.iter_mut().for_each(|worker| worker.stream.set_busy(true));
    }
}

impl Drop for ForkJoin<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.all_joined {
            self.join_rest();
        }
        let Some(worker_set) = self.worker_set.take() else { return };
        if worker_set.workers.is_empty() {
            return;
        }
        {
            let mut cache = self.cache.0.lock();
            if cache.is_none() {
                *cache = Some(worker_set);
                return;
            }
        }
        self.merge(worker_set);
    }
}
