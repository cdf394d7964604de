//! The order of the first fill of a buffer before its first use, and uploads.

use std::sync::{
    Arc,
    atomic::Ordering::{Acquire, Relaxed, Release},
};

use quadrants_rhi::{DevicePtr, StreamHandle};

use crate::{
    Context, EventLease, Result, Stamp, Stream,
    fill_streams::{AwaitedFills, InternalStream, UPLOAD_STREAMS},
    raw_stream::destroy_stream,
    staging::{Pinned, STAGING_CHUNK},
};

/// Uploads of at most this many bytes run on the stream of allocations.
const SMALL_UPLOAD: usize = 64 << 10;

impl Context {
    /// The internal stream for an upload of `bytes`.
    pub(crate) fn upload_stream(&self, bytes: usize) -> Result<&InternalStream> {
        let streams = &self.fill_streams;
        if bytes <= SMALL_UPLOAD {
            return Ok(&streams.allocate);
        }
        let index = streams.next_upload.fetch_add(1, Relaxed) % UPLOAD_STREAMS;
        let slot = &streams.uploads[index];
        if let Some(stream) = slot.get() {
            return Ok(stream);
        }
        let stream = InternalStream::new(&**self.device(), &self.registry)?;
        if let Err(stream) = slot.set(stream) {
            // Another thread was faster.
            // SAFETY: created above and never used.
            self.destroyed(unsafe { destroy_stream(&**self.device(), stream.handle) });
            self.registry.retire(stream.id, &stream.position);
        }
        Ok(slot.get().unwrap_or(&streams.allocate))
    }

    /// Orders later work of `stream` after the first fill `fill`; `event` is behind it, if it is on a stream of the
    /// user. The host does not wait. Returns whether the fill is known to be complete.
    ///
    /// # Errors
    /// The device's error.
    pub(crate) fn order_fill_before(
        self: &Arc<Self>,
        fill: Stamp,
        event: Option<&EventLease>,
        stream: &Stream,
    ) -> Result<bool> {
        self.check()?;
        if self.registry.is_complete(fill) {
            return Ok(true);
        }
        let awaited = &stream.awaited_fills;
        // Before a wait, because only the last fill on a stream of the user is remembered: a stream that uses the fills
        // of several streams in turn would wait for them at each launch.
        if awaited.is_time_for_query() && self.is_fill_complete(fill, event)? {
            return Ok(true);
        }
        let waits = match event {
            Some(event) => self.await_event((fill, event), stream)?,
            // SAFETY: the handle lives as long as the stream is borrowed.
            None => unsafe { self.await_fill(fill, stream.handle(), awaited)? },
        };
        if waits {
            // The wait is work of the stream.
            let _ = stream.next_stamp();
        }
        Ok(false)
    }

    /// Makes later work of `stream` wait for a fill on another stream of the user, unless it does already. Returns
    /// whether a wait was enqueued.
    fn await_event(&self, (fill, event): (Stamp, &EventLease), stream: &Stream) -> Result<bool> {
        let awaited = &stream.awaited_fills;
        if fill.stream == stream.id() || awaited.covers(fill) {
            return Ok(false);
        }
        // SAFETY: until the guard is dropped, this thread only calls this device.
        let _current = unsafe { self.make_current()? };
        // SAFETY: the event is leased, and the stream lives as long as its borrow.
        let waited = unsafe { self.device().stream_wait_event(stream.handle(), event.handle()) };
        self.observe(waited)?;
        awaited.add(fill);
        Ok(true)
    }

    /// Whether a fill is complete, by a query of the event after it, or else of its stream.
    ///
    /// # Errors
    /// The failure of earlier work.
    pub(crate) fn is_fill_complete(&self, fill: Stamp, event: Option<&EventLease>) -> Result<bool> {
        let Some(event) = event else {
            return self.registry.query(fill, |handle| {
                // SAFETY: the stream is leased.
                self.observe(unsafe { self.device().stream_query(handle) })
            });
        };
        // SAFETY: the event is leased.
        let complete = self.observe(unsafe { self.device().event_query(event.handle()) })?;
        if complete {
            self.registry.complete([fill]);
        }
        Ok(complete)
    }

    /// Orders the next free after the first fill `fill`.
    ///
    /// # Errors
    /// The device's error.
    pub(crate) fn order_fill_before_free(self: &Arc<Self>, fill: Stamp) -> Result<()> {
        // SAFETY: the internal stream lives as long as the context.
        unsafe { self.await_fill(fill, self.free_on, &self.fills_before_frees)? };
        Ok(())
    }

