//! The device error record: where a running kernel reports to, one per stream.
//!
//! The record lies in pinned memory, so that looking costs the host one load; the word by which threads
//! decide which of them reports lies in the device's, where it can be changed atomically. A record is
//! consumed on its own stream alone: look, drain the stream so that nothing can still write, then take.

use std::{
    collections::HashMap,
    ptr,
    sync::{Arc, atomic::Ordering},
};

use parking_lot::Mutex;
use quadrants_ir::abi::ErrorRecord;
use quadrants_rhi::DevicePtr;
use quadrants_runtime::{Buffer, Context, Pinned};

use crate::{KernelError, Result, launch::report_slot, sync::AtomicU32};

/// How many records one pinned block holds: allocating pinned memory is slow and comes in pages.
const RECORDS_PER_BLOCK: usize = 32;

/// The records of a program: made in blocks, reused when their stream is gone.
#[derive(Debug, Default)]
pub(crate) struct RecordPool {
    idle: Mutex<Vec<RecordSlot>>,
    decoding: Mutex<DecodeState>,
}

/// Held while a record is read and understood.
#[derive(Debug, Default)]
struct DecodeState {
    blocks: Vec<Arc<RecordBlock>>,
    /// What records that were not taken yet say of kernels that are gone, by the record's address.
    of_gone_kernels: HashMap<u64, KernelError>,
}

/// One stream's error record.
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

    /// Takes the report out of a record, as [`RecordSlot::take`], and says what it means.
    pub(crate) fn take_report(
        &self,
        slot: &RecordSlot,
        decode: impl FnOnce(&ErrorRecord) -> KernelError,
    ) -> Option<KernelError> {
        let mut decoding = self.decoding.lock();
        let record = slot.take()?;
        let known = decoding.of_gone_kernels.remove(&slot.address());
        Some(known.unwrap_or_else(|| decode(&record)))
    }

    /// Before a kernel goes: keeps what its reports mean that nobody has taken yet. None of its launches is
    /// unfinished. Nothing is read or understood by others until `remove` has returned.
    pub(crate) fn forget_kernel<R>(
        &self,
        is_its: impl Fn(&ErrorRecord) -> bool,
        decode: impl Fn(&ErrorRecord) -> KernelError,
        remove: impl FnOnce() -> R,
    ) -> R {
        let mut decoding = self.decoding.lock();
        let decoding = &mut *decoding;
        for block in &decoding.blocks {
            for index in 0..RECORDS_PER_BLOCK {
                let slot = RecordSlot { block: block.clone(), index };
                if let Some(record) = slot.peek().filter(&is_its) {
                    decoding
                        .of_gone_kernels
                        .entry(slot.address())
                        .or_insert_with(|| decode(&record));
                }
            }
        }
        remove()
    }

    /// Runs `body` while no kernel goes.
    pub(crate) fn while_all_stay<R>(&self, body: impl FnOnce() -> R) -> R {
        let _told = self.decoding.lock();
        body()
    }

    /// Takes a record back; its stream is drained and its error taken.
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
            // SAFETY: the block has room for so many records, aligned to pages, and nothing else knows
            // it yet.
            unsafe { records.as_ptr().cast::<ErrorRecord>().add(index).write(record) };
        }
        Ok(Self { records, claims })
    }
}

impl RecordSlot {
    /// The address that launches get.
    pub(crate) fn address(&self) -> u64 {
        self.pointer().expose_provenance() as u64
    }

    /// The word of the device's memory that holds the last launch that has reported.
    pub(crate) fn claim(&self) -> DevicePtr {
        self.block.claims.address().offset(self.index * size_of::<u64>())
    }

    fn pointer(&self) -> *mut ErrorRecord {
        // Within the block: the index is below RECORDS_PER_BLOCK.
        self.block.records.as_ptr().cast::<ErrorRecord>().wrapping_add(self.index)
    }

    fn state(&self) -> &AtomicU32 {
        // SAFETY: the record lies in pinned memory that the slot's block keeps, aligned to pages and
        // records; its first field is a u32 that the device and CPU bodies change atomically.
        unsafe { AtomicU32::from_ptr(ptr::addr_of_mut!((*self.pointer()).state)) }
    }

    /// Whether something was reported to the record at [`address`](Self::address).
    ///
    /// # Safety
    /// The record's slot lives.
    #[inline]
    pub(crate) unsafe fn is_set_at(address: u64) -> bool {
        let record = ptr::with_exposed_provenance_mut::<ErrorRecord>(address as usize);
        // SAFETY: as in `state`.
        let state = unsafe { AtomicU32::from_ptr(ptr::addr_of_mut!((*record).state)) };
        state.load(Ordering::Acquire) != ErrorRecord::EMPTY
    }

    /// The report, left where it is. Nobody takes it meanwhile.
    fn peek(&self) -> Option<ErrorRecord> {
        (self.state().load(Ordering::Acquire) == ErrorRecord::FULL)
            // SAFETY: as in `take`.
            .then(|| unsafe { ptr::read_volatile(self.pointer()) })
    }

    /// As [`report_slot::take`].
    fn take(&self) -> Option<ErrorRecord> {
        // SAFETY: FULL was stored after all fields with release or a system-wide fence, and nobody
        // writes a record that is not EMPTY.
        report_slot::take(self.state(), || unsafe { ptr::read_volatile(self.pointer()) })
    }
}
