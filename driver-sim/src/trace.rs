//! The trace: the operations in the order of enqueueing, with their dependencies. It proves whether two operations are
//! ordered.

use std::{
    collections::{HashSet, VecDeque},
    fmt,
};

use crate::{op::OpKind, op_id::OpId};

/// An enqueued operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceRecord {
    /// The number of the operation.
    pub op: OpId,
    /// The kind of the operation.
    pub kind: OpKind,
    /// The handle of its stream; 0 is the default stream.
    pub stream: u64,
    /// The handle of the event of a record or wait.
    pub event: Option<u64>,
    /// The operations that it runs after by the order of streams and events. Only direct dependencies.
    pub after: Vec<OpId>,
    /// The number of the driver call that enqueued it.
    pub call: u64,
    /// The last host wait before it: everything that the host had waited for is complete too.
    pub host: Option<OpId>,
}

/// The operations of a world in the order in which they were enqueued.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    records: Vec<TraceRecord>,
}

/// The largest number of recorded operations.
const CAPACITY: usize = 1 << 16;

#[derive(Debug, Default)]
pub(crate) struct TraceRecorder {
    entries: VecDeque<TraceRecord>,
    last_host_wait: Option<OpId>,
}

impl Trace {
    /// The records, oldest first. A long trace lacks the oldest records.
    #[must_use]
    pub fn records(&self) -> &[TraceRecord] {
        &self.records
    }

    /// The records of a stream.
    pub fn on_stream(&self, stream: u64) -> impl Iterator<Item = &TraceRecord> {
        self.records.iter().filter(move |record| record.stream == stream)
    }

    /// The launches of a function.
    pub fn launches<'a>(&'a self, function: &'a str) -> impl Iterator<Item = &'a TraceRecord> {
        self.records.iter().filter(
            move |record| matches!(&record.kind, OpKind::Launch(name) if &**name == function),
        )
    }

    /// Whether `a` is complete before `b` starts in every schedule, by streams and events only.
    #[must_use]
    pub fn device_path(&self, a: OpId, b: OpId) -> bool {
        self.path(a, b, false)
    }

    /// Whether `a` is complete before `b` starts in every schedule, by streams and events, or because the host waited
    /// between them.
    #[must_use]
    pub fn happens_before(&self, a: OpId, b: OpId) -> bool {
        self.path(a, b, true)
    }

    /// Whether neither of the two is ordered before the other, so that they may overlap. False if one of them is not
    /// recorded.
    #[must_use]
    pub fn unordered(&self, a: OpId, b: OpId) -> bool {
        let known = self.get(a).is_some() && self.get(b).is_some();
        known && a != b && !self.happens_before(a, b) && !self.happens_before(b, a)
    }

    fn path(&self, a: OpId, b: OpId, through_host: bool) -> bool {
        let mut seen = HashSet::new();
        let mut open = vec![b];
        while let Some(op) = open.pop() {
            let Some(record) = self.get(op) else { continue };
            let host = record.host.filter(|_| through_host);
            for before in record.after.iter().copied().chain(host) {
                if before == a {
                    return true;
                }
                // Dependencies have smaller numbers.
                if before > a && seen.insert(before) {
                    open.push(before);
                }
            }
        }
        false
    }

    pub(crate) fn get(&self, op: OpId) -> Option<&TraceRecord> {
        let at = self.records.binary_search_by_key(&op, |record| record.op).ok()?;
        self.records.get(at)
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for record in &self.records {
            write!(f, "{:>6} stream {:#x} {}", record.op, record.stream, record.kind)?;
            if let Some(event) = record.event {
                write!(f, " {event:#x}")?;
            }
            writeln!(f, " after {:?}", record.after)?;
        }
        Ok(())
    }
}

impl TraceRecorder {
    pub(crate) fn push(
        &mut self,
        op: OpId,
        kind: OpKind,
        stream: u64,
        event: Option<u64>,
        after: &[OpId],
        call: u64,
    ) {
        if self.entries.len() == CAPACITY {
            self.entries.pop_front();
        }
        let host = self.last_host_wait;
        if kind == OpKind::HostWait {
            self.last_host_wait = Some(op);
        }
        let after = after.to_vec();
        self.entries.push_back(TraceRecord { op, kind, stream, event, after, call, host });
    }

    /// The kind, stream and call of an operation.
    pub(crate) fn op_info(&self, op: OpId) -> (OpKind, u64, u64) {
        let at = self.entries.binary_search_by_key(&op, |entry| entry.op);
        let entry = at.ok().map(|at| &self.entries[at]);
        entry.map_or((OpKind::Forgotten, 0, 0), |e| (e.kind.clone(), e.stream, e.call))
    }

    pub(crate) fn snapshot(&self) -> Trace {
        Trace { records: self.entries.iter().cloned().collect() }
    }
}
