//! Host exclusion: the lock between uses of memory that graphs keep, on devices where kernels run on the thread that
//! launches them.
//!
//! A tensor that a graph writes was borrowed by `&mut` when it was captured, and its buffer was marked as shared then.
//! So every later user sees the mark. A user that does not see it can only read what graphs only read.

use parking_lot::{ReentrantMutex, ReentrantMutexGuard};

/// The lock between users of shared buffers. What an operation calls while it is held may use them on the same thread.
#[derive(Debug)]
pub(crate) struct HostExclusion {
    /// Whether kernels run on the thread that launches them.
    pub(crate) enabled: bool,
    lock: ReentrantMutex<()>,
}

impl HostExclusion {
    pub(crate) fn new(asynchronous: bool) -> Self {
        Self { enabled: !asynchronous, lock: ReentrantMutex::new(()) }
    }

    /// Whether a user needs the lock. `uses_shared` is whether it uses shared buffers; launches of graphs do.
    #[inline]
    pub(crate) fn applies_to(&self, uses_shared: impl FnOnce() -> bool) -> bool {
        self.enabled && uses_shared()
    }

    /// Locks for a user that the lock applies to.
    #[inline]
    pub(crate) fn lock(
        &self,
        uses_shared: impl FnOnce() -> bool,
    ) -> Option<ReentrantMutexGuard<'_, ()>> {
        self.applies_to(uses_shared).then(|| self.lock.lock())
    }

    /// As [`lock`](Self::lock), without waiting for another thread; none where one has the lock.
    pub(crate) fn try_lock(
        &self,
        uses_shared: impl FnOnce() -> bool,
    ) -> Option<Option<ReentrantMutexGuard<'_, ()>>> {
        if self.applies_to(uses_shared) { self.lock.try_lock().map(Some) } else { Some(None) }
    }
}
