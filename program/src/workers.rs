//! What a region forks to and joins by: worker streams, each with the event of its join, and the event of the fork.
//!
//! A launch stream keeps what its last region used, so that a repeated one leases nothing, and an event is always
//! recorded on the same stream, which costs drivers least.

use std::sync::Arc;

use quadrants_rhi::StreamHandle;
use quadrants_runtime::{self as rt, Context, EventLease, StreamLease};

use crate::{program::Shared, stream::StreamState};

/// At most this many blocks of a region run beside each other; further ones follow on the workers of
/// earlier ones. More streams than the device has queues gain nothing.
pub(crate) const WORKERS_AT_MOST: usize = 31;

/// What a launch stream keeps from one region to the next.
#[derive(Debug)]
pub(crate) struct Team {
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
pub(crate) struct Workers<'a> {
    shared: &'a Shared,
    stream: &'a StreamState,
    /// All that the stream had; the first `count` work. None once it is given back.
    team: Option<Box<Team>>,
    count: usize,
    joined: usize,
    /// Whether all are joined, and none failed to be.
    all: bool,
}

impl Team {
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

impl<'a> Workers<'a> {
    /// Those that the launch stream joined last, in the same order, and further ones from the pool.
    pub(crate) fn take(
        shared: &'a Shared,
        stream: &'a StreamState,
        count: usize,
    ) -> rt::Result<Self> {
        let kept = stream.team.lock().take();
        let team = match kept {
            Some(team) => team,
            None => Team::new(&shared.context)?,
        };
        let workers = team.workers.len();
        let mut taken = Self { shared, stream, team: Some(team), count: 0, joined: 0, all: false };
        if let Some(team) = &mut taken.team
            && workers < count
        {
            team.grow(&shared.context, count)?;
        }
        taken.count = count;
        Ok(taken)
    }

    /// Makes the workers wait for what the launch stream was given so far.
    #[inline]
    pub(crate) fn fork(&mut self) -> rt::Result<()> {
        let Some(team) = &self.team else { return Ok(()) };
        let (context, fork) = (&*self.shared.context, team.fork.handle());
        let device = &**context.device();
        // SAFETY: the event and the workers are leased to us, the launch stream is held by its state.
        unsafe {
            context.observe(device.event_record(fork, self.stream.stream.handle()))?;
            for worker in &team.workers[..self.count] {
                context.observe(device.stream_wait_event(worker.stream.handle(), fork))?;
            }
        }
        Ok(())
    }

    /// The worker of the next block, which is given work now. Further blocks than there are workers begin again at the
    /// first.
    #[inline]
    pub(crate) fn of_block(&mut self, next: &mut usize) -> StreamHandle {
        let workers = self.team.as_mut().map_or(&mut [][..], |team| &mut team.workers);
        let worker = &mut workers[*next];
        *next = if *next + 1 == self.count { 0 } else { *next + 1 };
        worker.stream.set_unjoined(true);
        worker.stream.handle()
    }

    /// Makes the launch stream wait for all workers that are not joined yet.
    #[inline]
    pub(crate) fn join(&mut self) -> rt::Result<()> {
        let Some(team) = &mut self.team else { return Ok(()) };
        let (context, launch_stream) = (&*self.shared.context, self.stream.stream.handle());
        let device = &**context.device();
        for worker in &mut team.workers[self.joined..self.count] {
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
        if let Some(team) = &mut self.team {
            team.workers.retain(|worker| !worker.stream.is_unjoined());
        }
    }

    /// Where another thread has given its team back meanwhile: ours come in front of its, so that the next
    /// region finds them in the same order.
    #[cold]
    fn merge(&self, mut ours: Box<Team>) {
        let mut beyond = Vec::new();
        // Events and streams go back behind the lock: a full pool destroys them.
        let _theirs = {
            let mut kept = self.stream.team.lock();
            let theirs = kept.take().map(|mut theirs| {
                ours.workers.append(&mut theirs.workers);
                theirs
            });
            let most = ours.workers.len().min(WORKERS_AT_MOST);
            beyond.extend(ours.workers.drain(most..));
            *kept = Some(ours);
            theirs
        };
        // Joined, but under way: a stranger would wait for this launch.
        beyond.iter_mut().for_each(|worker| worker.stream.set_busy(true));
    }
}

impl Drop for Workers<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.all {
            self.join_rest();
        }
        let Some(team) = self.team.take() else { return };
        if team.workers.is_empty() {
            return;
        }
        {
            let mut kept = self.stream.team.lock();
            if kept.is_none() {
                *kept = Some(team);
                return;
            }
        }
        self.merge(team);
    }
}
