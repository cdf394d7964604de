//! The state of a buffer's last fill by the host, as long as it may be incomplete.

use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

use parking_lot::{Mutex, MutexGuard};

use crate::{Completed, EventLease, Stamp};

/// A fill that is deferred to the first use of the buffer, or one that is enqueued and may be incomplete.
#[derive(Debug, Default)]
pub(crate) struct PendingFill {
    /// Release and acquire: a thread that finds no deferred fill finds the stamp of the fill that another thread
    /// enqueued.
    is_deferred: AtomicBool,
    deferred: Mutex<Option<Box<DeferredFill>>>,
    /// The stamp of an enqueued fill, in one word; 0 where it is known to be complete.
    stamp: AtomicU64,
    /// The event after an enqueued fill on a stream of the user. Other streams wait for it, and not for the later work
    /// of that stream.
    event: Mutex<Option<EventLease>>,
}

/// A fill that is not enqueued yet.
#[derive(Debug)]
pub(crate) struct DeferredFill {
    pub(crate) contents: Contents,
    /// Earlier work on the memory that has no stamp in the buffer: its allocation, the uses by an earlier owner, or
    /// attempts to enqueue the fill.
    pub(crate) after: Completed,
}

#[derive(Debug)]
pub(crate) enum Contents {
    /// All bytes of the buffer.
    Zeros,
    At {
        offset: usize,
        bytes: Box<[u8]>,
    },
}

impl PendingFill {
    pub(crate) fn is_deferred(&self) -> bool {
        self.is_deferred.load(Acquire)
    }

    pub(crate) fn lock_deferred(&self) -> MutexGuard<'_, Option<Box<DeferredFill>>> {
        self.deferred.lock()
    }

    /// What a deferred fill is ordered after, besides the stamps of the buffer.
    pub(crate) fn after(&self) -> Completed {
        let deferred = self.is_deferred().then(|| self.deferred.lock());
        let fill = deferred.as_deref().and_then(Option::as_ref);
        fill.map_or_else(Completed::new, |fill| fill.after.clone())
    }

    pub(crate) fn defer(&self, contents: Contents, after: Completed) {
        *self.deferred.lock() = Some(Box::new(DeferredFill { contents, after }));
        self.is_deferred.store(true, Release);
    }

    /// Removes the deferred fill, which is locked: it was enqueued.
    pub(crate) fn clear_deferred(&self, deferred: &mut Option<Box<DeferredFill>>) {
        *deferred = None;
        self.is_deferred.store(false, Release);
    }

    /// The stamp of an enqueued fill that may be incomplete.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        Stamp::unpack(self.stamp.load(Relaxed))
    }

    pub(crate) fn event(&self) -> MutexGuard<'_, Option<EventLease>> {
        self.event.lock()
    }

    pub(crate) fn has_event(&self) -> bool {
        self.event.lock().is_some()
    }

    pub(crate) fn set_enqueued(&self, stamp: Stamp, event: Option<EventLease>) {
        *self.event.lock() = event;
        self.stamp.store(stamp.pack(), Relaxed);
    }

    pub(crate) fn set_complete(&self) {
        self.stamp.store(0, Relaxed);
        *self.event.lock() = None;
    }

    /// Drops the event without a call of the driver.
    pub(crate) fn forget_event(&mut self) {
        self.event.get_mut().take().map(EventLease::into_handle);
    }
}

impl Contents {
    /// Changes the bytes from `offset` on. Returns false if they are not all among these.
    pub(crate) fn overwrite(&mut self, offset: usize, contents: &[u8], all: usize) -> bool {
        match self {
            _ if offset == 0 && contents.len() == all => {
                *self = Self::At { offset, bytes: contents.into() }
            }
            Self::Zeros => return false,
            Self::At { offset: first, bytes } => {
                let at = offset
                    .checked_sub(*first)
                    .and_then(|at| bytes.get_mut(at..)?.get_mut(..contents.len()));
                let Some(bytes) = at else { return false };
                bytes.copy_from_slice(contents);
            }
        }
        true
    }
}
