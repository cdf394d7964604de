//! The records of the simulated roctracer, and the pools that keep them. A pool passes its records on by a callback,
//! which runs on the thread that fills or flushes the pool, and not on a thread of the library.

use std::{
    cell::RefCell,
    ffi::c_void,
    mem::take,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use parking_lot::Mutex;

use super::{Activity, ActivityKind};
use crate::code::{Code, Result};

/// `activity_record_t`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Record {
    domain: u32,
    /// The kind of the command, `CL_COMMAND_…`.
    kind: u32,
    operation: u32,
    correlation: u64,
    begin: u64,
    end: u64,
    /// The device and the queue, or an external id.
    owner: [u64; 2],
    bytes: u64,
}

/// The callback that gets the records of a pool, with its argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Callback {
    pub(crate) function: unsafe extern "C" fn(*const Record, *const Record, *mut c_void),
    /// The address that is passed to it.
    pub(crate) argument: usize,
}

#[derive(Debug)]
struct Pool {
    callback: Callback,
    /// The number of records that fill it.
    room: usize,
    records: Vec<Record>,
}

#[derive(Debug)]
struct Tracer {
    pools: Vec<Pool>,
    /// The index of the default pool.
    default: Option<usize>,
    /// The index of the pool of each domain that is recorded.
    domains: [Option<usize>; DOMAINS],
}

/// The number of domains, `ACTIVITY_DOMAIN_NUMBER`.
const DOMAINS: usize = 8;
pub(crate) const HIP_OPS: u32 = 2;
pub(crate) const HIP_API: u32 = 3;
const EXT_API: u32 = 5;
/// `ACTIVITY_EXT_OP_EXTERN_ID`.
const EXTERN_ID: u32 = 1;

const DISPATCH: u32 = 0;
const COPY: u32 = 1;
const BARRIER: u32 = 2;

/// `ROCTRACER_STATUS_ERROR_…`.
const INVALID_DOMAIN: Code = Code(-2);
pub(crate) const INVALID_ARGUMENT: Code = Code(-3);
const NO_DEFAULT_POOL: Code = Code(-4);
const DEFAULT_POOL_EXISTS: Code = Code(-5);
pub(crate) const MISMATCHED_ID: Code = Code(-7);

/// A bit for each domain that is recorded.
static RECORDED: AtomicU32 = AtomicU32::new(0);
static TRACER: Mutex<Tracer> =
    Mutex::new(Tracer { pools: Vec::new(), default: None, domains: [None; DOMAINS] });

