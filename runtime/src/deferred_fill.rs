//! Small fills and uploads that are enqueued with the first use of the buffer, on the stream of that use: most buffers
//! are used on one stream, which then waits for no other one.

use std::sync::{
    Arc,
    atomic::{
        AtomicBool,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use parking_lot::{Mutex, MutexGuard};
use quadrants_rhi::StreamHandle;

use crate::{
    Buffer, Completed, Context, EventLease, Result, Stamp, Stream,
    fill::{LARGEST_COPIED_UPLOAD, enqueue_owned_upload, enqueue_upload},
};

/// The fill of a buffer that is not enqueued yet, if there is one.
#[derive(Debug, Default)]
pub(crate) struct DeferredFill {
    /// Release and acquire: a thread that finds no deferred fill finds the stamp of the fill that another thread
    /// enqueued.
    is_set: AtomicBool,
    fill: Mutex<Option<Box<Fill>>>,
    /// The event after the fill, where it was enqueued on a stream of the user and may be incomplete. Other streams
    /// wait for it, and not for the later work of that stream.
    event: Mutex<Option<EventLease>>,
}

/// A fill that is not enqueued yet.
#[derive(Debug)]
pub(crate) struct Fill {
    contents: Contents,
    /// Earlier work on the memory that has no stamp in the buffer: its allocation, the uses by an earlier owner, or
    /// attempts to enqueue the fill.
    after: Completed,
}

#[derive(Debug)]
enum Contents {
    /// All bytes of the buffer.
    Zeros,
    At {
        offset: usize,
        bytes: Box<[u8]>,
    },
}

impl DeferredFill {
    pub(crate) fn is_set(&self) -> bool {
        self.is_set.load(Acquire)
    }

    /// Whether the fill was enqueued on a stream of the user and may be incomplete.
    pub(crate) fn has_event(&self) -> bool {
        self.event.lock().is_some()
    }

    /// Earlier work on the memory that has no stamp in the buffer.
    pub(crate) fn after(&self) -> Completed {
        match self.is_set() {
            true => {
                self.fill.lock().as_ref().map_or_else(Completed::new, |fill| fill.after.clone())
            }
            false => Completed::new(),
        }
    }

    /// Drops the event without a call of the driver.
    pub(crate) fn forget_event(&mut self) {
        self.event.get_mut().take().map(EventLease::into_handle);
    }

    fn set(&self, contents: Contents, after: Completed) {
        *self.fill.lock() = Some(Box::new(Fill { contents, after }));
        self.is_set.store(true, Release);
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Option<Box<Fill>>> {
        self.fill.lock()
    }

    /// Records that the fill was enqueued, which is locked.
    pub(crate) fn clear(&self, fill: &mut Option<Box<Fill>>) {
        *fill = None;
        self.is_set.store(false, Release);
    }
}

impl Contents {
    /// Changes the bytes from `offset` on. Returns false if they are not all among these.
    fn overwrite(&mut self, offset: usize, contents: &[u8], all: usize) -> bool {
        match self {
            _ if offset == 0 && contents.len() == all => {
                *self = Self::At { offset, bytes: contents.into() }
            }
            Self::Zeros => return false,
            Self::At { offset: first, bytes } => {
                let at = offset
                    .checked_sub(*first)
                    .and_then(|at| bytes.get_mut(at..)?.get_mut(..contents.len()));
                let Some(bytes) = at else { return false };
                bytes.copy_from_slice(contents);
            }
        }
        true
    }
}

impl Buffer {
    /// Zeroed memory that is filled when it is first used. `likely` is the stream that probably uses it first, if there
    /// is one: the memory may have earlier work on that stream, after which the first use is ordered.
    pub(crate) fn deferred_zeros(
        context: &Arc<Context>,
        bytes: usize,
        likely: Option<&Stream>,
    ) -> Result<Self> {
        Self::deferred(context, bytes, likely, Contents::Zeros)
    }

    /// As [`deferred_zeros`](Self::deferred_zeros), with the given contents. None if they are too large.
    pub(crate) fn deferred_bytes(
        context: &Arc<Context>,
        contents: &[u8],
        likely: Option<&Stream>,
    ) -> Result<Option<Self>> {
        if contents.len() > LARGEST_COPIED_UPLOAD {
            return Ok(None);
        }
        let bytes = Contents::At { offset: 0, bytes: contents.into() };
        Self::deferred(context, contents.len(), likely, bytes).map(Some)
    }

    fn deferred(
        context: &Arc<Context>,
        bytes: usize,
        likely: Option<&Stream>,
        contents: Contents,
    ) -> Result<Self> {
        let (buffer, after) = Self::unfilled(context, bytes, likely)?;
        if bytes > 0 {
            buffer.deferred.set(contents, after);
        }
        Ok(buffer)
    }

    /// Overwrites the bytes at `offset` after all work that uses the buffer, without waiting for it: later work must
    /// [be ordered after this](Self::order_fill_before), as after a first fill. The contents are copied before this
    /// returns. `likely` is the stream that probably uses the buffer next. Returns false, and does nothing, where the
    /// write would have to wait: where other code or a graph uses the memory, where other streams use it and the
    /// contents are large, and where the device is not asynchronous. The host waits only if much staging memory is in
    /// use.
    ///
    /// # Errors
    /// [`Error::OutOfBuffer`](crate::Error::OutOfBuffer), or the device's error. Then a part of the contents may be
    /// written, and later work must be ordered after this, too.
    pub fn write_async(&mut self, offset: usize, contents: &[u8], likely: &Stream) -> Result<bool> {
        self.check_range(offset, contents.len())?;
        let context = self.context();
        context.check()?;
        let asynchronous = context.device().capabilities().asynchronous;
        if !asynchronous || self.is_shared() || self.is_exposed() {
            return Ok(false);
        }
        // Also where the write fails: some of the contents may be written.
        self.forget_distinct();
        match contents.len() {
            0 => Ok(true),
            1..=LARGEST_COPIED_UPLOAD => Ok(self.write_deferred(offset, contents)),
            _ => self.write_now(offset, contents, likely),
        }
    }

    fn write_deferred(&mut self, offset: usize, contents: &[u8]) -> bool {
        if let Some(fill) = &mut *self.deferred.fill.lock() {
            return fill.contents.overwrite(offset, contents, self.bytes());
        }
        let contents = Contents::At { offset, bytes: contents.into() };
        let after = self.users().into_iter().collect();
        self.order_later_work_after_fill();
        self.deferred.set(contents, after);
        true
    }

    /// Forgets the uses so far: later work is ordered after a fill that is ordered after them.
    fn order_later_work_after_fill(&mut self) {
        self.forget_uses();
        self.fill.store(0, Relaxed);
        *self.deferred.event.lock() = None;
    }

    fn write_now(&mut self, offset: usize, contents: &[u8], likely: &Stream) -> Result<bool> {
        if self.deferred.is_set() {
            return Ok(false);
        }
        let context = &self.context().clone();
        let is_pending = |stamp: &Stamp| !context.registry.is_complete(*stamp);
        let mut pending = self.users().into_iter().filter(is_pending).peekable();
        let to = self.address().offset(offset);
        // SAFETY: until the guard is dropped, this thread only calls this device.
        let _current = unsafe { context.make_current()? };
        // The internal streams never wait for the user's work.
        if pending.peek().is_none() {
            let on = context.upload_stream(contents.len())?;
            // SAFETY: the internal stream lives as long as the context. The memory has the bytes, as checked by the
            // caller, and all work that uses it is complete.
            let written = unsafe { enqueue_upload(context, to, contents, on.handle) };
            self.order_later_work_after_fill();
            // Also after a failure: some of the copies may be enqueued.
            self.fill.store(on.next_stamp().pack(), Relaxed);
            return written.map(|()| true);
        }
        if !pending.all(|stamp| stamp.stream == likely.id()) {
            return Ok(false);
        }
        // SAFETY: as above, but all work that uses the memory and is not complete is earlier work of this stream.
        let written = unsafe { enqueue_upload(context, to, contents, likely.handle()) };
        // Also after a failure, as above.
        let stamp = likely.next_stamp();
        self.order_later_work_after_fill();
        *self.deferred.event.get_mut() = context.record_fill(likely);
        *self.fill.get_mut() = stamp.pack();
        written.map(|()| true)
    }

    /// Enqueues the deferred fill on `stream`. Returns false if there is none.
    ///
    /// # Errors
    /// The device's error. The fill stays deferred.
    pub(crate) fn enqueue_deferred(&self, stream: &Stream) -> Result<bool> {
        if !self.deferred.is_set() {
            return Ok(false);
        }
        let mut deferred = self.deferred.lock();
        // Else another thread enqueued it in the meantime.
        let Some(fill) = &mut *deferred else { return Ok(false) };
        let context = self.context();
        context.check()?;
        // SAFETY: until the guard is dropped, this thread only calls this device.
        let _current = unsafe { context.make_current()? };
        // SAFETY: the stream lives as long as its borrow.
        let enqueued = unsafe {
            let internal = |stamp: &Stamp| context.fill_streams.index_of(stamp.stream).is_some();
            let mut allocations = fill.after.iter().copied().filter(internal);
            let awaited = &stream.awaited_fills;
            allocations
                .try_for_each(|stamp| context.await_fill(stamp, stream.handle(), awaited).map(drop))
                .and_then(|()| self.enqueue_fill(fill, stream.handle(), |stamp| !internal(stamp)))
        };
        // Also after a failure: the copy may be enqueued, and the stream must not seem idle.
        let stamp = stream.next_stamp();
        if enqueued.is_err() {
            fill.after.push(stamp);
        }
        enqueued?;
        *self.deferred.event.lock() = context.record_fill(stream);
        self.fill.store(stamp.pack(), Relaxed);
        self.deferred.clear(&mut deferred);
        Ok(true)
    }

    /// Enqueues a deferred fill on `stream` after the work at the stamps that are `relevant`.
    ///
    /// # Errors
    /// The device's error.
    ///
    /// # Safety
    /// `stream` is a live stream of the context, and the fill is this buffer's. Work at other stamps is ordered before.
    pub(crate) unsafe fn enqueue_fill(
        &self,
        fill: &Fill,
        stream: StreamHandle,
        relevant: impl Fn(&Stamp) -> bool,
    ) -> Result<()> {
        let context = self.context();
        let users = fill.after.iter().copied().chain(self.stamps()).filter(relevant);
        // SAFETY: the caller guarantees that the stream is live. The memory has the bytes, and all its uses are stamped
        // or in `after`, so that the fill runs after them.
        unsafe {
            context.order_after(stream, users)?;
            match &fill.contents {
                Contents::Zeros => {
                    let (memory, bytes) = (self.address(), self.bytes());
                    context.observe(context.device().fill_u8_async(memory, 0, bytes, stream))
                }
                Contents::At { offset, bytes } => {
                    enqueue_owned_upload(context, self.address().offset(*offset), bytes, stream)
                }
            }
        }
    }

    /// Orders later work of `stream` after the fill, if it was enqueued on a stream of the user and may be incomplete.
    /// Returns whether the fill is known to be complete; None if there is no such fill.
    ///
    /// # Errors
    /// The device's error.
    pub(crate) fn order_event_before(&self, stream: &Stream) -> Result<Option<bool>> {
        let event = self.deferred.event.lock();
        let (Some(event), Some(fill)) = (&*event, self.fill()) else { return Ok(None) };
        self.context().order_event_before((fill, event), stream).map(Some)
    }

    /// Makes later work of the stream wait for a fill that is enqueued and may be incomplete.
    ///
    /// # Errors
    /// The device's error.
    ///
    /// # Safety
    /// `stream` is a live stream of the context, which is current.
    pub(crate) unsafe fn wait_for_fill_on(&self, stream: StreamHandle) -> Result<()> {
        let context = self.context();
        // SAFETY: the event is leased, and the caller guarantees the stream.
        unsafe {
            match &*self.deferred.event.lock() {
                Some(event) => {
                    context.observe(context.device().stream_wait_event(stream, event.handle()))
                }
                None => context.order_after(stream, self.fill()).map(drop),
            }
        }
    }

    /// Whether all work of the user is complete that the deferred fill is ordered after.
    ///
    /// # Errors
    /// The failure of earlier work.
    pub(crate) fn is_deferred_ready(&self) -> Result<bool> {
        let context = self.context();
        for stamp in self.deferred.after() {
            let is_internal = context.fill_streams.index_of(stamp.stream).is_some();
            if !is_internal && !context.is_work_complete(stamp)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The host waits for such a fill. Returns whether there is one.
    ///
    /// # Errors
    /// The failure of earlier work.
    pub(crate) fn finish_event(&self) -> Result<bool> {
        let Some(event) = &*self.deferred.event.lock() else { return Ok(false) };
        // SAFETY: the event is leased.
        unsafe { self.context().wait_for_event(event.handle())? };
        Ok(true)
    }

    /// Whether there is no such fill, or it is complete.
    ///
    /// # Errors
    /// The failure of earlier work.
    pub(crate) fn is_event_complete(&self) -> Result<bool> {
        match (&*self.deferred.event.lock(), self.fill()) {
            (Some(event), Some(fill)) => self.context().is_event_complete(fill, event),
            _ => Ok(true),
        }
    }

    /// Records that the fill is complete.
    pub(crate) fn fill_completed(&self) {
        self.fill.store(0, Relaxed);
        *self.deferred.event.lock() = None;
    }
}

impl Context {
    /// Records a leased event after the fill that was enqueued on `stream`. An error becomes a deferred error: without
    /// the event, other streams wait for all work of this one.
    fn record_fill(self: &Arc<Self>, stream: &Stream) -> Option<EventLease> {
        let recorded = self.lease_event().and_then(|event| {
            // SAFETY: the event is leased, and the stream lives as long as its borrow.
            self.observe(unsafe { self.device().event_record(event.handle(), stream.handle()) })?;
            Ok(event)
        });
        recorded.map_err(|error| self.defer(error)).ok()
    }
}
