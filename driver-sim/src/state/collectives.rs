//! One world's part of the calls of communicators.

use std::sync::atomic::Ordering::Relaxed;

use super::WorldState;
use crate::{
    code::Result,
    collectives::{CallPart, CommunicatorPhase, PlannedCall, Request, Status, plan},
    handle::{HandleKind, Key, encode},
    op::{OpKind, Operation, Work, transfer_cost},
    op_id::OpId,
    report::{Report, ReportKind},
    stream::StreamRef,
};

/// The sequences of the calls of groups start at this number, above those of streams, graph nodes and reads for peers.
const CALL_SEQUENCES: u64 = 1 << 48;
/// log2 of the largest number of calls of a group on one stream that have sequences of their own.
const CALL_BITS: u32 = 12;

impl WorldState {
    /// Checks a handle. The use of a destroyed communicator is reported.
    pub(crate) fn check_communicator(&mut self, key: Key, function: &str) -> Result<(), Status> {
        if self.communicators.get(key).is_ok() {
            return Ok(());
        }
        let handle = encode(HandleKind::Communicator, self.ordinal, key);
        let text = format!("{function} with {handle:#x}");
        self.report(Report::of_call(ReportKind::DestroyedCommunicator, text));
        Err(Status::INVALID_ARGUMENT)
    }

    /// Enqueues the calls of a group on one communicator, or keeps them for later.
    pub(crate) fn launch_calls(&mut self, key: Key, requests: Vec<Request>) -> Result<(), Status> {
        self.check_lost()?;
        // It may have been aborted in the group.
        let communicator = self.communicators.get_mut(key).map_err(|_| Status::INVALID_ARGUMENT)?;
        match communicator.delay(requests) {
            Some(requests) => self.enqueue_calls(key, &requests),
            None => Err(Status::IN_PROGRESS),
        }
    }

    /// Enqueues calls that were kept. An error is kept, too.
    pub(crate) fn enqueue_late(&mut self, key: Key, requests: Vec<Request>) {
        let outcome = self.check_lost().map_err(Status::from);
        let outcome = outcome.and_then(|()| self.enqueue_calls(key, &requests));
        if let (Err(error), Ok(communicator)) = (outcome, self.communicators.get_mut(key)) {
            communicator.error = Some(error);
        }
    }

    fn enqueue_calls(&mut self, key: Key, requests: &[Request]) -> Result<(), Status> {
        for request in requests {
            if self.is_capturing(request.stream)? {
                return Err(Status::INVALID_USAGE);
            }
        }
        let communicator = self.communicators.get_mut(key)?;
        let (rank, size) = (communicator.rank.clone(), communicator.size);
        let rank_set = communicator.rank_set.clone().ok_or(Status::INVALID_USAGE)?;
        let matched: Vec<_> =
            requests.iter().map(|request| communicator.next_call(request.role)).collect();
        let mut calls = Vec::with_capacity(requests.len());
        for (request, (id, index)) in requests.iter().zip(matched) {
            let (rank_call, mismatch) = rank_set.match_call(id, request.signature, &rank, index);
            if let Some(text) = mismatch {
                self.report(Report::of_call(ReportKind::Mismatch, text));
            }
            calls.push(plan(request, rank_call, (rank.number, size)));
        }
        let ends = self.enqueue_planned(calls)?;
        let queue = &self.queue;
        let open = &mut self.communicators.get_mut(key)?.ends;
        open.retain(|op| !queue.is_done(*op));
        open.extend(ends);
        Ok(())
    }

