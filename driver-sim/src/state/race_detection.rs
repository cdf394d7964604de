//! Gives operations their clocks, and detects races when operations run.

use std::collections::HashSet;

use super::WorldState;
use crate::{
    clock::{Clock, Epoch},
    memory::{AccessError, AccessKind, AllocationKey, End, InvalidAccess},
    op::{OpKind, Work},
    op_id::OpId,
    race::{Detector, MIN_PRUNE_THRESHOLD, Race, RacingOperation},
    remote::Remote,
};

/// What a [`RacingOperation`] of the host has as its number.
const HOST: OpId = 0;

/// A conflict of the current operation with an earlier one.
#[derive(Clone, Copy, Debug)]
struct Conflict {
    address: u64,
    bytes: usize,
    with: Epoch,
    was: AccessKind,
    now: AccessKind,
}

impl WorldState {
    /// Turns the detector on or off. Operations that were enqueued before are not part of any race.
    pub(crate) fn detect_races(&mut self, on: bool) {
        let host_knows = self.queue.next_id() - 1;
        let detector = &mut self.detector;
        let (print, races) = (detector.print, std::mem::take(&mut detector.races));
        *detector = Detector { on, print, races, ..Detector::new(false) };
        detector.host.advance_to(host_knows);
        self.memory.record_accesses(on);
    }

    /// Gives an operation its clock: it runs after `after`, and after `remote` in another world.
    pub(crate) fn clock_operation(
        &mut self,
        op: OpId,
        sequence: u64,
        after: &[OpId],
        remote: Option<&Remote>,
    ) {
        if !self.detector.on {
            return;
        }
        let key = self.key();
        self.detector.merge_host_clock(key);
        if self.detector.clocks.len() >= self.detector.prune_threshold {
            self.prune_clocks();
        }
        let detector = &mut self.detector;
        let mut clock = detector.host.clone();
        for (_, before) in after.iter().filter_map(|op| detector.clocks.get(op)) {
            clock.join(before);
        }
        if let Some(after) = detector.after.take() {
            clock.join(&after);
        }
        if let Some(remote) = remote {
            remote.join_to(key, &mut clock);
        }
        let epoch = Epoch { sequence, op };
        clock.advance(epoch);
        detector.open.push_back(epoch);
        detector.clocks.insert(op, (epoch, clock));
    }

    /// Called when an operation starts. Updates its clock with the operations of other worlds that it waits for and
    /// that were not enqueued yet when it was, such as the calls of other ranks. Later operations in its order have not
    /// started, and get the same update.
    pub(crate) fn propagate_late_clock(&mut self, op: OpId, work: &Work) {
        if !self.detector.on {
            return;
        }
        let key = self.key();
        let extended = self.queue.remote(op).filter(|remote| remote.clock_was_extended()).cloned();
        let late: Vec<Remote> = work.peer_ops().into_iter().chain(extended).collect();
        let Some((_, clock)) = self.detector.clocks.get_mut(&op) else { return };
        late.iter().for_each(|remote| remote.join_to(key, clock));
        let Some(next) = self.queue.take_dependents_to_update(op, !late.is_empty()) else { return };
        let clock = clock.clone();
        if let Some(completion) = self.queue.watched(op) {
            completion.grow(&clock);
        }
        for op in next {
            if let Some((_, of)) = self.detector.clocks.get_mut(&op) {
                of.join(&clock);
            }
        }
    }

    /// Updates the clock of the host after a wait for an operation, or for all operations.
    pub(crate) fn clock_host_wait(&mut self, target: Option<OpId>) {
        let everything = self.queue.next_id() - 1;
        let detector = &mut self.detector;
        match target {
            None => {
                detector.host.advance_to(everything);
                let Detector { host, clocks, .. } = detector;
                clocks
                    .values()
                    .filter(|of| !of.1.others().is_empty())
                    .for_each(|of| host.join(&of.1));
            }
            Some(target) => {
                if let Some((_, clock)) = detector.clocks.get(&target) {
                    detector.host.join(clock);
                }
            }
        }
        detector.publish_host_clocks();
        while detector.open.front().is_some_and(|epoch| detector.host.covers(*epoch)) {
            detector.open.pop_front();
        }
        if let Some(oldest) = detector.open.front() {
            detector.host.advance_to(oldest.op - 1);
        }
    }

