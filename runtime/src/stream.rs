//! [`Stream`]: an owned, default or foreign stream with its position counter.

use std::{sync::Arc, thread};

use quadrants_rhi::{DevicePtr, EventHandle, Severity, StreamHandle, StreamOptions};

use crate::{
    Context, Error, Result, Stamp, fill_streams::AwaitedFills, raw_stream::destroy_stream,
    stamps::MAX_SEQUENCE, stream_registry::Position,
};

/// The creator of a stream, who also destroys it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StreamOrigin {
    /// Created by [`Stream::new`], destroyed on drop.
    Owned,
    /// The device's default stream, which is never destroyed.
    Default,
    /// Created by other code, which keeps it alive and destroys it.
    Foreign,
}

/// A stream with the position counter of its stamps.
///
/// Dropping it waits for its stamped work, unless that is known to be complete: memory that the work uses may be freed
/// only then. While the thread panics, and if waiting fails, the drop records an event after the work instead, and
/// frees and host reads wait for the event. In both cases this crate does not use the handle after the drop.
#[derive(Debug)]
pub struct Stream {
    context: Arc<Context>,
    handle: StreamHandle,
    id: u32,
    origin: StreamOrigin,
    position: Arc<Position>,
    pub(crate) awaited_fills: AwaitedFills,
}

impl Stream {
    /// Creates a non-blocking stream.
    ///
    /// # Errors
    /// [`Error::TooManyStreams`](crate::Error::TooManyStreams), or the device's error.
    pub fn new(context: &Arc<Context>, options: StreamOptions) -> Result<Arc<Self>> {
        context.check()?;
        Self::register(context, StreamOrigin::Owned, || {
            context.observe(context.device().create_stream(options))
        })
    }

    /// Returns the device's default stream.
    ///
    /// # Errors
    /// [`Error::TooManyStreams`](crate::Error::TooManyStreams)
    pub fn default_of(context: &Arc<Context>) -> Result<Arc<Self>> {
        Self::register(context, StreamOrigin::Default, || Ok(StreamHandle::DEFAULT))
    }

    /// Wraps a stream that other code created.
    ///
    /// # Safety
    /// `handle` is a stream of this context, and stays valid as long as the wrapper exists.
    ///
    /// # Errors
    /// [`Error::TooManyStreams`](crate::Error::TooManyStreams)
    pub unsafe fn from_raw(context: &Arc<Context>, handle: StreamHandle) -> Result<Arc<Self>> {
        Self::register(context, StreamOrigin::Foreign, || Ok(handle))
    }

    fn register(
        context: &Arc<Context>,
        origin: StreamOrigin,
        make: impl FnOnce() -> Result<StreamHandle>,
    ) -> Result<Arc<Self>> {
        let (id, position) = context.registry.allocate_id()?;
        let handle = make().inspect_err(|_| context.registry.retire(id, &position))?;
        context.registry.register(id, handle, &position);
        let awaited_fills = AwaitedFills::default();
        Ok(Arc::new(Self { context: context.clone(), handle, id, origin, position, awaited_fills }))
    }

    /// The context.
    #[must_use]
    #[inline]
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The driver's handle.
    #[must_use]
    #[inline]
    pub fn handle(&self) -> StreamHandle {
        self.handle
    }

    /// The stream's id within its context. The id of a destroyed stream is reused.
    #[must_use]
    #[inline]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The origin.
    #[must_use]
    #[inline]
    pub fn origin(&self) -> StreamOrigin {
        self.origin
    }

    /// Makes the stamp of work that was just enqueued. Call it after enqueueing: if it were called before, a wait of
    /// another thread in between would mark the stamp complete before the work is enqueued.
    #[inline]
    pub fn next_stamp(&self) -> Stamp {
        Stamp { stream: self.id, sequence: self.position.advance() }
    }

    /// The stamp of the newest work.
    #[must_use]
    pub fn newest(&self) -> Stamp {
        Stamp { stream: self.id, sequence: self.position.enqueued().min(MAX_SEQUENCE) }
    }

    /// Whether this stream issued `stamp`.
    #[must_use]
    pub fn issued(&self, stamp: Stamp) -> bool {
        stamp.stream == self.id && self.position.issued(stamp.sequence)
    }

