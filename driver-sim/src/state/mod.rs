//! The state of one world, under its lock: the state of a device and its driver.

mod adversary;
mod collectives;
mod events;
mod execution;
mod graphs;
mod memory;
mod modules;
mod peer;
mod race_detection;
mod scheduling;
mod streams;

use std::{collections::HashMap, mem::take, sync::Arc, time::Duration};

use crate::{
    activity::Activity,
    clock::WorldKey,
    code::{Code, Result},
    collectives::{Blocker, SimCommunicator},
    counts::{CreatedCounts, LiveCounts},
    event::Event,
    fault::Faults,
    graph::{Exec, Graph, NodeKey},
    handle::{HandleKind, Slab, encode},
    launch::{ExecutionError, Function, Module},
    memory::{AccessError, Memory, Origin, Uninitialized},
    op::{OpKind, Operation, Work},
    op_id::OpId,
    queue::Queue,
    race::{self, Detector},
    random::{Random, mix},
    remote::Remote,
    report::{Report, ReportKind},
    schedule::Schedule,
    stream::{Stream, StreamRef},
    timeline::Timeline,
    trace::TraceRecorder,
};

/// Many minutes of interpretation.
const FUEL: u64 = 1 << 36;
/// The largest number of recorded reports.
const REPORTS: usize = 1000;
/// How long a wait lasts for calls of other ranks.
const WAIT_LIMIT: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(crate) struct WorldState {
    pub(crate) ordinal: u16,
    pub(crate) seed: u64,
    pub(crate) schedule: Schedule,
    pub(crate) random: Random,
    /// The number of seeds set so far, from 1.
    pub(crate) seeds: u64,
    /// The number of streams that received work since the last seed was set.
    pub(crate) turns: u64,
    pub(crate) queue: Queue,
    pub(crate) memory: Memory,
    pub(crate) contexts: Slab<()>,
    pub(crate) context: Option<crate::handle::Key>,
    pub(crate) context_refs: u32,
    /// Why the context is lost.
    pub(crate) lost: Option<Code>,
    pub(crate) legacy: Stream,
    /// The end of what the host has waited for, in the simulated device's clock.
    pub(crate) host_time: u64,
    /// The last operations of destroyed blocking streams.
    pub(crate) orphans: Vec<OpId>,
    pub(crate) streams: Slab<Stream>,
    pub(crate) events: Slab<Event>,
    pub(crate) modules: Slab<Module>,
    pub(crate) functions: Slab<Function>,
    pub(crate) graphs: Slab<Graph>,
    pub(crate) nodes: Slab<NodeKey>,
    pub(crate) execs: Slab<Exec>,
    pub(crate) communicators: Slab<SimCommunicator>,
    /// The number of nodes of all executables so far.
    pub(crate) node_sequences: u64,
    /// The limit of iterations and inner loop rounds of a launch.
    pub(crate) fuel: u64,
    /// Whether the device reports memory pools.
    pub(crate) pools: bool,
    /// The number of calls of each function, by its index.
    pub(crate) calls: Vec<u64>,
    pub(crate) call_count: u64,
    /// The first calls, by the index of the function.
    pub(crate) call_log: Vec<u32>,
    pub(crate) creates: CreatedCounts,
    /// The objects that existed when the primary context was last destroyed.
    pub(crate) left: LiveCounts,
    pub(crate) faults: Faults,
    pub(crate) trace: TraceRecorder,
    pub(crate) reports: Vec<Report>,
    pub(crate) schedule_hash: u64,
    pub(crate) executed: u64,
    pub(crate) timeline: Timeline,
    /// What is recorded when these operations have run.
    pub(crate) activities: HashMap<OpId, Activity>,
    /// Whether the schedule was printed under this seed, because of a failure.
    pub(crate) is_schedule_printed: bool,
    pub(crate) detector: Detector,
    /// What a wait needs first of another world.
    pub(crate) blocked: Option<Blocker>,
    /// How long a wait lasts for calls of other ranks.
    pub(crate) wait_limit: Duration,
    /// The worlds whose memory the context may access.
    pub(crate) peers: Vec<u16>,
    /// The number of resets.
    resets: u64,
}

impl WorldState {
    pub(crate) fn new(ordinal: u16, schedule: Schedule, seed: u64) -> Self {
        let races = race::from_env();
        let mut memory = Memory::new(ordinal);
        memory.record_accesses(races);
        Self {
            ordinal,
            seed,
            schedule,
            random: Random::new(seed),
            seeds: 1,
            memory,
            legacy: Stream::legacy(),
            fuel: FUEL,
            pools: true,
            wait_limit: WAIT_LIMIT,
            faults: Faults::new(seed),
            detector: Detector::new(races),
            ..Self::default()
        }
    }

    /// Identifies the world until its next reset.
    pub(crate) fn key(&self) -> WorldKey {
        (self.ordinal, self.resets)
    }

    /// Chooses the seed that all random choices follow from.
    pub(crate) fn set_seed(&mut self, seed: u64) {
        self.seed = seed;
        self.random = Random::new(seed);
        self.faults.set_seed(seed);
        self.seeds += 1;
        self.turns = 0;
        self.is_schedule_printed = false;
    }

