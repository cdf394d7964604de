//! Reports: what a program did that a real device would punish, or worse, would not notice.

use std::fmt;

use crate::{
    memory::{FaultKind, Origin},
    queue::OpId,
};

/// What was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReportKind {
    /// An access to what is no memory of the device. The context is lost.
    Access(FaultKind),
    /// A read of bytes that nothing ever wrote.
    Uninitialized,
    /// A launch ran after its module was unloaded.
    Unloaded,
    /// A launch did not come to an end.
    Endless,
    /// Memory was freed that the program does not hold.
    BadFree,
}

/// Something found by a world.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Report {
    /// What.
    pub kind: ReportKind,
    /// The operation, 0 where a call itself did it.
    pub op: OpId,
    /// The operation in words.
    pub operation: String,
    /// Its stream's handle.
    pub stream: u64,
    /// The address.
    pub address: u64,
    /// The bytes accessed.
    pub bytes: usize,
    /// Where the memory was allocated.
    pub allocated: Option<Origin>,
    /// Where it was freed.
    pub freed: Option<Origin>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            ReportKind::Access(FaultKind::Unmapped) => "access to no memory",
            ReportKind::Access(FaultKind::OutOfBounds) => "access out of bounds",
            ReportKind::Access(FaultKind::AfterFree) => "use after free",
            ReportKind::Access(FaultKind::BeforeAlloc) => {
                "use before its stream-ordered allocation"
            }
            ReportKind::Uninitialized => "read of uninitialized memory",
            ReportKind::Unloaded => "launch after its module was unloaded",
            ReportKind::Endless => "launch without end",
            ReportKind::BadFree => "free of what is not allocated",
        };
        write!(f, "{what}: {} bytes at {:#x}, by operation ", self.bytes, self.address)?;
        write!(f, "{} ({}) on stream {:#x}", self.op, self.operation, self.stream)?;
        if let Some(origin) = self.allocated {
            write!(f, "; allocated by {origin}")?;
        }
        if let Some(origin) = self.freed {
            write!(f, "; freed by {origin}")?;
        }
        Ok(())
    }
}
