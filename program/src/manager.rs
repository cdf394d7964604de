//! The stream manager: which streams a program has, found by the number in a tensor's stamps.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;

use crate::stream::StreamState;

/// The live streams of a program.
#[derive(Debug, Default)]
pub struct StreamManager {
    live: Mutex<HashMap<u32, Weak<StreamState>>>,
}

impl StreamManager {
    /// How many streams the program has, the default one included.
    #[must_use]
    pub fn live(&self) -> usize {
        self.live.lock().len()
    }

    pub(crate) fn register(&self, state: &Arc<StreamState>) {
        self.live.lock().insert(state.stream.id(), Arc::downgrade(state));
    }

    pub(crate) fn retire(&self, id: u32) {
        self.live.lock().remove(&id);
    }

    /// The stream of a number; none where it is gone, and then its work is complete.
    pub(crate) fn find(&self, id: u32) -> Option<Arc<StreamState>> {
        self.live.lock().get(&id)?.upgrade()
    }

    /// All live streams.
    pub(crate) fn all(&self) -> Vec<Arc<StreamState>> {
        self.live.lock().values().filter_map(Weak::upgrade).collect()
    }
}
