//! The streams that may have work, found by the number in a stamp, and who is using one just now.
//!
//! A number is used again once its stream is gone, and the new stream's positions go on where the old
//! one's ended. So a stamp of the old stream is complete from the start, and means nothing more.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::Ordering::{Acquire, Relaxed, Release},
    },
};

use quadrants_rhi::{EventHandle, StreamHandle};

use crate::{
    Error, Result, Stamp,
    stamps::{LAST_SEQUENCE, STREAMS},
    sync::{AtomicU64, Condvar, Mutex, MutexGuard},
};

/// How far a stream is.
#[derive(Debug)]
pub(crate) struct Position {
    first: u64,
    enqueued: AtomicU64,
    completed: AtomicU64,
}

/// The streams of a context that may have work.
#[derive(Debug)]
pub(crate) struct StreamRegistry {
    list: Mutex<List>,
    /// Signalled when a lease ends.
    released: Condvar,
}

#[derive(Debug)]
struct List {
    work: HashMap<u32, Work>,
    /// Numbers of gone streams, with the position to go on from.
    free: Vec<(u32, u64)>,
    /// The smallest number that was never used.
    next: u32,
}

/// Where the work of a stream is found.
#[derive(Debug)]
enum Work {
    /// Behind the stream, which is alive while it stands here.
    On { handle: StreamHandle, position: Arc<Position>, leases: usize },
    /// Behind the last record of an event: the stream is gone, and its work was not waited for then.
    Behind { mark: EventHandle, over: bool },
}

/// Where the work behind a stamp is.
pub(crate) enum PendingWork<'a> {
    Stream(StreamInUse<'a>),
    Event(EventHandle),
}

/// A stream that somebody is about to use: it is not destroyed before this is dropped.
pub(crate) struct StreamInUse<'a> {
    live: &'a StreamRegistry,
    newest: Stamp,
    handle: StreamHandle,
}

impl Position {
    fn new(first: u64) -> Self {
        Self { first, enqueued: AtomicU64::new(first), completed: AtomicU64::new(first) }
    }

    /// Takes the next position.
    #[inline]
    pub(crate) fn advance(&self) -> u64 {
        // Release, with the acquiring load below: who sees the position waits for the work too.
        self.enqueued.fetch_add(1, Release).min(LAST_SEQUENCE - 1) + 1
    }

    /// The position of the newest work.
    pub(crate) fn enqueued(&self) -> u64 {
        self.enqueued.load(Acquire)
    }

    /// Notes that a wait showed the work up to `sequence` complete.
    pub(crate) fn complete(&self, sequence: u64) {
        // Release, with the acquiring load below: whoever skips a wait because of this sees what was
        // visible behind the wait that was made.
        self.completed.fetch_max(sequence, Release);
    }

    /// Whether a wait has shown the work at `sequence` complete. All positions beyond the last that a stamp
    /// can hold look alike there, so that one is never taken for complete.
    pub(crate) fn is_complete(&self, sequence: u64) -> bool {
        sequence < LAST_SEQUENCE && self.completed.load(Acquire) >= sequence
    }

    /// Whether a wait has shown all work complete.
    pub(crate) fn is_idle(&self) -> bool {
        self.is_complete(self.enqueued())
    }

    /// Whether `sequence` is one of this stream, and not of one that had its number before.
    pub(crate) fn issued(&self, sequence: u64) -> bool {
        sequence > self.first
    }
}

impl Default for StreamRegistry {
    fn default() -> Self {
        let list = List { work: HashMap::new(), free: Vec::new(), next: 1 };
        Self { list: Mutex::new(list), released: Condvar::new() }
    }
}

impl StreamRegistry {
    /// Gives a stream a number.
    ///
    /// # Errors
    /// [`Error::TooManyStreams`]
    pub(crate) fn number(&self) -> Result<(u32, Arc<Position>)> {
        let mut list = self.list.lock();
        let (id, first) = match list.free.pop() {
            Some(free) => free,
            None if list.next < STREAMS => {
                list.next += 1;
                (list.next - 1, 0)
            }
            None => return Err(Error::TooManyStreams { limit: STREAMS - 1 }),
        };
        Ok((id, Arc::new(Position::new(first))))
    }

    /// Puts a stream on the list.
    pub(crate) fn register(&self, id: u32, handle: StreamHandle, position: &Arc<Position>) {
        let work = Work::On { handle, position: position.clone(), leases: 0 };
        self.list.lock().work.insert(id, work);
    }

    /// Takes a stream off the list whose work is complete, once nobody uses it. A number that was never
    /// registered is just given back.
    pub(crate) fn retire(&self, id: u32, position: &Position) {
        let mut list = self.list.lock();
        self.wait_for_leases(&mut list, id);
        list.work.remove(&id);
        let last = position.enqueued.load(Relaxed);
        if last < LAST_SEQUENCE {
            list.free.push((id, last));
        }
    }

    /// Takes a stream off the list that may have unfinished work: the event was recorded behind it, and is
    /// the list's from now on. Its number is used up.
    pub(crate) fn retire_unfinished(&self, id: u32, mark: EventHandle) {
        let mut list = self.list.lock();
        self.wait_for_leases(&mut list, id);
        list.work.insert(id, Work::Behind { mark, over: false });
    }

