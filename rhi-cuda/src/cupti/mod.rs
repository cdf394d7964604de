//! CUPTI, the profiling interface of CUDA: the device times of kernels, copies and fills, also those of graph nodes.
//!
//! It is loaded by the first profile, from a CUDA installation or a Python environment. Each operation is enqueued
//! under an external correlation id, which CUPTI connects with the correlation id of the activities.

mod records;

use std::{
    alloc::{Layout, alloc, dealloc},
    collections::HashMap,
    ffi::c_void,
    ptr,
    sync::{Arc, OnceLock},
};

use cudarc::driver::sys::CUcontext;
use quadrants_codegen::search::LibrarySearch;
use quadrants_rhi::{
    Activities, Activity, DriverError, DriverErrorKind, Error, Result,
    table::{Library, Status},
};

use self::records::ActivityRecord;

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
        /// Sets who provides buffers and takes them with records.
        register_callbacks = cuptiActivityRegisterCallbacks(requested: Requested, completed: Completed), required;
        /// Begins to record a kind of activity.
        enable = cuptiActivityEnable(kind: u32), required;
        /// Ends that.
        disable = cuptiActivityDisable(kind: u32), required;
        /// Passes on all buffers whose activities are complete.
        flush = cuptiActivityFlushAll(flags: u32), required;
        /// The record after the given one; the first after null.
        next_record = cuptiActivityGetNextRecord(buffer: *mut u8, valid: usize, record: *mut *mut u8), required;
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
}

/// The state of recording, which is the process's, because CUPTI's callbacks have no argument for it.
#[derive(Debug, Default)]
struct Store {
    /// How many have begun and not ended.
    users: usize,
    /// The address of the subscriber.
    subscriber: usize,
    /// The number of our call, by correlation id.
    calls: HashMap<u32, u64>,
    /// Activities with their correlation ids.
    activities: Vec<(u32, Activity)>,
}

/// Held while recording begins or ends; [`STORE`] is not, because CUPTI may call back then.
static SWITCH: std::sync::Mutex<()> = std::sync::Mutex::new(());
static STORE: std::sync::Mutex<Option<Store>> = std::sync::Mutex::new(None);
static CUPTI: OnceLock<Result<Option<Arc<Cupti>>>> = OnceLock::new();

fn with_store<R>(then: impl FnOnce(&mut Store) -> R) -> R {
    let mut store = STORE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    then(store.get_or_insert_default())
}

/// CUPTI; none where the environment turns it off.
///
/// # Errors
/// It is not found, or too old.
pub(crate) fn open() -> Result<Option<Arc<dyn Activities>>> {
    let opened = CUPTI.get_or_init(|| {
        let variable = std::env::var_os(CUPTI_VARIABLE);
        if variable.is_some_and(|value| value == "off") {
            return Ok(None);
        }
        Cupti::load().map(|cupti| Some(Arc::new(cupti)))
    });
    opened.clone().map(|cupti| cupti.map(|cupti| cupti as Arc<dyn Activities>))
}

impl Cupti {
    fn load() -> Result<Self> {
        let candidates = SEARCH.search_paths(&|name| std::env::var_os(name)).candidates;
        // SAFETY: each is CUPTI by its name, or the user selected it as CUPTI.
        let library = unsafe { Library::open(crate::BACKEND, &candidates, CUPTI_VARIABLE) }?;
        // SAFETY: the rows are CUPTI's documented signatures, and the library stays loaded.
        let table = unsafe { Table::load(library.name(), &|symbol| library.resolve(symbol)) }?;
        let mut version = 0;
        // SAFETY: it writes a number.
        unsafe { table.version(&mut version) }?;
        // Since CUDA 13 it is that of the toolkit: 130001 for 13.0, update 1.
        let name = match version {
            100_000.. => format!("CUPTI {}.{}", version / 10_000, version % 10_000 / 100),
            _ => format!("CUPTI, version {version}"),
        };
        Ok(Self { table, name })
    }

    fn start(&self) -> Result<()> {
        let mut subscriber = ptr::null_mut();
        // SAFETY: the callback ignores its arguments, and no event is enabled for it.
        unsafe { self.table.subscribe(&mut subscriber, ignore, ptr::null_mut()) }?;
        let enabled = self.enable();
        if enabled.is_ok() {
            with_store(|store| store.subscriber = subscriber.expose_provenance());
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

    /// Passes each record of a buffer on.
    fn each_record(&self, buffer: *mut u8, valid: usize, mut then: impl FnMut(ActivityRecord)) {
        let mut record = ptr::null_mut();
        // SAFETY: CUPTI filled the buffer with records up to `valid`; it returns an error after the last one.
        while unsafe { self.table.next_record(buffer, valid, &mut record) }.is_ok() {
            let offset = record.addr().wrapping_sub(buffer.addr());
            let Some(length) = valid.checked_sub(offset).filter(|_| !record.is_null()) else {
                return;
            };
            // SAFETY: the record is in the buffer, which has `length` bytes from there on, and nobody writes to it.
            let bytes = unsafe { std::slice::from_raw_parts(record, length) };
            #[cfg(test)]
            tests::SEEN.lock().expect("a lock").push(bytes[..length.min(256)].to_vec());
            if let Some(record) = ActivityRecord::read(bytes) {
                then(record);
            }
        }
    }
}

impl Activities for Cupti {
    fn name(&self) -> &str {
        &self.name
    }

    fn begin(&self) -> Result<()> {
        let _switch = SWITCH.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if with_store(|store| store.users) == 0 {
            self.start()?;
        }
        with_store(|store| store.users += 1);
        Ok(())
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
        // SAFETY: no flags. The callback takes the lock of the store, which is not held here.
        if let Err(error) = unsafe { self.table.flush(0) } {
            tracing::debug!(%error, "CUPTI returns no activities");
        }
        with_store(|store| {
            let mut taken = Vec::new();
            let calls = &store.calls;
            store.activities.retain(|(correlation, activity)| match calls.get(correlation) {
                Some(&call) if is_wanted(call) => {
                    taken.push(Activity { call, ..*activity });
                    false
                }
                _ => true,
            });
            store.calls.retain(|_, call| !is_wanted(*call));
            taken
        })
    }

    fn end(&self) {
        let _switch = SWITCH.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let subscriber = with_store(|store| {
            store.users -= 1;
            (store.users == 0).then_some(store.subscriber)
        });
        if let Some(subscriber) = subscriber {
            self.disable(ptr::with_exposed_provenance_mut(subscriber));
            with_store(|store| *store = Store::default());
        }
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
unsafe extern "C" fn completed(_: CUcontext, _: u32, buffer: *mut u8, _: usize, valid: usize) {
    if let Some(Ok(Some(cupti))) = CUPTI.get() {
        let mut found = Vec::new();
        cupti.each_record(buffer, valid, |record| found.push(record));
        with_store(|store| {
            for record in found {
                match record {
                    ActivityRecord::ExternalCorrelation { correlation, external_id: call } => {
                        store.calls.insert(correlation, call);
                    }
                    // Work of other code has no call of ours, and stays until the end.
                    ActivityRecord::Activity { correlation, activity }
                        if store.activities.len() < MAX_ACTIVITIES =>
                    {
                        store.activities.push((correlation, activity));
                    }
                    ActivityRecord::Activity { .. } => {}
                }
            }
        });
    }
    if let Some(layout) = layout().filter(|_| !buffer.is_null()) {
        // SAFETY: `requested` allocated it with this layout, and CUPTI does not use it any more.
        unsafe { dealloc(buffer, layout) };
    }
}

#[cfg(test)]
mod tests;
