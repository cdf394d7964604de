//! Work that concerns two worlds: waits of one for operations of the other, and copies between them.
//!
//! Worlds have separate locks, queues and schedules, and two are never locked at once. An operation that waits for one
//! of another world has the flag that is set when that is complete. A host wait that meets such an operation ends
//! early; [`wait`] then runs the other world's operation, with its schedule, and repeats the wait. An operation of a
//! communicator may also wait for calls that other threads have not made yet.
//!
//! A copy is three operations: a marker in the target's stream, where it starts; a read in the source's world after the
//! marker; and a write in the target's stream after the read. So the race detector of each world sees its side.

use std::{sync::Arc, time::Instant};

use crate::{
    code::{Code, Result},
    collectives::{Blocker, MatchedCall, progress},
    op_id::OpId,
    remote::PeerCopyBytes,
    report::{Report, ReportKind},
    state::WorldState,
    stream::StreamRef,
    worlds::{self, WorldGuard},
};

/// Does what may wait for operations of other worlds, which run while this world is not locked.
///
/// An action that needs one of them returns an error, and is repeated when it is complete; it must have done nothing
/// that it does again then. A query has a result and is not repeated. An action that needs calls which no rank has made
/// yet is repeated when they are made, until the limit of the world is over.
pub(crate) fn wait<T>(
    mut state: WorldGuard,
    mut action: impl FnMut(&mut WorldState) -> Result<T>,
) -> Result<T> {
    let (ordinal, limit) = (state.ordinal, state.wait_limit);
    let mut end = None;
    loop {
        let seen = progress::now();
        state.blocked = None;
        let outcome = action(&mut state);
        let Some(blocked) = state.blocked.take() else { return outcome };
        drop(state);
        let stuck = complete(blocked)?;
        if outcome.is_ok() {
            return outcome;
        }
        if let Some(stuck) = stuck {
            let end = *end.get_or_insert_with(|| Instant::now() + limit);
            if !progress::wait_for_change(seen, end) {
                worlds::lock(ordinal)?.report(stuck.report());
                return Err(Code::LAUNCH_TIMEOUT);
            }
        }
        state = worlds::lock(ordinal)?;
    }
}

/// The reason why no operation can be run for a wait.
#[derive(Debug)]
enum WaitBlocked {
    Missing(Arc<MatchedCall>),
    /// The operation in the world needs itself.
    Circle(u16, OpId),
}

/// Runs an operation and what it waits for, in all worlds. No world is locked by this thread.
fn complete(blocker: Blocker) -> Result<Option<WaitBlocked>> {
    let mut open = Vec::new();
    let mut next = Some(blocker);
    loop {
        match next {
            Some(Blocker::MatchedCall(call)) => return Ok(Some(WaitBlocked::Missing(call))),
            Some(Blocker::Operation(world, op)) if open.contains(&(world, op)) => {
                return Ok(Some(WaitBlocked::Circle(world, op)));
            }
            Some(Blocker::Operation(world, op)) => open.push((world, op)),
            None => drop(open.pop()),
        }
        let Some(&(world, op)) = open.last() else { return Ok(None) };
        let mut state = worlds::lock(world)?;
        // A world whose context is lost has no operations left.
        let _lost = state.wait_for(&[op]);
        next = state.blocked.take();
    }
}

impl WaitBlocked {
    fn report(&self) -> Report {
        match self {
            Self::Missing(call) => {
                Report::of_call(ReportKind::MissingRank, call.describe_missing())
            }
            Self::Circle(world, op) => {
                let kind = worlds::lock(*world).map(|state| state.trace.op_info(*op).0);
                let kind = kind.map_or_else(|_| String::new(), |kind| kind.to_string());
                let text = format!("{kind}, operation {op} of device {world}, waits for itself");
                Report::of_call(ReportKind::Deadlock, text)
            }
        }
    }
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
    let parcel = PeerCopyBytes::default();
    worlds::lock(source)?.check_lost()?;
    let (start, handle) = worlds::lock(target)?.start_peer_copy(stream)?;
    let read = worlds::lock(source)?.read_for_peer(src, bytes, parcel.clone(), (start, handle));
    worlds::lock(target)?.write_from_peer(dst, bytes, parcel, (read, stream))
}