    /// Where the work behind a stamp is. None once it is known to be complete.
    pub(crate) fn find(&self, stamp: Stamp) -> Option<PendingWork<'_>> {
        match self.list.lock().work.get_mut(&stamp.stream)? {
            Work::Behind { over: true, .. } => None,
            Work::Behind { mark, .. } => Some(PendingWork::Event(*mark)),
            Work::On { position, .. } if position.is_complete(stamp.sequence) => None,
            Work::On { handle, leases, position } => {
                *leases += 1;
                let sequence = position.enqueued().min(LAST_SEQUENCE);
                let newest = Stamp { stream: stamp.stream, sequence };
                Some(PendingWork::Stream(StreamInUse { live: self, newest, handle: *handle }))
            }
        }
    }

    /// Notes that a wait showed the work behind these stamps complete.
    pub(crate) fn complete(&self, stamps: impl IntoIterator<Item = Stamp>) {
        let list = self.list.lock();
        for stamp in stamps {
            // One of the number's earlier streams is below all that this one has.
            if let Some(Work::On { position, .. }) = list.work.get(&stamp.stream) {
                position.complete(stamp.sequence);
            }
        }
    }

    /// Whether a wait has shown all work complete.
    pub(crate) fn is_idle(&self) -> bool {
        self.list.lock().work.values().all(|work| match work {
            Work::On { position, .. } => position.is_idle(),
            Work::Behind { over, .. } => *over,
        })
    }

    /// Runs a wait for the whole device, and notes that what was enqueued before it is complete.
    pub(crate) fn waiting(&self, wait: impl FnOnce() -> Result<()>) -> Result<()> {
        let mut gone = Vec::new();
        let mut positions = Vec::new();
        for (id, work) in &self.list.lock().work {
            match work {
                Work::On { position, .. } => {
                    positions.push((position.clone(), position.enqueued()));
                }
                Work::Behind { .. } => gone.push(*id),
            }
        }
        wait()?;
        positions.iter().for_each(|(position, enqueued)| position.complete(*enqueued));
        let mut list = self.list.lock();
        for id in gone {
            // Its number is used up: it is still the same one.
            if let Some(Work::Behind { over, .. }) = list.work.get_mut(&id) {
                *over = true;
            }
        }
        Ok(())
    }

    /// All that is left when the context goes: streams that could not be waited for, and marks.
    pub(crate) fn drain(&mut self) -> (Vec<StreamHandle>, Vec<EventHandle>) {
        let (mut streams, mut marks) = (Vec::new(), Vec::new());
        for (_, work) in self.list.get_mut().work.drain() {
            match work {
                Work::On { handle, .. } => streams.push(handle),
                Work::Behind { mark, .. } => marks.push(mark),
            }
        }
        (streams, marks)
    }

    fn wait_for_leases(&self, list: &mut MutexGuard<'_, List>, id: u32) {
        while matches!(list.work.get(&id), Some(Work::On { leases: 1.., .. })) {
            self.released.wait(list);
        }
    }
}

impl StreamInUse<'_> {
    pub(crate) fn handle(&self) -> StreamHandle {
        self.handle
    }

    /// The newest work when the stream was found.
    pub(crate) fn newest(&self) -> Stamp {
        self.newest
    }
}

impl Drop for StreamInUse<'_> {
    fn drop(&mut self) {
        if let Some(Work::On { leases, .. }) =
            self.live.list.lock().work.get_mut(&self.newest.stream)
        {
            *leases -= 1;
        }
        self.live.released.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(stream: u32, sequence: u64) -> Stamp {
        Stamp { stream, sequence }
    }

    #[test]
    fn the_last_number_is_given_and_then_an_error() {
        let live = StreamRegistry::default();
        live.list.lock().next = STREAMS - 1;
        let (id, position) = live.number().unwrap();
        assert_eq!(id, STREAMS - 1);
        assert_eq!(stamp(id, LAST_SEQUENCE).pack() >> 63, 1, "all 24 bits are used");
        assert!(matches!(live.number(), Err(Error::TooManyStreams { limit }) if limit == id));
        live.register(id, StreamHandle(1), &position);
        live.retire(id, &position);
        assert_eq!(live.number().unwrap().0, id, "one that is gone makes room");
    }

    #[test]
    fn positions_beyond_the_last_are_never_taken_for_complete() {
        let live = StreamRegistry::default();
        let (id, position) = live.number().unwrap();
        position.enqueued.store(LAST_SEQUENCE - 2, Relaxed);
        live.register(id, StreamHandle(1), &position);
        assert_eq!(position.advance(), LAST_SEQUENCE - 1);
        for _ in 0..3 {
            assert_eq!(position.advance(), LAST_SEQUENCE);
        }
        position.complete(position.enqueued());
        assert!(live.find(stamp(id, LAST_SEQUENCE - 1)).is_none());
        assert!(matches!(live.find(stamp(id, LAST_SEQUENCE)), Some(PendingWork::Stream(_))));
        live.retire(id, &position);
        assert_ne!(live.number().unwrap().0, id, "a number whose positions are used up is too");
    }

    #[test]
    fn a_stream_is_retired_when_nobody_uses_it_any_more() {
        let live = StreamRegistry::default();
        let (id, position) = live.number().unwrap();
        live.register(id, StreamHandle(7), &position);
        let sequence = position.advance();
        let Some(PendingWork::Stream(lease)) = live.find(stamp(id, sequence)) else {
            panic!("not found")
        };
        let retired = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                live.retire(id, &position);
                retired.store(true, Release);
            });
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(!retired.load(Acquire));
            drop(lease);
        });
        assert!(live.find(stamp(id, sequence)).is_none());
    }
}
