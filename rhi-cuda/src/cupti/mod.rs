//! CUPTI, the profiling interface of CUDA: the device times of kernels, copies and fills, also those of graph nodes.
//!
//! It is loaded by the first profile, from a CUDA installation or a Python environment. Each operation is enqueued
//! under an external correlation id, which CUPTI connects with the correlation id of the activities.

mod records;

use std::{
    alloc::{Layout, alloc, dealloc},
    ffi::c_void,
    ptr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicPtr, Ordering::Relaxed},
    },
};

use cudarc::driver::sys::CUcontext;
use quadrants_codegen::search::LibrarySearch;
use quadrants_rhi::{
    Activities, Activity, DriverError, DriverErrorKind, Error, Result,
    activity::{ActivityStore, each_record},
    table::{Library, Resolve, Status},
};

/// The environment variable that selects the CUPTI library; `off` for none.
pub const CUPTI_VARIABLE: &str = "QUADRANTS_CUPTI_LIBRARY";

const SEARCH: LibrarySearch = LibrarySearch {
    variable: CUPTI_VARIABLE,
    roots: &["CUDA_PATH", "CUDA_HOME"],
    installations: &[("/usr/local", "cuda"), ("/opt", "cuda")],
    libraries: &["extras/CUPTI/lib64", "lib64"],
    wheels: &["nvidia/cu13/lib", "nvidia/cuda_cupti/lib"],
    names: &["libcupti.so.13", "libcupti.so.12", "libcupti.so"],
};

/// The version of CUDA 12.0's CUPTI, the first whose records are known.
const OLDEST: u32 = 18;

/// `CUpti_ExternalCorrelationKind::CUSTOM0`: ids of the application.
const OWN_IDS: u32 = 3;

/// The kinds of records that are needed: external correlation ids, the driver calls that they are attached to, kernels,
/// copies and fills.
const KINDS: [u32; 5] = [
    records::KIND_EXTERNAL_CORRELATION,
    records::KIND_DRIVER,
    records::KIND_KERNEL,
    records::KIND_MEMCPY,
    records::KIND_MEMSET,
];

/// The size of a buffer for records.
const BUFFER: usize = 1 << 20;
const ALIGNMENT: usize = 8;
/// The largest number of activities that are kept until somebody takes them.
const MAX_ACTIVITIES: usize = 1 << 23;

type Requested = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
type Completed = unsafe extern "C" fn(CUcontext, u32, *mut u8, usize, usize);
type Subscriber = *mut c_void;
type Callback = unsafe extern "C" fn(*mut c_void, u32, u32, *const c_void);

macro_rules! cupti_functions {
    ([$($consumer:tt)*] $($header:tt)*) => { $($consumer)*! { $($header)*
        /// The version of the interface.
        version = cuptiGetVersion(version: *mut u32), required;
        /// Becomes the profiler of the process.
        subscribe = cuptiSubscribe(subscriber: *mut Subscriber, callback: Callback, data: *mut c_void), required;
        /// Is no profiler any more.
        unsubscribe = cuptiUnsubscribe(subscriber: Subscriber), required;
        /// Sets the callbacks that provide empty buffers and receive full ones.
        register_callbacks = cuptiActivityRegisterCallbacks(requested: Requested, completed: Completed), required;
        /// Begins to record a kind of activity.
        enable = cuptiActivityEnable(kind: u32), required;
        /// Ends that.
        disable = cuptiActivityDisable(kind: u32), required;
        /// Passes on all buffers whose activities are complete.
        flush = cuptiActivityFlushAll(flags: u32), required;
        /// The record after the given one; the first after null.
        next_record = cuptiActivityGetNextRecord(buffer: *mut u8, valid: usize, record: *mut *mut u8), required;
        /// The number of records that were dropped since the last call.
        dropped = cuptiActivityGetNumDroppedRecords(context: CUcontext, stream: u32, dropped: *mut usize), required;
        /// Attaches an id to what the thread calls from now on.
        push_id = cuptiActivityPushExternalCorrelationId(kind: u32, id: u64), required;
        /// Takes the last id back.
        pop_id = cuptiActivityPopExternalCorrelationId(kind: u32, last: *mut u64), required;
    } };
}

