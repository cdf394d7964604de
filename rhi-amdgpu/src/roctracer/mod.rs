//! roctracer, the profiling interface of ROCm: the device times of kernels, copies and fills.
//!
//! It is loaded by the first profile, from a ROCm installation; then the HIP runtime is already loaded, which roctracer
//! looks for at its first use. Each operation is enqueued under an external id. roctracer writes the id with the number
//! of the API call, which the activities have, too.
//!
//! ROCm's newer interface, rocprofiler-sdk, must be configured before the HIP runtime is initialized, and then wraps
//! its queues also while no profile runs. roctracer begins and ends at any time.

mod records;

use std::{
    ffi::{c_char, c_void},
    ptr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

use quadrants_codegen::search::{LIBRARIES, LibrarySearch};
use quadrants_rhi::{
    Activities, Activity, DriverError, DriverErrorKind, Error, Result,
    activity::{ActivityStore, each_record},
    table::{Library, Resolve, Status},
};

use self::records::{DOMAIN_HIP_API, DOMAIN_HIP_OPS, RECORD_BYTES};

/// The environment variable that selects the roctracer library; `off` for none.
pub const ROCTRACER_VARIABLE: &str = "QUADRANTS_ROCTRACER_LIBRARY";

const SEARCH: LibrarySearch = LibrarySearch {
    variable: ROCTRACER_VARIABLE,
    roots: &["ROCM_PATH", "ROCM_HOME", "HIP_PATH"],
    installations: &[("/opt", "rocm")],
    libraries: LIBRARIES,
    wheels: &[],
    names: &["libroctracer64.so.4", "libroctracer64.so"],
};

/// The major version of the interface since ROCm 4. Others have other functions.
const MAJOR: i32 = 4;

/// The domains that are recorded: what the device does, and the API calls, because ids are attached to these.
const DOMAINS: [u32; 2] = [DOMAIN_HIP_API, DOMAIN_HIP_OPS];

/// The size of a buffer for records. roctracer has two, and waits if both are full, so it drops no records.
const BUFFER: usize = 1 << 20;
/// The largest number of activities that are kept until somebody takes them.
const MAX_ACTIVITIES: usize = 1 << 23;

/// `ROCTRACER_STATUS_ERROR_DEFAULT_POOL_ALREADY_DEFINED`.
const POOL_EXISTS: i32 = -5;

type BufferCallback = unsafe extern "C" fn(*const c_char, *const c_char, *mut c_void);
type Allocator = unsafe extern "C" fn(*mut *mut c_char, usize, *mut c_void);
type Pool = *mut c_void;

/// `roctracer_properties_t`.
#[derive(Debug)]
#[repr(C)]
struct Properties {
    mode: u32,
    buffer_size: usize,
    /// None for `malloc`.
    allocate: Option<Allocator>,
    allocate_data: *mut c_void,
    callback: BufferCallback,
    callback_data: *mut c_void,
}

macro_rules! roctracer_functions {
    ([$($consumer:tt)*] $($header:tt)*) => { $($consumer)*! { $($header)*
        /// The major version of the interface. It is no status.
        version_major = roctracer_version_major(), required;
        /// The minor version of the interface. It is no status.
        version_minor = roctracer_version_minor(), required;
        /// Makes buffers for records; with null for the result, the default ones, of which there is one set.
        open_pool = roctracer_open_pool_expl(properties: *const Properties, pool: *mut Pool), required;
        /// Begins to record a domain.
        enable = roctracer_enable_domain_activity_expl(domain: u32, pool: Pool), required;
        /// Ends that.
        disable = roctracer_disable_domain_activity(domain: u32), required;
        /// Passes on the records that were written so far.
        flush = roctracer_flush_activity_expl(pool: Pool), required;
        /// The record after the given one.
        next_record = roctracer_next_record(record: *const u8, next: *mut *const u8), optional("4.1");
        /// Attaches an id to what the thread calls from now on.
        push_id = roctracer_activity_push_external_correlation_id(id: u64), required;
        /// Takes the last id back.
        pop_id = roctracer_activity_pop_external_correlation_id(last: *mut u64), required;
    } };
}

roctracer_functions! { [quadrants_rhi::driver_table]
    /// The functions of roctracer.
    struct Table: check;
}

#[cold]
fn check(_: &Table, call: &'static str, symbol: &'static str, status: Status) -> Error {
    // Before ROCm 5.3, the codes were positive and few.
    let name = match status.0 {
        -2 => "ROCTRACER_STATUS_ERROR_INVALID_DOMAIN_ID",
        -3 => "ROCTRACER_STATUS_ERROR_INVALID_ARGUMENT",
        -4 => "ROCTRACER_STATUS_ERROR_DEFAULT_POOL_UNDEFINED",
        POOL_EXISTS => {
            "ROCTRACER_STATUS_ERROR_DEFAULT_POOL_ALREADY_DEFINED: another profiler is attached"
        }
        -6 => "ROCTRACER_STATUS_ERROR_MEMORY_ALLOCATION",
        -7 => "ROCTRACER_STATUS_ERROR_MISMATCHED_EXTERNAL_CORRELATION_ID",
        -8 => "ROCTRACER_STATUS_ERROR_NOT_IMPLEMENTED",
        1 if call == "open_pool" => "ROCTRACER_STATUS_ERROR: another profiler may be attached",
        _ => "ROCTRACER_STATUS_ERROR",
    };
    DriverError::new(call, symbol, status.0, name, DriverErrorKind::Other).into()
}

/// The loaded roctracer. It is never dropped, because roctracer has its address.
#[derive(Debug)]
struct Roctracer {
    table: Table,
    name: String,
    store: ActivityStore,
    /// Whether the default pool is ours.
    has_pool: AtomicBool,
}

static ROCTRACER: OnceLock<Result<Arc<Roctracer>>> = OnceLock::new();

/// roctracer; none where it is not wanted.
///
/// # Errors
/// It is not found, or has another version.
pub(crate) fn open(simulated: bool) -> Result<Option<Arc<dyn Activities>>> {
    let environment = |name: &str| std::env::var_os(name);
    if !SEARCH.is_wanted(&environment, simulated) {
        return Ok(None);
    }
    let opened = ROCTRACER.get_or_init(|| {
        let candidates = SEARCH.search_paths(&environment).candidates;
        // SAFETY: each is roctracer by its name, or the user selected it as roctracer.
        let library = unsafe { Library::open(crate::BACKEND, &candidates, ROCTRACER_VARIABLE) }?;
        // SAFETY: the library is roctracer, and stays loaded.
        unsafe { Roctracer::load(library.name(), &|symbol| library.resolve(symbol)) }
    });
    opened.clone().map(|roctracer| Some(roctracer as Arc<dyn Activities>))
}

impl Roctracer {
    /// # Safety
    /// `resolve` returns the functions of roctracer, which stay callable until the process ends.
    unsafe fn load(library: &str, resolve: &Resolve<'_>) -> Result<Arc<Self>> {
        // SAFETY: the rows are roctracer's documented signatures; the rest by the caller.
        let table = unsafe { Table::load(library, resolve) }?;
        // SAFETY: they have no conditions, and return a number in place of a status.
        let (major, minor) =
            unsafe { ((table.functions.version_major)().0, (table.functions.version_minor)().0) };
        if major != MAJOR {
            return Err(Error::Unsupported {
                operation: "roctracer",
                reason: format!("it has version {major}.{minor}, and version {MAJOR} is needed"),
            });
        }
        let this = Arc::new(Self {
            table,
            name: format!("roctracer {major}.{minor}"),
            store: ActivityStore::new(MAX_ACTIVITIES),
            has_pool: AtomicBool::new(false),
        });
        std::mem::forget(this.clone());
        Ok(this)
    }

    fn start(&self) -> Result<()> {
        if !self.has_pool.load(Relaxed) {
            self.open_pool()?;
            self.has_pool.store(true, Relaxed);
        }
        // SAFETY: these are domains, and null is the default pool, which is ours.
        let enabled = DOMAINS
            .into_iter()
            .try_for_each(|domain| unsafe { self.table.enable(domain, ptr::null_mut()) });
        if enabled.is_err() {
            self.stop();
        }
        enabled
    }

    /// Makes the default pool, although others exist: the second profiler that wants it gets an error. Nothing else
    /// says that two profilers take each other's records.
    fn open_pool(&self) -> Result<()> {
        let properties = Properties {
            mode: 0,
            buffer_size: BUFFER,
            allocate: None,
            allocate_data: ptr::null_mut(),
            callback: completed,
            callback_data: ptr::from_ref(self).cast_mut().cast(),
        };
        // SAFETY: roctracer copies the properties. It may call back at any time, and `self` lives as long.
        unsafe { self.table.open_pool(&raw const properties, ptr::null_mut()) }
    }

    /// The pool stays open: another thread that is in a call of the HIP API may still write to it.
    fn stop(&self) {
        for domain in DOMAINS {
            // SAFETY: a domain that is not enabled is disabled without effect.
            if let Err(error) = unsafe { self.table.disable(domain) } {
                tracing::debug!(%error, domain, "roctracer records on");
            }
        }
        self.flush();
    }

    fn flush(&self) {
        // SAFETY: null is the default pool. The callback locks the records, which this thread does not.
        if let Err(error) = unsafe { self.table.flush(ptr::null_mut()) } {
            tracing::debug!(%error, "roctracer returns no activities");
        }
    }

    /// The address of the record after this one.
    fn after(&self, record: *const u8) -> *const u8 {
        let mut next = ptr::null();
        if self.table.functions.next_record.is_some() {
            // SAFETY: the record is in a buffer of roctracer, which computes an address.
            let found = unsafe { self.table.next_record(record, &mut next) };
            return if found.is_ok() { next } else { ptr::null() };
        }
        // Older headers compute it.
        record.wrapping_add(RECORD_BYTES)
    }

    /// Keeps the records of a buffer.
    ///
    /// # Safety
    /// The buffer has this many bytes, which roctracer filled with records and does not use any more.
    unsafe fn read(&self, begin: *const u8, length: usize) {
        let mut found = Vec::new();
        let next = |record: *const u8| {
            let next = if record.is_null() { begin } else { self.after(record) };
            if next.addr() == begin.addr().wrapping_add(length) { ptr::null() } else { next }
        };
        let mut is_incomplete = false;
        // SAFETY: by the caller.
        let all = unsafe {
            each_record(begin, length, next, |record| {
                found.extend(records::read(record));
                is_incomplete |= record.room() < RECORD_BYTES;
            })
        };
        self.store.add(found);
        self.store.lose(u64::from(is_incomplete || !all));
    }
}

impl Activities for Roctracer {
    fn name(&self) -> &str {
        &self.name
    }

    fn begin(&self) -> Result<()> {
        self.store.begin(|| self.start())
    }

    fn enter(&self, call: u64) {
        // SAFETY: any id is valid.
        if let Err(error) = unsafe { self.table.push_id(call) } {
            // The operation is counted as one without times.
            tracing::debug!(%error, "an operation has no id");
        }
    }

    fn leave(&self) {
        let mut last = 0;
        // SAFETY: it writes the id.
        if let Err(error) = unsafe { self.table.pop_id(&mut last) } {
            tracing::debug!(%error, "an id stays");
        }
    }

    /// The runtime writes a record on a thread of its own, after a wait for the work may have returned. The records are
    /// complete if each call has one. Some calls never have, such as those that allocate memory: then no more are
    /// awaited when none came for a while.
    fn take(&self, is_wanted: &dyn Fn(u64) -> bool) -> Vec<Activity> {
        const PAUSE: Duration = Duration::from_millis(1);
        const QUIET: u32 = 10;
        self.flush();
        let (mut waiting, mut quiet) = (self.store.waiting(is_wanted), 0);
        while waiting > 0 && quiet < QUIET {
            thread::sleep(PAUSE);
            self.flush();
            let now = self.store.waiting(is_wanted);
            quiet = if now < waiting { 0 } else { quiet + 1 };
            waiting = now;
        }
        self.store.take(is_wanted)
    }

    fn take_lost(&self) -> u64 {
        self.store.take_lost()
    }

    fn end(&self) {
        self.store.end(|| self.stop());
    }
}

/// roctracer passes on a buffer, on a thread of its own.
unsafe extern "C" fn completed(begin: *const c_char, end: *const c_char, roctracer: *mut c_void) {
    let length = end.addr().saturating_sub(begin.addr());
    // SAFETY: it is the address of [`Roctracer::open_pool`], which is never dropped. The buffer is between the two
    // addresses, and roctracer keeps it until this function returns.
    unsafe {
        if let Some(roctracer) = roctracer.cast::<Roctracer>().as_ref()
            && !begin.is_null()
        {
            roctracer.read(begin.cast(), length);
        }
    }
}

#[cfg(test)]
mod tests;
