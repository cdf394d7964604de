//! Work that concerns two worlds: waits of one for operations of the other, and copies between them.
//!
//! Worlds have separate locks, queues and schedules, and two are never locked at once. An operation that waits for one
//! of another world has the flag that is set when that is complete. A wait of the host that meets such an operation
//! ends early; [`wait`] then runs the other world's operation, with its schedule, and repeats the wait.
//!
//! A copy is three operations: a marker in the target's stream, where it starts; a read in the source's world after the
//! marker; and a write in the target's stream after the read. So the race detector of each world sees its side.

use crate::{
    code::Result,
    op_id::OpId,
    remote::Parcel,
    state::State,
    stream::StreamRef,
    worlds::{self, Guard},
};

/// Does what may wait for operations of other worlds, which run while this world is not locked.
///
/// An action that needs one of them returns an error, and is repeated when it is complete; it must have done nothing
/// that it does again then. A query has a result and is not repeated.
pub(crate) fn wait<T>(
    mut state: Guard,
    mut action: impl FnMut(&mut State) -> Result<T>,
) -> Result<T> {
    let ordinal = state.ordinal;
    loop {
        state.blocked = None;
        let outcome = action(&mut state);
        let Some(blocked) = state.blocked.take() else { return outcome };
        drop(state);
        complete(blocked)?;
        if outcome.is_ok() {
            return outcome;
        }
        state = worlds::lock(ordinal)?;
    }
}

/// Runs an operation and what it waits for, in all worlds. No world is locked by this thread.
fn complete(operation: (u16, OpId)) -> Result<()> {
    let mut open = vec![operation];
    while let Some(&(world, op)) = open.last() {
        let mut state = worlds::lock(world)?;
        // A world whose context is lost has no operations left.
        let _lost = state.wait_for(&[op]);
        match state.blocked.take() {
            Some(blocked) => open.push(blocked),
            None => drop(open.pop()),
        }
    }
    Ok(())
}

/// Runs all work of a world.
pub(crate) fn drain(world: u16) {
    if let Ok(state) = worlds::lock(world) {
        let _lost = wait(state, |state| {
            state.drain();
            state.check_blocked()
        });
    }
}

/// Enqueues a copy from one world to another, on a stream of the target's. No world is locked by this thread.
pub(crate) fn copy(
    (target, dst): (u16, u64),
    (source, src): (u16, u64),
    bytes: usize,
    stream: StreamRef,
) -> Result<()> {
    if target == source {
        return worlds::lock(target)?.copy_within(dst, src, bytes, stream);
    }
    let parcel = Parcel::default();
    worlds::lock(source)?.check_lost()?;
    let (start, handle) = worlds::lock(target)?.start_peer_copy(stream)?;
    let read = worlds::lock(source)?.read_for_peer(src, bytes, parcel.clone(), (start, handle));
    worlds::lock(target)?.write_from_peer(dst, bytes, parcel, (read, stream))
}
