//! Uploads on internal streams: which one, and the copies through staging memory.

use std::sync::{Arc, atomic::Ordering::Relaxed};

use quadrants_rhi::{DevicePtr, StreamHandle};

use crate::{
    Context, Result,
    fill_streams::{InternalStream, UPLOAD_STREAMS},
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
