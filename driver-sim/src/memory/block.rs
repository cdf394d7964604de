//! A block of device memory and its state.

use std::fmt;

use super::{defined::InitMask, shadow::Shadow, touched::AccessedBytes};
use crate::{
    code::{Code, Result},
    op_id::OpId,
};

/// The fill byte of fresh memory.
pub(crate) const POISON: u8 = 0xA5;

/// The reason why memory is not accessible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// The operation that frees it.
    By(OpId),
    /// The host freed it in this call, when `last` was the last operation.
    ByHost { last: OpId, call: u64 },
    /// The operation that allocates it has not run.
    NotBegunBy(OpId),
}

/// The call that allocated or freed a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The number of the driver call, counted per world from 1.
    pub call: u64,
    /// The driver function's name.
    pub function: &'static str,
    /// The handle of the stream, for stream-ordered calls.
    pub stream: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BlockState {
    /// Allocated in stream order by an operation that has not run yet.
    Unborn,
    Live,
    Freed,
}

#[derive(Debug)]
pub(crate) struct MemoryBlock {
    pub(crate) base: u64,
    /// Accessible.
    pub(crate) bytes: usize,
    pub(crate) capacity: usize,
    pub(crate) data: Vec<u8>,
    pub(crate) defined: InitMask,
    pub(crate) phase: BlockState,
    pub(crate) pool: bool,
    /// The requested size in bytes, while the program owns the block.
    pub(crate) handed_out: Option<usize>,
    /// A freed block outside the pool: the address is kept, the bytes are released.
    pub(crate) released: bool,
    pub(crate) allocated: Origin,
    pub(crate) freed: Option<Origin>,
    /// The operation that allocates it.
    pub(crate) begun: Option<OpId>,
    /// The call that frees it.
    pub(crate) ended: Option<End>,
    /// The accesses of the current operation and of earlier ones, if the race detector is on.
    pub(crate) touched: AccessedBytes,
    pub(crate) shadow: Shadow,
}

impl MemoryBlock {
    pub(crate) fn new(
        base: u64,
        bytes: usize,
        capacity: usize,
        pool: bool,
        origin: Origin,
    ) -> Result<Self> {
        let mut data = Vec::new();
        data.try_reserve_exact(capacity).map_err(|_| Code::OUT_OF_MEMORY)?;
        data.resize(capacity, POISON);
        Ok(Self {
            base,
            bytes,
            capacity,
            data,
            defined: InitMask::new(capacity),
            phase: BlockState::Unborn,
            pool,
            handed_out: Some(bytes),
            released: false,
            allocated: origin,
            freed: None,
            begun: None,
            ended: None,
            touched: AccessedBytes::default(),
            shadow: Shadow::default(),
        })
    }

    /// Starts a life: fills `bytes` with poison.
    pub(crate) fn begin(&mut self, bytes: usize, origin: Origin) {
        if self.phase != BlockState::Unborn {
            self.data.fill(POISON);
            self.defined = InitMask::new(self.capacity);
        }
        self.bytes = bytes;
        self.phase = BlockState::Live;
        self.allocated = origin;
    }

    /// Ends a life. The bytes are poisoned when the next life starts.
    pub(crate) fn end(&mut self, origin: Origin) {
        self.phase = BlockState::Freed;
        self.freed = Some(origin);
    }

    /// Releases the bytes to the host and keeps the address.
    pub(crate) fn release(&mut self) {
        self.released = true;
        self.data = Vec::new();
        self.defined = InitMask::default();
        self.touched = AccessedBytes::default();
        self.shadow = Shadow::default();
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (call {}", self.function, self.call)?;
        if let Some(stream) = self.stream {
            write!(f, ", stream {stream:#x}")?;
        }
        f.write_str(")")
    }
}
