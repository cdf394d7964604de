//! The race detector: finds operations that access the same bytes without an order between them.
//!
//! Every operation has a vector clock of the operations that are complete before it starts: earlier work of its stream,
//! the records that it waits for, and what the host had waited for when it was enqueued. When an operation runs, the
//! bytes that it accesses are compared with the latest earlier accesses. A race is found in every schedule, whether the
//! results were correct or not. Work that the program does not enqueue is not checked.
//!
//! The host counts as one thread, because synchronization between its threads is not visible. Accesses of the host to
//! pinned memory are not visible either.

mod detector;

use std::{env, fmt, sync::OnceLock};

use crate::{memory::AccessKind, op::OpKind, op_id::OpId};

pub(crate) use detector::{Detector, MIN_PRUNE_THRESHOLD, take_host_clock};

/// Two operations on the same bytes without an order between them, at least one of which changes the bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Race {
    /// The operation that was enqueued first. It need not have run first.
    pub first: RacingOperation,
    /// The operation that was enqueued later.
    pub second: RacingOperation,
    /// The address of the first shared byte.
    pub address: u64,
    /// The number of shared bytes.
    pub bytes: usize,
    /// The youngest operation of the first operation's stream that the second one is ordered after.
    pub ordered_after: Option<OpId>,
}

/// One of the two operations of a race.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RacingOperation {
    /// The number; 0 for an access of the host outside any stream.
    pub op: OpId,
    /// The kind of the operation.
    pub kind: OpKind,
    /// The handle of the stream, 0 for the default stream; `None` for the host.
    pub stream: Option<u64>,
    /// The kind of the access.
    pub access: AccessKind,
    /// The number of the driver call that enqueued it.
    pub call: u64,
}

/// Whether races are detected and printed from the start: `QUADRANTS_SIM_RACES`.
pub(crate) fn from_env() -> bool {
    static ON: OnceLock<bool> = OnceLock::new();
    *ON.get_or_init(|| env::var_os("QUADRANTS_SIM_RACES").is_some_and(|value| value == "1"))
}

impl fmt::Display for Race {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, second, .. } = self;
        write!(f, "race on {} bytes at {:#x}: {first}, and {second}. ", self.bytes, self.address)?;
        match second.stream {
            Some(stream) => write!(f, "Stream {stream:#x} does not wait")?,
            None => write!(f, "The host does not wait")?,
        }
        write!(f, " for operation {}", first.op)?;
        if let Some(after) = self.ordered_after {
            write!(f, " (only for the work up to operation {after})")?;
        }
        if second.op != 0 {
            write!(f, " before operation {}", second.op)?;
        }
        Ok(())
    }
}

impl fmt::Display for RacingOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let access = match self.access {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
            AccessKind::Atomic => "atomic",
            AccessKind::Alloc => "begin of life",
            AccessKind::Free => "end of life",
        };
        match self.stream {
            Some(stream) => {
                write!(
                    f,
                    "{access} by operation {} ({}) on stream {stream:#x}",
                    self.op, self.kind
                )?;
            }
            None => write!(f, "{access} by the host ({})", self.kind)?,
        }
        write!(f, ", call {}", self.call)
    }
}
