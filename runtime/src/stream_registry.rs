//! The registry of a context's streams: maps the id in a stamp to the stream, and leases streams to their users.
//!
//! The id of a destroyed stream is reused. The new stream continues with the positions of the old one, so stamps of the
//! old stream are complete from the start.

use std::sync::{
    Arc,
    atomic::Ordering::{Acquire, Relaxed, Release},
};

use quadrants_rhi::{EventHandle, StreamHandle};

use crate::{
    Error, Result, Stamp,
    lease_map::{Lease, LeaseMap},
    stamps::{MAX_SEQUENCE, MAX_STREAMS},
    sync::{AtomicU64, Mutex},
};

/// The progress of a stream: the positions of its enqueued and completed work.
#[derive(Debug)]
pub(crate) struct Position {
    first: u64,
    enqueued: AtomicU64,
    completed: AtomicU64,
}

/// The streams of a context that may have pending work, by id.
#[derive(Debug)]
pub(crate) struct StreamRegistry {
    entries: LeaseMap<u32, RegisteredStream>,
    ids: Mutex<Ids>,
}

#[derive(Debug)]
struct Ids {
    /// Ids of destroyed streams, with the position to continue from.
    free: Vec<(u32, u64)>,
    /// The smallest id that was never used.
    next: u32,
}

/// How to wait for the work of a stream.
#[derive(Debug)]
enum RegisteredStream {
    /// Through the stream, which exists while it is registered.
    Live { handle: StreamHandle, position: Arc<Position>, runs_kernels: bool },
    /// Through an event: the stream was destroyed before its work was complete, and the event was recorded after it.
    Retired { event: EventHandle, complete: bool },
}

/// How to wait for the work of a stamp.
pub(crate) enum PendingWork<'a> {
    Stream(RegistryLease<'a>),
    Event(EventHandle),
}

/// A leased stream: it is not destroyed before this is dropped.
pub(crate) struct RegistryLease<'a> {
    /// The stamp of the newest work when the lease began.
    pub(crate) newest: Stamp,
    pub(crate) handle: StreamHandle,
    _lease: Lease<'a, u32, RegisteredStream>,
}

impl Position {
    fn new(first: u64) -> Self {
        Self { first, enqueued: AtomicU64::new(first), completed: AtomicU64::new(first) }
    }

    /// Takes the next position.
    #[inline]
    pub(crate) fn advance(&self) -> u64 {
        // Release pairs with the acquire load in `enqueued`: a thread that sees the position also waits for the work.
        self.enqueued.fetch_add(1, Release).min(MAX_SEQUENCE - 1) + 1
    }

    /// The position of the newest work.
    pub(crate) fn enqueued(&self) -> u64 {
        self.enqueued.load(Acquire)
    }

    /// Records that the work up to `sequence` is complete.
    pub(crate) fn complete(&self, sequence: u64) {
        // Release pairs with the acquire load in `is_complete`: a thread that skips a wait because of this sees what
        // was visible after the wait.
        self.completed.fetch_max(sequence, Release);
    }

    /// Whether the work at `sequence` is known to be complete. Stamps cannot distinguish the positions from
    /// [`MAX_SEQUENCE`] on, so these are never complete.
    pub(crate) fn is_complete(&self, sequence: u64) -> bool {
        sequence < MAX_SEQUENCE && self.completed.load(Acquire) >= sequence
    }

    /// Whether all work is known to be complete.
    pub(crate) fn is_idle(&self) -> bool {
        self.is_complete(self.enqueued())
    }

    /// Whether this stream issued `sequence`, and not an earlier stream with the same id.
    pub(crate) fn issued(&self, sequence: u64) -> bool {
        sequence > self.first
    }
}

impl Default for StreamRegistry {
    fn default() -> Self {
        let ids = Ids { free: Vec::new(), next: 1 };
        Self { entries: LeaseMap::default(), ids: Mutex::new(ids) }
    }
}

impl StreamRegistry {
    /// Allocates an id for a stream.
    ///
    /// # Errors
    /// [`Error::TooManyStreams`]
    pub(crate) fn allocate_id(&self) -> Result<(u32, Arc<Position>)> {
        let mut ids = self.ids.lock();
        let (id, first) = match ids.free.pop() {
            Some(free) => free,
            None if ids.next < MAX_STREAMS => {
                ids.next += 1;
                (ids.next - 1, 0)
            }
            None => return Err(Error::TooManyStreams { limit: MAX_STREAMS - 1 }),
        };
        Ok((id, Arc::new(Position::new(first))))
    }

