//! The entry of the functions of the library: counts the call, applies faults, finds the world of a communicator, and
//! catches panics.

use std::{
    ffi::c_int,
    panic::{AssertUnwindSafe, catch_unwind},
};

use super::group::{self, CommunicatorKey};
use crate::{
    collectives::Status,
    context,
    entry::{ApiCall, ExportedFunction, Family, Stop},
    handle::{HandleKind, decode},
    worlds::{self, WorldGuard, exists},
};

/// The reason why a function ends early.
#[derive(Debug)]
pub(crate) enum End {
    Status(Status),
    /// A fault makes the call return success and do nothing.
    Ignored,
}

/// Runs the body of an exported function. An error in a group is an error of the group.
pub(crate) fn run(
    function: &'static ExportedFunction,
    body: impl FnOnce(&ApiCall) -> Result<(), End>,
) -> c_int {
    // The functions are of no driver: nothing depends on this one.
    let call = ApiCall::new(Family::Cuda, function);
    let status = match catch_unwind(AssertUnwindSafe(|| body(&call))) {
        Ok(Ok(()) | Err(End::Ignored)) => Status::SUCCESS,
        Ok(Err(End::Status(status))) => status,
        Err(_panic) => Status::INTERNAL_ERROR,
    };
    if status.is_error() {
        group::note_error(status);
    }
    status.0
}

/// Enters the world of a communicator. Returns an error if its context is lost.
pub(crate) fn enter(call: &ApiCall, comm: usize) -> Result<(WorldGuard, CommunicatorKey), End> {
    let (mut state, communicator) = enter_lost(call, comm)?;
    state.check_lost().map_err(Status::from)?;
    state.point();
    Ok((state, communicator))
}

/// Enters the world of a communicator, even if its context is lost.
pub(crate) fn enter_lost(
    call: &ApiCall,
    comm: usize,
) -> Result<(WorldGuard, CommunicatorKey), End> {
    let decoded = decode(HandleKind::Communicator, comm).ok().filter(|(world, _)| exists(*world));
    let (world, key) = decoded.ok_or(Status::INVALID_ARGUMENT)?;
    let mut state = enter_world(call, world)?;
    state.check_communicator(key, call.name())?;
    Ok((state, (world, key)))
}

/// Counts the call, and applies faults.
pub(crate) fn enter_world(call: &ApiCall, world: u16) -> Result<WorldGuard, End> {
    call.enter_lost(world).map_err(|stop| {
        let lost = worlds::lock(world).is_ok_and(|state| state.lost.is_some());
        if lost { Status::UNHANDLED_CUDA_ERROR.into() } else { stop.into() }
    })
}

/// Counts a call that concerns no communicator, in the world of the current device. There may be none.
pub(crate) fn enter_current(call: &ApiCall) -> Result<(), End> {
    match current() {
        Ok(world) => enter_world(call, world).map(drop),
        Err(_) => Ok(()),
    }
}

/// The current device: that of the current CUDA context, or HIP's, which is device 0 at first, as in the CUDA runtime
/// that NCCL uses.
pub(crate) fn current() -> Result<u16, Status> {
    Ok(context::cuda_world().or_else(|_| context::hip_device())?)
}

impl From<Status> for End {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

/// What a fault makes of a call: the code is the test's, and not one of the driver.
impl From<Stop> for End {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Code(code) => Self::Status(Status(code.0)),
            Stop::Ignored => Self::Ignored,
        }
    }
}