cupti_functions! { [quadrants_rhi::driver_table]
    /// The functions of CUPTI.
    struct Table: check;
}

#[cold]
fn check(_: &Table, call: &'static str, symbol: &'static str, status: Status) -> Error {
    let name = match status.0 {
        15 => "CUPTI_ERROR_NOT_INITIALIZED",
        35 => "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES",
        38 => "CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED",
        39 => "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED: another profiler is attached",
        40 => "CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES",
        _ => "CUPTI_ERROR",
    };
    DriverError::new(call, symbol, status.0, name, DriverErrorKind::Other).into()
}

/// The loaded CUPTI.
#[derive(Debug)]
struct Cupti {
    table: Table,
    name: String,
    store: ActivityStore,
    /// Null while nothing is recorded.
    subscriber: AtomicPtr<c_void>,
}

/// The CUPTI of the process, because its callbacks have no argument for one.
static CUPTI: OnceLock<Result<Arc<Cupti>>> = OnceLock::new();

/// CUPTI; none where it is not wanted.
///
/// # Errors
/// It is not found, or too old.
pub(crate) fn open(simulated: bool) -> Result<Option<Arc<dyn Activities>>> {
    let environment = |name: &str| std::env::var_os(name);
    if !SEARCH.is_wanted(&environment, simulated) {
        return Ok(None);
    }
    let opened = CUPTI.get_or_init(|| {
        let candidates = SEARCH.search_paths(&environment).candidates;
        // SAFETY: each is CUPTI by its name, or the user selected it as CUPTI.
        let library = unsafe { Library::open(crate::BACKEND, &candidates, CUPTI_VARIABLE) }?;
        // SAFETY: the library is CUPTI, and stays loaded.
        let cupti = unsafe { Cupti::load(library.name(), &|symbol| library.resolve(symbol)) };
        cupti.map(Arc::new)
    });
    opened.clone().map(|cupti| Some(cupti as Arc<dyn Activities>))
}

impl Cupti {
    /// # Safety
    /// `resolve` returns the functions of CUPTI, which stay callable until the process ends.
    unsafe fn load(library: &str, resolve: &Resolve<'_>) -> Result<Self> {
        // SAFETY: the rows are CUPTI's documented signatures; the rest by the caller.
        let table = unsafe { Table::load(library, resolve) }?;
        let mut version = 0;
        // SAFETY: it writes a number.
        unsafe { table.version(&mut version) }?;
        if version < OLDEST {
            let (found, required) = (version.to_string(), "18 (that of CUDA 12.0)");
            return Err(Error::DriverTooOld { backend: "CUPTI", found, required });
        }
        // Since CUDA 13 it is that of the toolkit: 130001 for 13.0, update 1. Before, 18 to 28 for CUDA 12.0 to 12.9.
        let name = match version {
            100_000.. => format!("CUPTI {}.{}", version / 10_000, version % 10_000 / 100),
            _ => format!("CUPTI, version {version}"),
        };
        let store = ActivityStore::new(MAX_ACTIVITIES);
        Ok(Self { table, name, store, subscriber: AtomicPtr::new(ptr::null_mut()) })
    }

    fn start(&self) -> Result<()> {
        let mut subscriber = ptr::null_mut();
        // SAFETY: the callback ignores its arguments, and no event is enabled for it.
        unsafe { self.table.subscribe(&mut subscriber, ignore, ptr::null_mut()) }?;
        let enabled = self.enable();
        if enabled.is_ok() {
            self.subscriber.store(subscriber, Relaxed);
        } else {
            self.disable(subscriber);
        }
        enabled
    }

    fn enable(&self) -> Result<()> {
        // SAFETY: the functions have the documented signatures, and do what CUPTI expects of them.
        unsafe { self.table.register_callbacks(requested, completed) }?;
        // SAFETY: these are kinds of activities.
        KINDS.into_iter().try_for_each(|kind| unsafe { self.table.enable(kind) })
    }

