//! The work of operations.

use std::{fmt, sync::Arc};

use crate::{
    collectives::{Blocker, CallPart},
    copy_shape::CopyShape,
    launch::KernelLaunch,
    memory::Origin,
    remote::{PeerCopyBytes, Remote},
};

/// The work of an operation. Addresses are of device memory or pinned memory.
#[derive(Debug)]
pub(crate) enum Work {
    /// Does nothing except ordering: records, waits, and copies that the call makes itself.
    Marker,
    Launch(KernelLaunch),
    Copy {
        dst: u64,
        src: u64,
        rows: CopyShape,
    },
    /// A copy from pageable memory, whose bytes were read during the call: row after row.
    Upload {
        dst: u64,
        data: Box<[u8]>,
        rows: CopyShape,
    },
    Fill {
        dst: u64,
        pattern: u32,
        width: usize,
        bytes: usize,
    },
    /// The first half of a copy between worlds, which runs in the world of the source.
    PeerRead {
        src: u64,
        bytes: usize,
        parcel: PeerCopyBytes,
    },
    /// The second half, which runs in the world of the target.
    PeerWrite {
        dst: u64,
        bytes: usize,
        parcel: PeerCopyBytes,
    },
    /// A part of a call of a communicator.
    Collective(CallPart),
    Allocate {
        base: u64,
        bytes: usize,
        origin: Origin,
    },
    Free {
        base: u64,
        origin: Origin,
    },
}

/// The kind of an operation, for traces and reports.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum OpKind {
    /// A launch of this function.
    Launch(Arc<str>),
    /// The start or end of a graph launch; its nodes are launches.
    GraphLaunch,
    /// A copy from host to device.
    CopyHtod,
    /// A copy from device to host.
    CopyDtoh,
    /// A copy within the device.
    CopyDtod,
    /// A copy between devices: its start, and its accesses in the two worlds.
    CopyPeer,
    /// A part of a call of a communicator with this name: its start, its accesses in the rank's world, and its end.
    Collective(&'static str),
    /// A fill.
    Fill,
    /// A record of an event.
    Record,
    /// A stream's wait for an event.
    Wait,
    /// An allocation in stream order.
    Alloc,
    /// A free in stream order.
    Free,
    /// A host wait for operations. Belongs to no stream.
    HostWait,
    /// An operation that is so old that the trace does not contain it any more.
    Forgotten,
}

/// An operation to enqueue.
pub(crate) struct Operation {
    pub(crate) work: Work,
    pub(crate) kind: OpKind,
    /// The event of a record or wait.
    pub(crate) event: Option<u64>,
    /// What it waits for in another world.
    pub(crate) remote: Option<Remote>,
}

impl Work {
    /// A description of the operation for traces and reports.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Marker => "marker".to_owned(),
            Self::Launch(launch) => format!("launch of {}", launch.name()),
            Self::Copy { dst, src, rows } => {
                format!("{} from {src:#x} to {dst:#x}", rows.describe())
            }
            Self::Upload { dst, rows, .. } => {
                format!("{} from pageable memory to {dst:#x}", rows.describe())
            }
            Self::Fill { dst, bytes, .. } => format!("fill of {bytes} bytes at {dst:#x}"),
            Self::PeerRead { src, bytes, .. } => {
                format!("copy of {bytes} bytes from {src:#x} to another device")
            }
            Self::PeerWrite { dst, bytes, .. } => {
                format!("copy of {bytes} bytes from another device to {dst:#x}")
            }
            Self::Collective(part) => part.describe(),
            Self::Allocate { base, bytes, .. } => {
                format!("allocation of {bytes} bytes at {base:#x}")
            }
            Self::Free { base, .. } => format!("free of {base:#x}"),
        }
    }

    /// What it waits for in other worlds because of the calls of other ranks.
    pub(crate) fn blocker(&self) -> Option<Blocker> {
        match self {
            Self::Collective(part) => part.blocker(),
            _ => None,
        }
    }

    /// The operations of other ranks that came before it.
    pub(crate) fn peer_ops(&self) -> Vec<Remote> {
        match self {
            Self::Collective(part) => part.peer_ops(),
            _ => Vec::new(),
        }
    }

    /// The duration in the simulated device's clock, in nanoseconds.
    pub(crate) fn cost(&self) -> u64 {
        match self {
            Self::Marker | Self::Allocate { .. } | Self::Free { .. } => 100,
            // Its other half, or the end of the call, has the duration.
            Self::PeerRead { .. } | Self::Collective(_) => 0,
            Self::PeerWrite { bytes, .. } => transfer_cost(*bytes),
            Self::Launch(launch) => launch.cost(),
            Self::Copy { rows, .. } => transfer_cost(rows.bytes()),
            Self::Fill { bytes, .. } => transfer_cost(*bytes),
            Self::Upload { data, .. } => transfer_cost(data.len()),
        }
    }
}

/// The duration of a copy or fill of this many bytes, as for [`Work::cost`].
pub(crate) fn transfer_cost(bytes: usize) -> u64 {
    const BYTES_PER_NS: u64 = 16;
    2000 + bytes as u64 / BYTES_PER_NS
}

impl fmt::Display for OpKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Launch(name) => return write!(f, "launch {name}"),
            Self::GraphLaunch => "graph launch",
            Self::CopyHtod => "copy htod",
            Self::CopyDtoh => "copy dtoh",
            Self::CopyDtod => "copy dtod",
            Self::CopyPeer => "copy between devices",
            Self::Collective(name) => name,
            Self::Fill => "fill",
            Self::Record => "record",
            Self::Wait => "wait",
            Self::Alloc => "alloc",
            Self::Free => "free",
            Self::HostWait => "host wait",
            Self::Forgotten => "long ago",
        })
    }
}
