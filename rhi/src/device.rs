//! The [`Device`] trait: the whole contract between a backend and the code above it.
//!
//! `quadrants-conformance` tests each statement that a test can check. The rules in this module documentation apply to
//! all methods; each method states the rest.
//!
//! # Ordering
//! A stream runs its operations in the order in which they were enqueued. Operations of different streams are not
//! ordered, except by events: [`stream_wait_event`](Device::stream_wait_event) makes later work of a stream wait for
//! the event's latest record before the call. Streams made by [`create_stream`](Device::create_stream) are
//! non-blocking: they are not ordered with the default stream either.
//!
//! # Progress
//! A device may delay work until something waits for it or queries it. A caller that repeats a query
//! ([`stream_query`](Device::stream_query), [`event_query`](Device::event_query)) receives `true` after a finite number
//! of calls.
//!
//! # Threads and contexts
//! Every method may be called from any thread, and from several threads at once. Each call makes the device's context
//! current and then restores the context that was current before. While a [`Current`] exists, this is done once for all
//! calls of its thread.
//!
//! # The handle rule
//! Methods that take handles or host pointers are unsafe. All share this condition, the *handle rule*: the handle was
//! returned by this device and has not been destroyed; a host pointer is valid for the given length until the operation
//! is complete. A method lists further conditions under `# Safety`.
//!
//! # Zero bytes
//! An allocation of zero bytes is an error. A copy or fill of zero bytes is allowed: it does nothing, and its addresses
//! need not be valid.
//!
//! # Errors
//! - A method that returns an error has enqueued nothing and changed nothing, unless it says otherwise.
//! - Any method may return [`Error::Driver`] if the driver call fails, and any method may report the failure of earlier
//!   asynchronous work. If that failure broke the context, the error has the severity
//!   [`ContextLost`](crate::Severity::ContextLost), and every later call fails too.
//! - An argument that the backend itself refuses is [`Error::InvalidArgument`].
//! - An operation that the device or the installed driver lacks is [`Error::Unsupported`] or [`Error::SymbolMissing`].
//!
//! The sections `# Errors` of the methods list what a method returns in addition.

mod copy_2d;
mod guards;
mod memory_at;

use std::{any::Any, fmt, sync::Arc};

pub use copy_2d::{Copy2d, CopySides};
pub use guards::{Current, Entered, LentContext};
pub use memory_at::{ManagedMemory, MemoryAt};

use crate::{
    Activities, Capabilities, DeviceInfo, DevicePtr, Error, EventHandle, EventOptions,
    FunctionHandle, FunctionUsage, GraphExecHandle, GraphHandle, GraphNodeHandle, Image,
    LaunchConfig, ModuleHandle, Result, StreamHandle, StreamOptions,
};

/// An open device: memory, streams, events, modules, launches and graphs.
///
/// The [module documentation](self) has the rules that all methods share. What only one backend has is a method of its
/// own type, which a `dyn Device` can be downcast to: `CudaDevice::from_device`.
///
/// # Safety
/// Safe code reads and writes the memory that a device returns. As long as its callers keep the handle rule, an
/// implementation guarantees:
/// - [`alloc`](Self::alloc), [`alloc_async`](Self::alloc_async) and [`alloc_pinned`](Self::alloc_pinned) return memory
///   that is not null, has at least the requested size and the stated alignment, overlaps no other allocation, and
///   stays valid until it is freed. Pinned memory is zeroed, and both host and device can read and write it.
/// - Copies, fills and launches access exactly the memory that their arguments name. They run in the order of their
///   stream and of the events that it waits for. They access nothing after [`synchronize`](Self::synchronize),
///   [`stream_synchronize`](Self::stream_synchronize) or [`event_synchronize`](Self::event_synchronize) has waited for
///   them, or after a query has reported that they are complete.
/// - A handle denotes the object that it was created for until that object is destroyed. No two live objects of one
///   kind have equal handles. (The CPU has one stream and one event, which always exist and are never destroyed.)
/// - [`info`](Self::info) and [`capabilities`](Self::capabilities) never change and are correct: the device loads
///   images of the stated kind, and the operations of a capability that is on keep their contracts.
/// - A [peer](Self::is_peer) is a device whose addresses and events this one may use, where a method says so.
/// - A launch of a native function calls it with the words of the launch, while they are valid.
/// - A method that returns an error has enqueued nothing, unless it says otherwise.
///
/// Therefore the trait is unsafe to implement:
/// ```compile_fail,E0200
/// #[derive(Debug)]
/// struct NotADevice;
/// impl quadrants_rhi::Device for NotADevice {}
/// ```
pub unsafe trait Device: Any + Send + Sync + fmt::Debug {
    /// The properties of the device.
    ///
    /// `backend`, `name`, `arch` and `driver_version` are not empty. `multiprocessors`, `warp_size`,
    /// `max_threads_per_block`, `max_shared_bytes` and the components of `max_grid_dim` are at least 1.
    fn info(&self) -> &DeviceInfo;

