//! Records of events, and waits for them.

use super::WorldState;
use crate::{
    code::{Code, Result},
    event::{Event, EventRecord},
    handle::{HandleKind, Key, encode},
    op::{OpKind, Operation, Work},
    remote::Remote,
    stream::StreamRef,
};

impl WorldState {
    pub(crate) fn create_event(&mut self, timing: bool) -> Result<usize> {
        let key = self.events.insert(Event { timing, record: None })?;
        self.creates.events += 1;
        Ok(encode(HandleKind::Event, self.ordinal, key))
    }

    pub(crate) fn destroy_event(&mut self, event: Key) -> Result<()> {
        self.events.remove(event).map(drop)
    }

    pub(crate) fn record(&mut self, event: Key, stream: StreamRef) -> Result<()> {
        self.events.get(event)?;
        let handle = encode(HandleKind::Event, self.ordinal, event) as u64;
        let op = self.enqueue(stream, Work::Marker, OpKind::Record, &[], Some(handle))?;
        let at = self.stream(stream)?.end;
        self.events.get_mut(event)?.record = Some(EventRecord { op, at });
        Ok(())
    }

    /// Makes the stream's later work wait for the event's latest record.
    pub(crate) fn wait(&mut self, stream: StreamRef, event: Key) -> Result<()> {
        let record = self.events.get(event)?.record;
        self.stream(stream)?;
        let Some(record) = record else { return Ok(()) };
        let handle = encode(HandleKind::Event, self.ordinal, event) as u64;
        let target = self.stream_mut(stream)?;
        target.end = target.end.max(record.at);
        self.enqueue(stream, Work::Marker, OpKind::Wait, &[record.op], Some(handle)).map(drop)
    }

    /// Whether the latest record is complete. If not, runs something that it waits for.
    pub(crate) fn query_event(&mut self, event: Key) -> Result<bool> {
        match self.events.get(event)?.record {
            Some(record) if !self.queue.is_done(record.op) => {
                self.nudge(record.op);
                self.check_lost()?;
                Ok(false)
            }
            record => {
                if let Some(record) = record {
                    self.host_reaches(record.at);
                    self.note_host_wait(Some(record.op));
                }
                Ok(true)
            }
        }
    }

    pub(crate) fn synchronize_event(&mut self, event: Key) -> Result<()> {
        if let Some(record) = self.events.get(event)?.record {
            self.wait_for(&[record.op])?;
            self.host_reaches(record.at);
            self.note_host_wait(Some(record.op));
        }
        Ok(())
    }

    /// The event's latest record, for a stream of another world, and its time.
    pub(crate) fn latest_record(&mut self, event: Key) -> Result<Option<(Remote, u64)>> {
        let record = self.events.get(event)?.record;
        Ok(record.map(|record| (self.remote(record.op), record.at)))
    }

    /// Makes the stream's later work wait for a record in another world.
    pub(crate) fn wait_remote(
        &mut self,
        stream: StreamRef,
        event: u64,
        remote: Remote,
        at: u64,
    ) -> Result<()> {
        if self.is_capturing(stream)? {
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
        }
        let target = self.stream_mut(stream)?;
        target.end = target.end.max(at);
        let (work, kind) = (Work::Marker, OpKind::Wait);
        let wait = Operation { work, kind, event: Some(event), remote: Some(remote) };
        self.enqueue_operation(stream, wait, &[]).map(drop)
    }

    pub(crate) fn elapsed(&self, start: Key, end: Key) -> Result<f32> {
        let mut times = [0; 2];
        for (time, key) in times.iter_mut().zip([start, end]) {
            let event = self.events.get(key)?;
            let record = event.record.filter(|_| event.timing).ok_or(Code::INVALID_HANDLE)?;
            if !self.queue.is_done(record.op) {
                return Err(Code::NOT_READY);
            }
            *time = record.at;
        }
        Ok((times[1] as f64 - times[0] as f64) as f32 / 1e6)
    }
}
