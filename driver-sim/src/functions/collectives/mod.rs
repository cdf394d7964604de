//! The exported functions of libnccl and librccl.

mod config;
mod entry;
mod group;

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    sync::Arc,
};

use config::{Config, UniqueId, is_blocking};
use entry::{End, current, enter, enter_current, enter_lost, enter_world};
use group::DeferredCall;

use crate::{
    collectives::{
        Arguments, CollectiveKind, CommunicatorPhase, Rank, ReduceOp, Request, Role,
        SimCommunicator, Status, changed,
    },
    entry::{ApiCall, ExportedFunction},
    handle::{HandleKind, decode, encode},
    peer,
    pointer::{Array, Out},
    stream::StreamRef,
    worlds,
};

/// 2.28.3.
const VERSION: c_int = 22_803;

/// Defines exported C functions and `ROWS`, their list. A body has access to its [`ApiCall`].
macro_rules! collective_functions {
    ($($(#[$meta:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) |$call:ident| $body:block)*) => {
        $(
            $(#[$meta])*
            ///
            /// # Safety
            /// The conditions of the C function of this name.
            #[unsafe(no_mangle)]
            #[allow(non_snake_case, clippy::too_many_arguments)] // the C function's own
            pub(crate) unsafe extern "C" fn $name($($arg: $ty),*) -> c_int {
                static FUNCTION: ExportedFunction = ExportedFunction::new(stringify!($name));
                entry::run(&FUNCTION, |$call: &ApiCall| -> Result<(), End> {
                    $body
                    Ok(())
                })
            }
        )*

        /// The functions that return a result code, by name.
        const ROWS: &[(&str, *const c_void)] = &[
            $((stringify!($name), $name as *const c_void)),*
        ];
    };
}

collective_functions! {
    /// The version of the library.
    fn ncclGetVersion(version: Out<c_int>) |call| {
        enter_current(call)?;
        give(version, VERSION)?;
    }

    /// A new unique id, for the ranks of one communicator.
    fn ncclGetUniqueId(id: Out<UniqueId>) |call| {
        enter_current(call)?;
        give(id, UniqueId::new())?;
    }

    /// Creates the communicator of a rank on the current device.
    fn ncclCommInitRank(comm: Out<usize>, size: c_int, id: UniqueId, rank: c_int) |call| {
        create(call, comm, size, id, rank, true)?;
    }

    /// The same with a configuration.
    fn ncclCommInitRankConfig(
        comm: Out<usize>,
        size: c_int,
        id: UniqueId,
        rank: c_int,
        config: Array<Config>,
    ) |call| {
        let blocking = is_blocking(&config)?;
        create(call, comm, size, id, rank, blocking)?;
    }

    /// Ends the use of a communicator, after its calls.
    fn ncclCommFinalize(comm: usize) |call| {
        let (mut state, key) = enter(call, comm)?;
        let communicator = state.communicators.get_mut(key.1).map_err(Status::from)?;
        communicator.check_open()?;
        communicator.phase = CommunicatorPhase::Finalized;
        if !communicator.blocking {
            return Err(Status::IN_PROGRESS.into());
        }
        peer::wait(state, |state| state.finish_calls(key.1)).map_err(Status::from)?;
    }

    /// Destroys a communicator, after its calls.
    fn ncclCommDestroy(comm: usize) |call| {
        let (state, key) = enter(call, comm)?;
        let communicator = state.communicators.get(key.1).map_err(Status::from)?;
        if communicator.rank_set.is_some() && communicator.status() == Status::IN_PROGRESS {
            return Err(Status::INVALID_USAGE.into());
        }
        peer::wait(state, |state| state.finish_calls(key.1)).map_err(Status::from)?;
        drop(worlds::lock(key.0).map_err(Status::from)?.communicators.remove(key.1));
        changed();
    }

    /// Destroys a communicator and ends its calls, which have no effect any more.
    fn ncclCommAbort(comm: usize) |call| {
        let (mut state, key) = enter_lost(call, comm)?;
        state.abort(key.1)?;
        drop(state);
        changed();
    }

    /// The state of a communicator: success, an error, or that something is in progress.
    fn ncclCommGetAsyncError(comm: usize, error: Out<c_int>) |call| {
        let (mut state, key) = enter_lost(call, comm)?;
        let requests = state.communicators.get_mut(key.1).map_err(Status::from)?.query();
        if let Some(requests) = requests {
            state.enqueue_late(key.1, requests);
            drop(state);
            changed();
            state = worlds::lock(key.0).map_err(Status::from)?;
        }
        let status = match state.lost {
            Some(_) => Status::UNHANDLED_CUDA_ERROR,
            None => peer::wait(state, |state| state.query_calls(key.1)).unwrap_or_else(Status::from),
        };
        give(error, status.0)?;
    }

    /// The number of ranks.
    fn ncclCommCount(comm: usize, count: Out<c_int>) |call| {
        let (state, key) = enter(call, comm)?;
        let size = state.communicators.get(key.1).map_err(Status::from)?.size;
        give(count, size as c_int)?;
    }

    /// The rank's device.
    fn ncclCommCuDevice(comm: usize, device: Out<c_int>) |call| {
        let (_state, key) = enter(call, comm)?;
        give(device, c_int::from(key.0))?;
    }

    /// The rank.
    fn ncclCommUserRank(comm: usize, rank: Out<c_int>) |call| {
        let (state, key) = enter(call, comm)?;
        let number = state.communicators.get(key.1).map_err(Status::from)?.rank.number;
        give(rank, number as c_int)?;
    }

    /// Reduces what all ranks send, for all of them.
    fn ncclAllReduce(
        send: u64,
        recv: u64,
        count: usize,
        data_type: c_int,
        op: c_int,
        comm: usize,
        stream: usize,
    ) |call| {
        let kind = || Ok(CollectiveKind::AllReduce(ReduceOp::from_number(op)?));
        request(call, comm, stream, Arguments { send, recv, count, data_type }, Role::All, kind)?;
    }

    /// Reduces what all ranks send, for one of them.
    fn ncclReduce(
        send: u64,
        recv: u64,
        count: usize,
        data_type: c_int,
        op: c_int,
        root: c_int,
        comm: usize,
        stream: usize,
    ) |call| {
        let kind = || Ok(CollectiveKind::Reduce(ReduceOp::from_number(op)?, number(root)?));
        request(call, comm, stream, Arguments { send, recv, count, data_type }, Role::All, kind)?;
    }

    /// Copies what one rank sends to all.
    fn ncclBroadcast(
        send: u64,
        recv: u64,
        count: usize,
        data_type: c_int,
        root: c_int,
        comm: usize,
        stream: usize,
    ) |call| {
        let kind = || Ok(CollectiveKind::Broadcast(number(root)?));
        request(call, comm, stream, Arguments { send, recv, count, data_type }, Role::All, kind)?;
    }

    /// Copies what all ranks send, one after another, to all.
    fn ncclAllGather(
        send: u64,
        recv: u64,
        count: usize,
        data_type: c_int,
        comm: usize,
        stream: usize,
    ) |call| {
        let kind = || Ok(CollectiveKind::AllGather);
        request(call, comm, stream, Arguments { send, recv, count, data_type }, Role::All, kind)?;
    }

    /// Reduces what all ranks send, one part for each of them.
    fn ncclReduceScatter(
        send: u64,
        recv: u64,
        count: usize,
        data_type: c_int,
        op: c_int,
        comm: usize,
        stream: usize,
    ) |call| {
        let kind = || Ok(CollectiveKind::ReduceScatter(ReduceOp::from_number(op)?));
        request(call, comm, stream, Arguments { send, recv, count, data_type }, Role::All, kind)?;
    }

    /// Sends to one rank.
    fn ncclSend(
        send: u64,
        count: usize,
        data_type: c_int,
        peer: c_int,
        comm: usize,
        stream: usize,
    ) |call| {
        let arguments = Arguments { send, recv: 0, count, data_type };
        let role = number(peer).map(Role::SendTo)?;
        request(call, comm, stream, arguments, role, || Ok(CollectiveKind::Transfer))?;
    }

    /// Receives from one rank.
    fn ncclRecv(
        recv: u64,
        count: usize,
        data_type: c_int,
        peer: c_int,
        comm: usize,
        stream: usize,
    ) |call| {
        let arguments = Arguments { send: 0, recv, count, data_type };
        let role = number(peer).map(Role::ReceiveFrom)?;
        request(call, comm, stream, arguments, role, || Ok(CollectiveKind::Transfer))?;
    }

    /// Starts a group of calls.
    fn ncclGroupStart() |call| {
        enter_current(call)?;
        group::start();
    }

    /// Ends a group of calls. The end of the outermost one carries them out.
    fn ncclGroupEnd() |call| {
        if let Err(end) = enter_current(call) {
            if matches!(end, End::Status(_)) {
                group::discard();
            }
            return Err(end);
        }
        group::end()?;
    }
}

/// The functions of the library by name.
pub(crate) fn rows() -> impl Iterator<Item = (&'static str, *const c_void)> {
    let texts = [
        ("ncclGetErrorString", ncclGetErrorString as *const c_void),
        ("ncclGetLastError", ncclGetLastError as *const c_void),
    ];
    ROWS.iter().copied().chain(texts)
}

/// The meaning of a result code.
#[unsafe(no_mangle)]
#[allow(non_snake_case)] // the C function's own
pub(crate) extern "C" fn ncclGetErrorString(code: c_int) -> *const c_char {
    Status(code).text().as_ptr()
}

/// The meaning of the state of a communicator.
#[unsafe(no_mangle)]
#[allow(non_snake_case)] // the C function's own
pub(crate) extern "C" fn ncclGetLastError(comm: usize) -> *const c_char {
    let status = std::panic::catch_unwind(|| {
        let (world, key) = decode(HandleKind::Communicator, comm).ok()?;
        let state = worlds::lock(world).ok()?;
        Some(state.communicators.get(key).ok()?.status())
    });
    let text: &'static CStr = status.ok().flatten().map_or(c"", Status::text);
    text.as_ptr()
}

/// Creates a communicator in the world of the current device, and waits for the other ranks, or does so at the end of
/// the group.
fn create(
    call: &ApiCall,
    comm: Out<usize>,
    size: c_int,
    id: UniqueId,
    rank: c_int,
    blocking: bool,
) -> Result<(), End> {
    let world = current()?;
    let mut state = enter_world(call, world)?;
    state.check_lost().map_err(Status::from)?;
    let (size, rank) = (number(size)?, number(rank)?);
    let id = id.number()?;
    if rank >= size || comm.is_null() {
        return Err(Status::INVALID_ARGUMENT.into());
    }
    let rank = Arc::new(Rank::new(rank, world));
    let communicator = SimCommunicator::new(rank, size, blocking);
    let key = state.communicators.insert(communicator).map_err(Status::from)?;
    state.creates.communicators += 1;
    drop(state);
    let grouped = group::is_open();
    let outcome = group::submit(DeferredCall::Join((world, key), id));
    if !grouped && outcome.is_err_and(Status::is_error) {
        drop(worlds::lock(world).map_err(Status::from)?.communicators.remove(key));
        outcome?;
    }
    give(comm, encode(HandleKind::Communicator, world, key))?;
    Ok(outcome?)
}

/// Makes a call of a rank.
fn request(
    call: &ApiCall,
    comm: usize,
    stream: usize,
    arguments: Arguments,
    role: Role,
    kind: impl FnOnce() -> Result<CollectiveKind, Status>,
) -> Result<(), End> {
    let (state, key) = enter(call, comm)?;
    let communicator = state.communicators.get(key.1).map_err(Status::from)?;
    communicator.check_open()?;
    let (world, stream) = StreamRef::decode(stream).map_err(Status::from)?;
    if world.is_some_and(|world| world != key.0) {
        return Err(Status::INVALID_ARGUMENT.into());
    }
    if state.is_capturing(stream).map_err(Status::from)? {
        return Err(Status::INVALID_USAGE.into());
    }
    let ranks = (communicator.rank.number, communicator.size);
    let request = Request::new(call.name(), (kind()?, role), arguments, stream, ranks)?;
    drop(state);
    if request.role == Role::All && request.signature.count == 0 {
        // As in NCCL, it is no call at all.
        return Ok(());
    }
    Ok(group::submit(DeferredCall::Call(key, request))?)
}

fn number(number: c_int) -> Result<usize, Status> {
    usize::try_from(number).map_err(|_| Status::INVALID_ARGUMENT)
}

fn give<T>(out: Out<T>, value: T) -> Result<(), Status> {
    out.set(value).map_err(|_| Status::INVALID_ARGUMENT)
}