    /// Registers a stream on which kernels run.
    pub(crate) fn register(&self, id: u32, handle: StreamHandle, position: &Arc<Position>) {
        let position = position.clone();
        self.entries.insert(id, RegisteredStream::Live { handle, position, runs_kernels: true });
    }

    /// Registers a stream of allocations, fills and copies.
    pub(crate) fn register_internal(
        &self,
        id: u32,
        handle: StreamHandle,
        position: &Arc<Position>,
    ) {
        let position = position.clone();
        self.entries.insert(id, RegisteredStream::Live { handle, position, runs_kernels: false });
    }

    /// Removes a stream whose work is complete, and frees its id. Waits for its leases. An id without a registered
    /// stream is just freed.
    pub(crate) fn retire(&self, id: u32, position: &Position) {
        self.entries.replace(id, None);
        let last = position.enqueued.load(Relaxed);
        if last < MAX_SEQUENCE {
            self.ids.lock().free.push((id, last));
        }
    }

    /// Replaces a stream that may have pending work by an event that was recorded after the work. Waits for its leases.
    /// The registry owns the event. The id is not reused.
    pub(crate) fn retire_unfinished(&self, id: u32, event: EventHandle) {
        self.entries.replace(id, Some(RegisteredStream::Retired { event, complete: false }));
    }

