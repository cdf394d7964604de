//! Reports: errors of the program that a real device may not report.

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
    /// A launch accesses elements with vector loads or stores that need this alignment, in bytes, and the address of
    /// the first element is another one.
    Misaligned,
    /// A launch did not terminate.
    Endless,
    /// A free of memory that the program does not own.
    BadFree,
    /// A call of a communicator that differs from the calls of other ranks that it belongs to.
    Mismatch,
    /// A wait that did not end, because ranks have not made the calls that it needs.
    MissingRank,
    /// A wait that did not end, because calls of ranks wait for each other in a circle.
    Deadlock,
    /// A call with a communicator that was destroyed.
    DestroyedCommunicator,
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

impl Report {
    /// A report about calls, not about an operation on memory.
    pub(crate) fn of_call(kind: ReportKind, operation: String) -> Self {
        Self {
            kind,
            op: 0,
            operation,
            stream: 0,
            address: 0,
            bytes: 0,
            allocated: None,
            freed: None,
        }
    }

    fn is_of_call(&self) -> bool {
        matches!(
            self.kind,
            ReportKind::Mismatch
                | ReportKind::MissingRank
                | ReportKind::Deadlock
                | ReportKind::DestroyedCommunicator
        )
    }
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
            ReportKind::Misaligned => "vector access to elements that are not aligned",
            ReportKind::Endless => "launch without end",
            ReportKind::BadFree => "free of what is not allocated",
            ReportKind::Mismatch => "calls of ranks that do not match",
            ReportKind::MissingRank => "wait for a call that ranks have not made",
            ReportKind::Deadlock => "calls of ranks that wait for each other",
            ReportKind::DestroyedCommunicator => "call with a destroyed communicator",
        };
        if self.is_of_call() {
            return write!(f, "{what}: {}", self.operation);
        }
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