    /// The capabilities of the device.
    ///
    /// - [`stream_ordered_memory_reason`](Capabilities::stream_ordered_memory_reason) is `Some` if and only if
    ///   [`stream_ordered_memory`](Capabilities::stream_ordered_memory) is off.
    /// - [`max_argument_bytes`](Capabilities::max_argument_bytes) is at least 1024.
    /// - `priorities.greatest <= priorities.least`: a greater priority is a lower number.
    fn capabilities(&self) -> &Capabilities;

    /// Makes the device's context current on this thread until [`restore_current`](Self::restore_current).
    ///
    /// Call it through [`Current`]. A device without contexts keeps the default implementation, which does nothing.
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Safety
    /// `restore_current` is called with the result on the same thread, after the `restore_current` of every later
    /// `make_current` of this thread. Until then, no other code changes the current context of this thread, unless it
    /// restores this one before it returns.
    unsafe fn make_current(&self) -> Result<Entered> {
        Ok(Entered::default())
    }

    /// Restores the context that was current before [`make_current`](Self::make_current).
    ///
    /// # Safety
    /// `entered` is the result of `make_current` of this device on this thread, and was not restored before. Results of
    /// later `make_current` calls of this thread were restored already.
    unsafe fn restore_current(&self, entered: Entered) {
        let _ = entered;
    }

    /// Makes the device's context current on this thread until [`take_context_back`](Self::take_context_back), for code
    /// that may change the current context.
    ///
    /// Call it through [`LentContext`]. A device without contexts keeps the default implementation, which does nothing.
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Safety
    /// `take_context_back` is called with the result on the same thread, after the `restore_current` and the
    /// `take_context_back` of every later `make_current` and `lend_context` of this thread.
    unsafe fn lend_context(&self) -> Result<Entered> {
        Ok(Entered::default())
    }

    /// Makes the context current that was current before [`lend_context`](Self::lend_context), whatever is current now.
    ///
    /// # Safety
    /// `entered` is the result of `lend_context` of this device on this thread, and was not restored before.
    unsafe fn take_context_back(&self, entered: Entered) {
        let _ = entered;
    }

    /// Returns what the driver knows of the memory at an address, which may be any number. A device that cannot tell
    /// keeps the default implementation, which returns [`MemoryAt::Unknown`].
    ///
    /// # Errors
    /// [`Error::Driver`].
    fn memory_at(&self, address: DevicePtr) -> Result<MemoryAt> {
        let _ = address;
        Ok(MemoryAt::Unknown)
    }

    /// Returns the free and the total device memory in bytes, with `0 < free <= total`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the system does not report its memory.
    fn memory_info(&self) -> Result<(u64, u64)>;

    /// Waits until all work of all streams of the context is complete.
    ///
    /// # Errors
    /// The failure of earlier work.
    fn synchronize(&self) -> Result<()>;

    // ---- memory ------------------------------------------------------------------------------

    /// Allocates `bytes` of device memory, aligned to at least 256 bytes. The contents are undefined.
    ///
    /// The memory is ready for all streams when the call returns. The call may wait for the device.
    ///
    /// # Errors
    /// - [`Error::InvalidArgument`] if `bytes` is 0.
    /// - [`Error::Driver`] with [`DriverErrorKind::OutOfMemory`](crate::DriverErrorKind::OutOfMemory) if there is not
    ///   enough memory. The device stays usable.
    fn alloc(&self, bytes: usize) -> Result<DevicePtr>;

