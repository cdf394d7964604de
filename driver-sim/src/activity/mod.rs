//! What the profiling interfaces of the simulated drivers record: calls of the driver, and what the device does for
//! them. [`cupti`] and [`roctracer`] write the records of each.
//!
//! Like the real interfaces, these are of the process: all worlds write to them.

pub(crate) mod cupti;
pub(crate) mod roctracer;

use std::{
    cell::Cell,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use crate::{
    family::Family,
    op::{OpKind, Work},
};

/// An activity that is recorded when its operation has run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Activity {
    family: Family,
    kind: ActivityKind,
    /// The number of the driver call that enqueued it.
    correlation: u64,
    /// When it begins and ends, by the clock of the records.
    begin: u64,
    end: u64,
    ordinal: u16,
    /// The number of the graph node that it is; 0 for none.
    node: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ActivityKind {
    Kernel,
    Copy,
    CopyToHost,
    Fill,
    /// The record of an event.
    Event,
}

/// A call of a driver. Its drop records it.
#[derive(Debug)]
pub(crate) struct CallRecord(Family, u64);

/// When the simulated device's clock began, by the clock of the records, which are different ones on a GPU, too.
const EPOCH: u64 = 1 << 40;

static NEXT_CORRELATION: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// The recorded call that the thread is in, and its driver.
    static CALL: Cell<Option<(Family, u64)>> = const { Cell::new(None) };
}

/// Begins to record a call by this thread, if the interface of the driver records calls.
pub(crate) fn enter_call(family: Family) -> Option<CallRecord> {
    let is_recorded = match family {
        Family::Cuda => cupti::records_calls(),
        Family::Hip => roctracer::records_calls(),
    };
    is_recorded.then(|| {
        let correlation = NEXT_CORRELATION.fetch_add(1, Relaxed);
        CALL.set(Some((family, correlation)));
        CallRecord(family, correlation)
    })
}

impl Drop for CallRecord {
    fn drop(&mut self) {
        CALL.set(None);
        match self.0 {
            Family::Cuda => cupti::write_call(self.1),
            Family::Hip => roctracer::write_call(self.1),
        }
    }
}

impl Activity {
    /// The activity of an operation, which the simulated device begins and ends at these times, and which is of the
    /// graph node with this number. `None` if it is none, or if the thread is in no recorded call.
    pub(crate) fn of(
        (work, kind): (&Work, &OpKind),
        ordinal: u16,
        [start, end]: [u64; 2],
        node: u64,
    ) -> Option<Self> {
        let (family, correlation) = CALL.get()?;
        let kind = match (work, kind) {
            (Work::Launch(_), _) => ActivityKind::Kernel,
            (Work::Fill { .. }, _) => ActivityKind::Fill,
            (Work::Copy { .. } | Work::Upload { .. } | Work::PeerWrite { .. }, _) => {
                ActivityKind::Copy
            }
            (Work::Marker, OpKind::CopyDtoh) => ActivityKind::CopyToHost,
            (Work::Marker, OpKind::Record) => ActivityKind::Event,
            // Allocations and frees are no work of the device.
            _ => return None,
        };
        let (begin, end) = (EPOCH + start, EPOCH + end);
        Some(Self { family, kind, correlation, begin, end, ordinal, node })
    }

    /// The operation has run.
    pub(crate) fn record(&self) {
        match self.family {
            Family::Cuda => cupti::write(self),
            Family::Hip => roctracer::write(self),
        }
    }
}
