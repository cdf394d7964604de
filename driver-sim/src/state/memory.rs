//! Allocations and copies: what a driver call does at once, and what it enqueues.

use super::WorldState;
use crate::{
    code::{Code, Result},
    copy_shape::CopyShape,
    handle::{HandleKind, encode_only},
    memory::{AllocationKey, DEVICE_BASE, Freed},
    op::{OpKind, Work},
    report::{Report, ReportKind},
    stream::StreamRef,
};

impl WorldState {
    pub(crate) fn alloc(&mut self, function: &'static str, bytes: usize) -> Result<u64> {
        let origin = self.origin(function, None);
        let queue = &self.queue;
        let base = match self.memory.alloc(bytes, origin) {
            Err(Code::OUT_OF_MEMORY) => {
                self.memory.trim_pool(|op| queue.is_done(op));
                self.memory.alloc(bytes, origin)?
            }
            other => other?,
        };
        self.creates.allocations += 1;
        Ok(base)
    }

    /// Frees at once, without waiting for work that still uses the memory: no contract guarantees that a driver waits.
    pub(crate) fn free(&mut self, function: &'static str, base: u64) -> Result<()> {
        let origin = self.origin(function, None);
        let last = self.queue.next_id() - 1;
        self.check_host_free(AllocationKey::Block(base));
        self.memory.free(base, origin, last).inspect_err(|_| self.bad_free(function, base))
    }

    pub(crate) fn alloc_async(
        &mut self,
        function: &'static str,
        bytes: usize,
        stream: StreamRef,
    ) -> Result<u64> {
        if !self.pools {
            return Err(Code::NOT_SUPPORTED);
        }
        let handle = self.stream_handle(stream);
        let origin = self.origin(function, Some(handle));
        let tails = self.order(stream)?;
        let queue = &self.queue;
        // The dependencies of the stream's next operation, computed when the first block needs them.
        let mut before = None;
        let reusable = |freed: &Freed| match freed.by {
            None => true,
            Some(op) if queue.is_done(op) || freed.stream == Some(handle) => true,
            Some(op) => before.get_or_insert_with(|| queue.ancestors(&tails)).contains(&op),
        };
        let (base, freed) = self.memory.alloc_pooled(bytes, origin, reusable)?;
        self.creates.stream_allocations += 1;
        if let Some(freed) = freed {
            self.detector.order_next_after(freed);
        }
        let work = Work::Allocate { base, bytes, origin };
        self.memory.set_alloc_op(base, self.queue.next_id());
        self.enqueue(stream, work, OpKind::Alloc, &[], None)?;
        Ok(base)
    }

    pub(crate) fn free_async(
        &mut self,
        function: &'static str,
        base: u64,
        stream: StreamRef,
    ) -> Result<()> {
        self.stream(stream)?;
        if !self.pools {
            return Err(Code::NOT_SUPPORTED);
        }
        if !self.memory.holds_pooled(base) {
            self.bad_free(function, base);
            return Err(Code::INVALID_VALUE);
        }
        let handle = self.stream_handle(stream);
        let origin = self.origin(function, Some(handle));
        let work = Work::Free { base, origin };
        self.memory.set_free_op(base, self.queue.next_id());
        let op = self.enqueue(stream, work, OpKind::Free, &[], None)?;
        self.memory.mark_freed(base)?;
        self.memory.pool.push(Freed { base, by: Some(op), stream: Some(handle) });
        Ok(())
    }

    pub(crate) fn alloc_pinned(&mut self, bytes: usize) -> Result<usize> {
        let base = self.memory.alloc_pinned(bytes)?;
        self.creates.pinned += 1;
        Ok(base)
    }

    /// Frees pinned memory without waiting for work that still uses it.
    pub(crate) fn free_pinned(&mut self, function: &'static str, base: usize) -> Result<()> {
        let last = self.queue.next_id() - 1;
        let done = self.queue.done_before() - 1;
        self.check_host_free(AllocationKey::Pinned(base));
        self.memory
            .free_pinned(base, last, done, self.call_count)
            .inspect_err(|_| self.bad_free(function, base as u64))
    }

    /// Enqueues a copy between addresses that the device can access.
    pub(crate) fn copy(
        &mut self,
        kind: OpKind,
        dst: u64,
        src: u64,
        rows: CopyShape,
        stream: StreamRef,
    ) -> Result<()> {
        self.enqueue(stream, Work::Copy { dst, src, rows }, kind, &[], None).map(drop)
    }

    pub(crate) fn fill(
        &mut self,
        dst: u64,
        pattern: u32,
        width: usize,
        count: usize,
        stream: StreamRef,
    ) -> Result<()> {
        let bytes = count.checked_mul(width).ok_or(Code::INVALID_VALUE)?;
        if !dst.is_multiple_of(width as u64) {
            return Err(Code::INVALID_VALUE);
        }
        let work = Work::Fill { dst, pattern, width, bytes };
        self.enqueue(stream, work, OpKind::Fill, &[], None).map(drop)
    }

    /// Whether an address is of device memory or of pinned host memory, so that the device can access it when the
    /// operation runs. A range that begins in pinned memory and ends outside counts; the operation then fails.
    pub(crate) fn is_device_accessible(&self, address: usize) -> bool {
        address as u64 >= DEVICE_BASE || self.memory.pinned.contains(address, 1)
    }

    pub(crate) fn pool_handle(&self) -> usize {
        encode_only(HandleKind::Pool, self.ordinal)
    }

    pub(crate) fn check_pool(&self, pool: usize) -> Result<()> {
        match (self.pools, pool == self.pool_handle()) {
            (false, _) => Err(Code::NOT_SUPPORTED),
            (true, false) => Err(Code::INVALID_VALUE),
            (true, true) => Ok(()),
        }
    }

    fn bad_free(&mut self, function: &'static str, address: u64) {
        let block = self.memory.block(address);
        let allocated = block.map(|block| block.allocated);
        let freed = block.and_then(|block| block.freed);
        self.report(Report {
            kind: ReportKind::BadFree,
            op: 0,
            operation: function.to_owned(),
            stream: 0,
            address,
            bytes: 0,
            allocated,
            freed,
        });
    }
}
