//! libnccl's functions for the tests, and a communicator of several simulated devices.

use std::{
    ffi::{c_char, c_int},
    ptr,
};

use quadrants_driver_sim::{self as sim, OpKind, Race, ReportKind, Schedule};

pub(crate) use super::super::support::*;

/// `ncclUniqueId`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct UniqueId(pub(crate) [u8; 128]);

impl Default for UniqueId {
    fn default() -> Self {
        Self([0; 128])
    }
}

/// `ncclConfig_t` as far as the simulator reads it.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Config {
    pub(crate) size: usize,
    pub(crate) magic: u32,
    pub(crate) version: u32,
    pub(crate) blocking: c_int,
}

functions! { sim::collective_symbol:
    ncclGetVersion(version: *mut c_int);
    ncclGetUniqueId(id: *mut UniqueId);
    ncclCommInitRank(comm: *mut usize, size: c_int, id: UniqueId, rank: c_int);
    ncclCommInitRankConfig(comm: *mut usize, size: c_int, id: UniqueId, rank: c_int, config: *const Config);
    ncclCommFinalize(comm: usize);
    ncclCommDestroy(comm: usize);
    ncclCommAbort(comm: usize);
    ncclCommGetAsyncError(comm: usize, error: *mut c_int);
    ncclCommCount(comm: usize, count: *mut c_int);
    ncclCommCuDevice(comm: usize, device: *mut c_int);
    ncclCommUserRank(comm: usize, rank: *mut c_int);
    ncclAllReduce(send: u64, recv: u64, count: usize, data_type: c_int, op: c_int, comm: usize, stream: usize);
    ncclReduce(send: u64, recv: u64, count: usize, data_type: c_int, op: c_int, root: c_int, comm: usize, stream: usize);
    ncclBroadcast(send: u64, recv: u64, count: usize, data_type: c_int, root: c_int, comm: usize, stream: usize);
    ncclAllGather(send: u64, recv: u64, count: usize, data_type: c_int, comm: usize, stream: usize);
    ncclReduceScatter(send: u64, recv: u64, count: usize, data_type: c_int, op: c_int, comm: usize, stream: usize);
    ncclSend(send: u64, count: usize, data_type: c_int, peer: c_int, comm: usize, stream: usize);
    ncclRecv(recv: u64, count: usize, data_type: c_int, peer: c_int, comm: usize, stream: usize);
    ncclGroupStart();
    ncclGroupEnd();
}

/// A function that returns a text.
pub(crate) fn text_of(name: &str, argument: usize) -> &'static str {
    let address = sim::collective_symbol(name).unwrap();
    // SAFETY: both such functions have one integer argument and return a C string that lives as long as the process.
    unsafe {
        let function: extern "C" fn(usize) -> *const c_char = std::mem::transmute(address);
        std::ffi::CStr::from_ptr(function(argument)).to_str().unwrap()
    }
}

pub(crate) const UNHANDLED: c_int = 1;
pub(crate) const SYSTEM_ERROR: c_int = 2;
pub(crate) const INVALID_ARGUMENT: c_int = 4;
pub(crate) const INVALID_USAGE: c_int = 5;
pub(crate) const REMOTE_ERROR: c_int = 6;
pub(crate) const IN_PROGRESS: c_int = 7;
/// The driver's code of a wait that ends by its limit.
pub(crate) const TIMEOUT: c_int = 702;
/// `ncclInt32` and `ncclSum`.
pub(crate) const I32: c_int = 2;
pub(crate) const SUM: c_int = 0;

pub(crate) const SCHEDULES: [Schedule; 4] =
    [Schedule::Lazy, Schedule::Eager, Schedule::Random, Schedule::Adversarial];

/// A device with a stream and a rank's communicator.
pub(crate) struct Member {
    pub(crate) gpu: Gpu,
    pub(crate) stream: usize,
    pub(crate) comm: usize,
    pub(crate) rank: usize,
}

/// The members of a communicator, by rank.
pub(crate) struct Members(pub(crate) Vec<Member>);

impl std::ops::Deref for Members {
    type Target = [Member];
    fn deref(&self) -> &[Member] {
        &self.0
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        // The contexts are a stack.
        while self.0.pop().is_some() {}
    }
}

impl Member {
    /// Makes the context current for calls.
    pub(crate) fn with<R>(&self, calls: impl FnOnce() -> R) -> R {
        ok(cuCtxPushCurrent_v2(self.gpu.context));
        let result = calls();
        assert_eq!(get(cuCtxPopCurrent_v2), self.gpu.context);
        result
    }

    pub(crate) fn alloc(&self, words: usize) -> u64 {
        self.with(|| self.gpu.alloc(words))
    }