    /// Compares the accesses of an operation with the latest earlier ones.
    pub(crate) fn check_accesses(&mut self, op: OpId) {
        let Some((by, clock)) = self.detector.clocks.get(&op).cloned() else { return };
        let mut found = Vec::new();
        for (allocation, ranges) in self.memory.take_touched() {
            let base = allocation.base();
            let Some(shadow) = self.memory.shadow(allocation) else { continue };
            for (range, now) in ranges {
                shadow.touch(range, now, by, &clock, |range, with, was| {
                    let address = base + range.start as u64;
                    found.push(Conflict { address, bytes: range.len(), with, was, now });
                });
            }
        }
        let mut pairs: Vec<(Conflict, usize)> = Vec::new();
        for next in found {
            let same = |(first, _): &&mut (Conflict, usize)| {
                (first.with, first.was, first.now) == (next.with, next.was, next.now)
            };
            let known = pairs.iter().any(|(first, _)| first.with == next.with);
            match pairs.iter_mut().find(same) {
                Some((_, bytes)) => *bytes += next.bytes,
                // Two operations are reported once, by the kind of accesses that conflict first.
                None if known => {}
                None => pairs.push((next, next.bytes)),
            }
        }
        for (found, bytes) in pairs {
            let first = self.racing_operation(found.with.op, found.was);
            let second = self.racing_operation(op, found.now);
            self.add_race(first, second, found.address, bytes);
        }
    }

    /// The host frees memory: operations that it does not know to be complete must not have accessed it.
    pub(crate) fn check_host_free(&mut self, allocation: AllocationKey) {
        let key = self.key();
        self.detector.merge_host_clock(key);
        let (call, base) = (self.call_count, allocation.base());
        let mut found: Vec<(u64, usize, Epoch, AccessKind)> = Vec::new();
        let host = &self.detector.host;
        if let Some(shadow) = self.memory.shadow(allocation) {
            shadow.unknown(host, |range, epoch, access| {
                match found.iter_mut().find(|entry| entry.2 == epoch) {
                    Some(entry) => entry.1 += range.len(),
                    None => found.push((base + range.start as u64, range.len(), epoch, access)),
                }
            });
        }
        for (address, bytes, epoch, access) in found {
            let first = self.racing_operation(epoch.op, access);
            self.add_race(first, host_free(call), address, bytes);
        }
    }

    /// An invalid access is a race if a missing dependency causes it, and not if the access is always invalid.
    pub(crate) fn check_access_error(&mut self, op: OpId, error: &AccessError) {
        let Some((_, clock)) = self.detector.clocks.get(&op) else { return };
        let Some(end) = self.memory.end_of(error.address) else { return };
        let (other, address, bytes) = match (error.kind, end) {
            (InvalidAccess::AfterFree, End::ByHost { last, call }) if op <= last => {
                (host_free(call), error.address, error.bytes)
            }
            (InvalidAccess::AfterFree, End::By(free)) if !self.orders(clock, free) => {
                (self.racing_operation(free, AccessKind::Free), error.address, error.bytes)
            }
            (InvalidAccess::BeforeAlloc, End::NotBegunBy(alloc)) if !self.orders(clock, alloc) => {
                (self.racing_operation(alloc, AccessKind::Alloc), error.address, error.bytes)
            }
            _ => return,
        };
        let this = self.racing_operation(op, error.access);
        self.add_race(this, other, address, bytes);
    }

    fn orders(&self, clock: &Clock, op: OpId) -> bool {
        self.detector.clocks.get(&op).is_none_or(|(epoch, _)| clock.covers(*epoch))
    }

    fn racing_operation(&self, op: OpId, access: AccessKind) -> RacingOperation {
        let (kind, stream, call) = self.trace.op_info(op);
        RacingOperation { op, kind, stream: Some(stream), access, call }
    }

    fn add_race(
        &mut self,
        first: RacingOperation,
        second: RacingOperation,
        address: u64,
        bytes: usize,
    ) {
        let younger_first = second.op != HOST && second.op < first.op;
        let (first, second) = if younger_first { (second, first) } else { (first, second) };
        let detector = &self.detector;
        let sequence = detector.clocks.get(&first.op).map(|(epoch, _)| epoch.sequence);
        let clock = match second.op {
            HOST => Some(&detector.host),
            op => detector.clocks.get(&op).map(|(_, clock)| clock),
        };
        let known = clock.zip(sequence).map(|(clock, sequence)| clock.latest(sequence));
        let ordered_after = known.filter(|op| *op != 0);
        self.detector.add(Race { first, second, address, bytes, ordered_after });
    }

    /// Removes the clocks of complete operations that no later operation can directly depend on.
    fn prune_clocks(&mut self) {
        let tails = self.streams.iter().filter_map(|stream| stream.tail).chain(self.legacy.tail);
        let records = self.events.iter().filter_map(|event| event.recorded());
        let graphs = self.execs.iter().filter_map(|exec| exec.last);
        let frees = self.memory.pool.iter().filter_map(|freed| freed.by);
        let orphans = self.orphans.iter().copied();
        let kept: HashSet<OpId> =
            tails.chain(records).chain(graphs).chain(frees).chain(orphans).collect();
        let (queue, detector) = (&self.queue, &mut self.detector);
        detector.clocks.retain(|op, _| kept.contains(op) || !queue.is_done(*op));
        detector.prune_threshold = MIN_PRUNE_THRESHOLD.max(2 * detector.clocks.len());
    }
}

fn host_free(call: u64) -> RacingOperation {
    RacingOperation { op: HOST, kind: OpKind::Free, stream: None, access: AccessKind::Free, call }
}
