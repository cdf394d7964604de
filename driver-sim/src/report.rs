//! Reports: errors of the program that a real device would punish or not detect.

use std::fmt;

use crate::{
    memory::{InvalidAccess, Origin},
    op_id::OpId,
};

/// The kind of error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReportKind {
    /// An access outside device memory. The context is lost.
    Access(InvalidAccess),
    /// A read of uninitialized bytes.
    Uninitialized,
    /// A launch ran after its module was unloaded.
    Unloaded,
    /// A launch has less dynamic shared memory than its arrays need, in bytes.
    SharedMemory,
    /// A launch did not terminate.
    Endless,
    /// A free of memory that the program does not own.
    BadFree,
}

/// An error that a world detected.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The kind.
    pub kind: ReportKind,
    /// The operation; 0 if the call itself did it.
    pub op: OpId,
    /// A description of the operation.
    pub operation: String,
    /// The handle of its stream.
    pub stream: u64,
    /// The address.
    pub address: u64,
    /// The number of accessed bytes.
    pub bytes: usize,
    /// The allocation of the memory.
    pub allocated: Option<Origin>,
    /// The free of the memory.
    pub freed: Option<Origin>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            ReportKind::Access(InvalidAccess::Unmapped) => "access to no memory",
            ReportKind::Access(InvalidAccess::OutOfBounds) => "access out of bounds",
            ReportKind::Access(InvalidAccess::AfterFree) => "use after free",
            ReportKind::Access(InvalidAccess::BeforeAlloc) => {
                "use before its stream-ordered allocation"
            }
            ReportKind::Uninitialized => "read of uninitialized memory",
            ReportKind::Unloaded => "launch after its module was unloaded",
            ReportKind::SharedMemory => "launch with less shared memory than its arrays need",
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
