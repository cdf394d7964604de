//! [`Buffer`]: device memory that tracks the streams that use it.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use parking_lot::Mutex;
use quadrants_rhi::{DevicePtr, Severity, StreamHandle};

use crate::{
    AccessHistory, Completed, Context, Error, Result, Stamp,
    staging::{Pinned, STAGING_CHUNK},
    stamps::{MAX_SEQUENCE, Stamps},
};

/// The bytes of a word. GPUs have no atomics on single bytes, so that kernels access the whole word around a bool.
const WORD: usize = 4;

/// A block of device memory with the stamps of its uses.
///
/// Allocation and first fill are complete when a constructor returns, so every stream may use the buffer at once.
/// Dropping it frees the memory in stream order after the work of every stream that used it; the host does not wait. A
/// buffer of zero bytes has no memory and the address 0.
#[derive(Debug)]
pub struct Buffer {
    context: Arc<Context>,
    memory: DevicePtr,
    bytes: usize,
    readers: Stamps,
    writers: Stamps,
    uses: AccessHistory,
    shared: AtomicBool,
    written_by_graph: AtomicBool,
    distinct: OnceLock<Box<Mutex<DistinctElements>>>,
}

/// Elements that all differ, as the first one's address and their number, and the writers of the buffer for which that
/// is known. Empty after a write by the host, which has no stamp.
type DistinctElements = Vec<((DevicePtr, usize), Vec<Stamp>)>;

impl Buffer {
    /// Allocates memory with undefined contents. If there is not enough memory, waits for pending frees and tries
    /// again.
    ///
    /// # Safety
    /// Every byte is written before it is read. On the CPU the memory is memory of this process, where reading
    /// uninitialized bytes is undefined behaviour.
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
    /// The device's error, for example that it is out of memory.
    pub unsafe fn uninit(context: &Arc<Context>, bytes: usize) -> Result<Self> {
        Self::filled(context, bytes, |_, stream| context.wait_for(stream))
    }

    /// Allocates zeroed memory.
    ///
    /// # Errors
    /// The device's error, for example that it is out of memory.
    pub fn zeroed(context: &Arc<Context>, bytes: usize) -> Result<Self> {
        Self::filled(context, bytes, |memory, stream| {
            // SAFETY: the memory was just allocated on this stream and has `bytes`.
            context.observe(unsafe { context.device().fill_u8_async(memory, 0, bytes, stream) })?;
            context.wait_for(stream)
        })
    }

    /// Allocates memory with the given contents.
    ///
    /// # Errors
    /// The device's error, for example that it is out of memory.
    pub fn from_bytes(context: &Arc<Context>, contents: &[u8]) -> Result<Self> {
        Self::filled(context, contents.len(), |memory, stream| {
            // SAFETY: the memory was just allocated on this stream and has `bytes`.
            unsafe { upload(context, memory, contents, stream) }
        })
    }

