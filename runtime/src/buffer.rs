//! Device memory that knows who uses it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use quadrants_rhi::{DevicePtr, Severity, StreamHandle};

use crate::{
    AccessHistory, Completed, Context, Error, Result, Stamp, StreamLease,
    staging::{Pinned, STAGING_CHUNK},
    stamps::Stamps,
};

/// A block of device memory with the stamps of its users.
///
/// Allocation and first fill are complete before the constructor returns, so any stream may use it
/// at once. Dropping it frees it in stream order behind every stream that used it, without the host
/// waiting. A buffer of zero bytes has no memory and the address 0.
#[derive(Debug)]
pub struct Buffer {
    context: Arc<Context>,
    memory: DevicePtr,
    bytes: usize,
    readers: Stamps,
    writers: Stamps,
    uses: AccessHistory,
    shared: AtomicBool,
}

impl Buffer {
    /// Memory with undefined contents. Where none is left, waits for the frees under way and tries again.
    ///
    /// # Safety
    /// Every byte is written before it is read: on the CPU it is memory of this process, and reading what
    /// nobody wrote is undefined behaviour there.
    ///
    /// ```compile_fail,E0133
    /// # fn main() -> quadrants_runtime::Result<()> {
    /// # let context = quadrants_runtime::Context::new(quadrants_rhi_cpu::driver()?.open(0)?)?;
    /// let buffer = quadrants_runtime::Buffer::uninit(&context, 4)?;
    /// buffer.read(0, &mut [0; 4])
    /// # }
    /// ```
    ///
    /// # Errors
    /// Out of memory, or what the device returns.
    pub unsafe fn uninit(context: &Arc<Context>, bytes: usize) -> Result<Self> {
        Self::filled(context, bytes, |_, stream| context.wait_for(stream))
    }

    /// Memory of zeros.
    ///
    /// # Errors
    /// Out of memory, or what the device returns.
    pub fn zeroed(context: &Arc<Context>, bytes: usize) -> Result<Self> {
        Self::filled(context, bytes, |memory, stream| {
            // SAFETY: the memory was just allocated with these bytes on this stream.
            context.observe(unsafe { context.device().fill_u8_async(memory, 0, bytes, stream) })?;
            context.wait_for(stream)
        })
    }

    /// Memory with the given contents.
    ///
    /// # Errors
    /// Out of memory, or what the device returns.
    pub fn from_bytes(context: &Arc<Context>, contents: &[u8]) -> Result<Self> {
        Self::filled(context, contents.len(), |memory, stream| {
            // SAFETY: the memory was just allocated with these bytes on this stream.
            unsafe { upload(context, memory, contents, stream) }
        })
    }

    /// Memory that `fill` fills; it waits for that.
    fn filled(
        context: &Arc<Context>,
        bytes: usize,
        fill: impl FnOnce(DevicePtr, StreamHandle) -> Result<()>,
    ) -> Result<Self> {
        context.check()?;
        // SAFETY: calls of this device alone.
        let _current = unsafe { context.make_current()? };
        let mut buffer = Self {
            context: context.clone(),
            memory: DevicePtr::NULL,
            bytes: 0,
            readers: Stamps::default(),
            writers: Stamps::default(),
            uses: AccessHistory::default(),
            shared: AtomicBool::new(false),
        };
        if bytes == 0 {
            return Ok(buffer);
        }
        let stream = context.allocate_on();
        // SAFETY: the internal stream lives as long as the context. What may still fill the memory after a
        // failure is on that stream, and the free behind it.
        unsafe {
            let memory = context.allocate(bytes, stream)?;
            if let Err(error) = fill(memory, stream) {
                let freed = context.observe(context.device().free_async(memory, stream));
                if let Err(error) = freed {
                    context.defer(error);
                }
                return Err(error);
            }
            buffer.memory = memory;
            buffer.bytes = bytes;
        }
        Ok(buffer)
    }

    /// The context.
    #[must_use]
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The device address; 0 where there are no bytes.
    #[must_use]
    #[inline]
    pub fn address(&self) -> DevicePtr {
        self.memory
    }

    /// The size in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Notes that work at `stamp` reads the buffer. Call it behind enqueueing the work, before anyone else
    /// can free, read or write the buffer.
    #[inline]
    pub fn stamp_read(&self, stamp: Stamp) {
        self.readers.put(stamp);
    }

    /// Notes that work at `stamp` writes the buffer. Call it behind enqueueing the work, before anyone else
    /// can free, read or write the buffer.
    #[inline]
    pub fn stamp_write(&self, stamp: Stamp) {
        self.writers.put(stamp);
    }

    /// [`stamp_write`](Self::stamp_write), or [`stamp_read`](Self::stamp_read).
    #[inline]
    pub fn stamp(&self, stamp: Stamp, writes: bool) {
        let stamps = if writes { &self.writers } else { &self.readers };
        stamps.put(stamp);
    }

