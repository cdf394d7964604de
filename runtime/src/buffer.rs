//! [`Buffer`]: device memory that tracks the streams that use it.

use std::{
    any::Any,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use parking_lot::Mutex;
use quadrants_rhi::{DevicePtr, Severity, StreamHandle};

use crate::{
    AccessHistory, Completed, Context, Error, Result, Stamp, Stream,
    block_cache::WORD,
    fill_streams::InternalStream,
    pending_fill::PendingFill,
    pending_owners::Owner,
    staging::{Pinned, STAGING_CHUNK},
    stamps::{MAX_SEQUENCE, Stamps},
    upload::enqueue_upload,
};

/// A block of device memory with the stamps of its uses.
///
/// Allocation and first fill are complete when a constructor returns, so every stream may use the buffer at once;
/// except for [`zeroed_async`](Self::zeroed_async) and [`from_bytes_async`](Self::from_bytes_async). Dropping it frees
/// the memory in stream order after the work of every stream that used it, or keeps it for a later buffer; the host
/// does not wait. A buffer of zero bytes has no memory and the address 0.
#[derive(Debug)]
pub struct Buffer {
    context: Arc<Context>,
    memory: DevicePtr,
    bytes: usize,
    readers: Stamps,
    writers: Stamps,
    uses: AccessHistory,
    /// What keeps the memory valid, where it was not allocated here.
    owner: Option<Box<Mutex<Owner>>>,
    /// Whether other code may write the memory at any time, so that nothing is remembered about its contents.
    exposed: AtomicBool,
    shared: AtomicBool,
    written_by_graph: AtomicBool,
    distinct: OnceLock<Box<Mutex<DistinctElements>>>,
    /// Allocation and first fill, or a later write by the host, as long as they may be incomplete.
    pub(crate) pending: PendingFill,
}

/// Elements that all differ, as the first one's address and their number, and the writers of the buffer for which that
/// is known. Empty after a write by the host, which has no stamp.
type DistinctElements = Vec<((DevicePtr, usize), Vec<Stamp>)>;

/// Where the memory of a new buffer comes from.
#[derive(Clone, Copy)]
pub(crate) enum BlockOrigin {
    Driver,
    Cache,
}

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
        let stream = context.fill_streams.allocate.handle;
        Self::filled(context, bytes, (stream, None), |_, origin| match origin {
            BlockOrigin::Driver => context.wait_for(stream),
            // All work that used it is complete.
            BlockOrigin::Cache => Ok(()),
        })
    }

    /// Allocates zeroed memory.
    ///
    /// # Errors
    /// The device's error, for example that it is out of memory.
    pub fn zeroed(context: &Arc<Context>, bytes: usize) -> Result<Self> {
        let InternalStream { handle: stream, id, .. } = context.fill_streams.allocate;
        Self::filled(context, bytes, (stream, Some(id)), |memory, _| {
            // SAFETY: the memory is for work on this stream and has `bytes`.
            context.observe(unsafe { context.device().fill_u8_async(memory, 0, bytes, stream) })?;
            context.wait_for(stream)
        })
    }

    /// Allocates memory with the given contents.
    ///
    /// # Errors
    /// The device's error, for example that it is out of memory.
    pub fn from_bytes(context: &Arc<Context>, contents: &[u8]) -> Result<Self> {
        let InternalStream { handle: stream, id, .. } = context.fill_streams.allocate;
        Self::filled(context, contents.len(), (stream, Some(id)), |memory, _| {
            // SAFETY: the memory is for work on this stream and has the bytes.
            unsafe { upload(context, memory, contents, stream) }
        })
    }

    /// Allocates memory on `stream` and copies the contents to it there, so that later work of the stream may use it.
    /// The contents are copied before this returns.
    ///
    /// # Errors
    /// The device's error, for example that it is out of memory.
    pub fn from_bytes_on(stream: &Stream, contents: &[u8]) -> Result<Self> {
        let (context, handle) = (stream.context(), stream.handle());
        if !context.device().capabilities().asynchronous {
            return Self::from_bytes(context, contents);
        }
        let on = (handle, Some(stream.id()));
        let filled = Self::filled(context, contents.len(), on, |memory, _| {
            // SAFETY: the memory is for work on this stream, which lives as long as its borrow, and has the bytes.
            unsafe { enqueue_upload(context, memory, contents, handle) }
        });
        // Also after a failure: the free is work of the stream.
        let stamp = stream.next_stamp();
        filled.inspect(|buffer| buffer.stamp_write(stamp))
    }

    /// A buffer of memory that other code allocated. It is never freed here and never reused; `owner` is dropped after
    /// the last stamped use. Other code may write the memory, so nothing is remembered about its contents.
    ///
    /// # Errors
    /// [`Error::ContextLost`]. The owner is then dropped.
    ///
    /// # Safety
    /// Until `owner` is dropped, the device can access `bytes` bytes from `memory` on. Other code does not access them
    /// while stamped work or this crate does, unless both only read. If `bytes` is not 0, `memory` is not null.
    pub unsafe fn foreign(
        context: &Arc<Context>,
        memory: DevicePtr,
        bytes: usize,
        owner: Box<dyn Any + Send>,
    ) -> Result<Self> {
        context.check()?;
        context.drop_idle_owners();
        let mut buffer = Self::without_memory(context);
        buffer.set_memory(memory, bytes);
        buffer.owner = Some(Box::new(Mutex::new(owner)));
        buffer.expose();
        Ok(buffer)
    }

    pub(crate) fn set_memory(&mut self, memory: DevicePtr, bytes: usize) {
        (self.memory, self.bytes) = (memory, bytes);
    }

    pub(crate) fn without_memory(context: &Arc<Context>) -> Self {
        Self {
            context: context.clone(),
            memory: DevicePtr::NULL,
            bytes: 0,
            readers: Stamps::default(),
            writers: Stamps::default(),
            uses: AccessHistory::default(),
            owner: None,
            exposed: AtomicBool::new(false),
            shared: AtomicBool::new(false),
            written_by_graph: AtomicBool::new(false),
            distinct: OnceLock::new(),
            pending: PendingFill::default(),
        }
    }

    /// Takes memory from the cache, or allocates it on `stream`, and calls `fill`, which fills it there. With an id,
    /// which is that of the stream, cached memory may have pending work on that stream.
    pub(crate) fn filled(
        context: &Arc<Context>,
        bytes: usize,
        (stream, id): (StreamHandle, Option<u32>),
        fill: impl FnOnce(DevicePtr, BlockOrigin) -> Result<()>,
    ) -> Result<Self> {
        context.check()?;
        context.drop_idle_owners();
        // SAFETY: until the guard is dropped, this thread only calls this device.
        let _current = unsafe { context.make_current()? };
        let mut buffer = Self::without_memory(context);
        if bytes == 0 {
            return Ok(buffer);
        }
        let (memory, origin) = match context.reuse_block(bytes, id)? {
            Some(block) => (block.memory, BlockOrigin::Cache),
            // SAFETY: the caller's stream is live.
            None => (unsafe { context.allocate_block(bytes, stream)? }, BlockOrigin::Driver),
        };
        if let Err(error) = fill(memory, origin) {
            // SAFETY: a pending fill is on this stream, before the free. All other work that used reused memory is
            // complete, or on that stream, too.
            context.destroyed(unsafe { context.device().free_async(memory, stream) });
            return Err(error);
        }
        buffer.set_memory(memory, bytes);
        Ok(buffer)
    }

    /// Frees the memory in stream order after all uses, which are all stamped. The buffer is not used afterwards.
    fn free(&self) -> Result<()> {
        let (context, stream) = (&self.context, self.context.free_on);
        let mut users = self.stamps();
        users.extend(self.pending.after());
        // SAFETY: the internal stream lives as long as the context. The free is ordered after every stamped use, and
        // all uses are stamped. While the context is current, this thread only calls this device.
        unsafe {
            let _current = context.make_current()?;
            match self.pending.stamp() {
                // All other work is ordered after the fill.
                Some(_) if users.is_empty() && self.pending.has_event() => {
                    self.wait_for_fill_on(stream)?;
                }
                Some(fill) if users.is_empty() => context.order_fill_before_free(fill)?,
                _ => drop(context.order_after(stream, users)?),
            }
            context.observe(context.device().free_async(self.memory, stream))
        }
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
    pub fn access_history(&self) -> &AccessHistory {
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

    /// Records that other code may write the memory from now on: nothing is remembered about its contents any more.
    pub fn expose(&self) {
        self.exposed.store(true, Relaxed);
    }

    /// Whether [`expose`](Self::expose) was called.
    pub(crate) fn is_exposed(&self) -> bool {
        self.exposed.load(Relaxed)
    }

    /// Whether [`share`](Self::share) was called with `writes`.
    #[must_use]
    pub fn is_written_by_graph(&self) -> bool {
        self.written_by_graph.load(Relaxed)
    }

    /// Records that all of the elements from `first` on, `count` of them, differ until the next write; not where other
    /// code may write them.
    pub fn set_distinct(&self, first: DevicePtr, count: usize) {
        if self.exposed.load(Relaxed) {
            return;
        }
        let elements = (first, count);
        let mut known = self.distinct.get_or_init(Box::default).lock();
        known.retain(|(other, _)| *other != elements);
        known.push((elements, self.writers.all().into_vec()));
    }

    /// Whether [`set_distinct`](Self::set_distinct) was called for these elements since the last write.
    #[must_use]
    pub fn is_distinct(&self, first: DevicePtr, count: usize) -> bool {
        let Some(known) = self.distinct.get().filter(|_| !self.exposed.load(Relaxed)) else {
            return false;
        };
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

    /// The newest stamp of each stream that read or wrote the buffer; if there is none, the stamp of a first fill that
    /// may be incomplete. All other work is ordered after the fill.
    #[must_use]
    pub fn users(&self) -> impl IntoIterator<Item = Stamp> + use<> {
        let mut users = self.enqueued_users();
        users.extend(self.pending.after());
        users
    }

    /// As [`users`](Self::users), without the work that a deferred fill is ordered after.
    pub(crate) fn enqueued_users(&self) -> Completed {
        let mut users = self.stamps();
        if users.is_empty() {
            users.extend(self.pending.stamp());
        }
        users
    }

    /// The newest stamp of each stream that read or wrote the buffer.
    pub(crate) fn stamps(&self) -> Completed {
        let mut stamps = self.readers.all();
        for stamp in self.writers.all() {
            match stamps.iter_mut().find(|other| other.stream == stamp.stream) {
                Some(other) => other.sequence = other.sequence.max(stamp.sequence),
                None => stamps.push(stamp),
            }
        }
        stamps
    }

    /// The newest stamp of each stream that wrote the buffer; if there is none, the stamp of a first fill on an
    /// internal stream that may be incomplete.
    #[must_use]
    pub fn writers(&self) -> impl IntoIterator<Item = Stamp> + use<> {
        let mut writers = self.writers.all();
        if writers.is_empty() && !self.pending.has_event() {
            writers.extend(self.pending.stamp());
        }
        writers
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
            unsafe { download(&self.context, source, out, stream, || ()) }
        })
    }

    /// Reads as [`read`](Self::read) does if all work that writes the buffer is complete, and returns whether it is.
    /// Waits for nothing but the copy.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn read_if_complete(&self, offset: usize, out: &mut [u8]) -> Result<bool> {
        self.context.check()?;
        if self.pending.is_deferred() {
            if !self.is_deferred_ready()? {
                return Ok(false);
            }
            self.finish_fill()?;
        }
        if !self.is_event_complete()? {
            return Ok(false);
        }
        for writer in self.writers() {
            if !self.context.is_work_complete(writer)? {
                return Ok(false);
            }
        }
        let len = out.len();
        let copy = |source, stream| {
            // SAFETY: the range is inside the buffer, and the stream is leased.
            unsafe { download(&self.context, source, out, stream, || ()) }
        };
        self.transfer(offset, len, |_| Completed::new(), copy)?;
        Ok(true)
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
        self.forget_distinct();
        self.transfer(offset, contents.len(), Self::enqueued_users, |destination, stream| {
            // SAFETY: the range is inside the buffer, the stream is leased, and the copy is complete when this returns.
            unsafe { upload(&self.context, destination, contents, stream) }
        })
    }

    /// Forgets the stamps of uses.
    pub(crate) fn forget_uses(&mut self) {
        self.readers.clear();
        self.writers.clear();
    }

    /// Forgets which elements differ: they are about to be written.
    pub(crate) fn forget_distinct(&self) {
        if let Some(known) = self.distinct.get() {
            known.lock().clear();
        }
    }

    pub(crate) fn check_range(&self, offset: usize, len: usize) -> Result<()> {
        match offset.checked_add(len) {
            Some(end) if end <= self.bytes => Ok(()),
            _ => Err(Error::OutOfBuffer { offset, len, bytes: self.bytes }),
        }
    }

    /// Calls `copy` with the address at `offset` and a leased stream whose work waits for `users`. `copy` waits for the
    /// copy. Returns the work that it waited for; empty if `len` is 0.
    pub(crate) fn transfer<Users: IntoIterator<Item = Stamp>>(
        &self,
        offset: usize,
        len: usize,
        users: impl FnOnce(&Self) -> Users,
        copy: impl FnOnce(DevicePtr, StreamHandle) -> Result<()>,
    ) -> Result<Completed> {
        self.check_range(offset, len)?;
        if len == 0 {
            return Ok(Completed::new());
        }
        self.context.check()?;
        // SAFETY: until the guard is dropped, this thread only calls this device.
        let _current = unsafe { self.context.make_current()? };
        let mut stream = self.context.lease_stream()?;
        // The stream must not return to the pool before `copy` has waited.
        stream.set_unjoined(true);
        let mut deferred = Some(self.pending.lock_deferred()).filter(|fill| fill.is_some());
        let users: Completed = users(self).into_iter().collect();
        // SAFETY: the stream is leased.
        let completed = unsafe {
            match deferred.as_deref() {
                Some(Some(fill)) => self.enqueue_fill(fill, stream.handle(), |_| true)?,
                _ if users.is_empty() => self.wait_for_fill_on(stream.handle())?,
                _ => {}
            }
            self.context.order_after(stream.handle(), users)?
        };
        // After a failure, the drop of the stream waits for the fill, which stays deferred.
        copy(self.memory.offset(offset), stream.handle())?;
        stream.set_unjoined(false);
        if let Some(fill) = deferred.as_deref_mut() {
            self.pending.clear_deferred(fill);
        }
        // The copy was ordered after the fill, and is complete.
        self.pending.set_complete();
        self.context.registry.complete(completed.iter().copied());
        Ok(completed)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(owner) = self.owner.take() {
            return self.context.drop_after(owner.into_inner(), self.stamps());
        }
        if self.memory == DevicePtr::NULL {
            return;
        }
        let context = &self.context;
        // With the context, the memory is lost, too.
        if context.is_lost() {
            return self.pending.forget_event();
        }
        if let Some(class) = context.blocks.class_of(self.bytes) {
            match context.keep_block(self.memory, class, self.users()) {
                Ok(true) => return,
                Ok(false) => {}
                Err(error) if error.severity() == Severity::ContextLost => return,
                Err(error) => context.defer(error),
            }
        }
        if let Err(error) = self.free() {
            context.recover_free(self.memory, error);
        }
    }
}

