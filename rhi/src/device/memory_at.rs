//! What a driver tells about an address.

use crate::DevicePtr;

/// What a driver knows of the memory at an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MemoryAt {
    /// The driver cannot tell.
    Unknown,
    /// The driver has no memory there.
    Nothing,
    /// Memory that the driver manages.
    Managed(ManagedMemory),
}

/// Memory that a driver manages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ManagedMemory {
    /// The device whose memory it is. `None` if all devices can access it, as pinned memory.
    pub ordinal: Option<usize>,
    /// Whether it belongs to the context of the device that was asked. True if the driver cannot tell.
    pub in_context: bool,
    /// The first address and the size in bytes of the allocation. `None` if the driver cannot tell.
    pub allocation: Option<(DevicePtr, usize)>,
}