    /// Frees memory from [`alloc`](Self::alloc). May wait for the whole device.
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Safety
    /// The handle rule. All work that uses the memory is complete.
    unsafe fn free(&self, memory: DevicePtr) -> Result<()>;

    /// Allocates `bytes` of device memory in stream order, aligned to at least 256 bytes. The contents are undefined.
    ///
    /// Work may use the memory if it is enqueued on `stream` after this call, or is ordered after such work. Without
    /// [`Capabilities::stream_ordered_memory`], this is [`alloc`](Self::alloc).
    ///
    /// # Errors
    /// As for [`alloc`](Self::alloc).
    ///
    /// # Safety
    /// The handle rule.
    unsafe fn alloc_async(&self, bytes: usize, stream: StreamHandle) -> Result<DevicePtr>;

    /// Frees memory from [`alloc_async`](Self::alloc_async) in stream order.
    ///
    /// Work that was enqueued on `stream` before this call may still use the memory. Without
    /// [`Capabilities::stream_ordered_memory`], this waits for `stream` and then frees as [`free`](Self::free) does.
    ///
    /// # Errors
    /// [`Error::Driver`]. Without stream-ordered memory also the failure of earlier work of `stream`; the memory is
    /// then not freed.
    ///
    /// # Safety
    /// The handle rule. All work that uses the memory is complete, or is ordered before this point of `stream`. The
    /// memory is from `alloc_async` of this device.
    unsafe fn free_async(&self, memory: DevicePtr, stream: StreamHandle) -> Result<()>;

    /// Allocates `bytes` of zeroed page-locked host memory, aligned to at least 256 bytes.
    ///
    /// The device reads and writes it at the same address as the host.
    ///
    /// # Errors
    /// As for [`alloc`](Self::alloc).
    fn alloc_pinned(&self, bytes: usize) -> Result<*mut u8>;

    /// Frees memory from [`alloc_pinned`](Self::alloc_pinned).
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Safety
    /// The pointer is from `alloc_pinned` of this device, and neither host nor device uses the memory any more.
    unsafe fn free_pinned(&self, memory: *mut u8) -> Result<()>;