impl Context {
    /// Whether the work of a stamp is complete, by a query of its stream.
    ///
    /// # Errors
    /// The failure of earlier work.
    pub(crate) fn is_work_complete(&self, stamp: Stamp) -> Result<bool> {
        if self.registry.is_complete(stamp) {
            return Ok(true);
        }
        self.registry.query(stamp, |stream| {
            // SAFETY: the registry leases the stream.
            self.observe(unsafe { self.device().stream_query(stream) })
        })
    }

    pub(crate) fn wait_for(&self, stream: StreamHandle) -> Result<()> {
        // SAFETY: the context's streams live as long as it does.
        unsafe { self.wait_for_stream(stream) }
    }

    /// Allocates memory of the size class of `bytes`, if it has one, so that the drop of the buffer may put it into the
    /// cache.
    ///
    /// # Errors
    /// The device's error, for example that it is out of memory.
    ///
    /// # Safety
    /// `stream` is a live stream of this context.
    pub(crate) unsafe fn allocate_block(
        &self,
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<DevicePtr> {
        let class = self.blocks.class_of(bytes).unwrap_or(bytes);
        // SAFETY: by the caller.
        unsafe { self.allocate(class, stream) }
    }

    /// Allocates whole words in stream order on `stream`. If there is not enough memory, frees the memory that is kept
    /// of dropped buffers, waits for pending frees and tries again.
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
            if allocated.as_ref().is_err_and(|error| error.is_out_of_memory()) {
                self.empty_block_cache();
            }
            // Buffers are freed on the internal stream; temporaries of launches on the launch streams.
            for whole_device in [false, true] {
                if !allocated.as_ref().is_err_and(|error| error.is_out_of_memory()) {
                    break;
                }
                match whole_device {
                    false => self.wait_for_stream(self.free_on)?,
                    true => self.wait_for_device()?,
                }
                allocated = device.alloc_async(bytes, stream);
            }
            self.observe(allocated)
        }
    }

    /// Copies device memory to the host after all work that is enqueued on `stream`. Waits for the copy, and calls
    /// `before_wait` before the last wait.
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
        before_wait: impl FnOnce(),
    ) -> Result<()> {
        self.check()?;
        // SAFETY: the caller guarantees the conditions.
        unsafe { download(self, src, out, stream, before_wait) }
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
        context.wait_for_stream(stream)
    });
    if copied.is_err() {
        staging.wait_or_leak();
    }
    copied
}

