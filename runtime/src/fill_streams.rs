//! The internal streams of allocations, first fills and uploads.

use std::sync::{
    Arc, OnceLock,
    atomic::{
        AtomicU64, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use quadrants_rhi::{self as rhi, Device, StreamHandle, StreamOptions};

use crate::{
    Result, Stamp,
    error::creation_error,
    raw_stream::destroy_stream,
    stamps::MAX_SEQUENCE,
    stream_registry::{Position, StreamRegistry},
};

/// The number of streams of large uploads. Uploads of as many threads run at once.
pub(crate) const UPLOAD_STREAMS: usize = 4;

/// A stream asks whether fills are complete when this many launches had to compare their tensors with them.
const LAUNCHES_BEFORE_QUERY: u64 = 8;

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

/// The fills that a stream waits for: per internal stream, the last position, and the last on another stream.
#[derive(Debug, Default)]
pub(crate) struct AwaitedFills {
    pub(crate) positions: [AtomicU64; 1 + UPLOAD_STREAMS],
    /// The last stamp of a fill on another stream of the user, in one word.
    of_user: AtomicU64,
    compared: AtomicU64,
}

impl AwaitedFills {
    /// Whether the stream waits for this fill, which is on a stream of the user.
    pub(crate) fn covers(&self, fill: Stamp) -> bool {
        let awaited = Stamp::unpack(self.of_user.load(Acquire));
        // The largest position stands for all later ones.
        let is_exact = fill.sequence < MAX_SEQUENCE;
        let covers = |of: Stamp| of.stream == fill.stream && of.sequence >= fill.sequence;
        is_exact && awaited.is_some_and(covers)
    }

    /// Records that the stream waits for this fill, which is on a stream of the user.
    pub(crate) fn add(&self, fill: Stamp) {
        // Release pairs with the acquire load above: a thread that skips its wait because of this enqueues its launch
        // after the wait.
        self.of_user.store(fill.pack(), Release);
    }

    /// Counts a launch that compared a tensor with the awaited fills. Returns whether it asks if the fill is complete.
    pub(crate) fn is_time_for_query(&self) -> bool {
        let compared = self.compared.fetch_add(1, Relaxed) + 1;
        compared.is_multiple_of(LAUNCHES_BEFORE_QUERY)
    }
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
