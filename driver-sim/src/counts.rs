//! Counters of the objects that a program created and of those that exist.

/// The number of created objects of each kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct CreatedCounts {
    /// Streams.
    pub streams: u64,
    /// Events.
    pub events: u64,
    /// Modules.
    pub modules: u64,
    /// Allocations outside stream order.
    pub allocations: u64,
    /// Allocations in stream order.
    pub stream_allocations: u64,
    /// Allocations of pinned memory.
    pub pinned: u64,
    /// Graphs.
    pub graphs: u64,
    /// Executable graphs.
    pub graph_execs: u64,
    /// Communicators.
    pub communicators: u64,
}

/// The number of existing objects of each kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct LiveCounts {
    /// Streams.
    pub streams: usize,
    /// Events.
    pub events: usize,
    /// Modules.
    pub modules: usize,
    /// Blocks of device memory.
    pub blocks: usize,
    /// Bytes of device memory.
    pub bytes: usize,
    /// Pinned allocations.
    pub pinned: usize,
    /// Bytes of pinned memory.
    pub pinned_bytes: usize,
    /// Graphs.
    pub graphs: usize,
    /// Executable graphs.
    pub graph_execs: usize,
    /// Pending operations.
    pub pending: usize,
    /// References to the primary context.
    pub context_refs: u32,
    /// Communicators of ranks on the device.
    pub communicators: usize,
}
