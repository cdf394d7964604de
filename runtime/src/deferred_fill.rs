//! Fills of a buffer that may be incomplete: the first fill, and writes by the host. Small fills are deferred: they are
//! enqueued with the first use of the buffer, on the stream of that use. Most buffers are used on one stream, which
//! then waits for no other stream.

use std::sync::Arc;

use quadrants_rhi::{DevicePtr, StreamHandle};

use crate::{
    Buffer, Completed, Context, EventLease, Result, Stamp, Stream,
    fill_streams::InternalStream,
    pending_fill::{Contents, DeferredFill},
    stream_registry::PendingWork,
    upload::{LARGEST_COPIED_UPLOAD, enqueue_owned_upload, enqueue_upload},
};

impl Buffer {
    /// Allocates zeroed memory without waiting for the fill: call [`order_fill_before`](Self::order_fill_before) before
    /// other work uses the address. [`read`](Self::read), [`write`](Self::write) and the drop need no such call. A
    /// small fill is enqueued on the stream that uses the buffer first; `likely` is the one that probably does, if
    /// there is one.
    ///
    /// # Errors
    /// The device's error, for example that it is out of memory.
    pub fn zeroed_async(
        context: &Arc<Context>,
        bytes: usize,
        likely: Option<&Stream>,
    ) -> Result<Self> {
        if !context.device().capabilities().asynchronous {
            return Self::zeroed(context, bytes);
        }
        if context.blocks.class_of(bytes).is_some() {
            return Self::deferred_zeros(context, bytes, likely);
        }
        Self::filled_async(context, bytes, &context.fill_streams.allocate, |memory, stream| {
            // SAFETY: the memory is for work on this stream, which is internal, and has `bytes`.
            context.observe(unsafe { context.device().fill_u8_async(memory, 0, bytes, stream) })
        })
    }

    /// Allocates memory with the given contents without waiting for the copy, as [`zeroed_async`](Self::zeroed_async)
    /// does. The contents are copied before this returns. The host waits only if much staging memory is in use.
    ///
    /// # Errors
    /// The device's error, for example that it is out of memory.
    pub fn from_bytes_async(
        context: &Arc<Context>,
        contents: &[u8],
        likely: Option<&Stream>,
    ) -> Result<Self> {
        if !context.device().capabilities().asynchronous {
            return Self::from_bytes(context, contents);
        }
        context.check()?;
        if let Some(buffer) = Self::deferred_bytes(context, contents, likely)? {
            return Ok(buffer);
        }
        let on = context.upload_stream(contents.len())?;
        Self::filled_async(context, contents.len(), on, |memory, stream| {
            // SAFETY: the memory is for work on this stream, which is internal, and has the bytes.
            unsafe { enqueue_upload(context, memory, contents, stream) }
        })
    }

    /// [`filled`](Self::filled) on an internal stream. The fill may be incomplete.
    fn filled_async(
        context: &Arc<Context>,
        bytes: usize,
        on: &InternalStream,
        fill: impl FnOnce(DevicePtr, StreamHandle) -> Result<()>,
    ) -> Result<Self> {
        let stream = (on.handle, Some(on.id));
        let buffer = Self::filled(context, bytes, stream, |memory, _| fill(memory, on.handle))?;
        if bytes > 0 {
            buffer.pending.set_enqueued(on.next_stamp(), None);
        }
        Ok(buffer)
    }

    /// Takes memory from the cache, or allocates it on an internal stream. Returns also the work that its first use
    /// must be ordered after. Cached memory may have pending work on the stream `likely`.
    pub(crate) fn unfilled(
        context: &Arc<Context>,
        bytes: usize,
        likely: Option<&Stream>,
    ) -> Result<(Self, Completed)> {
        context.check()?;
        context.drop_idle_owners();
        let mut buffer = Self::without_memory(context);
        if bytes == 0 {
            return Ok((buffer, Completed::new()));
        }
        let (memory, after) = match context.reuse_block(bytes, likely.map(Stream::id))? {
            Some(block) => (block.memory, block.after),
            None => {
                // SAFETY: until the guard is dropped, this thread only calls this device.
                let _current = unsafe { context.make_current()? };
                let on = &context.fill_streams.allocate;
                // SAFETY: the internal stream lives as long as the context.
                let memory = unsafe { context.allocate_block(bytes, on.handle)? };
                (memory, Completed::from_iter([on.next_stamp()]))
            }
        };
        buffer.set_memory(memory, bytes);
        Ok((buffer, after))
    }

    /// Whether the first fill, or the last [`write_without_wait`](Self::write_without_wait), may be incomplete.
    #[must_use]
    pub fn is_fill_pending(&self) -> bool {
        self.pending.is_deferred() || self.pending.stamp().is_some()
    }

