//! Groups of calls: what a thread calls between `ncclGroupStart` and `ncclGroupEnd` is carried out at the end.

use std::{cell::RefCell, mem::ManuallyDrop, sync::Arc, time::Instant};

use crate::{
    collectives::{Request, Status, join_rank_set, progress},
    handle::Key,
    worlds,
};

/// A communicator's world and its key there.
pub(crate) type CommunicatorKey = (u16, Key);

/// A call that is carried out at the end of its group.
#[derive(Debug)]
pub(crate) enum DeferredCall {
    /// The creation of a communicator, with the unique id.
    Join(CommunicatorKey, u64),
    Call(CommunicatorKey, Request),
}

struct OpenGroup {
    /// The number of groups that are open, each inside the one before.
    depth: u32,
    deferred: Vec<DeferredCall>,
    /// The first error of a call in the group.
    error: Option<Status>,
}

impl OpenGroup {
    const NONE: Self = Self { depth: 0, deferred: Vec::new(), error: None };
}

thread_local! {
    // It is never dropped, so that it works until the end of the thread, when other thread-local values destroy
    // communicators.
    static GROUP: ManuallyDrop<RefCell<OpenGroup>> =
        const { ManuallyDrop::new(RefCell::new(OpenGroup::NONE)) };
}

fn with<T>(action: impl FnOnce(&mut OpenGroup) -> T) -> T {
    GROUP.with(|group| action(&mut group.borrow_mut()))
}

pub(crate) fn start() {
    with(|group| group.depth += 1);
}

pub(crate) fn is_open() -> bool {
    with(|group| group.depth > 0)
}

/// Keeps the first error of a call in a group, which the end of the group returns.
pub(crate) fn note_error(status: Status) {
    with(|group| {
        if group.depth > 0 {
            group.error.get_or_insert(status);
        }
    });
}

/// Ends all groups and forgets their calls.
pub(crate) fn discard() {
    with(|group| *group = OpenGroup::NONE);
}

/// Ends a group. The end of the outermost one carries out its calls, unless one of them returned an error.
pub(crate) fn end() -> Result<(), Status> {
    let deferred = with(|group| {
        group.depth = group.depth.checked_sub(1).ok_or(Status::INVALID_USAGE)?;
        if group.depth > 0 {
            return Ok(Vec::new());
        }
        let OpenGroup { deferred, error, .. } = std::mem::replace(group, OpenGroup::NONE);
        error.map_or(Ok(deferred), Err)
    })?;
    carry_out(deferred)
}

/// Carries out a call now, or at the end of the group.
pub(crate) fn submit(call: DeferredCall) -> Result<(), Status> {
    let call = with(|group| match group.depth {
        0 => Some(call),
        _ => {
            group.deferred.push(call);
            None
        }
    });
    call.map_or(Ok(()), |call| carry_out(vec![call]))
}

fn carry_out(deferred: Vec<DeferredCall>) -> Result<(), Status> {
    let mut joined = Vec::new();
    let mut calls: Vec<(CommunicatorKey, Vec<Request>)> = Vec::new();
    let mut outcome = Ok(());
    for call in deferred {
        match call {
            DeferredCall::Join(communicator, id) => match join(communicator, id) {
                Ok(()) => joined.push(communicator),
                Err(error) => worse(&mut outcome, Err(error)),
            },
            DeferredCall::Call(communicator, request) => {
                match calls.iter_mut().find(|(of, _)| *of == communicator) {
                    Some((_, requests)) => requests.push(request),
                    None => calls.push((communicator, vec![request])),
                }
            }
        }
    }
    for communicator in joined {
        worse(&mut outcome, wait_until_joined(communicator));
    }
    for ((world, key), requests) in calls {
        let launched = worlds::lock(world)?.launch_calls(key, requests);
        progress::changed();
        worse(&mut outcome, launched);
    }
    outcome
}

/// Joins the rank set of a unique id.
fn join((world, key): CommunicatorKey, id: u64) -> Result<(), Status> {
    let mut state = worlds::lock(world)?;
    let communicator = state.communicators.get_mut(key).map_err(|_| Status::INVALID_ARGUMENT)?;
    let joined = join_rank_set(id, communicator.size, &communicator.rank);
    match joined {
        Ok(rank_set) => communicator.rank_set = Some(rank_set),
        Err(error) => {
            communicator.error = Some(error);
            return Err(error);
        }
    }
    Ok(())
}

/// Waits for the other ranks, if the communicator blocks.
fn wait_until_joined((world, key): CommunicatorKey) -> Result<(), Status> {
    let mut end = None;
    loop {
        let seen = progress::now();
        let state = worlds::lock(world)?;
        state.check_lost()?;
        let communicator = state.communicators.get(key)?;
        let status = communicator.status();
        let end = *end.get_or_insert_with(|| Instant::now() + 3 * state.wait_limit);
        if !communicator.blocking && !status.is_error() {
            // Also for the last rank: the program must ask for the state in any case.
            return Err(Status::IN_PROGRESS);
        }
        if status != Status::IN_PROGRESS {
            return status.ok();
        }
        let rank_set = communicator.rank_set.as_ref().map(Arc::clone);
        drop(state);
        if !progress::wait_for_change(seen, end) {
            if let Some(rank_set) = rank_set {
                rank_set.fail(Status::SYSTEM_ERROR);
            }
            return Err(Status::SYSTEM_ERROR);
        }
    }
}

/// Keeps the first error, or that something is in progress.
fn worse(outcome: &mut Result<(), Status>, next: Result<(), Status>) {
    if matches!(*outcome, Ok(()) | Err(Status::IN_PROGRESS)) && next.is_err() {
        *outcome = next;
    }
}
