//! Events: markers in streams that other streams and the host wait for.

use crate::op_id::OpId;

#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) timing: bool,
    /// The latest record. Waits keep the record that was the latest when they were enqueued.
    pub(crate) record: Option<EventRecord>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct EventRecord {
    pub(crate) op: OpId,
    /// The time in the simulated device's clock.
    pub(crate) at: u64,
}

impl Event {
    /// The operation of the latest record.
    pub(crate) fn recorded(&self) -> Option<OpId> {
        self.record.map(|record| record.op)
    }
}
