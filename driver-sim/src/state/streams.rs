//! The order of the work of streams.
//!
//! The work of a stream runs in order. The legacy default stream and the blocking streams are ordered with each other
//! in both directions. Non-blocking streams are only ordered by their waits.

use super::WorldState;
use crate::{
    code::{Code, Result},
    copy_shape::CopyShape,
    graph::Graph,
    handle::{HandleKind, encode},
    launch::ExecutionError,
    op::{OpKind, Work},
    op_id::{OpId, Ops},
    stream::{PRIORITIES, Stream, StreamRef},
};

impl WorldState {
    pub(crate) fn create_stream(&mut self, blocking: bool, priority: i32) -> Result<usize> {
        let priority = priority.clamp(PRIORITIES.1, PRIORITIES.0);
        let sequence = self.creates.streams + 1;
        let key =
            self.streams.insert(Stream { sequence, blocking, priority, ..Stream::default() })?;
        self.creates.streams = sequence;
        Ok(encode(HandleKind::Stream, self.ordinal, key))
    }

    /// Destroys a stream. Its pending work runs, and its order stays in effect.
    pub(crate) fn destroy_stream(&mut self, stream: StreamRef) -> Result<()> {
        let StreamRef::Created(key) = stream else { return Err(Code::INVALID_HANDLE) };
        let stream = self.streams.remove(key)?;
        let queue = &self.queue;
        self.orphans.retain(|&op| !queue.is_done(op));
        self.orphans.extend(stream.tail.filter(|_| stream.blocking));
        Ok(())
    }

    pub(crate) fn stream(&self, stream: StreamRef) -> Result<&Stream> {
        match stream {
            StreamRef::Legacy => Ok(&self.legacy),
            StreamRef::Created(key) => self.streams.get(key),
        }
    }

    /// The position of the stream among those that received work since the seed was set. It is not counted from
    /// creation, so that a seed has the same effect for programs that did other things before.
    pub(crate) fn turn(&mut self, stream: StreamRef) -> Result<u64> {
        let new = (self.seeds, self.turns);
        let stream = self.stream_mut(stream)?;
        if stream.turn.0 != new.0 {
            stream.turn = new;
            self.turns += 1;
            return Ok(new.1);
        }
        Ok(stream.turn.1)
    }

    pub(crate) fn stream_mut(&mut self, stream: StreamRef) -> Result<&mut Stream> {
        match stream {
            StreamRef::Legacy => Ok(&mut self.legacy),
            StreamRef::Created(key) => self.streams.get_mut(key),
        }
    }

    pub(crate) fn stream_handle(&self, stream: StreamRef) -> u64 {
        match stream {
            StreamRef::Legacy => 0,
            StreamRef::Created(key) => encode(HandleKind::Stream, self.ordinal, key) as u64,
        }
    }

    /// The dependencies of the stream's next operation.
    pub(crate) fn order(&self, stream: StreamRef) -> Result<Ops> {
        let own = self.stream(stream)?;
        let mut after: Ops = own.tail.into_iter().collect();
        match stream {
            StreamRef::Legacy => {
                let blocking = self.streams.iter().filter(|stream| stream.blocking);
                after.extend(blocking.filter_map(|stream| stream.tail));
                after.extend(self.orphans.iter().copied());
            }
            StreamRef::Created(_) if own.blocking => after.extend(self.legacy.tail),
            StreamRef::Created(_) => {}
        }
        Ok(after)
    }

    /// When the stream's next operation ends, if its duration is `cost` nanoseconds.
    pub(crate) fn end_after(&self, stream: StreamRef, cost: u64) -> Result<u64> {
        let others = match stream {
            StreamRef::Legacy => {
                let blocking = self.streams.iter().filter(|stream| stream.blocking);
                blocking.map(|stream| stream.end).max().unwrap_or(0)
            }
            StreamRef::Created(key) if self.streams.get(key)?.blocking => self.legacy.end,
            StreamRef::Created(_) => 0,
        };
        Ok(self.stream(stream)?.end.max(others).max(self.host_time) + cost)
    }

    /// Makes `id` the last operation of the stream; its duration is `cost` nanoseconds.
    pub(crate) fn advance(&mut self, stream: StreamRef, id: OpId, cost: u64) -> Result<()> {
        let end = self.end_after(stream, cost)?;
        let stream = self.stream_mut(stream)?;
        (stream.end, stream.tail) = (end, Some(id));
        Ok(())
    }

    /// Begins to make nodes of what is enqueued on a stream.
    pub(crate) fn begin_capture(&mut self, stream: StreamRef) -> Result<()> {
        if stream == StreamRef::Legacy {
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
        }
        self.check_not_captured(stream)?;
        let graph = self.graphs.insert(Graph::default())?;
        self.creates.graphs += 1;
        self.stream_mut(stream)?.capture = Some((graph, None));
        Ok(())
    }

