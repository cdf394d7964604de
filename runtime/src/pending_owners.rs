//! The queue of the owners of foreign memory that may still be in use.

use std::{
    any::Any,
    collections::VecDeque,
    fmt,
    sync::atomic::{AtomicBool, AtomicUsize},
};

use parking_lot::Mutex;
use quadrants_rhi::EventHandle;

/// What keeps foreign memory valid.
pub(crate) type Owner = Box<dyn Any + Send>;

/// The owners whose memory may still be in use, in the order of the stream of frees.
#[derive(Default)]
pub(crate) struct PendingOwners {
    pub(crate) queue: Mutex<VecDeque<PendingOwner>>,
    pub(crate) count: AtomicUsize,
    /// Whether the program's last handle was dropped, so that there may be no later call.
    pub(crate) closed: AtomicBool,
}

pub(crate) struct PendingOwner {
    /// Leased, and recorded on the stream of frees after all uses. Without its lease, which would own the context.
    pub(crate) event: EventHandle,
    pub(crate) owner: Owner,
}

impl fmt::Debug for PendingOwners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingOwners").field("count", &self.count).finish_non_exhaustive()
    }
}