    /// Whether the work up to `sequence` is known to be complete, without a query.
    #[must_use]
    pub fn is_complete(&self, sequence: u64) -> bool {
        self.position.is_complete(sequence)
    }

    /// Whether all stamped work is known to be complete, without a query.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.position.is_idle()
    }

    /// Copies device memory to the host after all work that is enqueued on this stream. Waits for the copy.
    ///
    /// # Errors
    /// The failure of earlier work.
    ///
    /// # Safety
    /// `src` has as many bytes as `out` and is valid for work on this stream.
    pub unsafe fn read(&self, src: DevicePtr, out: &mut [u8]) -> Result<()> {
        // SAFETY: by the caller.
        unsafe { self.read_then(src, out, || ()) }
    }

    /// Reads as [`read`](Self::read) does, and calls `enqueue` before it waits for the last part of the copy: for a
    /// free of the memory on this stream, say. After an error, `enqueue` may not have been called.
    ///
    /// # Errors
    /// The failure of earlier work.
    ///
    /// # Safety
    /// As for [`read`](Self::read).
    pub unsafe fn read_then(
        &self,
        src: DevicePtr,
        out: &mut [u8],
        enqueue: impl FnOnce(),
    ) -> Result<()> {
        let mut upto = self.position.enqueued();
        let before_wait = || {
            enqueue();
            upto = self.position.enqueued();
        };
        // SAFETY: the caller guarantees the memory; the handle lives as long as `self`.
        unsafe { self.context.read_on(src, out, self.handle, before_wait)? };
        self.position.complete(upto);
        Ok(())
    }

    /// Queries whether all enqueued work is complete.
    ///
    /// # Errors
    /// The failure of earlier work.
    pub fn query(&self) -> Result<bool> {
        self.context.check()?;
        let upto = self.position.enqueued();
        // SAFETY: the handle lives as long as `self`.
        let done =
            self.context.observe(unsafe { self.context.device().stream_query(self.handle) })?;
        if done {
            self.position.complete(upto);
        }
        Ok(done)
    }

    /// Waits until all enqueued work is complete.
    ///
    /// # Errors
    /// The failure of earlier work.
    pub fn synchronize(&self) -> Result<()> {
        self.context.check()?;
        let upto = self.position.enqueued();
        // SAFETY: the handle lives as long as `self`.
        unsafe { self.context.wait_for_stream(self.handle)? };
        self.position.complete(upto);
        self.context.drop_idle_owners();
        Ok(())
    }

    /// Creates an event and records all enqueued work. The caller owns it.
    fn record_event(&self) -> Result<EventHandle> {
        let event = self.context.new_event()?;
        // SAFETY: the event was created above, and the handle lives as long as `self`.
        let recorded = unsafe { self.context.device().event_record(event, self.handle) };
        if let Err(error) = self.context.observe(recorded) {
            // SAFETY: created above, and nothing waits for it.
            let _ = unsafe { self.context.device().destroy_event(event) };
            return Err(error);
        }
        Ok(event)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let (device, registry) = (self.context.device(), &self.context.registry);
        let mut wait_failed = false;
        let idle = self.is_idle();
        let mut event = if thread::panicking() && !idle { self.record_event().ok() } else { None };
        if event.is_none() && !idle {
            // SAFETY: the handle is valid until the destruction below.
            if let Err(error) = unsafe { self.context.wait_for_stream(self.handle) } {
                // After the failure of watched work, the work is complete.
                wait_failed = !matches!(error, Error::Watched { .. })
                    && error.severity() != Severity::ContextLost;
                self.context.defer(error);
            }
        }
        if wait_failed {
            event = self.record_event().ok();
        }
        match event {
            Some(event) => registry.retire_unfinished(self.id, event),
            // Neither waited for nor recorded: it stays registered, and the drop of the context destroys it.
            None if wait_failed && self.origin == StreamOrigin::Owned => return,
            None => registry.retire(self.id, &self.position),
        }
        if self.origin == StreamOrigin::Owned {
            // SAFETY: this crate created it, and it is not registered any more, so nothing uses it afterwards.
            self.context.destroyed(unsafe { destroy_stream(&**device, self.handle) });
        }
    }
}