    /// How to wait for the work of a stamp. `None` if it is known to be complete.
    pub(crate) fn find(&self, stamp: Stamp) -> Option<PendingWork<'_>> {
        let mut entries = self.entries.lock();
        let entry = entries.get_mut(&stamp.stream)?;
        match &entry.value {
            RegisteredStream::Retired { complete: true, .. } => None,
            RegisteredStream::Retired { event, .. } => Some(PendingWork::Event(*event)),
            RegisteredStream::Live { position, .. } if position.is_complete(stamp.sequence) => None,
            RegisteredStream::Live { handle, position, .. } => {
                let sequence = position.enqueued().min(MAX_SEQUENCE);
                let newest = Stamp { stream: stamp.stream, sequence };
                let handle = *handle;
                let _lease = self.entries.lease(stamp.stream, entry);
                Some(PendingWork::Stream(RegistryLease { newest, handle, _lease }))
            }
        }
    }

    /// Whether the work of a stamp is known to be complete.
    pub(crate) fn is_complete(&self, stamp: Stamp) -> bool {
        let entries = self.entries.lock();
        entries.get(&stamp.stream).is_none_or(|entry| match &entry.value {
            RegisteredStream::Live { position, .. } => position.is_complete(stamp.sequence),
            RegisteredStream::Retired { complete, .. } => *complete,
        })
    }

    /// Finds out with `query` whether all work of the stamp's stream is complete, and records that.
    ///
    /// # Errors
    /// The query's.
    pub(crate) fn query(
        &self,
        stamp: Stamp,
        query: impl FnOnce(StreamHandle) -> Result<bool>,
    ) -> Result<bool> {
        let Some(PendingWork::Stream(stream)) = self.find(stamp) else { return Ok(false) };
        let complete = query(stream.handle)?;
        if complete {
            self.complete([stream.newest]);
        }
        Ok(complete)
    }

    /// Records that the work of these stamps is complete.
    pub(crate) fn complete(&self, stamps: impl IntoIterator<Item = Stamp>) {
        let entries = self.entries.lock();
        for stamp in stamps {
            // Stamps of an earlier stream with this id are below all positions of this one, so they change nothing.
            let entry = entries.get(&stamp.stream).map(|entry| &entry.value);
            if let Some(RegisteredStream::Live { position, .. }) = entry {
                position.complete(stamp.sequence);
            }
        }
    }

    /// The id of the live stream with this handle, and whether kernels run on it. One on which they do is preferred.
    pub(crate) fn find_handle(&self, wanted: StreamHandle) -> Option<(u32, bool)> {
        let entries = self.entries.lock();
        let streams = entries.iter().filter_map(|(id, entry)| match &entry.value {
            RegisteredStream::Live { handle, runs_kernels, .. } if *handle == wanted => {
                Some((*id, *runs_kernels))
            }
            _ => None,
        });
        streams.max_by_key(|(_, runs_kernels)| *runs_kernels)
    }

    /// Whether all work of the streams on which kernels run is known to be complete.
    pub(crate) fn is_idle(&self) -> bool {
        self.entries.lock().values().all(|entry| match &entry.value {
            RegisteredStream::Live { runs_kernels: false, .. } => true,
            RegisteredStream::Live { position, .. } => position.is_idle(),
            RegisteredStream::Retired { complete, .. } => *complete,
        })
    }

    /// Runs a wait for the whole device, and records that all work that was enqueued before is complete.
    pub(crate) fn synchronize_with(&self, wait: impl FnOnce() -> Result<()>) -> Result<()> {
        let mut retired = Vec::new();
        let mut positions = Vec::new();
        for (id, entry) in &*self.entries.lock() {
            match &entry.value {
                RegisteredStream::Live { position, .. } => {
                    positions.push((position.clone(), position.enqueued()));
                }
                RegisteredStream::Retired { .. } => retired.push(*id),
            }
        }
        wait()?;
        positions.iter().for_each(|(position, enqueued)| position.complete(*enqueued));
        let mut entries = self.entries.lock();
        for id in retired {
            // Ids of retired streams are not reused, so this is the same entry.
            let entry = entries.get_mut(&id).map(|entry| &mut entry.value);
            if let Some(RegisteredStream::Retired { complete, .. }) = entry {
                *complete = true;
            }
        }
        Ok(())
    }

    /// The remaining handles, when the context is dropped: streams that could not be waited for, and events of
    /// retired streams.
    pub(crate) fn remaining(&mut self) -> (Vec<StreamHandle>, Vec<EventHandle>) {
        let (mut streams, mut events) = (Vec::new(), Vec::new());
        for entry in self.entries.values_mut() {
            match entry {
                RegisteredStream::Live { handle, .. } => streams.push(*handle),
                RegisteredStream::Retired { event, .. } => events.push(*event),
            }
        }
        (streams, events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(stream: u32, sequence: u64) -> Stamp {
        Stamp { stream, sequence }
    }

    #[test]
    fn the_last_stream_id_is_used_and_the_next_is_an_error() {
        let registry = StreamRegistry::default();
        registry.ids.lock().next = MAX_STREAMS - 1;
        let (id, position) = registry.allocate_id().unwrap();
        assert_eq!(id, MAX_STREAMS - 1);
        assert_eq!(stamp(id, MAX_SEQUENCE).pack() >> 63, 1, "all 24 bits are used");
        assert!(
            matches!(registry.allocate_id(), Err(Error::TooManyStreams { limit }) if limit == id)
        );
        registry.register(id, StreamHandle(1), &position);
        registry.retire(id, &position);
        assert_eq!(registry.allocate_id().unwrap().0, id, "a destroyed stream frees its id");
    }

    #[test]
    fn positions_beyond_the_largest_sequence_are_never_complete() {
        let registry = StreamRegistry::default();
        let (id, position) = registry.allocate_id().unwrap();
        position.enqueued.store(MAX_SEQUENCE - 2, Relaxed);
        registry.register(id, StreamHandle(1), &position);
        assert_eq!(position.advance(), MAX_SEQUENCE - 1);
        for _ in 0..3 {
            assert_eq!(position.advance(), MAX_SEQUENCE);
        }
        position.complete(position.enqueued());
        assert!(registry.find(stamp(id, MAX_SEQUENCE - 1)).is_none());
        assert!(matches!(registry.find(stamp(id, MAX_SEQUENCE)), Some(PendingWork::Stream(_))));
        registry.retire(id, &position);
        assert_ne!(
            registry.allocate_id().unwrap().0,
            id,
            "an id whose positions are used up is not reused"
        );
    }

    #[test]
    fn a_stream_is_retired_after_its_last_lease() {
        let registry = StreamRegistry::default();
        let (id, position) = registry.allocate_id().unwrap();
        registry.register(id, StreamHandle(7), &position);
        let sequence = position.advance();
        let Some(PendingWork::Stream(lease)) = registry.find(stamp(id, sequence)) else {
            panic!("not found")
        };
        let retired = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                registry.retire(id, &position);
                retired.store(true, Release);
            });
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(!retired.load(Acquire));
            drop(lease);
        });
        assert!(registry.find(stamp(id, sequence)).is_none());
    }
}