    /// Orders later work of `stream` after `fill`, unless it is already: `awaited` belongs to the stream. Returns
    /// whether a wait was enqueued.
    ///
    /// # Safety
    /// `stream` is a live stream of this context.
    pub(crate) unsafe fn await_fill(
        self: &Arc<Self>,
        fill: Stamp,
        stream: StreamHandle,
        awaited: &AwaitedFills,
    ) -> Result<bool> {
        let index = self.fill_streams.index_of(fill.stream);
        let position = index.map(|index| &awaited.positions[index]);
        if position.is_some_and(|position| position.load(Acquire) >= fill.sequence) {
            return Ok(false);
        }
        // SAFETY: by the caller.
        let ordered = unsafe { self.order_after(stream, [fill])? };
        if let (Some(position), Some(newest)) = (position, ordered.first()) {
            // Release pairs with the acquire load above: a thread that skips its wait because of this enqueues its
            // launch after the wait.
            position.fetch_max(newest.sequence, Release);
        }
        Ok(true)
    }
}

/// Uploads of at most this many bytes are copied once more on the host: to be enqueued later, or because the driver
/// then needs no staging memory. That costs less than an event.
pub(crate) const LARGEST_COPIED_UPLOAD: usize = 16 << 10;

/// Enqueues a copy of at most [`LARGEST_COPIED_UPLOAD`] bytes on `stream`. The bytes are owned here, so that they are
/// in pageable memory.
///
/// # Errors
/// The device's error. No copy is then in flight.
///
/// # Safety
/// As for [`enqueue_upload`].
#[expect(clippy::borrowed_box, reason = "the owner of the bytes matters")]
pub(crate) unsafe fn enqueue_owned_upload(
    context: &Arc<Context>,
    dst: DevicePtr,
    contents: &Box<[u8]>,
    stream: StreamHandle,
) -> Result<()> {
    let device = context.device();
    // SAFETY: the caller guarantees the destination and the stream. Where the source is in pageable memory, such a
    // device reads it during the call.
    unsafe {
        match device.capabilities().pageable_uploads {
            true => {
                let (from, bytes) = (contents.as_ptr(), contents.len());
                context.observe(device.copy_htod_async(dst, from, bytes, stream))
            }
            false => enqueue_staged_upload(context, dst, contents, stream),
        }
    }
}

/// Enqueues copies of `contents` on `stream`. The host waits only for staging memory.
///
/// # Errors
/// The device's error. Copies of a part of the contents may then be in flight, if there is more than one chunk.
///
/// # Safety
/// `dst` has as many bytes as `contents` and is valid for work on `stream`, which is a live stream of this context.
pub(crate) unsafe fn enqueue_upload(
    context: &Arc<Context>,
    dst: DevicePtr,
    contents: &[u8],
    stream: StreamHandle,
) -> Result<()> {
    let pageable = context.device().capabilities().pageable_uploads;
    // SAFETY: by the caller.
    unsafe {
        match contents.len() {
            ..=LARGEST_COPIED_UPLOAD if pageable => {
                enqueue_owned_upload(context, dst, &contents.into(), stream)
            }
            _ => enqueue_staged_upload(context, dst, contents, stream),
        }
    }
}

/// Enqueues copies of `contents` on `stream`, in chunks through staging memory. The host waits only for staging memory.
///
/// # Errors
/// The device's error. Copies of earlier chunks may then be in flight.
///
/// # Safety
/// As for [`enqueue_upload`].
unsafe fn enqueue_staged_upload(
    context: &Arc<Context>,
    dst: DevicePtr,
    contents: &[u8],
    stream: StreamHandle,
) -> Result<()> {
    let device = context.device();
    for (at, chunk) in contents.chunks(STAGING_CHUNK).enumerate() {
        let staging = Pinned::staging(context, chunk.len())?;
        // SAFETY: the block has at least the bytes of a chunk and is not in use; the caller guarantees the destination
        // and the stream; the event is leased.
        let copied = unsafe {
            std::ptr::copy_nonoverlapping(chunk.as_ptr(), staging.as_ptr(), chunk.len());
            let dst = dst.offset(at * STAGING_CHUNK);
            context
                .observe(device.copy_htod_async(dst, staging.as_ptr(), chunk.len(), stream))
                .and_then(|()| {
                    let event = context.lease_event()?;
                    context.observe(device.event_record(event.handle(), stream))?;
                    Ok(event)
                })
        };
        match copied {
            Ok(event) => staging.retire(event),
            Err(error) => {
                staging.wait_or_leak();
                return Err(error);
            }
        }
    }
    Ok(())
}