/// Copies from the device to `out` in chunks through staging memory. Calls `before_wait` before the last wait.
///
/// # Safety
/// `src` has as many bytes as `out`, and `stream` is live.
unsafe fn download(
    context: &Arc<Context>,
    src: DevicePtr,
    out: &mut [u8],
    stream: StreamHandle,
    before_wait: impl FnOnce(),
) -> Result<()> {
    let device = context.device();
    let staging = Pinned::staging(context, out.len())?;
    let (last, mut before_wait) = (out.len().saturating_sub(1) / STAGING_CHUNK, Some(before_wait));
    // SAFETY: as in `upload`; the wait completes the copy, which writes the bytes of the chunk, before they are read.
    let copied = out.chunks_mut(STAGING_CHUNK).enumerate().try_for_each(|(at, chunk)| unsafe {
        let src = src.offset(at * STAGING_CHUNK);
        context.observe(device.copy_dtoh_async(staging.as_ptr(), src, chunk.len(), stream))?;
        if at == last
            && let Some(before_wait) = before_wait.take()
        {
            before_wait();
        }
        context.wait_for_stream(stream)?;
        std::ptr::copy_nonoverlapping(staging.as_ptr(), chunk.as_mut_ptr(), chunk.len());
        Ok(())
    });
    if copied.is_err() {
        staging.wait_or_leak();
    }
    copied
}