    /// Resets the world: all handles become invalid, all memory is freed, all counts and settings are initial.
    pub(crate) fn reset(&mut self, schedule: Schedule, seed: u64) {
        self.clear_objects();
        self.contexts.clear();
        race::take_host_clock(self.key());
        // The slabs stay, because they know which handles were used before.
        *self = Self {
            contexts: take(&mut self.contexts),
            streams: take(&mut self.streams),
            events: take(&mut self.events),
            modules: take(&mut self.modules),
            functions: take(&mut self.functions),
            graphs: take(&mut self.graphs),
            nodes: take(&mut self.nodes),
            execs: take(&mut self.execs),
            communicators: take(&mut self.communicators),
            resets: self.resets + 1,
            ..Self::new(self.ordinal, schedule, seed)
        };
    }

    /// Frees all objects of the context. Pending work never runs.
    fn clear_objects(&mut self) {
        self.lose_ranks();
        self.communicators.clear();
        self.queue.abandon();
        self.activities.clear();
        self.streams.clear();
        self.events.clear();
        self.modules.clear();
        self.functions.clear();
        self.graphs.clear();
        self.nodes.clear();
        self.execs.clear();
        self.orphans.clear();
        self.peers.clear();
        self.legacy = Stream::legacy();
        self.host_time = 0;
    }

    // ---- the primary context -------------------------------------------------------------------

    pub(crate) fn retain_context(&mut self) -> Result<usize> {
        let key = match self.context {
            Some(key) => key,
            None => self.contexts.insert(())?,
        };
        self.context = Some(key);
        self.context_refs += 1;
        Ok(encode(HandleKind::Context, self.ordinal, key))
    }

    pub(crate) fn release_context(&mut self) -> Result<()> {
        let left = self.context_refs.checked_sub(1).ok_or(Code::INVALID_CONTEXT)?;
        if left > 0 {
            self.context_refs = left;
        } else {
            self.left = LiveCounts { context_refs: left, ..self.live() };
            if self.lost.is_none() {
                self.drain();
                self.check_blocked()?;
            }
            self.context_refs = 0;
            self.clear_objects();
            self.memory.clear();
            self.lost = None;
            if let Some(key) = self.context.take() {
                self.contexts.remove(key)?;
            }
        }
        Ok(())
    }

    pub(crate) fn check_lost(&self) -> Result<()> {
        self.lost.map_or(Ok(()), Err)
    }

    /// An error if a wait needs the work of another world first; [`peer::wait`](crate::peer::wait) then repeats it.
    pub(crate) fn check_blocked(&self) -> Result<()> {
        if self.blocked.is_some() { Err(Code::NOT_READY) } else { Ok(()) }
    }

    /// Waits for all work.
    pub(crate) fn synchronize(&mut self) -> Result<()> {
        self.drain();
        self.check_blocked()?;
        let ends = self.streams.iter().map(|stream| stream.end);
        self.host_reaches(ends.max().unwrap_or(0).max(self.legacy.end));
        self.note_host_wait(None);
        self.check_lost()
    }

    pub(crate) fn drain(&mut self) {
        while let Some(op) = self.queue.last() {
            if self.wait_for(&[op]).is_err() {
                return;
            }
        }
    }

    /// The completion of an operation, for other worlds.
    pub(crate) fn remote(&mut self, op: OpId) -> Remote {
        let clock = self.detector.clocks.get(&op).map(|(_, clock)| Arc::new(clock.clone()));
        Remote::new((self.key(), op), self.queue.watch(op), clock)
    }

    // ---- operations ----------------------------------------------------------------------------

    /// Enqueues an operation on a stream, after the stream's work and `extra`.
    pub(crate) fn enqueue(
        &mut self,
        stream: StreamRef,
        work: Work,
        kind: OpKind,
        extra: &[OpId],
        event: Option<u64>,
    ) -> Result<OpId> {
        if let Some(capture) = self.stream(stream)?.capture {
            return self.capture_node(stream, capture, work);
        }
        let operation = Operation { work, kind, event, remote: None };
        self.enqueue_operation(stream, operation, extra)
    }

    /// As [`enqueue`](Self::enqueue), on a stream that is not captured.
    pub(crate) fn enqueue_operation(
        &mut self,
        stream: StreamRef,
        operation: Operation,
        extra: &[OpId],
    ) -> Result<OpId> {
        let id = self.place(stream, operation, extra)?;
        self.enqueued(id);
        Ok(id)
    }

    /// The first half of [`enqueue_operation`](Self::enqueue_operation): the operation does not run yet.
    fn place(&mut self, stream: StreamRef, operation: Operation, extra: &[OpId]) -> Result<OpId> {
        let mut after = self.order(stream)?;
        for &op in extra {
            if !after.contains(&op) {
                after.push(op);
            }
        }
        let cost = operation.work.cost();
        let turn = self.turn(stream)?;
        let place = (self.stream_handle(stream), turn, self.stream(stream)?.sequence);
        let of = (&operation.work, &operation.kind);
        let activity = |times| Activity::of(of, self.ordinal, times, 0);
        let end = self.end_after(stream, cost)?;
        let activity = activity([end - cost, end]);
        let id = self.push(operation, place, &after);
        self.activities.extend(activity.map(|activity| (id, activity)));
        self.advance(stream, id, cost)?;
        Ok(id)
    }

