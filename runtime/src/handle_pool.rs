//! A pool of idle driver handles (streams, events) with counters of all handles.

use crate::sync::Mutex;

/// The largest numbers of idle handles. Larger than what programs use at once, unless they create handles all the time.
/// Further handles are destroyed when they are returned.
pub(crate) const MAX_IDLE_STREAMS: usize = 64;
pub(crate) const MAX_IDLE_EVENTS: usize = 1024;

/// Idle handles, last in, first out: the handle that was used last is most likely warm.
#[derive(Debug)]
pub(crate) struct HandlePool<H> {
    pub(crate) state: Mutex<PoolState<H>>,
    capacity: usize,
}

#[derive(Debug)]
pub(crate) struct PoolState<H> {
    pub(crate) idle: Vec<H>,
    in_use: usize,
    pub(crate) peak: usize,
    pub(crate) created: u64,
    pub(crate) destroyed: u64,
}

impl<H> HandlePool<H> {
    pub(crate) fn new(capacity: usize) -> Self {
        let state = PoolState { idle: Vec::new(), in_use: 0, peak: 0, created: 0, destroyed: 0 };
        Self { state: Mutex::new(state), capacity }
    }

    /// Takes an idle handle. `None` if there is none.
    pub(crate) fn take(&self) -> Option<H> {
        let mut state = self.state.lock();
        let handle = state.idle.pop()?;
        state.count_use();
        Some(handle)
    }

    /// Takes an idle handle, or else a new one.
    pub(crate) fn take_or<E>(&self, make: impl FnOnce() -> Result<H, E>) -> Result<H, E> {
        if let Some(handle) = self.take() {
            return Ok(handle);
        }
        let handle = make()?;
        self.created();
        Ok(handle)
    }

    /// Counts a new handle that is in use.
    pub(crate) fn created(&self) {
        let mut state = self.state.lock();
        state.created += 1;
        state.count_use();
    }

    /// Returns a handle to the pool. If the pool is full, gives it back to the caller, who destroys it. A busy handle
    /// is taken after all others.
    pub(crate) fn put(&self, handle: H, busy: bool) -> Option<H> {
        let mut state = self.state.lock();
        state.in_use -= 1;
        if state.idle.len() < self.capacity {
            let at = if busy { 0 } else { state.idle.len() };
            state.idle.insert(at, handle);
            return None;
        }
        state.destroyed += 1;
        Some(handle)
    }

    /// Counts a handle that is destroyed instead of returned.
    pub(crate) fn discarded(&self) {
        let mut state = self.state.lock();
        state.in_use -= 1;
        state.destroyed += 1;
    }

    /// Takes all idle handles; the caller destroys them.
    pub(crate) fn drain(&self) -> Vec<H> {
        let mut state = self.state.lock();
        state.destroyed += state.idle.len() as u64;
        std::mem::take(&mut state.idle)
    }
}

impl<H> PoolState<H> {
    fn count_use(&mut self) {
        self.in_use += 1;
        self.peak = self.peak.max(self.in_use);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pool with this many handles in use.
    fn pool_in_use(handles: u32) -> HandlePool<u32> {
        let pool = HandlePool::new(4);
        (0..handles).for_each(|_| pool.created());
        pool
    }

    #[test]
    fn handles_are_taken_last_in_first_out_and_busy_ones_last() {
        let pool = pool_in_use(4);
        for (handle, busy) in [(1, false), (2, true), (3, false), (4, true)] {
            assert_eq!(pool.put(handle, busy), None);
        }
        let order: Vec<_> = std::iter::from_fn(|| pool.take()).collect();
        assert_eq!(order, [3, 1, 2, 4]);
    }

    #[test]
    fn a_full_pool_gives_handles_back_and_counts_them() {
        let pool = pool_in_use(6);
        let refused: Vec<_> = (0..6).filter_map(|handle| pool.put(handle, handle == 5)).collect();
        assert_eq!(refused, [4, 5]);
        assert_eq!(pool.take(), Some(3));
        let state = pool.state.lock();
        assert_eq!((state.in_use, state.peak, state.created, state.destroyed), (1, 6, 6, 2));
    }
}
