//! What operations of two worlds share: the completion of one that another waits for, and the bytes of a copy.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use parking_lot::Mutex;

use crate::{
    clock::{Clock, WorldKey},
    memory::Piece,
    op_id::OpId,
};

/// An operation of another world that an operation waits for.
#[derive(Clone, Debug)]
pub(crate) struct Remote {
    world: WorldKey,
    op: OpId,
    done: Arc<AtomicBool>,
    /// What is complete when it is. None where races are not detected.
    clock: Option<Arc<Clock>>,
}

/// The bytes of a copy between worlds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parcel(Arc<Mutex<Option<Piece>>>);

impl Remote {
    pub(crate) fn new(
        (world, op): (WorldKey, OpId),
        done: Arc<AtomicBool>,
        clock: Option<Arc<Clock>>,
    ) -> Self {
        Self { world, op, done, clock }
    }

    /// The world and the operation.
    pub(crate) fn target(&self) -> (u16, OpId) {
        (self.world.0, self.op)
    }

    pub(crate) fn is_done(&self) -> bool {
        self.done.load(Relaxed)
    }

    /// Marks everything as complete in a clock of world `own` that is complete when the operation is.
    pub(crate) fn join_to(&self, own: WorldKey, clock: &mut Clock) {
        if let Some(of) = &self.clock {
            clock.join_from(own, self.world, of);
        }
    }
}

impl Parcel {
    pub(crate) fn fill(&self, piece: Piece) {
        *self.0.lock() = Some(piece);
    }

    pub(crate) fn open(&self) -> Option<Piece> {
        self.0.lock().take()
    }
}
