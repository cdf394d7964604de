//! The state of a program and of its streams. The types are here, because they refer to each other; their methods are
//! in the other files.

pub(crate) mod device_tensor;
pub(crate) mod handles;
pub(crate) mod host_exclusion;
mod messages;
pub(crate) mod order;
mod profile;
mod program;
mod stream;
mod stream_manager;

use std::sync::{
    Arc, OnceLock, Weak,
    atomic::{AtomicBool, AtomicU64},
};

use parking_lot::Mutex;
use quadrants_runtime::{self as rt, Context, EventLease, Lease, LeaseMap};

use self::host_exclusion::HostExclusion;
use crate::{
    Error,
    hazards::{Clock, tracker::Tracker},
    kernel::loader::KernelLoader,
    launcher::{
        KernelLauncher,
        error_record::{RecordPool, RecordSlot},
        fork_join::WorkerSetCache,
        launch_memory::StreamLaunchMemory,
        messages::Messages,
        operation_names::OperationNames,
        region_graph::Graphs,
    },
    output::Printer,
    profile::Profiler,
};

/// What all parts of a program share, except the default stream, which refers to it.
pub(crate) struct ProgramShared {
    // Modules are unloaded and pinned memory is freed while the context is alive: each keeps it.
    pub(crate) launcher: KernelLauncher,
    // Dropped after the launcher, whose modules wait for the device before they unload.
    pub(crate) abandoned_streams: Mutex<Vec<AbandonedStream>>,
    pub(crate) records: RecordPool,
    pub(crate) manager: StreamManager,
    pub(crate) context: Arc<Context>,
    pub(crate) loader: KernelLoader,
    pub(crate) launches: AtomicU64,
    /// Whether the program ever had another stream of the user than the default one.
    pub(crate) has_streams: AtomicBool,
    pub(crate) graphs: Graphs,
    pub(crate) host_exclusion: HostExclusion,
    pub(crate) operation_names: OperationNames,
    /// None where hazards are not tracked.
    pub(crate) hazards: Option<Tracker>,
    /// Where kernels print.
    pub(crate) printer: Printer,
    pub(crate) deferred: Mutex<Vec<Error>>,
    pub(crate) profiler: Profiler,
}

/// The shared part of [`Program`](crate::Program), with its default stream. Tensors, streams and launches refer to it.
pub(crate) struct ProgramInner {
    pub(crate) default: Arc<StreamState>,
    pub(crate) shared: Arc<ProgramShared>,
}

/// The state that all handles and launches of one stream share.
#[derive(Debug)]
pub(crate) struct StreamState {
    shared: Arc<ProgramShared>,
    pub(crate) stream: Arc<rt::Stream>,
    error_record: Option<RecordSlot>,
    record_address: u64,
    /// Whether other code has the driver's handle, and may enqueue work without stamps.
    pub(crate) shared_handle: AtomicBool,
    /// Whether other code made the stream, and may capture it.
    foreign: bool,
    /// The workers and events of the last region that was launched here.
    pub(crate) workers: WorkerSetCache,
    /// The worker streams of host-side regions that forked from this one.
    pub(crate) regions: RegionWorkers,
    pub(crate) launch_memory: StreamLaunchMemory,
    /// Made by the first launch of a kernel that prints.
    pub(crate) messages: OnceLock<Messages>,
    /// Held while they are made.
    pub(crate) making_messages: Mutex<()>,
}

/// The resources of a stream that a panicking thread dropped. Kept as long as the program.
#[derive(Debug)]
pub(crate) struct AbandonedStream {
    _error_record: Option<RecordSlot>,
    _workers: WorkerSetCache,
    _launch_memory: StreamLaunchMemory,
    _messages: OnceLock<Messages>,
}

/// The streams of a program.
#[derive(Debug, Default)]
pub struct StreamManager {
    streams: LeaseMap<u32, Weak<StreamState>>,
}

/// A leased stream: its owner waits for the end of the lease before it destroys the stream.
#[derive(Debug)]
pub(crate) struct Leased<'a> {
    // Dropped before the lease ends. Where the program was dropped meanwhile, this is the last owner of the default
    // stream's state, which then removes itself from the registry.
    state: Arc<StreamState>,
    _lease: Lease<'a, u32, Weak<StreamState>>,
}

/// Where a stream keeps the workers of its regions. All are joined. There are several sets where threads had regions on
/// the stream at the same time.
#[derive(Debug, Default)]
pub(crate) struct RegionWorkers(pub(crate) Mutex<Vec<RegionWorkerSet>>);

#[derive(Debug)]
pub(crate) struct RegionWorkerSet {
    pub(crate) fork: RegionEvent,
    pub(crate) workers: Vec<Worker>,
}

#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) stream: Arc<StreamState>,
    pub(crate) join: RegionEvent,
}

/// A pooled event of a region.
#[derive(Debug)]
pub(crate) struct RegionEvent {
    pub(crate) lease: EventLease,
    /// Identifies it for captures.
    pub(crate) number: u64,
    /// What the last record stands for. Empty where hazards are not tracked.
    pub(crate) clock: Clock,
}
