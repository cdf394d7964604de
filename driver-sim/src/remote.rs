//! What operations of several worlds share: the completion of one that another waits for, and the bytes of a copy.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use parking_lot::Mutex;

use crate::{
    clock::{Clock, WorldKey},
    memory::Payload,
    op_id::OpId,
};

/// An operation of another world that an operation waits for.
#[derive(Clone, Debug)]
pub(crate) struct Remote {
    world: WorldKey,
    op: OpId,
    completion: Arc<Completion>,
    /// What is complete when it is, as known when this was made. None where races are not detected.
    clock: Option<Arc<Clock>>,
}

/// The completion of an operation, for operations of other worlds.
#[derive(Debug, Default)]
pub(crate) struct Completion {
    done: AtomicBool,
    /// What is complete when the operation is, if more became known of it since it was enqueued.
    grown: Mutex<Option<Arc<Clock>>>,
}

/// The bytes of a copy between worlds.
#[derive(Clone, Debug, Default)]
pub(crate) struct PeerCopyBytes(Arc<Mutex<Option<Payload>>>);

impl Remote {
    pub(crate) fn new(
        (world, op): (WorldKey, OpId),
        completion: Arc<Completion>,
        clock: Option<Arc<Clock>>,
    ) -> Self {
        Self { world, op, completion, clock }
    }

    /// The operation, and the ordinal of its world.
    pub(crate) fn operation(&self) -> (u16, OpId) {
        (self.world.0, self.op)
    }

    pub(crate) fn is_done(&self) -> bool {
        self.completion.done.load(Relaxed)
    }

    /// Whether the clock of the operation was extended after this was made.
    pub(crate) fn clock_was_extended(&self) -> bool {
        self.completion.grown.lock().is_some()
    }

    /// Marks everything as complete in a clock of world `own` that is complete when the operation is.
    pub(crate) fn join_to(&self, own: WorldKey, clock: &mut Clock) {
        let grown = self.completion.grown.lock().clone();
        let Some(of) = grown.or_else(|| self.clock.clone()) else { return };
        if self.world == own {
            clock.join(&of);
        } else {
            clock.join_from(own, self.world, &of);
        }
    }
}

impl Completion {
    pub(crate) fn complete() -> Self {
        Self { done: AtomicBool::new(true), ..Self::default() }
    }

    pub(crate) fn set(&self) {
        self.done.store(true, Relaxed);
    }

    pub(crate) fn grow(&self, clock: &Clock) {
        *self.grown.lock() = Some(Arc::new(clock.clone()));
    }
}

impl PeerCopyBytes {
    pub(crate) fn fill(&self, payload: Payload) {
        *self.0.lock() = Some(payload);
    }

    pub(crate) fn open(&self) -> Option<Payload> {
        self.0.lock().take()
    }
}