    /// Memory with these words. The host waits for them.
    pub(crate) fn memory(&self, words: &[u32]) -> u64 {
        self.with(|| {
            let memory = self.gpu.alloc(words.len());
            self.gpu.upload(memory, words, self.stream);
            ok(cuStreamSynchronize(self.stream));
            memory
        })
    }

    pub(crate) fn words(&self, memory: u64, words: usize) -> Vec<u32> {
        self.with(|| self.gpu.download(memory, words, self.stream))
    }

    pub(crate) fn synchronize(&self) -> c_int {
        self.with(|| cuStreamSynchronize(self.stream))
    }

    pub(crate) fn sum(&self, send: u64, recv: u64, count: usize) -> c_int {
        ncclAllReduce(send, recv, count, I32, SUM, self.comm, self.stream)
    }

    pub(crate) fn error(&self) -> c_int {
        get(|out| ncclCommGetAsyncError(self.comm, out))
    }

    pub(crate) fn races(&self) -> Vec<Race> {
        self.gpu.world.races()
    }

    pub(crate) fn reports(&self) -> Vec<ReportKind> {
        self.gpu.world.reports().iter().map(|report| report.kind).collect()
    }

    /// The enqueued parts of calls.
    pub(crate) fn parts(&self) -> Vec<OpKind> {
        let trace = self.gpu.world.trace();
        let kinds = trace.records().iter().map(|record| record.kind.clone());
        kinds.filter(|kind| matches!(kind, OpKind::Collective(_))).collect()
    }

    pub(crate) fn set_limit(&self, milliseconds: u64) {
        self.gpu.world.set_wait_limit(std::time::Duration::from_millis(milliseconds));
    }
}

/// Devices without communicators.
pub(crate) fn devices(count: usize, schedule: Schedule, seed: u64) -> Members {
    let member = |rank| {
        let gpu = Gpu::open(schedule, seed + 1000 * rank as u64);
        gpu.world.detect_races(true);
        let stream = gpu.stream();
        let member = Member { gpu, stream, comm: 0, rank };
        member.set_limit(2000);
        member
    };
    Members((0..count).map(member).collect())
}

/// Devices with a communicator, made by one thread in a group.
pub(crate) fn members(count: usize, schedule: Schedule, seed: u64) -> Members {
    let mut members = devices(count, schedule, seed);
    let id = get(ncclGetUniqueId);
    ok(ncclGroupStart());
    for member in &mut members.0 {
        let rank = member.rank as c_int;
        ok(cuCtxPushCurrent_v2(member.gpu.context));
        member.comm = get(|out| ncclCommInitRank(out, count as c_int, id, rank));
        get(cuCtxPopCurrent_v2);
    }
    ok(ncclGroupEnd());
    members
}

/// Destroys the communicators, and checks that nothing is left and nothing was reported.
pub(crate) fn close(members: Members) {
    for member in members.iter() {
        ok(ncclCommFinalize(member.comm));
        ok(ncclCommDestroy(member.comm));
        assert_eq!(member.gpu.world.live().communicators, 0);
        assert_eq!((member.races(), member.gpu.world.reports()), (vec![], vec![]));
    }
}

/// Runs calls of all ranks: by one thread in a group, or by a thread per rank.
pub(crate) fn all(members: &Members, threads: bool, calls: impl Fn(&Member) + Sync) {
    if !threads {
        ok(ncclGroupStart());
        members.iter().for_each(&calls);
        return ok(ncclGroupEnd());
    }
    std::thread::scope(|scope| {
        for member in members.iter() {
            let calls = &calls;
            scope.spawn(move || {
                calls(member);
                ok(member.synchronize());
            });
        }
    });
}

/// A configuration of a communicator that does not block.
pub(crate) fn no_blocking() -> Config {
    Config { size: size_of::<Config>(), magic: 0xcafe_beef, version: 22_803, blocking: 0 }
}

/// Communicators that do not block, which are still being created.
pub(crate) fn open_without_blocking(members: &mut Members) {
    let id = get(ncclGetUniqueId);
    let count = members.len() as c_int;
    for member in &mut members.0 {
        ok(cuCtxPushCurrent_v2(member.gpu.context));
        let mut comm = 0;
        let code =
            ncclCommInitRankConfig(&mut comm, count, id, member.rank as c_int, &no_blocking());
        assert_eq!(code, IN_PROGRESS);
        member.comm = comm;
        get(cuCtxPopCurrent_v2);
    }
}

/// Asks for the state until nothing is in progress. Returns it, and how often it was in progress.
pub(crate) fn settle(member: &Member) -> (c_int, usize) {
    let waits = (0..1000).take_while(|_| member.error() == IN_PROGRESS).count();
    (member.error(), waits)
}

/// No memory.
pub(crate) const NULL: u64 = 0;

/// A null pointer, for what a call writes.
pub(crate) fn nowhere<T>() -> *mut T {
    ptr::null_mut()
}
