//! The records of the simulated CUPTI, and the buffers that the program provides for them.

use std::{
    cell::RefCell,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

use parking_lot::Mutex;

use super::{Activity, ActivityKind};
use crate::{
    code::{Code, Result},
    pointer::{Array, HostTarget},
};

/// Gives a buffer: its address, its size, and the most records in it, or 0.
pub(crate) type Requested = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
/// Takes a buffer back: its context and stream, its address, its size, and the size of the records in it.
pub(crate) type Completed = unsafe extern "C" fn(usize, u32, *mut u8, usize, usize);

/// A buffer of the program.
#[derive(Debug)]
struct Buffer {
    address: usize,
    size: usize,
    used: usize,
    /// The number of further records that it may have.
    room: usize,
}

#[derive(Debug)]
struct Writer {
    callbacks: Option<(Requested, Completed)>,
    buffer: Option<Buffer>,
}

/// The kinds of records, `CUPTI_ACTIVITY_KIND_…`, and the sizes of their structs in CUDA 12: `CUpti_ActivityMemcpy5`,
/// `Memset4`, `API`, `Kernel9`, `ExternalCorrelation`.
const MEMCPY: u32 = 1;
const MEMSET: u32 = 2;
const DRIVER: u32 = 4;
const KERNEL: u32 = 10;
const EXTERNAL_CORRELATION: u32 = 39;
const SIZES: [(u32, usize); 5] =
    [(MEMCPY, 88), (MEMSET, 88), (DRIVER, 40), (KERNEL, 208), (EXTERNAL_CORRELATION, 24)];

/// `CUPTI_ERROR_…`.
pub(crate) const INVALID_PARAMETER: Code = Code(1);
pub(crate) const INVALID_KIND: Code = Code(21);
pub(crate) const NO_MORE_RECORDS: Code = Code(12);
pub(crate) const QUEUE_EMPTY: Code = Code(18);
pub(crate) const SUBSCRIBED: Code = Code(39);

static IS_SUBSCRIBED: AtomicBool = AtomicBool::new(false);
/// A bit for each kind that is recorded.
static RECORDED: AtomicU64 = AtomicU64::new(0);
static DROPPED: AtomicU64 = AtomicU64::new(0);
/// Locked during callbacks. These may read records and counts, which need no lock.
static WRITER: Mutex<Writer> = Mutex::new(Writer { callbacks: None, buffer: None });

thread_local! {
    /// Ids with their kinds.
    static EXTERNAL_IDS: RefCell<Vec<(u32, u64)>> = const { RefCell::new(Vec::new()) };
}

/// Makes the only subscriber.
pub(crate) fn subscribe() -> Result<()> {
    if IS_SUBSCRIBED.swap(true, Relaxed) { Err(SUBSCRIBED) } else { Ok(()) }
}

pub(crate) fn unsubscribe() -> Result<()> {
    if IS_SUBSCRIBED.swap(false, Relaxed) { Ok(()) } else { Err(INVALID_PARAMETER) }
}

pub(crate) fn register(requested: Requested, completed: Completed) {
    WRITER.lock().callbacks = Some((requested, completed));
}

pub(crate) fn enable(kind: u32) -> Result<()> {
    RECORDED.fetch_or(bit(kind)?, Relaxed);
    Ok(())
}

pub(crate) fn disable(kind: u32) -> Result<()> {
    RECORDED.fetch_and(!bit(kind)?, Relaxed);
    Ok(())
}

fn bit(kind: u32) -> Result<u64> {
    size_of(kind).map(|_| 1 << kind).ok_or(INVALID_KIND)
}

fn size_of(kind: u32) -> Option<usize> {
    SIZES.iter().find(|(known, _)| *known == kind).map(|(_, size)| *size)
}

fn is_recorded(kind: u32) -> bool {
    RECORDED.load(Relaxed) & (1 << kind) != 0
}

pub(crate) fn push_external_id(kind: u32, id: u64) {
    EXTERNAL_IDS.with_borrow_mut(|ids| ids.push((kind, id)));
}

pub(crate) fn pop_external_id(kind: u32) -> Option<u64> {
    EXTERNAL_IDS.with_borrow_mut(|ids| {
        let last = ids.iter().rposition(|(of, _)| *of == kind)?;
        Some(ids.remove(last).1)
    })
}

/// The number of records for which there was no buffer, since the last call.
pub(crate) fn take_dropped() -> u64 {
    DROPPED.swap(0, Relaxed)
}

/// Gives the buffer back.
pub(crate) fn flush() {
    WRITER.lock().complete();
}

/// The address of the record after the given one in a buffer, or of the first after 0.
pub(crate) fn next_record(buffer: usize, valid: usize, record: usize) -> Result<usize> {
    let next = match record {
        0 => buffer,
        record => {
            let kind = Array::<u32>::at(record).first()?;
            record + size_of(kind).ok_or(INVALID_KIND)?
        }
    };
    if next < buffer + valid { Ok(next) } else { Err(NO_MORE_RECORDS) }
}

pub(super) fn records_calls() -> bool {
    is_recorded(DRIVER)
}

/// Records a call of the driver by this thread, after the last external id of each kind.
pub(super) fn write_call(correlation: u64) {
    if is_recorded(EXTERNAL_CORRELATION) {
        let mut ids = EXTERNAL_IDS.with_borrow(Vec::clone);
        while let Some((kind, id)) = ids.pop() {
            ids.retain(|(other, _)| *other != kind);
            let mut record = Record::new(EXTERNAL_CORRELATION);
            record.put(4, &kind.to_ne_bytes());
            record.put(8, &id.to_ne_bytes());
            record.put(16, &(correlation as u32).to_ne_bytes());
            record.write();
        }
    }
    let mut record = Record::new(DRIVER);
    record.put(32, &(correlation as u32).to_ne_bytes());
    record.write();
}

/// Records an activity. Events are none.
pub(super) fn write(activity: &Activity) {
    let (kind, correlation_at, node_at) = match activity.kind {
        ActivityKind::Kernel => (KERNEL, 92, 144),
        ActivityKind::Copy | ActivityKind::CopyToHost => (MEMCPY, 44, 64),
        ActivityKind::Fill => (MEMSET, 44, 64),
        ActivityKind::Event => return,
    };
    if !is_recorded(kind) {
        return;
    }
    let mut record = Record::new(kind);
    record.put(16, &activity.begin.to_ne_bytes());
    record.put(24, &activity.end.to_ne_bytes());
    record.put(correlation_at, &(activity.correlation as u32).to_ne_bytes());
    record.put(node_at, &activity.node.to_ne_bytes());
    record.write();
}

/// A record that is made.
struct Record(Vec<u8>);

impl Record {
    fn new(kind: u32) -> Self {
        let mut record = Self(vec![0; size_of(kind).unwrap_or(0)]);
        record.put(0, &kind.to_ne_bytes());
        record
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn write(&self) {
        if !WRITER.lock().write(&self.0) {
            DROPPED.fetch_add(1, Relaxed);
        }
    }
}

impl Writer {
    /// Writes a record. Returns whether there was a buffer for it.
    fn write(&mut self, record: &[u8]) -> bool {
        let fits = |buffer: &Buffer| buffer.room > 0 && buffer.size - buffer.used >= record.len();
        if !self.buffer.as_ref().is_some_and(fits) {
            self.complete();
            self.request();
        }
        let Some(buffer) = self.buffer.as_mut().filter(|buffer| fits(buffer)) else { return false };
        let mut target = HostTarget::at(buffer.address + buffer.used);
        let Ok(bytes) = target.bytes(record.len()) else { return false };
        bytes.copy_from_slice(record);
        buffer.used += record.len();
        buffer.room -= 1;
        true
    }

    fn request(&mut self) {
        let Some((requested, _)) = self.callbacks else { return };
        let (mut address, mut size, mut most) = (std::ptr::null_mut(), 0, 0);
        // SAFETY: whoever registered the callback guarantees that it writes its results to these places.
        unsafe { requested(&mut address, &mut size, &mut most) };
        let room = if most == 0 { usize::MAX } else { most };
        let address = address.expose_provenance();
        self.buffer = (address != 0).then_some(Buffer { address, size, used: 0, room });
    }

    fn complete(&mut self) {
        let Some((_, completed)) = self.callbacks else { return };
        if let Some(Buffer { address, size, used, .. }) = self.buffer.take() {
            let address = std::ptr::with_exposed_provenance_mut(address);
            // SAFETY: the buffer is the one that the other callback gave, and is not used any more.
            unsafe { completed(0, 0, address, size, used) };
        }
    }
}