thread_local! {
    static EXTERNAL_IDS: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

pub(crate) fn push_external_id(id: u64) {
    EXTERNAL_IDS.with_borrow_mut(|ids| ids.push(id));
}

pub(crate) fn pop_external_id() -> Option<u64> {
    EXTERNAL_IDS.with_borrow_mut(Vec::pop)
}

/// Makes a pool, which is filled by this many bytes. Returns its number.
pub(crate) fn open_pool(callback: Callback, bytes: usize) -> usize {
    TRACER.lock().open_pool(callback, bytes) + 1
}

/// As [`open_pool`], for the default pool. An error if it exists.
pub(crate) fn open_default_pool(callback: Callback, bytes: usize) -> Result<()> {
    let mut tracer = TRACER.lock();
    if tracer.default.is_some() {
        return Err(DEFAULT_POOL_EXISTS);
    }
    tracer.default = Some(tracer.open_pool(callback, bytes));
    Ok(())
}

/// Records a domain in a pool with this number, or with 0 in the default one.
pub(crate) fn enable(domain: u32, pool: usize) -> Result<()> {
    let mut tracer = TRACER.lock();
    let pool = tracer.pool(pool)?;
    *tracer.domain(domain)? = Some(pool);
    RECORDED.fetch_or(1 << domain, Relaxed);
    Ok(())
}

pub(crate) fn disable(domain: u32) -> Result<()> {
    *TRACER.lock().domain(domain)? = None;
    RECORDED.fetch_and(!(1 << domain), Relaxed);
    Ok(())
}

/// Passes on the records of a pool, by its number.
pub(crate) fn flush(pool: usize) -> Result<()> {
    let (callback, records) = {
        let mut tracer = TRACER.lock();
        let pool = tracer.pool(pool)?;
        let pool = &mut tracer.pools[pool];
        (pool.callback, take(&mut pool.records))
    };
    callback.pass(&records);
    Ok(())
}

fn is_recorded(domain: u32) -> bool {
    RECORDED.load(Relaxed) & (1 << domain) != 0
}

/// Adds records of a domain to its pool.
fn add(domain: u32, records: &[Record]) {
    let full = {
        let mut tracer = TRACER.lock();
        let Some(pool) = tracer.domains[domain as usize] else { return };
        let pool = &mut tracer.pools[pool];
        pool.records.extend_from_slice(records);
        let is_full = pool.records.len() >= pool.room;
        is_full.then(|| (pool.callback, take(&mut pool.records)))
    };
    if let Some((callback, records)) = full {
        callback.pass(&records);
    }
}

pub(crate) fn records_calls() -> bool {
    is_recorded(HIP_API)
}

/// Records a call of the HIP API by this thread, after its external id, if it has one.
pub(crate) fn write_call(correlation: u64) {
    let call = Record { domain: HIP_API, correlation, ..Record::default() };
    let external = EXTERNAL_IDS.with_borrow(|ids| ids.last().copied());
    match external {
        Some(id) => {
            let (domain, operation, owner) = (EXT_API, EXTERN_ID, [id, 0]);
            let id = Record { domain, operation, correlation, owner, ..Record::default() };
            add(HIP_API, &[id, call]);
        }
        None => add(HIP_API, &[call]),
    }
}

/// Records an activity. Events are barriers, as in the HIP runtime since 2026.
pub(crate) fn write(activity: &Activity) {
    if !is_recorded(HIP_OPS) {
        return;
    }
    let (operation, kind) = match activity.kind {
        ActivityKind::Kernel => (DISPATCH, 0x11f0),
        ActivityKind::Fill => (COPY, 0x1207),
        ActivityKind::Copy => (COPY, 0x11f5),
        ActivityKind::CopyToHost => (COPY, 0x11f3),
        ActivityKind::Event => (BARRIER, 0x11fe),
    };
    let Activity { correlation, begin, end, ordinal, .. } = *activity;
    let (domain, owner) = (HIP_OPS, [ordinal.into(), 0]);
    add(domain, &[Record { domain, kind, operation, correlation, begin, end, owner, bytes: 0 }]);
}

impl Tracer {
    fn open_pool(&mut self, callback: Callback, bytes: usize) -> usize {
        let room = (bytes / size_of::<Record>()).max(2);
        self.pools.push(Pool { callback, room, records: Vec::new() });
        self.pools.len() - 1
    }

    fn pool(&self, number: usize) -> Result<usize> {
        match number.checked_sub(1) {
            None => self.default.ok_or(NO_DEFAULT_POOL),
            Some(pool) if pool < self.pools.len() => Ok(pool),
            Some(_) => Err(INVALID_ARGUMENT),
        }
    }

    fn domain(&mut self, domain: u32) -> Result<&mut Option<usize>> {
        let known = [HIP_OPS, HIP_API].contains(&domain);
        let place = self.domains.get_mut(domain as usize).filter(|_| known);
        place.ok_or(INVALID_DOMAIN)
    }
}

impl Callback {
    fn pass(self, records: &[Record]) {
        if records.is_empty() {
            return;
        }
        let range = records.as_ptr_range();
        let argument = std::ptr::with_exposed_provenance_mut(self.argument);
        // SAFETY: whoever opened the pool guarantees that the callback takes records until the end of the process.
        unsafe { (self.function)(range.start, range.end, argument) };
    }
}
