//! Reuse of device memory without calls of the driver's allocator: what a dropped buffer leaves, and what a new one
//! gets.
//!
//! A reused block has no work in flight, except on the stream that its next owner fills it on. The next owner therefore
//! needs no order after earlier owners, and no stream waits for another one because of memory.

use std::sync::Arc;

use quadrants_rhi::{DevicePtr, Severity};
use smallvec::SmallVec;

use crate::{
    Completed, Context, EventLease, Result, Stamp,
    block_cache::{CachedBlock, LastUse},
    stream_registry::PendingWork,
};

/// A block with work in flight on more streams than this is freed: its events would cost more than the free.
const MAX_PENDING_STREAMS: usize = 4;

/// An allocation gives up after it found this many streams still at work.
const MAX_BUSY_STREAMS: usize = 3;

/// A block of the cache for a new owner.
pub(crate) struct ReusedBlock {
    pub(crate) memory: DevicePtr,
    /// The work that used it and may be incomplete.
    pub(crate) after: Completed,
}

impl Context {
    /// Takes a cached block for a buffer of `bytes`. All work that used it is complete, or is work of the stream with
    /// the id `on`. `None` if no such block is known.
    ///
    /// # Errors
    /// The failure of earlier work.
    pub(crate) fn reuse_block(
        self: &Arc<Self>,
        bytes: usize,
        on: Option<u32>,
    ) -> Result<Option<ReusedBlock>> {
        let Some(class) = self.blocks.class_of(bytes) else { return Ok(None) };
        let is_ready = |stamp: Stamp| Some(stamp.stream) == on || self.registry.is_complete(stamp);
        // One stream at work for long must not keep the blocks of others from being reused.
        let mut busy = SmallVec::<[u32; MAX_BUSY_STREAMS]>::new();
        while busy.len() < MAX_BUSY_STREAMS {
            let Some(mut block) = self.blocks.take(class, &busy, is_ready) else { break };
            let at_work = self.stream_at_work(&mut block, on);
            if matches!(at_work, Ok(None)) {
                let after = block.uses.iter().map(|last| last.stamp).collect();
                block.uses.into_iter().for_each(|last| self.return_event(last.event));
                return Ok(Some(ReusedBlock { memory: block.memory, after }));
            }
            self.free_blocks(self.blocks.put_back(block));
            busy.extend(at_work?);
        }
        Ok(None)
    }

    /// A stream other than `on` that may still use the block. Forgets the uses that are found to be complete.
    fn stream_at_work(&self, block: &mut CachedBlock, on: Option<u32>) -> Result<Option<u32>> {
        let mut at = 0;
        while let Some(last) = block.uses.get(at).copied() {
            if Some(last.stamp.stream) == on {
                at += 1;
            } else if self.is_use_complete(last)? {
                block.uses.swap_remove(at);
                self.return_event(last.event);
            } else {
                return Ok(Some(last.stamp.stream));
            }
        }
        Ok(None)
    }

    fn is_use_complete(&self, last: LastUse) -> Result<bool> {
        if self.registry.is_complete(last.stamp) {
            return Ok(true);
        }
        // SAFETY: the block that the caller took from the cache owns the event.
        let complete = self.observe(unsafe { self.device().event_query(last.event) })?;
        if complete {
            // Other blocks with this stamp need no query.
            self.registry.complete([last.stamp]);
        }
        Ok(complete)
    }

    /// Puts the memory of a dropped buffer into the cache; `users` are its uses. Returns false if the caller has to
    /// free it.
    ///
    /// # Errors
    /// The device's error if recording an event fails. The caller then frees the memory.
    pub(crate) fn keep_block(
        self: &Arc<Self>,
        memory: DevicePtr,
        class: usize,
        users: impl IntoIterator<Item = Stamp>,
    ) -> Result<bool> {
        let pending = users.into_iter().filter(|stamp| !self.registry.is_complete(*stamp));
        let pending: SmallVec<[Stamp; MAX_PENDING_STREAMS]> = pending.collect();
        if pending.len() > MAX_PENDING_STREAMS {
            return Ok(false);
        }
        let _current = match pending.is_empty() {
            true => None,
            // SAFETY: until the guard is dropped, this thread only calls this device.
            false => Some(unsafe { self.make_current()? }),
        };
        let mut uses = SmallVec::<[(Stamp, EventLease); 1]>::new();
        for stamp in pending {
            let stream = match self.registry.find(stamp) {
                None => continue,
                Some(PendingWork::Stream(stream)) => stream,
                // The registry owns the event of a stream that was destroyed at work.
                Some(PendingWork::Event(_)) => return Ok(false),
            };
            let event = self.lease_event()?;
            // SAFETY: the event and the stream are leased.
            let recorded = unsafe { self.device().event_record(event.handle(), stream.handle) };
            self.observe(recorded)?;
            uses.push((stamp, event));
        }
        let uses = uses.into_iter();
        let uses = uses.map(|(stamp, event)| LastUse { stamp, event: event.into_handle() });
        self.free_blocks(self.blocks.put(memory, class, uses.collect()));
        Ok(true)
    }

    /// Marks the uses of the first `numbers` cached blocks as complete.
    pub(crate) fn complete_blocks_before(&self, numbers: u64) {
        for event in self.blocks.complete_before(numbers) {
            self.return_event(event);
        }
    }

    /// Frees all cached memory in stream order.
    pub(crate) fn empty_block_cache(&self) {
        self.free_blocks(self.blocks.drain());
    }

    /// Frees blocks that were taken from the cache, in stream order after their last uses. Errors become deferred
    /// errors.
    fn free_blocks(&self, blocks: impl IntoIterator<Item = CachedBlock>) {
        for block in blocks {
            // With the context, the memory and the events are lost, too.
            if self.is_lost() {
                return;
            }
            if let Err(error) = self.free_after_uses(&block) {
                self.recover_free(block.memory, error);
            }
            block.uses.iter().for_each(|last| self.return_event(last.event));
        }
    }

    fn free_after_uses(&self, block: &CachedBlock) -> Result<()> {
        for last in &block.uses {
            if !self.is_use_complete(*last)? {
                // SAFETY: the block owns the event, and the internal stream lives as long as the context.
                let waited = unsafe { self.device().stream_wait_event(self.free_on, last.event) };
                self.observe(waited)?;
            }
        }
        // SAFETY: the block owns the memory, and every use of it is complete or ordered before this free.
        self.observe(unsafe { self.device().free_async(block.memory, self.free_on) })
    }

    /// Frees memory whose free in stream order failed with `error`, which becomes a deferred error: waits for all work.
    /// If that fails too, the memory is leaked: that is better than freeing the memory of a running kernel.
    pub(crate) fn recover_free(&self, memory: DevicePtr, error: crate::Error) {
        let lost = error.severity() == Severity::ContextLost;
        self.defer(error);
        if lost {
            return;
        }
        // SAFETY: nothing uses the memory after the wait, and it was not freed.
        let freed = self
            .wait_for_device()
            .and_then(|()| unsafe { self.observe(self.device().free_async(memory, self.free_on)) });
        if let Err(error) = freed {
            self.defer(error);
        }
    }
}
