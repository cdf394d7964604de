//! The stream manager: the registry of a program's streams, which finds the stream of a stamp.

use std::{
    collections::HashMap,
    ops::Deref,
    sync::{Arc, Weak},
};

use parking_lot::{Condvar, Mutex};
use quadrants_runtime::Stamp;

use crate::stream::state::StreamState;

/// The streams of a program.
#[derive(Debug, Default)]
pub struct StreamManager {
    live: Mutex<HashMap<u32, Entry>>,
    /// Notified when a lease ends.
    released: Condvar,
}

#[derive(Debug)]
struct Entry {
    state: Weak<StreamState>,
    leases: usize,
}

/// A leased stream: its owner waits for the end of the lease before it destroys the stream.
#[derive(Debug)]
pub(crate) struct Leased<'a> {
    // Dropped before the lease ends. Where the program was dropped meanwhile, this is the last owner of the default
    // stream's state, which then removes itself from the registry.
    state: Arc<StreamState>,
    _lease: Lease<'a>,
}

#[derive(Debug)]
struct Lease<'a> {
    manager: &'a StreamManager,
    id: u32,
}

impl StreamManager {
    /// The number of streams, including the default stream.
    #[must_use]
    pub fn live(&self) -> usize {
        self.live.lock().len()
    }

    pub(crate) fn register(&self, state: &Arc<StreamState>) {
        let entry = Entry { state: Arc::downgrade(state), leases: 0 };
        self.live.lock().insert(state.stream.id(), entry);
    }

    /// Removes a stream after all leases on it have ended.
    pub(crate) fn retire(&self, id: u32) {
        let mut live = self.live.lock();
        while live.get(&id).is_some_and(|entry| entry.leases > 0) {
            self.released.wait(&mut live);
        }
        live.remove(&id);
    }

    /// Removes a stream whose last user drops it.
    pub(crate) fn remove(&self, id: u32) {
        self.live.lock().remove(&id);
    }

    /// The stream of a stamp; none where it is destroyed: then its work is complete.
    pub(crate) fn find(&self, stamp: Stamp) -> Option<Leased<'_>> {
        let mut live = self.live.lock();
        let leased = self.lease(stamp.stream, live.get_mut(&stamp.stream)?)?;
        drop(live);
        leased.stream.issued(stamp).then_some(leased)
    }

    /// All streams.
    pub(crate) fn all(&self) -> Vec<Leased<'_>> {
        self.live.lock().iter_mut().filter_map(|(id, entry)| self.lease(*id, entry)).collect()
    }

    fn lease(&self, id: u32, entry: &mut Entry) -> Option<Leased<'_>> {
        let state = entry.state.upgrade()?;
        entry.leases += 1;
        Some(Leased { state, _lease: Lease { manager: self, id } })
    }
}

impl Deref for Leased<'_> {
    type Target = StreamState;

    fn deref(&self) -> &StreamState {
        &self.state
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        if let Some(entry) = self.manager.live.lock().get_mut(&self.id) {
            entry.leases -= 1;
        }
        self.manager.released.notify_all();
    }
}