    /// What uses it and where, for whoever keeps that; nothing here does.
    #[must_use]
    pub fn uses(&self) -> &AccessHistory {
        &self.uses
    }

    /// Notes, for good, that work will use the buffer which no borrow of its user's shows.
    pub fn share(&self) {
        self.shared.store(true, Relaxed);
    }

    /// Whether [`share`](Self::share) was called, as far as the caller comes behind that.
    #[must_use]
    #[inline]
    pub fn is_shared(&self) -> bool {
        self.shared.load(Relaxed)
    }

    /// The newest use of each stream that read or wrote the buffer.
    #[must_use]
    pub fn users(&self) -> impl IntoIterator<Item = Stamp> + use<> {
        let mut users = self.readers.all();
        for stamp in self.writers.all() {
            match users.iter_mut().find(|user| user.stream == stamp.stream) {
                Some(user) => user.sequence = user.sequence.max(stamp.sequence),
                None => users.push(stamp),
            }
        }
        users
    }

    /// The newest use of each stream that wrote the buffer.
    #[must_use]
    pub fn writers(&self) -> impl IntoIterator<Item = Stamp> + use<> {
        self.writers.all()
    }

    /// Copies the bytes at `offset` out, behind all work that writes the buffer. Waits for it, and
    /// for nothing else.
    ///
    /// # Errors
    /// [`Error::OutOfBuffer`], or the failure of earlier work.
    pub fn read(&self, offset: usize, out: &mut [u8]) -> Result<()> {
        self.read_completing(offset, out).map(drop)
    }

    /// As [`read`](Self::read), and gives what it waited for: nothing where nothing is read.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn read_completing(&self, offset: usize, out: &mut [u8]) -> Result<Completed> {
        self.check_range(offset, out.len())?;
        if out.is_empty() {
            return Ok(Completed::new());
        }
        self.context.check()?;
        // SAFETY: calls of this device alone.
        let _current = unsafe { self.context.make_current()? };
        let (mut stream, over) = self.transfer(self.writers.all())?;
        let source = self.memory.offset(offset);
        // SAFETY: the range lies in the buffer, and the stream is leased to us.
        unsafe { download(&self.context, source, out, stream.handle())? };
        stream.set_unjoined(false);
        self.context.live.complete(over.iter().copied());
        Ok(over)
    }

    /// Overwrites the bytes at `offset`, behind all work that uses the buffer. Waits for it.
    ///
    /// # Errors
    /// [`Error::OutOfBuffer`], or the failure of earlier work.
    pub fn write(&self, offset: usize, contents: &[u8]) -> Result<()> {
        self.write_completing(offset, contents).map(drop)
    }

    /// As [`write`](Self::write), and gives what it waited for: nothing where nothing is written.
    ///
    /// # Errors
    /// As for [`write`](Self::write).
    pub fn write_completing(&self, offset: usize, contents: &[u8]) -> Result<Completed> {
        self.check_range(offset, contents.len())?;
        if contents.is_empty() {
            return Ok(Completed::new());
        }
        self.context.check()?;
        // SAFETY: calls of this device alone.
        let _current = unsafe { self.context.make_current()? };
        let (mut stream, over) = self.transfer(self.users())?;
        // SAFETY: the range lies in the buffer, the stream is leased to us, and the copy is complete when
        // this returns.
        unsafe { upload(&self.context, self.memory.offset(offset), contents, stream.handle())? };
        stream.set_unjoined(false);
        self.context.live.complete(over.iter().copied());
        Ok(over)
    }

    /// A pooled stream that waits for `users`; marked, so that it goes back to the pool only where the
    /// transfer was waited for.
    fn transfer(&self, users: impl IntoIterator<Item = Stamp>) -> Result<(StreamLease, Completed)> {
        let mut stream = self.context.lease_stream()?;
        stream.set_unjoined(true);
        // SAFETY: the stream is leased to us.
        let over = unsafe { self.context.order_behind(stream.handle(), users)? };
        Ok((stream, over))
    }

    fn check_range(&self, offset: usize, len: usize) -> Result<()> {
        match offset.checked_add(len) {
            Some(end) if end <= self.bytes => Ok(()),
            _ => Err(Error::OutOfBuffer { offset, len, bytes: self.bytes }),
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.memory == DevicePtr::NULL {
            return;
        }
        let context = &self.context;
        let stream = context.free_on();
        let users = self.users();
        // SAFETY: the internal stream lives as long as the context; the free is ordered behind every
        // stamped use, and there are no unstamped ones. All are calls of this device.
        let freed = unsafe {
            context.make_current().and_then(|_current| {
                context.order_behind(stream, users)?;
                context.observe(context.device().free_async(self.memory, stream))
            })
        };
        let Err(error) = freed else { return };
        let lost = error.severity() == Severity::ContextLost;
        context.defer(error);
        if lost {
            return;
        }
        // Where that is not possible the host waits. Where that is not either, the memory is kept: a leak is
        // better than memory freed under a running kernel.
        // SAFETY: behind the wait nothing uses the memory, whose free has failed above.
        let freed = context.observe(context.device().synchronize()).and_then(|()| unsafe {
            context.observe(context.device().free_async(self.memory, stream))
        });
        if let Err(error) = freed {
            context.defer(error);
        }
    }
}