    /// Orders later work of `stream` after the first fill, or the last
    /// [`write_without_wait`](Self::write_without_wait). The host does not wait. Returns whether the fill is known to
    /// be complete; then no further call is needed.
    ///
    /// # Errors
    /// The device's error.
    pub fn order_fill_before(&self, stream: &Stream) -> Result<bool> {
        if self.enqueue_deferred(stream)? {
            return Ok(false);
        }
        let event = self.pending.event();
        let Some(fill) = self.pending.stamp() else { return Ok(true) };
        let is_complete = self.context().make_stream_wait_for_fill(fill, event.as_ref(), stream)?;
        drop(event);
        if is_complete {
            self.pending.set_complete();
        }
        Ok(is_complete)
    }

    /// Waits for the first fill, or the last [`write_without_wait`](Self::write_without_wait).
    ///
    /// # Errors
    /// The failure of the fill.
    pub fn finish_fill(&self) -> Result<()> {
        if self.pending.is_deferred() {
            // Waits for a copy of nothing.
            return self
                .transfer(0, self.bytes(), |_| None, |_, stream| self.context().wait_for(stream))
                .map(drop);
        }
        if let Some(fill) = self.pending.stamp() {
            if !self.finish_event()? {
                self.context().wait_for_fill(fill)?;
            }
            self.pending.set_complete();
        }
        Ok(())
    }

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
            buffer.pending.defer(contents, after);
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
    pub fn write_without_wait(
        &mut self,
        offset: usize,
        contents: &[u8],
        likely: &Stream,
    ) -> Result<bool> {
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
        if let Some(fill) = &mut *self.pending.lock_deferred() {
            return fill.contents.overwrite(offset, contents, self.bytes());
        }
        let contents = Contents::At { offset, bytes: contents.into() };
        let after = self.users().into_iter().collect();
        self.order_later_work_after_fill();
        self.pending.defer(contents, after);
        true
    }

    /// Forgets the uses so far: later work is ordered after a fill that is ordered after them.
    fn order_later_work_after_fill(&mut self) {
        self.forget_uses();
        self.pending.set_complete();
    }

    fn write_now(&mut self, offset: usize, contents: &[u8], likely: &Stream) -> Result<bool> {
        if self.pending.is_deferred() {
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
            self.pending.set_enqueued(on.next_stamp(), None);
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
        self.pending.set_enqueued(stamp, context.record_fill(likely));
        written.map(|()| true)
    }

    /// Enqueues the deferred fill on `stream`. Returns false if there is none.
    ///
    /// # Errors
    /// The device's error. The fill stays deferred.
    pub(crate) fn enqueue_deferred(&self, stream: &Stream) -> Result<bool> {
        if !self.pending.is_deferred() {
            return Ok(false);
        }
        let mut deferred = self.pending.lock_deferred();
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
                .try_for_each(|stamp| {
                    context.order_after_internal_fill(stamp, stream.handle(), awaited).map(drop)
                })
                .and_then(|()| self.enqueue_fill(fill, stream.handle(), |stamp| !internal(stamp)))
        };
        // Also after a failure: the copy may be enqueued, and the stream must not seem idle.
        let stamp = stream.next_stamp();
        if enqueued.is_err() {
            fill.after.push(stamp);
        }
        enqueued?;
        self.pending.set_enqueued(stamp, context.record_fill(stream));
        self.pending.clear_deferred(&mut deferred);
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
        fill: &DeferredFill,
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
            match &*self.pending.event() {
                Some(event) => {
                    context.observe(context.device().stream_wait_event(stream, event.handle()))
                }
                None => context.order_after(stream, self.pending.stamp()).map(drop),
            }
        }
    }

    /// Whether all work of the user is complete that the deferred fill is ordered after.
    ///
    /// # Errors
    /// The failure of earlier work.
    pub(crate) fn is_deferred_ready(&self) -> Result<bool> {
        let context = self.context();
        for stamp in self.pending.after() {
            let is_internal = context.fill_streams.index_of(stamp.stream).is_some();
            if !is_internal && !context.is_work_complete(stamp)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The host waits for a fill on a stream of the user (one with an event). Returns whether there is one.
    ///
    /// # Errors
    /// The failure of earlier work.
    pub(crate) fn finish_event(&self) -> Result<bool> {
        let Some(event) = &*self.pending.event() else { return Ok(false) };
        // SAFETY: the event is leased.
        unsafe { self.context().wait_for_event(event.handle())? };
        Ok(true)
    }

    /// Whether there is no fill on a stream of the user (one with an event), or it is complete.
    ///
    /// # Errors
    /// The failure of earlier work.
    pub(crate) fn is_event_complete(&self) -> Result<bool> {
        match (&*self.pending.event(), self.pending.stamp()) {
            (Some(event), Some(fill)) => self.context().is_fill_complete(fill, Some(event)),
            _ => Ok(true),
        }
    }
}

impl Context {
    fn wait_for_fill(&self, fill: Stamp) -> Result<()> {
        self.check()?;
        match self.registry.find(fill) {
            Some(PendingWork::Stream(stream)) => {
                self.wait_for(stream.handle)?;
                self.registry.complete([stream.newest]);
                Ok(())
            }
            // Internal streams are not retired.
            Some(PendingWork::Event(_)) | None => Ok(()),
        }
    }

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
