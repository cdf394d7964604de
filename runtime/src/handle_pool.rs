//! Idle handles of streams and events, and the counts of all that there are.

use crate::sync::Mutex;

/// Idle handles, last in first out: the one used last is the likeliest to be warm and idle.
#[derive(Debug)]
pub(crate) struct HandlePool<H> {
    pub(crate) state: Mutex<PoolState<H>>,
    at_most: usize,
}

#[derive(Debug)]
pub(crate) struct PoolState<H> {
    pub(crate) idle: Vec<H>,
    out: usize,
    pub(crate) peak: usize,
    pub(crate) created: u64,
    pub(crate) destroyed: u64,
}

impl<H> HandlePool<H> {
    pub(crate) fn new(at_most: usize) -> Self {
        let state = PoolState { idle: Vec::new(), out: 0, peak: 0, created: 0, destroyed: 0 };
        Self { state: Mutex::new(state), at_most }
    }

    pub(crate) fn take(&self) -> Option<H> {
        let mut state = self.state.lock();
        let handle = state.idle.pop()?;
        state.went_out();
        Some(handle)
    }

    pub(crate) fn made(&self) {
        let mut state = self.state.lock();
        state.created += 1;
        state.went_out();
    }

    /// Takes a handle back, or gives it back for destruction where the pool is full. A busy one is handed out
    /// after all others.
    pub(crate) fn put(&self, handle: H, busy: bool) -> Option<H> {
        let mut state = self.state.lock();
        state.out -= 1;
        if state.idle.len() < self.at_most {
            let at = if busy { 0 } else { state.idle.len() };
            state.idle.insert(at, handle);
            return None;
        }
        state.destroyed += 1;
        Some(handle)
    }

    /// Notes that a handle does not come back.
    pub(crate) fn lost(&self) {
        let mut state = self.state.lock();
        state.out -= 1;
        state.destroyed += 1;
    }

    /// Gives all idle handles up for destruction.
    pub(crate) fn drain(&self) -> Vec<H> {
        let mut state = self.state.lock();
        state.destroyed += state.idle.len() as u64;
        std::mem::take(&mut state.idle)
    }
}

impl<H> PoolState<H> {
    fn went_out(&mut self) {
        self.out += 1;
        self.peak = self.peak.max(self.out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pool that these handles went out of.
    fn emptied(handles: u32) -> HandlePool<u32> {
        let pool = HandlePool::new(4);
        (0..handles).for_each(|_| pool.made());
        pool
    }

    #[test]
    fn the_last_to_come_is_the_first_to_go_and_a_busy_one_the_last() {
        let pool = emptied(4);
        for (handle, busy) in [(1, false), (2, true), (3, false), (4, true)] {
            assert_eq!(pool.put(handle, busy), None);
        }
        let order: Vec<_> = std::iter::from_fn(|| pool.take()).collect();
        assert_eq!(order, [3, 1, 2, 4]);
    }

    #[test]
    fn so_many_stay_and_the_statistics_say_so() {
        let pool = emptied(6);
        let refused: Vec<_> = (0..6).filter_map(|handle| pool.put(handle, handle == 5)).collect();
        assert_eq!(refused, [4, 5]);
        assert_eq!(pool.take(), Some(3));
        let state = pool.state.lock();
        assert_eq!((state.out, state.peak, state.created, state.destroyed), (1, 6, 6, 2));
    }
}
