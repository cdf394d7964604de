//! The functions of NCCL that are called. RCCL has the same symbols.

use std::ffi::{c_int, c_void};

use quadrants_program::rhi::{DriverError, DriverErrorKind, Error, driver_table, table::Status};

/// `ncclComm_t`.
pub(crate) type RawCommunicator = *mut c_void;

/// `ncclUniqueId`: passed by value.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct RawUniqueId(pub(crate) [u8; 128]);

/// `ncclConfig_t` as of version 2.14. The library reads `size` bytes, and sets later fields to their defaults.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Config {
    pub(crate) size: usize,
    pub(crate) magic: u32,
    pub(crate) version: u32,
    pub(crate) blocking: c_int,
}

/// The magic number of an `ncclConfig_t`.
pub(crate) const CONFIG_MAGIC: u32 = 0xcafe_beef;

/// Version 2.14.0, the first with an `ncclConfig_t`.
pub(crate) const CONFIG_VERSION: u32 = 2 * 10_000 + 14 * 100;

/// `ncclInProgress` of `ncclResult_t`.
pub(crate) const IN_PROGRESS: Status = Status(7);

macro_rules! nccl_functions {
    ([$($consumer:tt)*] $($header:tt)*) => {
        $($consumer)*! { $($header)*
            /// The version: 10000 * major + 100 * minor + patch.
            version = ncclGetVersion(version: *mut c_int), required;
            /// Makes the id by which the ranks of a communicator find each other.
            unique_id = ncclGetUniqueId(id: *mut RawUniqueId), required;
            /// Joins a communicator as one of its ranks, on the current device.
            init_rank = ncclCommInitRankConfig(
                communicator: *mut RawCommunicator, ranks: c_int, id: RawUniqueId, rank: c_int, config: *mut Config,
            ), required;
            /// Destroys a communicator whose operations are complete.
            destroy = ncclCommDestroy(communicator: RawCommunicator), required;
            /// Ends the operations of a communicator, and destroys it.
            abort = ncclCommAbort(communicator: RawCommunicator), required;
            /// The state of a communicator: in progress, or the first error of an operation.
            async_error = ncclCommGetAsyncError(communicator: RawCommunicator, status: *mut Status), required;
            /// Begins a group: calls until its end are enqueued together.
            group_start = ncclGroupStart(), required;
            /// Ends a group.
            group_end = ncclGroupEnd(), required;
            /// Combines an array of each rank, for all ranks.
            all_reduce = ncclAllReduce(
                from: *const c_void, to: *mut c_void, count: usize, data_type: c_int, reduction: c_int,
                communicator: RawCommunicator, stream: *mut c_void,
            ), required;
            /// Combines an array of each rank, for one rank.
            reduce = ncclReduce(
                from: *const c_void, to: *mut c_void, count: usize, data_type: c_int, reduction: c_int, root: c_int,
                communicator: RawCommunicator, stream: *mut c_void,
            ), required;
            /// Copies an array of one rank to all ranks.
            broadcast = ncclBroadcast(
                from: *const c_void, to: *mut c_void, count: usize, data_type: c_int, root: c_int,
                communicator: RawCommunicator, stream: *mut c_void,
            ), required;
            /// Concatenates the arrays of all ranks, for all ranks.
            all_gather = ncclAllGather(
                from: *const c_void, to: *mut c_void, count: usize, data_type: c_int,
                communicator: RawCommunicator, stream: *mut c_void,
            ), required;
            /// Combines an array of each rank, and gives each rank a part of the result.
            reduce_scatter = ncclReduceScatter(
                from: *const c_void, to: *mut c_void, count: usize, data_type: c_int, reduction: c_int,
                communicator: RawCommunicator, stream: *mut c_void,
            ), required;
            /// Sends an array to another rank.
            send = ncclSend(
                from: *const c_void, count: usize, data_type: c_int, peer: c_int,
                communicator: RawCommunicator, stream: *mut c_void,
            ), required;
            /// Receives an array from another rank.
            receive = ncclRecv(
                to: *mut c_void, count: usize, data_type: c_int, peer: c_int,
                communicator: RawCommunicator, stream: *mut c_void,
            ), required;
        }
    };
}

nccl_functions! { [driver_table]
    /// The functions of NCCL.
    pub(crate) struct Table: check;
}

fn check(_: &Table, call: &'static str, symbol: &'static str, status: Status) -> Error {
    DriverError::new(call, symbol, status.0, name_of(status), DriverErrorKind::Other).into()
}

/// The name of an `ncclResult_t`.
pub(crate) fn name_of(status: Status) -> &'static str {
    match status.0 {
        0 => "ncclSuccess",
        1 => "ncclUnhandledCudaError",
        2 => "ncclSystemError",
        3 => "ncclInternalError",
        4 => "ncclInvalidArgument",
        5 => "ncclInvalidUsage",
        6 => "ncclRemoteError",
        7 => "ncclInProgress",
        _ => "an unknown ncclResult_t",
    }
}