    /// Ends the capture of a stream, and returns its graph.
    pub(crate) fn end_capture(&mut self, stream: StreamRef) -> Result<usize> {
        let capture = self.stream_mut(stream)?.capture.take();
        let (graph, _) = capture.ok_or(Code::INVALID_VALUE)?;
        Ok(encode(HandleKind::Graph, self.ordinal, graph))
    }

    pub(crate) fn is_capturing(&self, stream: StreamRef) -> Result<bool> {
        Ok(self.stream(stream)?.capture.is_some())
    }

    fn check_not_captured(&self, stream: StreamRef) -> Result<()> {
        match self.stream(stream)?.capture {
            Some(_) => Err(Code::STREAM_CAPTURE_UNSUPPORTED),
            None => Ok(()),
        }
    }

    /// The host has waited for what ended at this time of the simulated clock: what it enqueues from now on starts
    /// later.
    pub(crate) fn host_reaches(&mut self, time: u64) {
        self.host_time = self.host_time.max(time);
    }

    /// Whether all work of the stream is complete. If not, runs some of it.
    pub(crate) fn query_stream(&mut self, stream: StreamRef) -> Result<bool> {
        self.check_not_captured(stream)?;
        let targets = self.whole(stream)?;
        match targets.iter().copied().find(|&op| !self.queue.is_done(op)) {
            Some(op) => {
                self.nudge(op);
                self.check_lost()?;
                Ok(false)
            }
            None => {
                self.host_reaches(self.stream(stream)?.end);
                targets.into_iter().for_each(|target| self.note_host_wait(Some(target)));
                Ok(true)
            }
        }
    }

    pub(crate) fn synchronize_stream(&mut self, stream: StreamRef) -> Result<()> {
        self.check_not_captured(stream)?;
        let targets = self.whole(stream)?;
        self.wait_for(&targets)?;
        self.host_reaches(self.stream(stream)?.end);
        targets.into_iter().for_each(|target| self.note_host_wait(Some(target)));
        Ok(())
    }

    /// The last operations of a stream's work.
    fn whole(&self, stream: StreamRef) -> Result<Ops> {
        match stream {
            // Waiting for the legacy stream includes the blocking streams, as for its next operation.
            StreamRef::Legacy => self.order(stream),
            StreamRef::Created(_) => Ok(self.stream(stream)?.tail.into_iter().collect()),
        }
    }

    /// The streams whose last operation is pending, is not a free, and has no other stream waiting for it.
    pub(crate) fn unjoined(&self) -> Vec<u64> {
        let ends_open = |stream: &Stream| {
            let work = stream.tail.and_then(|tail| Some((tail, self.queue.work(tail)?)));
            work.is_some_and(|(tail, work)| {
                !matches!(work, Work::Free { .. }) && !self.queue.is_waited_for(tail)
            })
        };
        let created = self.streams.iter_keys().filter(|(_, stream)| ends_open(stream));
        let created = created.map(|(key, _)| StreamRef::Created(key));
        let legacy = ends_open(&self.legacy).then_some(StreamRef::Legacy);
        created.chain(legacy).map(|stream| self.stream_handle(stream)).collect()
    }

    /// A copy from pageable memory: its bytes, row after row, are read now.
    pub(crate) fn upload(
        &mut self,
        stream: StreamRef,
        dst: u64,
        data: Box<[u8]>,
        rows: CopyShape,
    ) -> Result<()> {
        let work = Work::Upload { dst, data, rows };
        self.enqueue(stream, work, OpKind::CopyHtod, &[], None).map(drop)
    }

    /// A copy to pageable memory: it is complete when the call returns. This takes its position in the stream.
    pub(crate) fn begin_download(&mut self, stream: StreamRef) -> Result<OpId> {
        self.enqueue(stream, Work::Marker, OpKind::CopyDtoh, &[], None)
    }

    /// Reads the bytes directly after the position, since only the call may access the caller's memory: row after row
    /// into `target`.
    pub(crate) fn download(
        &mut self,
        (id, stream): (OpId, StreamRef),
        src: u64,
        rows: CopyShape,
        target: &mut [u8],
    ) -> Result<()> {
        self.wait_for(&[id])?;
        self.host_reaches(self.stream(stream)?.end);
        self.note_host_wait(Some(id));
        let outcome = rows.dense_target().each().try_for_each(|(to, from)| {
            let target = &mut target[to..][..rows.width];
            self.memory.read(src + from as u64, target).map_err(ExecutionError::from)
        });
        let operation = || format!("{} from {src:#x} to pageable memory", rows.describe());
        self.settle(id, self.stream_handle(stream), operation, outcome);
        self.check_lost()
    }
}