    fn disable(&self, subscriber: Subscriber) {
        // SAFETY: as above; a kind that is not enabled is an error that changes nothing. The subscriber is ours.
        unsafe {
            KINDS.into_iter().for_each(|kind| drop(self.table.disable(kind)));
            drop(self.table.flush(0));
            drop(self.table.unsubscribe(subscriber));
        }
    }

    /// Keeps the records of a buffer.
    ///
    /// # Safety
    /// CUPTI filled the buffer with records up to `valid`, and does not use it any more.
    unsafe fn read(&self, buffer: *mut u8, valid: usize) {
        let mut found = Vec::new();
        let mut at = ptr::null_mut();
        let next = |_| {
            // SAFETY: by the caller; it returns an error after the last record.
            let has_next = unsafe { self.table.next_record(buffer, valid, &mut at) }.is_ok();
            if has_next { at.cast_const() } else { ptr::null() }
        };
        // SAFETY: by the caller.
        let all = unsafe {
            each_record(buffer, valid, next, |record| {
                #[cfg(test)]
                tests::SEEN.lock().expect("a lock").push(record.first_bytes(256).to_vec());
                found.extend(records::read(record));
            })
        };
        self.store.add(found);
        self.store.lose(u64::from(!all));
    }
}

impl Activities for Cupti {
    fn name(&self) -> &str {
        &self.name
    }

    fn begin(&self) -> Result<()> {
        self.store.begin(|| self.start())
    }

    fn enter(&self, call: u64) {
        // SAFETY: any id is valid.
        if let Err(error) = unsafe { self.table.push_id(OWN_IDS, call) } {
            // The operation is counted as one without times.
            tracing::debug!(%error, "an operation has no id");
        }
    }

    fn leave(&self) {
        let mut last = 0;
        // SAFETY: it writes the id.
        if let Err(error) = unsafe { self.table.pop_id(OWN_IDS, &mut last) } {
            tracing::debug!(%error, "an id stays");
        }
    }

    fn take(&self, is_wanted: &dyn Fn(u64) -> bool) -> Vec<Activity> {
        // SAFETY: no flags. The callback locks the records, which this thread does not.
        if let Err(error) = unsafe { self.table.flush(0) } {
            tracing::debug!(%error, "CUPTI returns no activities");
        }
        self.store.take(is_wanted)
    }

    fn take_lost(&self) -> u64 {
        self.store.take_lost()
    }

    fn end(&self) {
        self.store.end(|| self.disable(self.subscriber.swap(ptr::null_mut(), Relaxed)));
    }
}

unsafe extern "C" fn ignore(_: *mut c_void, _: u32, _: u32, _: *const c_void) {}

/// The layout of all buffers.
fn layout() -> Option<Layout> {
    Layout::from_size_align(BUFFER, ALIGNMENT).ok()
}

/// CUPTI needs a buffer.
unsafe extern "C" fn requested(buffer: *mut *mut u8, size: *mut usize, most: *mut usize) {
    // SAFETY: the layout has a size.
    let memory = layout().map_or(ptr::null_mut(), |layout| unsafe { alloc(layout) });
    // SAFETY: CUPTI passes places for the results. 0 records stands for as many as fit.
    unsafe {
        *buffer = memory;
        *size = if memory.is_null() { 0 } else { BUFFER };
        *most = 0;
    }
}

/// CUPTI gives a buffer back, with records.
unsafe extern "C" fn completed(
    context: CUcontext,
    stream: u32,
    buffer: *mut u8,
    _: usize,
    valid: usize,
) {
    if let Some(Ok(cupti)) = CUPTI.get() {
        if !buffer.is_null() {
            // SAFETY: CUPTI filled it.
            unsafe { cupti.read(buffer, valid) };
        }
        let mut dropped = 0;
        // SAFETY: CUPTI passed the context and the stream, and writes a number.
        if unsafe { cupti.table.dropped(context, stream, &mut dropped) }.is_ok() {
            cupti.store.lose(dropped as u64);
        }
    }
    if let Some(layout) = layout().filter(|_| !buffer.is_null()) {
        // SAFETY: `requested` allocated it with this layout, and CUPTI does not use it any more.
        unsafe { dealloc(buffer, layout) };
    }
}

#[cfg(test)]
mod tests;