    /// Enqueues a copy of `bytes` from host to device.
    ///
    /// The driver may read the source at any time until the copy is complete. For pageable memory, it may also read the
    /// source before the call returns.
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Safety
    /// The handle rule. `dst` has `bytes`. The source does not change until the copy is complete.
    unsafe fn copy_htod_async(
        &self,
        dst: DevicePtr,
        src: *const u8,
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<()>;

    /// Enqueues a copy of `bytes` from device to host.
    ///
    /// The destination holds the bytes when the copy is complete. Until then, its contents may change at any time.
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Safety
    /// The handle rule. `src` has `bytes`. Nothing else accesses the destination until the copy is complete.
    unsafe fn copy_dtoh_async(
        &self,
        dst: *mut u8,
        src: DevicePtr,
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<()>;

    /// Enqueues a copy of `bytes` within the device.
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Safety
    /// The handle rule. `dst` and `src` have `bytes`, and the two ranges do not overlap.
    unsafe fn copy_dtod_async(
        &self,
        dst: DevicePtr,
        src: DevicePtr,
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<()>;

    /// Enqueues a 2-D copy: row `i` of `shape` goes from `i * src_pitch` bytes after the first row of the source to
    /// `i * dst_pitch` bytes after that of the target. The bytes between rows are neither read nor written, so other
    /// work may use them. With a width or height of 0, it does nothing, and neither addresses nor pitches need be
    /// valid. Host memory is used as by [`copy_htod_async`](Self::copy_htod_async) and
    /// [`copy_dtoh_async`](Self::copy_dtoh_async). The default implementation makes a plain copy of each row.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if a pitch is less than the width. [`Error::Driver`]; some rows may be enqueued then.
    ///
    /// # Safety
    /// As for a plain copy between these two kinds of memory, of each row; and the bytes from the first to the last of
    /// a side are in one allocation. Within the device, no row of the target overlaps one of the source.
    unsafe fn copy_2d_async(
        &self,
        sides: CopySides,
        shape: &Copy2d,
        stream: StreamHandle,
    ) -> Result<()> {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { sides.copy_by_rows(self, shape, stream) }
    }

    // ---- other devices -----------------------------------------------------------------------

    /// Whether `other` is a device of the same driver, or this one: then the work of both can be ordered and
    /// [copied](Self::copy_from_peer_async) between without the host.
    ///
    /// A device that wraps another one answers for that. `other` itself is no wrapper.
    fn is_peer(&self, other: &(dyn Device + 'static)) -> bool {
        let _ = other;
        false
    }

    /// Whether this device can access the memory of another one of its driver directly, over a bus or a link. Copies
    /// between them do not need this; the driver then stages them. False for its own ordinal.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the device cannot tell; [`Error::Driver`] if there is no device with this ordinal.
    fn can_access_peer(&self, ordinal: usize) -> Result<bool> {
        let _ = ordinal;
        Err(no_peers())
    }

    /// Enqueues a copy of `bytes` from the memory of a [peer](Self::is_peer) to that of this device, on a stream of
    /// this device. The copy is not ordered with the work of the peer, except by events that `stream` waits for, and
    /// that streams of the peer wait for.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if `source` is no peer; [`Error::Driver`].
    ///
    /// # Safety
    /// The handle rule, where `src` is an address of `source`. `dst` and `src` have `bytes`, and the two ranges do not
    /// overlap. `source` is not dropped until the copy is complete.
    unsafe fn copy_from_peer_async(
        &self,
        dst: DevicePtr,
        source: &(dyn Device + 'static),
        src: DevicePtr,
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        let _ = (dst, source, src, bytes, stream);
        Err(no_peers())
    }

    // ---- fills -------------------------------------------------------------------------------

    /// Enqueues a fill of `bytes` bytes with `value`.
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Safety
    /// The handle rule. `dst` has `bytes`.
    unsafe fn fill_u8_async(
        &self,
        dst: DevicePtr,
        value: u8,
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<()>;

    /// Enqueues a fill of `words` 32-bit words with `value`.
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Safety
    /// The handle rule. `dst` is aligned to 4 bytes and has `4 * words` bytes.
    unsafe fn fill_u32_async(
        &self,
        dst: DevicePtr,
        value: u32,
        words: usize,
        stream: StreamHandle,
    ) -> Result<()>;

    // ---- streams -----------------------------------------------------------------------------

    /// Creates a non-blocking stream. Any priority is accepted. On the CPU, the result is the default stream.
    ///
    /// # Errors
    /// [`Error::Driver`].
    fn create_stream(&self, options: StreamOptions) -> Result<StreamHandle>;

    /// Destroys a stream. The handle is invalid at once; work that is not complete still runs.
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Safety
    /// The handle rule. The stream was created by [`create_stream`](Self::create_stream) of this device.
    unsafe fn destroy_stream(&self, stream: StreamHandle) -> Result<()>;

    /// Returns whether all work of the stream is complete. Repeated queries make [progress](self#progress).
    ///
    /// # Errors
    /// The failure of earlier work. Incomplete work is `Ok(false)`, not an error.
    ///
    /// # Safety
    /// The handle rule.
    unsafe fn stream_query(&self, stream: StreamHandle) -> Result<bool>;

    /// Waits until all work of the stream is complete.
    ///
    /// # Errors
    /// The failure of earlier work.
    ///
    /// # Safety
    /// The handle rule.
    unsafe fn stream_synchronize(&self, stream: StreamHandle) -> Result<()>;

    /// Makes work that is enqueued on `stream` after this call wait for the latest record of `event` before this call.
    ///
    /// Later records and the destruction of the event do not change what this call waits for. An event that was never
    /// recorded is complete. The host does not wait.
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Safety
    /// The handle rule, except that `event` may be of a [peer](Self::is_peer).
    unsafe fn stream_wait_event(&self, stream: StreamHandle, event: EventHandle) -> Result<()>;

    // ---- events ------------------------------------------------------------------------------

    /// Creates an event.
    ///
    /// # Errors
    /// [`Error::Driver`].
    fn create_event(&self, options: EventOptions) -> Result<EventHandle>;

    /// Destroys an event. Waits that were enqueued on it stay in effect.
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Safety
    /// The handle rule.
    unsafe fn destroy_event(&self, event: EventHandle) -> Result<()>;

    /// Records all work that was enqueued on `stream` before this call.
    ///
    /// The record replaces the event's earlier record. Waits that were enqueued on an earlier record keep it.
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Safety
    /// The handle rule.
    unsafe fn event_record(&self, event: EventHandle, stream: StreamHandle) -> Result<()>;

    /// Returns whether the latest record is complete. An event that was never recorded is complete.
    ///
    /// Repeated queries make [progress](self#progress).
    ///
    /// # Errors
    /// The failure of earlier work. Incomplete work is `Ok(false)`, not an error.
    ///
    /// # Safety
    /// The handle rule.
    unsafe fn event_query(&self, event: EventHandle) -> Result<bool>;

    /// Waits until the latest record is complete. Returns at once for an event that was never recorded.
    ///
    /// # Errors
    /// The failure of earlier work.
    ///
    /// # Safety
    /// The handle rule.
    unsafe fn event_synchronize(&self, event: EventHandle) -> Result<()>;

    /// Returns the milliseconds between the latest records of two events. On the CPU, it is 0.
    ///
    /// # Errors
    /// [`Error::Driver`] if an event was created without [`EventOptions::timing`], was never recorded, or is not
    /// complete.
    ///
    /// # Safety
    /// The handle rule.
    unsafe fn event_elapsed_ms(&self, start: EventHandle, end: EventHandle) -> Result<f32>;

    // ---- modules and launches ----------------------------------------------------------------

    /// Loads an image as a module. May wait for the device. One image may be loaded several times.
    ///
    /// # Errors
    /// - [`Error::Unsupported`] if the image is not of the kind [`Capabilities::image`].
    /// - [`Error::ImageRejected`] if the image is of that kind and the device cannot load it: it is empty, truncated,
    ///   malformed, for another architecture, or has two functions of one name. `log` gives the reason and is not
    ///   empty. The device stays usable.
    fn load_module(&self, image: &Image<'_>) -> Result<ModuleHandle>;

    /// Unloads a module. The handles of its functions become invalid.
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Safety
    /// The handle rule. All launches of the module's functions are complete, and no graph that is launched later
    /// contains one.
    unsafe fn unload_module(&self, module: ModuleHandle) -> Result<()>;

    /// Looks up a function of a module by name.
    ///
    /// # Errors
    /// - [`Error::Driver`] with [`DriverErrorKind::NotFound`](crate::DriverErrorKind::NotFound) if the module has no
    ///   function of this name.
    /// - [`Error::InvalidArgument`] if the driver cannot represent the name: it contains a zero byte.
    ///
    /// # Safety
    /// The handle rule.
    unsafe fn function(&self, module: ModuleHandle, name: &str) -> Result<FunctionHandle>;

    /// Allows launches of a function with up to `bytes` bytes of [dynamic shared memory](LaunchConfig::shared_bytes).
    /// Without it, launches can have what all devices have. A device that allows everything up to
    /// [`DeviceInfo::max_shared_bytes`] keeps the default implementation, which does nothing.
    ///
    /// # Errors
    /// [`Error::Driver`] if the device cannot run the function with this much memory.
    ///
    /// # Safety
    /// The handle rule.
    unsafe fn allow_shared_bytes(&self, function: FunctionHandle, bytes: u32) -> Result<()> {
        let _ = (function, bytes);
        Ok(())
    }

    /// What a function uses, and how many of its blocks run at once on a multiprocessor if each has `threads` threads
    /// and `shared_bytes` bytes of dynamic shared memory. A device that cannot tell keeps the default implementation,
    /// which returns `None`.
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Safety
    /// The handle rule.
    unsafe fn function_usage(
        &self,
        function: FunctionHandle,
        threads: u32,
        shared_bytes: u32,
    ) -> Result<Option<FunctionUsage>> {
        let _ = (function, threads, shared_bytes);
        Ok(None)
    }

    /// Enqueues a launch of `function` with one by-value parameter, the argument block `args`.
    ///
    /// The block is read before the call returns. On the CPU, the function has run when the call returns.
    ///
    /// # Errors
    /// - [`Error::InvalidArgument`] if `args` is larger than [`Capabilities::max_argument_bytes`]. Nothing is read from
    ///   it and nothing runs.
    /// - [`Error::Driver`] if the device cannot run the shape `config`.
    /// - [`Error::Panicked`] if a native function panics. It has run; what it wrote is undefined.
    ///
    /// # Safety
    /// The handle rule. If `args` is not too large, it is an argument block for this function: it has the words that
    /// the function reads, and the addresses in it stay valid until the launch is complete.
    unsafe fn launch(
        &self,
        function: FunctionHandle,
        config: &LaunchConfig,
        args: &[u64],
        stream: StreamHandle,
    ) -> Result<()>;

    // ---- graphs (optional) -------------------------------------------------------------------

    /// Creates an empty graph.
    ///
    /// # Errors
    /// [`Error::Unsupported`] or [`Error::SymbolMissing`] if [`Capabilities::graphs`] is off. This holds for all graph
    /// methods.
    fn create_graph(&self) -> Result<GraphHandle> {
        Err(no_graphs())
    }

    /// Destroys a graph. Its executables stay valid.
    ///
    /// # Errors
    /// As for [`create_graph`](Self::create_graph).
    ///
    /// # Safety
    /// The handle rule.
    unsafe fn destroy_graph(&self, graph: GraphHandle) -> Result<()> {
        let _ = graph;
        Err(no_graphs())
    }

    /// Adds a launch to a graph; it runs after `dependencies`. `args` is copied.
    ///
    /// # Errors
    /// As for [`create_graph`](Self::create_graph); [`Error::InvalidArgument`] if `args` is larger than
    /// [`Capabilities::max_argument_bytes`].
    ///
    /// # Safety
    /// The handle rule. `dependencies` are nodes of the same graph. For every launch of the graph, the conditions of
    /// [`launch`](Self::launch) hold.
    unsafe fn add_kernel_node(
        &self,
        graph: GraphHandle,
        dependencies: &[GraphNodeHandle],
        function: FunctionHandle,
        config: &LaunchConfig,
        args: &[u64],
    ) -> Result<GraphNodeHandle> {
        let _ = (graph, dependencies, function, config, args);
        Err(no_graphs())
    }

    /// Adds a copy of `bytes` within the device to a graph; it runs after `dependencies`. `bytes` is at least 1 and at
    /// most 1 GiB.
    ///
    /// # Errors
    /// As for [`create_graph`](Self::create_graph).
    ///
    /// # Safety
    /// The handle rule. `dependencies` are nodes of the same graph. For every launch of the graph, `dst` and `src` are
    /// valid for `bytes`, and the two ranges do not overlap.
    unsafe fn add_copy_node(
        &self,
        graph: GraphHandle,
        dependencies: &[GraphNodeHandle],
        dst: DevicePtr,
        src: DevicePtr,
        bytes: usize,
    ) -> Result<GraphNodeHandle> {
        let _ = (graph, dependencies, dst, src, bytes);
        Err(no_graphs())
    }

    /// Begins to capture: until [`end_capture`](Self::end_capture), what any code enqueues on `stream` becomes nodes of
    /// a graph and does not run. Other streams that wait for the stream's events are captured too, until the stream
    /// waits for them.
    ///
    /// # Errors
    /// As for [`create_graph`](Self::create_graph).
    ///
    /// # Safety
    /// The handle rule. The stream was created by [`create_stream`](Self::create_stream), and is not capturing.
    unsafe fn begin_capture(&self, stream: StreamHandle) -> Result<()> {
        let _ = stream;
        Err(no_graphs())
    }

    /// Ends a capture and returns its graph.
    ///
    /// # Errors
    /// [`Error::Driver`] if something cannot be captured, or if a stream was not joined. The capture has ended.
    ///
    /// # Safety
    /// The handle rule. The stream is capturing, by [`begin_capture`](Self::begin_capture) on this thread.
    unsafe fn end_capture(&self, stream: StreamHandle) -> Result<GraphHandle> {
        let _ = stream;
        Err(no_graphs())
    }

    /// Whether something captures the stream: then what is enqueued there becomes nodes of a graph and does not run.
    /// False where the device has no graphs or the driver cannot tell.
    ///
    /// # Errors
    /// [`Error::Driver`]. The capture goes on.
    ///
    /// # Safety
    /// The handle rule.
    unsafe fn is_capturing(&self, stream: StreamHandle) -> Result<bool> {
        let _ = stream;
        Ok(false)
    }

    /// Adds the nodes of another graph, as they are now, to a graph as one node; it runs after `dependencies`.
    ///
    /// # Errors
    /// As for [`create_graph`](Self::create_graph).
    ///
    /// # Safety
    /// The handle rule. `dependencies` are nodes of the same graph. The conditions of the child's nodes hold for every
    /// launch of the graph.
    unsafe fn add_child_node(
        &self,
        graph: GraphHandle,
        dependencies: &[GraphNodeHandle],
        child: GraphHandle,
    ) -> Result<GraphNodeHandle> {
        let _ = (graph, dependencies, child);
        Err(no_graphs())
    }

    /// Instantiates a graph: makes an executable of it.
    ///
    /// # Errors
    /// As for [`create_graph`](Self::create_graph).
    ///
    /// # Safety
    /// The handle rule.
    unsafe fn instantiate_graph(&self, graph: GraphHandle) -> Result<GraphExecHandle> {
        let _ = graph;
        Err(no_graphs())
    }

    /// Destroys an executable.
    ///
    /// # Errors
    /// As for [`create_graph`](Self::create_graph).
    ///
    /// # Safety
    /// The handle rule. All launches of the executable are complete.
    unsafe fn destroy_graph_exec(&self, exec: GraphExecHandle) -> Result<()> {
        let _ = exec;
        Err(no_graphs())
    }

    /// Replaces shape and arguments of a kernel node for later launches of `exec`. Launches that were enqueued before
    /// keep theirs.
    ///
    /// # Errors
    /// As for [`add_kernel_node`](Self::add_kernel_node).
    ///
    /// # Safety
    /// The handle rule. `node` is a kernel node of the graph that `exec` was made of. For every later launch of `exec`,
    /// the conditions of [`launch`](Self::launch) hold.
    unsafe fn update_kernel_node(
        &self,
        exec: GraphExecHandle,
        node: GraphNodeHandle,
        function: FunctionHandle,
        config: &LaunchConfig,
        args: &[u64],
    ) -> Result<()> {
        let _ = (exec, node, function, config, args);
        Err(no_graphs())
    }

    /// Enqueues a launch of the executable. Launches of one executable never overlap each other.
    ///
    /// # Errors
    /// As for [`create_graph`](Self::create_graph).
    ///
    /// # Safety
    /// The handle rule. The conditions of every node hold until the launch is complete.
    unsafe fn launch_graph(&self, exec: GraphExecHandle, stream: StreamHandle) -> Result<()> {
        let _ = (exec, stream);
        Err(no_graphs())
    }

    /// When each node of the executable runs by the simulator's clock, in nanoseconds from its launch; else none.
    ///
    /// # Safety
    /// The handle rule.
    unsafe fn logical_node_times(&self, exec: GraphExecHandle) -> Option<Vec<(u64, u64)>> {
        let _ = exec;
        None
    }

    /// The profiling interface of the driver, if it has one; an error where it is not found or not usable.
    fn activities(&self) -> Result<Option<Arc<dyn Activities>>> {
        Ok(None)
    }
}

fn no_peers() -> Error {
    Error::Unsupported {
        operation: "access to another device",
        reason: "it is not a device of the same driver; help: check `Device::is_peer`".to_owned(),
    }
}

fn no_graphs() -> Error {
    Error::Unsupported {
        operation: "a graph operation",
        reason: "this device has no graphs; help: check `Capabilities::graphs`".to_owned(),
    }
}
