//! Streams.

use crate::{
    code::{Code, Result},
    handle::{HandleKind, Key, decode},
    op_id::OpId,
};

#[derive(Debug, Default)]
pub(crate) struct Stream {
    /// The number in the order of creation; the legacy stream is 0.
    pub(crate) sequence: u64,
    /// The seed under which it first received work, as a count of seeds, and its position among the streams of that
    /// seed.
    pub(crate) turn: (u64, u64),
    pub(crate) blocking: bool,
    pub(crate) priority: i32,
    /// The last operation.
    pub(crate) tail: Option<OpId>,
    /// The end of the last operation in the simulated device's clock.
    pub(crate) end: u64,
    /// While it is captured: the graph, and the last node in it.
    pub(crate) capture: Option<(Key, Option<usize>)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StreamRef {
    Legacy,
    Created(Key),
}

/// The lowest and the highest priority.
pub(crate) const PRIORITIES: (i32, i32) = (0, -5);

/// Special handles of both drivers.
const LEGACY: usize = 1;
const PER_THREAD: usize = 2;

impl Stream {
    pub(crate) fn legacy() -> Self {
        Self { blocking: true, ..Self::default() }
    }
}

impl StreamRef {
    /// The stream of a handle, and its world if the handle encodes one.
    pub(crate) fn decode(handle: usize) -> Result<(Option<u16>, Self)> {
        match handle {
            0 | LEGACY => Ok((None, Self::Legacy)),
            PER_THREAD => Err(Code::NOT_SUPPORTED),
            _ => {
                let (world, key) = decode(HandleKind::Stream, handle)?;
                Ok((Some(world), Self::Created(key)))
            }
        }
    }
}
