//! The timeline: the operations in the order in which they ran.

use std::{collections::VecDeque, fmt};

use crate::{op_id::OpId, trace::Trace};

/// An operation that ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExecutedOp {
    /// The operation.
    pub op: OpId,
    /// The number of the driver call during which it ran.
    pub during: u64,
}

/// The operations of a world in the order in which they ran. A long timeline lacks the oldest operations.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Timeline {
    ran: VecDeque<ExecutedOp>,
}

pub(crate) struct TimelineDisplay<'a>(pub(crate) &'a Timeline, pub(crate) &'a Trace);

/// The largest number of recorded operations.
const CAPACITY: usize = 4096;

impl Timeline {
    /// The operations in the order in which they ran, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = ExecutedOp> {
        self.ran.iter().copied()
    }

    pub(crate) fn push(&mut self, op: OpId, during: u64) {
        if self.ran.len() == CAPACITY {
            self.ran.pop_front();
        }
        self.ran.push_back(ExecutedOp { op, during });
    }
}

impl fmt::Display for TimelineDisplay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(timeline, trace) = self;
        for ExecutedOp { op, during } in timeline.iter() {
            write!(f, "call {during:>6}: operation {op:>6}")?;
            match trace.get(op) {
                Some(record) => writeln!(f, ", {} on stream {:#x}", record.kind, record.stream)?,
                None => writeln!(f)?,
            }
        }
        Ok(())
    }
}
