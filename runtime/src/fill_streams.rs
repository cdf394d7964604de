//! The internal streams of allocations, first fills and uploads.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, AtomicUsize},
};

use quadrants_rhi::{self as rhi, Device, StreamHandle, StreamOptions};

use crate::{
    Result, Stamp,
    error::creation_error,
    raw_stream::destroy_stream,
    stream_registry::{Position, StreamRegistry},
};

/// The number of streams of large uploads. Uploads of as many threads run at once.
pub(crate) const UPLOAD_STREAMS: usize = 4;

/// The internal streams of allocations, first fills and uploads. They never wait for the user's work. They are
/// registered, so that a fill has a stamp.
#[derive(Debug)]
pub(crate) struct FillStreams {
    pub(crate) allocate: InternalStream,
    pub(crate) uploads: [OnceLock<InternalStream>; UPLOAD_STREAMS],
    pub(crate) next_upload: AtomicUsize,
}

/// A registered stream of the context.
#[derive(Debug)]
pub(crate) struct InternalStream {
    pub(crate) handle: StreamHandle,
    pub(crate) id: u32,
    pub(crate) position: Arc<Position>,
}

/// The fills that a stream waits for: per internal stream, the last position.
#[derive(Debug, Default)]
pub(crate) struct AwaitedFills {
    pub(crate) positions: [AtomicU64; 1 + UPLOAD_STREAMS],
    pub(crate) compared: AtomicU64,
}

impl InternalStream {
    pub(crate) fn new(device: &dyn Device, registry: &StreamRegistry) -> Result<Self> {
        let (id, position) = registry.allocate_id()?;
        let handle = device.create_stream(StreamOptions::default()).map_err(|error| {
            registry.retire(id, &position);
            creation_error(error)
        })?;
        registry.register_internal(id, handle, &position);
        Ok(Self { handle, id, position })
    }

    /// The stamp of a fill that was just enqueued.
    pub(crate) fn next_stamp(&self) -> Stamp {
        Stamp { stream: self.id, sequence: self.position.advance() }
    }
}

impl FillStreams {
    pub(crate) fn new(device: &dyn Device, registry: &StreamRegistry) -> Result<Self> {
        Ok(Self {
            allocate: InternalStream::new(device, registry)?,
            uploads: Default::default(),
            next_upload: AtomicUsize::new(0),
        })
    }

    /// Destroys the stream of allocations of a context that could not be made.
    pub(crate) fn destroy(&self, device: &dyn Device) -> rhi::Result<()> {
        // SAFETY: the stream was never used.
        unsafe { destroy_stream(device, self.allocate.handle) }
    }

    pub(crate) fn index_of(&self, id: u32) -> Option<usize> {
        if id == self.allocate.id {
            return Some(0);
        }
        let is_upload =
            |stream: &OnceLock<InternalStream>| stream.get().is_some_and(|stream| stream.id == id);
        self.uploads.iter().position(is_upload).map(|index| 1 + index)
    }
}