    /// Enqueues an operation after `after`, with a stream handle, turn and sequence.
    pub(crate) fn push(
        &mut self,
        Operation { work, kind, event, remote }: Operation,
        (stream, turn, sequence): (u64, u64, u64),
        after: &[OpId],
    ) -> OpId {
        self.clock_operation(self.queue.next_id(), sequence, after, remote.as_ref());
        let id = self.queue.push(work, (stream, turn), after, remote);
        self.trace.push(id, kind, stream, event, after, self.call_count);
        id
    }

    /// Runs an operation that is ready.
    pub(crate) fn run(&mut self, id: OpId) {
        let Some((work, stream)) = self.queue.begin(id) else { return };
        self.propagate_late_clock(id, &work);
        self.schedule_hash = mix(mix(self.schedule_hash ^ id) ^ self.call_count);
        self.executed += 1;
        self.timeline.push(id, self.call_count);
        let outcome = self.execute(&work);
        self.queue.finish(id);
        if let Some(activity) = self.activities.remove(&id).filter(|_| outcome.is_ok()) {
            activity.record();
        }
        self.settle(id, stream, || work.describe(), outcome);
    }

    /// Reports the errors of an operation. A failure loses the context.
    pub(crate) fn settle(
        &mut self,
        op: OpId,
        stream: u64,
        operation: impl Fn() -> String,
        outcome: Result<(), ExecutionError>,
    ) {
        if self.detector.on {
            self.check_accesses(op);
            if let Err(ExecutionError::Access(error)) = &outcome {
                self.check_access_error(op, error);
            }
        }
        let report = |kind, address, bytes, allocated, freed| {
            let operation = operation();
            Report { kind, op, operation, stream, address, bytes, allocated, freed }
        };
        if let Some(Uninitialized { address, bytes, allocated }) = self.memory.uninitialized.take()
        {
            self.report(report(ReportKind::Uninitialized, address, bytes, Some(allocated), None));
        }
        let (report, code) = match outcome {
            Ok(()) => return,
            Err(ExecutionError::Access(AccessError {
                kind,
                address,
                bytes,
                allocated,
                freed,
                ..
            })) => {
                let kind = ReportKind::Access(kind);
                (report(kind, address, bytes, allocated, freed), Code::ILLEGAL_ADDRESS)
            }
            Err(ExecutionError::Endless) => {
                (report(ReportKind::Endless, 0, 0, None, None), Code::LAUNCH_FAILED)
            }
            Err(ExecutionError::SharedMemory { needed }) => {
                let needed = usize::try_from(needed).unwrap_or(usize::MAX);
                (report(ReportKind::SharedMemory, 0, needed, None, None), Code::ILLEGAL_ADDRESS)
            }
            Err(ExecutionError::Misaligned { address, alignment }) => {
                let report = report(ReportKind::Misaligned, address, alignment, None, None);
                (report, Code::ILLEGAL_ADDRESS)
            }
            Err(ExecutionError::Unloaded) => {
                (report(ReportKind::Unloaded, 0, 0, None, None), Code::LAUNCH_FAILED)
            }
        };
        self.report(report);
        self.lose(code);
    }

    /// Loses the context. Pending work never runs.
    pub(crate) fn lose(&mut self, code: Code) {
        self.lost = Some(code);
        self.lose_ranks();
        self.queue.abandon();
    }

    pub(crate) fn report(&mut self, report: Report) {
        if self.reports.len() < REPORTS {
            self.reports.push(report);
        }
    }

    /// Records in the trace that the host waited for `target`, or for everything.
    pub(crate) fn note_host_wait(&mut self, target: Option<OpId>) {
        let all: Vec<OpId>;
        let after = match &target {
            Some(target) => std::slice::from_ref(target),
            None => {
                let tails = self.streams.iter().filter_map(|stream| stream.tail);
                all = tails.chain(self.legacy.tail).collect();
                &all
            }
        };
        let id = self.queue.push_done();
        self.trace.push(id, OpKind::HostWait, 0, None, after, self.call_count);
        self.clock_host_wait(target);
    }

    /// The current call as the origin of an allocation or free.
    pub(crate) fn origin(&self, function: &'static str, stream: Option<u64>) -> Origin {
        Origin { call: self.call_count, function, stream }
    }

    /// The number of existing objects.
    pub(crate) fn live(&self) -> LiveCounts {
        let (blocks, bytes) = self.memory.live();
        let (pinned, pinned_bytes) = self.memory.live_pinned();
        LiveCounts {
            streams: self.streams.live(),
            events: self.events.live(),
            modules: self.modules.live(),
            blocks,
            bytes,
            pinned,
            pinned_bytes,
            graphs: self.graphs.live(),
            graph_execs: self.execs.live(),
            pending: self.queue.pending(),
            context_refs: self.context_refs,
            communicators: self.communicators.live(),
        }
    }
}