    /// Enqueues the calls of a group: a start in each of their streams, their accesses, which run concurrently, and an
    /// end in each stream. Returns the ends. As NCCL documents it, the group is one operation in all of its streams.
    fn enqueue_planned(&mut self, calls: Vec<PlannedCall>) -> Result<Vec<OpId>> {
        let Some(first) = calls.first() else { return Ok(Vec::new()) };
        let name = first.name;
        let operation = |name, work| Operation {
            work,
            kind: OpKind::Collective(name),
            event: None,
            remote: None,
        };
        let mut streams: Vec<StreamRef> = Vec::new();
        for call in &calls {
            if !streams.contains(&call.stream) {
                streams.push(call.stream);
            }
        }
        let mut pushed = Vec::new();
        for stream in streams.iter().skip(1) {
            pushed.push(self.place(*stream, operation(name, Work::Marker), &[])?);
        }
        let rank_calls = calls.iter().map(|call| call.call.clone()).collect();
        let work = Work::Collective(CallPart::Start(rank_calls));
        let start = self.place(streams[0], operation(name, work), &pushed)?;
        pushed.push(start);
        let mut bytes = 0;
        let mut parts = vec![start];
        for (index, PlannedCall { name, stream, call: rank_call, read, write }) in
            calls.into_iter().enumerate()
        {
            let at = (self.stream_handle(stream), self.turn(stream)?, self.lane_of(stream, index)?);
            bytes += read.map_or(0, |read| read.1).max(write.map_or(0, |write| write.1));
            let mut before = vec![start];
            if let Some((src, bytes)) = read {
                let work = Work::Collective(CallPart::Read { call: rank_call.clone(), src, bytes });
                before.push(self.push(operation(name, work), at, &before));
            }
            let read = before.get(1).map(|op| self.remote(*op));
            rank_call.enqueue(self.remote(start), read);
            if let Some((dst, bytes, result)) = write {
                let work =
                    Work::Collective(CallPart::Write { call: rank_call, dst, bytes, result });
                before.push(self.push(operation(name, work), at, &before));
            }
            parts.extend(before.into_iter().skip(1));
        }
        pushed.extend(parts.iter().skip(1));
        let mut ends = Vec::with_capacity(streams.len());
        for stream in streams {
            let end = self.place(stream, operation(name, Work::Marker), &parts)?;
            self.advance(stream, end, transfer_cost(bytes))?;
            ends.push(end);
        }
        pushed.extend(&ends);
        // Only now may they run: other ranks must find the operations before they are complete.
        pushed.into_iter().for_each(|op| self.enqueued(op));
        Ok(ends)
    }

    /// The sequence of a call in a group. The first one is in the sequence of its stream, because it is ordered with
    /// the rest of it.
    fn lane_of(&self, stream: StreamRef, index: usize) -> Result<u64> {
        let sequence = self.stream(stream)?.sequence;
        let index = index as u64;
        Ok(match index {
            0 => sequence,
            _ if index >> CALL_BITS == 0 => CALL_SEQUENCES + (sequence << CALL_BITS) + index,
            // Lanes that nothing else uses.
            _ => CALL_SEQUENCES * 2 + self.queue.next_id(),
        })
    }

    /// Waits for the calls of a communicator.
    pub(crate) fn finish_calls(&mut self, key: Key) -> Result<()> {
        let ends = self.communicators.get(key)?.ends.clone();
        self.wait_for(&ends)
    }

    /// The state of a communicator. Lets its calls make progress while it is finalized.
    pub(crate) fn query_calls(&mut self, key: Key) -> Result<Status> {
        let communicator = self.communicators.get(key)?;
        let status = communicator.status();
        let mut ends = communicator.ends.iter().copied();
        match ends.find(|op| !self.queue.is_done(*op)) {
            Some(op)
                if status == Status::SUCCESS
                    && communicator.phase == CommunicatorPhase::Finalized =>
            {
                self.nudge(op);
                Ok(Status::IN_PROGRESS)
            }
            _ => Ok(status),
        }
    }

    /// Destroys a communicator. Its calls end without effect when their streams reach them.
    pub(crate) fn abort(&mut self, key: Key) -> Result<(), Status> {
        let communicator = self.communicators.remove(key)?;
        communicator.rank.aborted.store(true, Relaxed);
        Ok(())
    }

    /// The ranks of this world will do nothing any more.
    pub(crate) fn lose_ranks(&self) {
        self.communicators.iter().for_each(|of| of.rank.lost.store(true, Relaxed));
        if self.communicators.live() > 0 {
            crate::collectives::changed();
        }
    }

    /// Breaks the connections of the ranks of this world.
    pub(crate) fn break_ranks(&self) {
        self.communicators.iter().for_each(|of| of.rank.broken.store(true, Relaxed));
    }
}