impl Context {
    /// Waits for an internal stream.
    fn wait_for(&self, stream: StreamHandle) -> Result<()> {
        // SAFETY: the context's streams live as long as it does.
        self.observe(unsafe { self.device().stream_synchronize(stream) })
    }

    /// Allocates in the order of `stream`. Where no memory is left, waits for what was freed behind work that
    /// is still under way, and tries again.
    ///
    /// # Errors
    /// Out of memory, or what the device returns.
    ///
    /// # Safety
    /// `stream` is a live stream of this context.
    pub unsafe fn allocate(&self, bytes: usize, stream: StreamHandle) -> Result<DevicePtr> {
        let device = self.device();
        // SAFETY: the stream is live by this function's contract, and the internal one always.
        unsafe {
            let mut allocated = device.alloc_async(bytes, stream);
            // Buffers are freed on the internal stream, what launches took on their own.
            for all in [false, true] {
                if !allocated.as_ref().is_err_and(|error| error.is_out_of_memory()) {
                    break;
                }
                self.observe(match all {
                    false => device.stream_synchronize(self.free_on()),
                    true => device.synchronize(),
                })?;
                allocated = device.alloc_async(bytes, stream);
            }
            self.observe(allocated)
        }
    }

    /// Copies device memory to the host behind everything enqueued on `stream`, and waits for it.
    ///
    /// # Errors
    /// The failure of earlier work.
    ///
    /// # Safety
    /// `src` has as many bytes as `out`, and is live on `stream`, a live stream of this context.
    pub(crate) unsafe fn read_on(
        self: &Arc<Self>,
        src: DevicePtr,
        out: &mut [u8],
        stream: StreamHandle,
    ) -> Result<()> {
        self.check()?;
        // SAFETY: the caller's promise.
        unsafe { download(self, src, out, stream) }
    }
}

/// Copies `contents` to the device through staging memory, in chunks; waits between chunks, and the
/// last chunk is complete when this returns.
///
/// # Safety
/// `dst` has the bytes, and `stream` is live.
unsafe fn upload(
    context: &Arc<Context>,
    dst: DevicePtr,
    contents: &[u8],
    stream: StreamHandle,
) -> Result<()> {
    let device = context.device();
    let staging = Pinned::staging(context, contents.len())?;
    for (at, chunk) in contents.chunks(STAGING_CHUNK).enumerate() {
        // SAFETY: a staging block has at least the bytes of a chunk; the destination range is the
        // caller's promise; the wait ends the copy before the block is reused.
        let copied = unsafe {
            std::ptr::copy_nonoverlapping(chunk.as_ptr(), staging.as_ptr(), chunk.len());
            let dst = dst.offset(at * STAGING_CHUNK);
            context
                .observe(device.copy_htod_async(dst, staging.as_ptr(), chunk.len(), stream))
                .and_then(|()| context.observe(device.stream_synchronize(stream)))
        };
        if let Err(error) = copied {
            staging.give_up();
            return Err(error);
        }
    }
    Ok(())
}

/// Copies from the device through staging memory, in chunks.
///
/// # Safety
/// `src` has the bytes, and `stream` is live.
unsafe fn download(
    context: &Arc<Context>,
    src: DevicePtr,
    out: &mut [u8],
    stream: StreamHandle,
) -> Result<()> {
    let device = context.device();
    let staging = Pinned::staging(context, out.len())?;
    for (at, chunk) in out.chunks_mut(STAGING_CHUNK).enumerate() {
        // SAFETY: as in `upload`; the wait ends the copy before the block is read.
        let copied = unsafe {
            let src = src.offset(at * STAGING_CHUNK);
            context
                .observe(device.copy_dtoh_async(staging.as_ptr(), src, chunk.len(), stream))
                .and_then(|()| context.observe(device.stream_synchronize(stream)))
        };
        if let Err(error) = copied {
            staging.give_up();
            return Err(error);
        }
        // SAFETY: the copy above wrote the chunk's bytes and is complete.
        unsafe {
            std::ptr::copy_nonoverlapping(staging.as_ptr(), chunk.as_mut_ptr(), chunk.len());
        }
    }
    Ok(())
}
