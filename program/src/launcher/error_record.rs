//! Error records: where running kernels report errors, one per stream.
//!
//! A record is in pinned memory, so that the host checks it with one load. The word by which threads decide which of
//! them reports is in device memory, where it can be changed atomically. Only a wait for a record's own stream consumes
//! it: the host checks the record, synchronizes with the stream so that nothing can write any more, and takes the
//! report.

use std::{
    collections::HashMap,
    ptr,
    sync::{Arc, atomic::Ordering},
};

use parking_lot::Mutex;
use quadrants_ir::abi::ErrorRecord;
use quadrants_rhi::DevicePtr;
use quadrants_runtime::{Buffer, Context, Pinned};

use super::report_slot;
use crate::{KernelError, Result, sync::AtomicU32};

/// The number of records in a block of pinned memory: such memory is slow to allocate and comes in pages.
const RECORDS_PER_BLOCK: usize = 32;

/// The error records of a program: made in blocks, reused when their stream is destroyed.
#[derive(Debug, Default)]
pub(crate) struct RecordPool {
    idle: Mutex<Vec<RecordSlot>>,
    decoding: Mutex<DecodeState>,
}

/// Locked while a record is taken and decoded.
#[derive(Debug, Default)]
struct DecodeState {
    blocks: Vec<Arc<RecordBlock>>,
    /// The errors of records whose kernel was unloaded before they were taken, by the record's address.
    decoded: HashMap<u64, KernelError>,
}

#[derive(Debug)]
pub(crate) struct RecordSlot {
    block: Arc<RecordBlock>,
    index: usize,
}

#[derive(Debug)]
struct RecordBlock {
    records: Pinned,
    /// A word per record, by which threads decide which of them reports.
    claims: Buffer,
}

impl RecordPool {
    /// Takes a record for a new stream.
    pub(crate) fn take(&self, context: &Arc<Context>) -> Result<RecordSlot> {
        if let Some(slot) = self.idle.lock().pop() {
            return Ok(slot);
        }
        let block = Arc::new(RecordBlock::new(context)?);
        self.decoding.lock().blocks.push(block.clone());
        let mut slots: Vec<_> = (0..RECORDS_PER_BLOCK)
            .rev()
            .map(|index| RecordSlot { block: block.clone(), index })
            .collect();
        let first = slots.pop().unwrap_or(RecordSlot { block, index: 0 });
        self.idle.lock().append(&mut slots);
        Ok(first)
    }

    /// Takes the report out of a record, as [`RecordSlot::take`] does, and decodes it.
    pub(crate) fn take_report(
        &self,
        slot: &RecordSlot,
        decode: impl FnOnce(&ErrorRecord) -> KernelError,
    ) -> Option<KernelError> {
        let mut state = self.decoding.lock();
        let record = slot.take()?;
        let decoded = state.decoded.remove(&slot.address());
        Some(decoded.unwrap_or_else(|| decode(&record)))
    }

    /// Removes a kernel by `remove`. Its launches are complete. Decodes its reports that nobody has taken yet, which
    /// `is_from_kernel` recognizes. No report is taken or decoded until `remove` has returned.
    pub(crate) fn unload_kernel<R>(
        &self,
        is_from_kernel: impl Fn(&ErrorRecord) -> bool,
        decode: impl Fn(&ErrorRecord) -> KernelError,
        remove: impl FnOnce() -> R,
    ) -> R {
        let mut state = self.decoding.lock();
        let state = &mut *state;
        for block in &state.blocks {
            for index in 0..RECORDS_PER_BLOCK {
                let slot = RecordSlot { block: block.clone(), index };
                if let Some(record) = slot.peek().filter(&is_from_kernel) {
                    state.decoded.entry(slot.address()).or_insert_with(|| decode(&record));
                }
            }
        }
        remove()
    }

    /// Gives a record back. Its stream is drained and its error is taken.
    pub(crate) fn give_back(&self, slot: RecordSlot) {
        self.idle.lock().push(slot);
    }
}

impl RecordBlock {
    fn new(context: &Arc<Context>) -> Result<Self> {
        let records = Pinned::new(context, RECORDS_PER_BLOCK * size_of::<ErrorRecord>())?;
        let words = [ErrorRecord::NO_LAUNCH.to_ne_bytes(); RECORDS_PER_BLOCK];
        let claims = Buffer::from_bytes(context, words.as_flattened())?;
        let first = claims.address().raw();
        for index in 0..RECORDS_PER_BLOCK {
            let claim = first + (index * size_of::<u64>()) as u64;
            let record = ErrorRecord { claim, ..ErrorRecord::default() };
            // SAFETY: the block has room for as many records and is aligned to pages, and nothing else has its
            // address yet.
            unsafe { records.as_ptr().cast::<ErrorRecord>().add(index).write(record) };
        }
        Ok(Self { records, claims })
    }
}

impl RecordSlot {
    /// The address of the record, for argument blocks.
    pub(crate) fn address(&self) -> u64 {
        self.pointer().expose_provenance() as u64
    }

    /// The word in device memory that holds the last launch that has reported.
    pub(crate) fn claim(&self) -> DevicePtr {
        self.block.claims.address().offset(self.index * size_of::<u64>())
    }

    /// Tells kernels where to leave messages; 0 for nowhere. No kernel that prints runs with this record.
    pub(crate) fn set_message_buffer(&self, address: u64) {
        // SAFETY: the record is in pinned memory that the slot's block keeps, and only kernels that print read the
        // field.
        unsafe { ptr::write_volatile(&raw mut (*self.pointer()).messages, address) };
    }

    fn pointer(&self) -> *mut ErrorRecord {
        // Within the block: the index is below RECORDS_PER_BLOCK.
        self.block.records.as_ptr().cast::<ErrorRecord>().wrapping_add(self.index)
    }

    fn state(&self) -> &AtomicU32 {
        // SAFETY: the record is in pinned memory that the slot's block keeps, aligned to pages and
        // records; its first field is a u32 that the device and CPU bodies change atomically.
        unsafe { AtomicU32::from_ptr(ptr::addr_of_mut!((*self.pointer()).state)) }
    }

    /// Whether the record at [`address`](Self::address) holds a report.
    ///
    /// # Safety
    /// The slot of the record is alive.
    #[inline]
    pub(crate) unsafe fn is_set_at(address: u64) -> bool {
        let record = ptr::with_exposed_provenance_mut::<ErrorRecord>(address as usize);
        // SAFETY: as in `state`.
        let state = unsafe { AtomicU32::from_ptr(ptr::addr_of_mut!((*record).state)) };
        state.load(Ordering::Acquire) != ErrorRecord::EMPTY
    }

    /// Copies the report without taking it. Nobody takes it meanwhile.
    fn peek(&self) -> Option<ErrorRecord> {
        (self.state().load(Ordering::Acquire) == ErrorRecord::FULL)
            // SAFETY: as in `take`.
            .then(|| unsafe { ptr::read_volatile(self.pointer()) })
    }

    /// Takes the report: [`report_slot::take`].
    fn take(&self) -> Option<ErrorRecord> {
        // SAFETY: FULL was stored after all fields with release or a system-wide fence, and nobody
        // writes a record that is not EMPTY.
        report_slot::take(self.state(), || unsafe { ptr::read_volatile(self.pointer()) })
    }
}
