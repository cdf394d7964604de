//! Methods of the stream manager: the registry of a program's streams, which finds the stream of a stamp.

use std::{
    ops::Deref,
    sync::{Arc, Weak},
};

use quadrants_runtime::{Leasable, Stamp};

use super::{Leased, StreamManager, StreamState};

impl StreamManager {
    /// The number of streams, including the default stream.
    #[must_use]
    pub fn live(&self) -> usize {
        self.streams.lock().len()
    }

    pub(crate) fn register(&self, state: &Arc<StreamState>) {
        self.streams.insert(state.stream.id(), Arc::downgrade(state));
    }

    /// Removes a stream after all leases on it have ended.
    pub(crate) fn retire(&self, id: u32) {
        self.streams.replace(id, None);
    }

    /// Removes a stream whose last user drops it.
    pub(crate) fn remove(&self, id: u32) {
        self.streams.lock().remove(&id);
    }

    /// The stream of a stamp; none where it is destroyed: then its work is complete.
    pub(crate) fn find(&self, stamp: Stamp) -> Option<Leased<'_>> {
        let mut streams = self.streams.lock();
        let leased = self.lease(stamp.stream, streams.get_mut(&stamp.stream)?)?;
        drop(streams);
        leased.stream.issued(stamp).then_some(leased)
    }

    /// All streams.
    pub(crate) fn all(&self) -> Vec<Leased<'_>> {
        self.streams.lock().iter_mut().filter_map(|(id, entry)| self.lease(*id, entry)).collect()
    }

    fn lease(&self, id: u32, entry: &mut Leasable<Weak<StreamState>>) -> Option<Leased<'_>> {
        let state = entry.value.upgrade()?;
        Some(Leased { state, _lease: self.streams.lease(id, entry) })
    }
}

impl Deref for Leased<'_> {
    type Target = StreamState;

    fn deref(&self) -> &StreamState {
        &self.state
    }
}
