//! The race detector: operations that touch the same bytes without an order between them.
//!
//! Every operation has a vector clock of what is over before it begins: what its stream did before, the
//! records that it waits for, and what the host had waited for when it was enqueued. The bytes that it
//! touches when it runs are compared with whoever touched them last. So a race is found in every schedule,
//! whether it went well or not; what the program never does is not judged.
//!
//! The host counts as one thread, since how its threads wait for each other cannot be seen. Nor can what
//! it does to page-locked memory by itself.

mod clock;
mod detect;
mod shadow;

use std::{env, fmt, sync::OnceLock};

use crate::{memory::Touch, op::OpKind, queue::OpId};

pub(crate) use clock::{Clock, Epoch};
pub(crate) use detect::Detector;
pub(crate) use shadow::Shadow;

/// Two operations on the same bytes, at least one of which changes them, with no order between them.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Race {
    /// The one that was enqueued first, though not the one that ran first.
    pub first: Side,
    /// The other one.
    pub second: Side,
    /// Where they meet first.
    pub address: u64,
    /// On how many bytes they meet.
    pub bytes: usize,
    /// The youngest operation of the first one's stream that the second one is ordered behind.
    pub ordered_behind: Option<OpId>,
}

/// One of two operations that race.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Side {
    /// Its number; 0 for what the host does itself, outside any stream.
    pub op: OpId,
    /// What it is.
    pub kind: OpKind,
    /// Its stream's handle, 0 for the default stream; none for the host.
    pub stream: Option<u64>,
    /// What it does to the bytes.
    pub touch: Touch,
    /// The number of the driver call that enqueued it.
    pub call: u64,
}

/// The edge that would make two operations no race: `waiter` waits for what is on `stream` up to `after`, and
/// then comes `before`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MissingEdge {
    /// The stream to record an event on.
    pub stream: Option<u64>,
    /// The operation to record it behind.
    pub after: OpId,
    /// The stream that has to wait for it; none for the host.
    pub waiter: Option<u64>,
    /// The operation to wait in front of; 0 for what the host does itself.
    pub before: OpId,
}

/// Whether races are looked for and printed from the start: `QUADRANTS_SIM_RACES`.
pub(crate) fn from_env() -> bool {
    static ON: OnceLock<bool> = OnceLock::new();
    *ON.get_or_init(|| env::var_os("QUADRANTS_SIM_RACES").is_some_and(|value| value == "1"))
}

impl Race {
    /// The edge whose absence makes it a race.
    #[must_use]
    pub fn missing_edge(&self) -> MissingEdge {
        let Self { first, second, .. } = self;
        MissingEdge {
            stream: first.stream,
            after: first.op,
            waiter: second.stream,
            before: second.op,
        }
    }
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
        if let Some(behind) = self.ordered_behind {
            write!(f, " (only for what came up to operation {behind})")?;
        }
        if second.op != 0 {
            write!(f, " in front of operation {}", second.op)?;
        }
        Ok(())
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let touch = match self.touch {
            Touch::Read => "read",
            Touch::Write => "write",
            Touch::Atomic => "atomic",
            Touch::Alloc => "begin of life",
            Touch::Free => "end of life",
        };
        match self.stream {
            Some(stream) => {
                write!(
                    f,
                    "{touch} by operation {} ({}) on stream {stream:#x}",
                    self.op, self.kind
                )?;
            }
            None => write!(f, "{touch} by the host ({})", self.kind)?,
        }
        write!(f, ", call {}", self.call)
    }
}