    /// Allocates memory and calls `fill`, which fills it and waits for the fill.
    fn filled(
        context: &Arc<Context>,
        bytes: usize,
        fill: impl FnOnce(DevicePtr, StreamHandle) -> Result<()>,
    ) -> Result<Self> {
        context.check()?;
        // SAFETY: until the guard is dropped, this thread only calls this device.
        let _current = unsafe { context.make_current()? };
        let mut buffer = Self {
            context: context.clone(),
            memory: DevicePtr::NULL,
            bytes: 0,
            readers: Stamps::default(),
            writers: Stamps::default(),
            uses: AccessHistory::default(),
            shared: AtomicBool::new(false),
            written_by_graph: AtomicBool::new(false),
            distinct: OnceLock::new(),
        };
        if bytes == 0 {
            return Ok(buffer);
        }
        let stream = context.allocate_on;
        // SAFETY: the internal stream lives as long as the context. After a failure, a pending fill is on that stream,
        // before the free.
        unsafe {
            let memory = context.allocate(bytes, stream)?;
            if let Err(error) = fill(memory, stream) {
                context.destroyed(context.device().free_async(memory, stream));
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

    /// The device address; 0 for zero bytes.
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

    /// Records that work at `stamp` reads the buffer. Call it after enqueueing the work, and before other code can
    /// free, read or write the buffer.
    #[inline]
    pub fn stamp_read(&self, stamp: Stamp) {
        self.readers.put(stamp);
    }

    /// Records that work at `stamp` writes the buffer. Call it after enqueueing the work, and before other code can
    /// free, read or write the buffer.
    #[inline]
    pub fn stamp_write(&self, stamp: Stamp) {
        self.writers.put(stamp);
    }

    /// Calls [`stamp_write`](Self::stamp_write) if `writes`, else [`stamp_read`](Self::stamp_read).
    #[inline]
    pub fn stamp(&self, stamp: Stamp, writes: bool) {
        let stamps = if writes { &self.writers } else { &self.readers };
        stamps.put(stamp);
    }

    /// The access history, which the caller maintains; this crate does not use it.
    #[must_use]
    pub fn uses(&self) -> &AccessHistory {
        &self.uses
    }

    /// Marks the buffer permanently as used by work that no borrow of the user represents, such as a captured graph;
    /// and, if `writes`, as written by it.
    pub fn share(&self, writes: bool) {
        self.shared.store(true, Relaxed);
        if writes {
            self.written_by_graph.store(true, Relaxed);
        }
    }

    /// Whether [`share`](Self::share) was called with `writes`.
    #[must_use]
    pub fn is_written_by_graph(&self) -> bool {
        self.written_by_graph.load(Relaxed)
    }

    /// Records that all of the elements from `first` on, `count` of them, differ until the next write.
    pub fn set_distinct(&self, first: DevicePtr, count: usize) {
        let elements = (first, count);
        let mut known = self.distinct.get_or_init(Box::default).lock();
        known.retain(|(other, _)| *other != elements);
        known.push((elements, self.writers.all().into_vec()));
    }

    /// Whether [`set_distinct`](Self::set_distinct) was called for these elements since the last write.
    #[must_use]
    pub fn is_distinct(&self, first: DevicePtr, count: usize) -> bool {
        let Some(known) = self.distinct.get() else { return false };
        let (elements, now) = ((first, count), self.writers.all());
        // The largest position stands for all later ones.
        let is_exact = now.iter().all(|stamp| stamp.sequence < MAX_SEQUENCE);
        is_exact && known.lock().iter().any(|(other, of)| *other == elements && of[..] == now[..])
    }

    /// Whether [`share`](Self::share) was called. A call on another thread is visible only after synchronization with
    /// it.
    #[must_use]
    #[inline]
    pub fn is_shared(&self) -> bool {
        self.shared.load(Relaxed)
    }

    /// The newest stamp of each stream that read or wrote the buffer.
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

    /// The newest stamp of each stream that wrote the buffer.
    #[must_use]
    pub fn writers(&self) -> impl IntoIterator<Item = Stamp> + use<> {
        self.writers.all()
    }

    /// Copies the bytes at `offset` to the host after all work that writes the buffer. Waits for that work and for
    /// nothing else.
    ///
    /// # Errors
    /// [`Error::OutOfBuffer`], or the failure of earlier work.
    pub fn read(&self, offset: usize, out: &mut [u8]) -> Result<()> {
        self.read_completing(offset, out).map(drop)
    }

    /// Reads as [`read`](Self::read) does, and returns the work that it waited for; empty if `out` is empty.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn read_completing(&self, offset: usize, out: &mut [u8]) -> Result<Completed> {
        self.transfer(offset, out.len(), Self::writers, |source, stream| {
            // SAFETY: the range is inside the buffer, and the stream is leased.
            unsafe { download(&self.context, source, out, stream) }
        })
    }

    /// Overwrites the bytes at `offset` after all work that uses the buffer. Waits for the copy.
    ///
    /// # Errors
    /// [`Error::OutOfBuffer`], or the failure of earlier work.
    pub fn write(&self, offset: usize, contents: &[u8]) -> Result<()> {
        self.write_completing(offset, contents).map(drop)
    }

    /// Writes as [`write`](Self::write) does, and returns the work that it waited for; empty if `contents` is empty.
    ///
    /// # Errors
    /// As for [`write`](Self::write).
    pub fn write_completing(&self, offset: usize, contents: &[u8]) -> Result<Completed> {
        if let Some(known) = self.distinct.get() {
            known.lock().clear();
        }
        self.transfer(offset, contents.len(), Self::users, |destination, stream| {
            // SAFETY: the range is inside the buffer, the stream is leased, and the copy is complete when this returns.
            unsafe { upload(&self.context, destination, contents, stream) }
        })
    }

    /// Calls `copy` with the address at `offset` and a leased stream whose work waits for `users`. `copy` waits for the
    /// copy. Returns the work that it waited for; empty if `len` is 0.
    fn transfer<Users: IntoIterator<Item = Stamp>>(
        &self,
        offset: usize,
        len: usize,
        users: impl FnOnce(&Self) -> Users,
        copy: impl FnOnce(DevicePtr, StreamHandle) -> Result<()>,
    ) -> Result<Completed> {
        if offset.checked_add(len).is_none_or(|end| end > self.bytes) {
            return Err(Error::OutOfBuffer { offset, len, bytes: self.bytes });
        }
        if len == 0 {
            return Ok(Completed::new());
        }
        self.context.check()?;
        // SAFETY: until the guard is dropped, this thread only calls this device.
        let _current = unsafe { self.context.make_current()? };
        let users = users(self);
        let mut stream = self.context.lease_stream()?;
        // The stream must not return to the pool before `copy` has waited.
        stream.set_unjoined(true);
        // SAFETY: the stream is leased.
        let completed = unsafe { self.context.order_after(stream.handle(), users)? };
        copy(self.memory.offset(offset), stream.handle())?;
        stream.set_unjoined(false);
        self.context.registry.complete(completed.iter().copied());
        Ok(completed)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.memory == DevicePtr::NULL {
            return;
        }
        let context = &self.context;
        let stream = context.free_on;
        let users = self.users();
        // SAFETY: the internal stream lives as long as the context. The free is ordered after every stamped use, and
        // all uses are stamped. While the context is current, this thread only calls this device.
        let freed = unsafe {
            context.make_current().and_then(|_current| {
                context.order_after(stream, users)?;
                context.observe(context.device().free_async(self.memory, stream))
            })
        };
        let Err(error) = freed else { return };
        let lost = error.severity() == Severity::ContextLost;
        context.defer(error);
        if lost {
            return;
        }
        // Ordering the free failed, so the host waits. If that fails too, the memory is leaked: that is better than
        // freeing the memory of a running kernel. SAFETY: after the wait nothing uses the memory, and the free above
        // has failed.
        let freed = context.observe(context.device().synchronize()).and_then(|()| unsafe {
            context.observe(context.device().free_async(self.memory, stream))
        });
        if let Err(error) = freed {
            context.defer(error);
        }
    }
}

impl Context {
    fn wait_for(&self, stream: StreamHandle) -> Result<()> {
        // SAFETY: the context's streams live as long as it does.
        self.observe(unsafe { self.device().stream_synchronize(stream) })
    }

    /// Allocates whole words in stream order on `stream`. If there is not enough memory, waits for pending frees and
    /// tries again.
    ///
    /// # Errors
    /// The device's error, for example that it is out of memory.
    ///
    /// # Safety
    /// `stream` is a live stream of this context.
    pub unsafe fn allocate(&self, bytes: usize, stream: StreamHandle) -> Result<DevicePtr> {
        let device = self.device();
        let bytes = bytes.checked_next_multiple_of(WORD).unwrap_or(bytes);
        // SAFETY: the caller guarantees that the stream is live, and the internal stream always is.
        unsafe {
            let mut allocated = device.alloc_async(bytes, stream);
            // Buffers are freed on the internal stream; temporaries of launches on the launch streams.
            for whole_device in [false, true] {
                if !allocated.as_ref().is_err_and(|error| error.is_out_of_memory()) {
                    break;
                }
                self.observe(match whole_device {
                    false => device.stream_synchronize(self.free_on),
                    true => device.synchronize(),
                })?;
                allocated = device.alloc_async(bytes, stream);
            }
            self.observe(allocated)
        }
    }

    /// Copies device memory to the host after all work that is enqueued on `stream`. Waits for the copy.
    ///
    /// # Errors
    /// The failure of earlier work.
    ///
    /// # Safety
    /// `src` has as many bytes as `out` and is valid for work on `stream`, which is a live stream of this context.
    pub(crate) unsafe fn read_on(
        self: &Arc<Self>,
        src: DevicePtr,
        out: &mut [u8],
        stream: StreamHandle,
    ) -> Result<()> {
        self.check()?;
        // SAFETY: the caller guarantees the conditions.
        unsafe { download(self, src, out, stream) }
    }
}

/// Copies `contents` to the device in chunks through staging memory. Waits after each chunk, so all are complete on
/// return.
///
/// # Safety
/// `dst` has as many bytes as `contents`, and `stream` is live.
unsafe fn upload(
    context: &Arc<Context>,
    dst: DevicePtr,
    contents: &[u8],
    stream: StreamHandle,
) -> Result<()> {
    let device = context.device();
    let staging = Pinned::staging(context, contents.len())?;
    // SAFETY: a staging block has at least the bytes of a chunk, and the caller guarantees the destination. The wait
    // completes the copy before the block is reused.
    let copied = contents.chunks(STAGING_CHUNK).enumerate().try_for_each(|(at, chunk)| unsafe {
        std::ptr::copy_nonoverlapping(chunk.as_ptr(), staging.as_ptr(), chunk.len());
        let dst = dst.offset(at * STAGING_CHUNK);
        context.observe(device.copy_htod_async(dst, staging.as_ptr(), chunk.len(), stream))?;
        context.observe(device.stream_synchronize(stream))
    });
    if copied.is_err() {
        staging.wait_or_leak();
    }
    copied
}

/// Copies from the device to `out` in chunks through staging memory.
///
/// # Safety
/// `src` has as many bytes as `out`, and `stream` is live.
unsafe fn download(
    context: &Arc<Context>,
    src: DevicePtr,
    out: &mut [u8],
    stream: StreamHandle,
) -> Result<()> {
    let device = context.device();
    let staging = Pinned::staging(context, out.len())?;
    // SAFETY: as in `upload`; the wait completes the copy, which writes the bytes of the chunk, before they are read.
    let copied = out.chunks_mut(STAGING_CHUNK).enumerate().try_for_each(|(at, chunk)| unsafe {
        let src = src.offset(at * STAGING_CHUNK);
        context.observe(device.copy_dtoh_async(staging.as_ptr(), src, chunk.len(), stream))?;
        context.observe(device.stream_synchronize(stream))?;
        std::ptr::copy_nonoverlapping(staging.as_ptr(), chunk.as_mut_ptr(), chunk.len());
        Ok(())
    });
    if copied.is_err() {
        staging.wait_or_leak();
    }
    copied
}
