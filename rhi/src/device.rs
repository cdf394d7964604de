//! The device trait, and the contract of each operation, written once.
//!
//! # Ordering
//! A stream runs its operations in the order they were enqueued. Two streams are not ordered with
//! each other, but for events: [`stream_wait_event`](Device::stream_wait_event) makes later work
//! of a stream wait for what the event's latest record before the call stood behind. Streams made
//! by [`create_stream`](Device::create_stream) are non-blocking: they are not ordered with the
//! default stream either.
//!
//! # Threads and contexts
//! Every method may be called from any thread. It makes the device's context current for the call
//! and puts back the one it found. While a [`Current`] lives, that is done once for all calls on the thread.
//!
//! # Handles
//! Methods that take handles are unsafe for one common reason, the *handle rule*: a handle was
//! given by this device and was not destroyed since, and host pointers are valid for the length
//! given until the operation is complete. Where more is needed, the method says so.
//!
//! # Errors
//! A method that returns an error has enqueued nothing, unless it says otherwise. Drivers may
//! report the failure of earlier asynchronous work from any later call; such an error has the
//! severity [`ContextLost`](crate::Severity::ContextLost).

use std::{fmt, marker::PhantomData};

use crate::{
    Capabilities, DeviceInfo, DevicePtr, Error, EventHandle, FunctionHandle, GraphExecHandle,
    GraphHandle, GraphNodeHandle, Image, LaunchConfig, ModuleHandle, Result, StreamHandle,
};

/// How a stream is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StreamOptions {
    /// Numerically lower runs first; clamped to [`Capabilities::priorities`].
    pub priority: i32,
}

/// How an event is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EventOptions {
    /// Whether [`Device::event_elapsed_ms`] can read it. Costs the driver a little.
    pub timing: bool,
}

/// What [`Device::restore_current`] puts back; of the device that made it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Entered {
    /// What the thread was within before, in the backend's own numbers.
    pub outer: [u64; 2],
    /// What was current before, where it was something else.
    pub before: Option<u64>,
}

/// The device's context, current on this thread until this is dropped; then what was before is again. The
/// device's methods do not ask meanwhile what is current.
#[derive(Debug)]
pub struct Current<'a> {
    device: &'a dyn Device,
    entered: Entered,
    /// Contexts are current on one thread: the value stays on it.
    not_send: PhantomData<*const ()>,
}

impl<'a> Current<'a> {
    /// Makes the context current.
    ///
    /// # Errors
    /// What the device returns.
    ///
    /// # Safety
    /// The result is dropped, and before it all that are made later on this thread. Until then nobody makes
    /// another context current on this thread, but for as long as a call of theirs.
    #[inline]
    pub unsafe fn enter(device: &'a dyn Device) -> Result<Self> {
        // SAFETY: restored by the drop, and the rest is the caller's promise.
        let entered = unsafe { device.make_current()? };
        Ok(Self { device, entered, not_send: PhantomData })
    }
}

impl Drop for Current<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: made by this device on this thread, and dropped in order, by the promise to `enter`.
        unsafe { self.device.restore_current(self.entered) };
    }
}

/// An open device: memory, streams, events, modules, launches and graphs.
///
/// See the [module documentation](self) for the rules that all methods share.
///
/// # Safety
/// Safe code above reads and writes what a device gives it. An implementation promises, as long as its callers keep to
/// the handle rule:
/// - What [`alloc`](Self::alloc), [`alloc_async`](Self::alloc_async) and [`alloc_pinned`](Self::alloc_pinned) give is
///   not null, has as many bytes as asked for and the stated alignment, overlaps nothing else that is alive, and stays
///   valid until it is freed. Pinned memory is zeroed, and can be read and written by the host and by the device.
/// - Copies, fills and launches touch exactly what their arguments name, in the order of their stream and of the events
///   that it waits for, and not after [`synchronize`](Self::synchronize), [`stream_synchronize`](Self::stream_synchronize)
///   or [`event_synchronize`](Self::event_synchronize) has returned for them, or a query has said that they are complete.
/// - A handle stands for what it was made for until it is destroyed, and no other that is alive is equal to it.
/// - [`info`](Self::info) and [`capabilities`](Self::capabilities) always give the same, and what they say is so: images
///   are of the kind that is loaded, and a capability that is on keeps its operations' contracts.
/// - A launch of a native function calls it with the words that it was given, while they are valid.
/// - A method that gives an error has enqueued nothing, unless it says otherwise.
///
/// So no safe code implements it:
/// ```compile_fail,E0200
/// #[derive(Debug)]
/// struct Liar;
/// impl quadrants_rhi::Device for Liar {}
/// ```
#[allow(clippy::missing_safety_doc)] // of the methods: the handle rule, in the module documentation
pub unsafe trait Device: Send + Sync + fmt::Debug {
    /// What the device is.
    fn info(&self) -> &DeviceInfo;

    /// What the device can do.
    fn capabilities(&self) -> &Capabilities;

    /// Makes the device's context current on this thread until
    /// [`restore_current`](Self::restore_current): for [`Current`], which
    /// is the way to call it. Nothing where there are no contexts.
    ///
    /// # Safety
    /// `restore_current` is called on the same thread with the result, and before for what is entered meanwhile. Until
    /// then nobody makes another context current on this thread without putting this one back.
    unsafe fn make_current(&self) -> Result<Entered> {
        Ok(Entered::default())
    }

    /// Puts back what was current before [`make_current`](Self::make_current).
    ///
    /// # Safety
    /// See there.
    unsafe fn restore_current(&self, entered: Entered) {
        let _ = entered;
    }

    /// Free and total device memory in bytes.
    fn memory_info(&self) -> Result<(u64, u64)>;

    /// Waits for all work of the context on all streams.
    fn synchronize(&self) -> Result<()>;

    // ---- memory ------------------------------------------------------------------------------

    /// Allocates `bytes` (at least 1) of device memory, aligned to 256 bytes or better. May wait for
    /// the device. The contents are undefined.
    fn alloc(&self, bytes: usize) -> Result<DevicePtr>;

    /// Frees what [`alloc`](Self::alloc) gave. May wait for the whole device.
    ///
    /// # Safety
    /// Handle rule; and no work that uses the memory is unfinished.
    unsafe fn free(&self, memory: DevicePtr) -> Result<()>;

    /// Allocates in stream order: usable by work enqueued on `stream` afterwards, and by work that
    /// is ordered behind that. Without [`Capabilities::stream_ordered_memory`] it is
    /// [`alloc`](Self::alloc).
    ///
    /// # Safety
    /// Handle rule.
    unsafe fn alloc_async(&self, bytes: usize, stream: StreamHandle) -> Result<DevicePtr>;

    /// Frees in stream order: what was enqueued on `stream` before may still use the memory. Without
    /// [`Capabilities::stream_ordered_memory`] it waits for `stream` and calls [`free`](Self::free).
    ///
    /// # Safety
    /// Handle rule; all work that uses the memory is finished or ordered before this point of
    /// `stream`; the memory came from `alloc_async` of this device.
    unsafe fn free_async(&self, memory: DevicePtr, stream: StreamHandle) -> Result<()>;

    /// Allocates `bytes` (at least 1) of page-locked host memory that the device can read and write
    /// at the same address. Zeroed.
    fn alloc_pinned(&self, bytes: usize) -> Result<*mut u8>;

    /// Frees what [`alloc_pinned`](Self::alloc_pinned) gave.
    ///
    /// # Safety
    /// The pointer came from `alloc_pinned` of this device, and nothing uses it any more.
    unsafe fn free_pinned(&self, memory: *mut u8) -> Result<()>;

    /// Enqueues a copy of `bytes` from host to device. From pageable memory the source may be read
    /// before the call returns or until it is complete: keep it alive and unchanged until then.
    ///
    /// # Safety
    /// Handle rule; `dst` has `bytes`.
    unsafe fn copy_htod_async(
        &self,
        dst: DevicePtr,
        src: *const u8,
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<()>;

    /// Enqueues a copy of `bytes` from device to host. The destination holds them once the copy is
    /// complete, and may change at any time before.
    ///
    /// # Safety
    /// Handle rule; `src` has `bytes`.
    unsafe fn copy_dtoh_async(
        &self,
        dst: *mut u8,
        src: DevicePtr,
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<()>;

    /// Enqueues a copy of `bytes` within the device. The ranges do not overlap.
    ///
    /// # Safety
    /// Handle rule; both have `bytes`.
    unsafe fn copy_dtod_async(
        &self,
        dst: DevicePtr,
        src: DevicePtr,
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<()>;

    /// Enqueues a fill of `bytes` with `value`.
    ///
    /// # Safety
    /// Handle rule; `dst` has `bytes`.
    unsafe fn fill_u8_async(
        &self,
        dst: DevicePtr,
        value: u8,
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<()>;

    /// Enqueues a fill of `words` 32-bit words with `value`.
    ///
    /// # Safety
    /// Handle rule; `dst` is aligned to 4 bytes and has `4 * words` bytes.
    unsafe fn fill_u32_async(
        &self,
        dst: DevicePtr,
        value: u32,
        words: usize,
        stream: StreamHandle,
    ) -> Result<()>;

    // ---- streams -----------------------------------------------------------------------------

    /// Creates a non-blocking stream. On the CPU it is the default stream.
    fn create_stream(&self, options: StreamOptions) -> Result<StreamHandle>;

    /// Destroys a stream. Its unfinished work still runs; the handle is gone at once.
    ///
    /// # Safety
    /// Handle rule; not the default stream, and not a foreign one.
    unsafe fn destroy_stream(&self, stream: StreamHandle) -> Result<()>;

    /// Whether all work of the stream is complete.
    ///
    /// # Safety
    /// Handle rule.
    unsafe fn stream_query(&self, stream: StreamHandle) -> Result<bool>;

    /// Waits for all work of the stream.
    ///
    /// # Safety
    /// Handle rule.
    unsafe fn stream_synchronize(&self, stream: StreamHandle) -> Result<()>;

    /// Makes work enqueued on `stream` after this call wait for the latest record of `event` before
    /// this call. An event never recorded is complete. The host does not wait.
    ///
    /// # Safety
    /// Handle rule.
    unsafe fn stream_wait_event(&self, stream: StreamHandle, event: EventHandle) -> Result<()>;

    // ---- events ------------------------------------------------------------------------------

    /// Creates an event.
    fn create_event(&self, options: EventOptions) -> Result<EventHandle>;

    /// Destroys an event. Waits already enqueued on it still hold.
    ///
    /// # Safety
    /// Handle rule.
    unsafe fn destroy_event(&self, event: EventHandle) -> Result<()>;

    /// Records all work enqueued on `stream` so far. Waits enqueued on earlier records keep them.
    ///
    /// # Safety
    /// Handle rule.
    unsafe fn event_record(&self, event: EventHandle, stream: StreamHandle) -> Result<()>;

    /// Whether the latest record is complete. An event never recorded is.
    ///
    /// # Safety
    /// Handle rule.
    unsafe fn event_query(&self, event: EventHandle) -> Result<bool>;

    /// Waits for the latest record.
    ///
    /// # Safety
    /// Handle rule.
    unsafe fn event_synchronize(&self, event: EventHandle) -> Result<()>;

    /// Milliseconds between two complete records of timing events.
    ///
    /// # Safety
    /// Handle rule.
    unsafe fn event_elapsed_ms(&self, start: EventHandle, end: EventHandle) -> Result<f32>;

    // ---- modules and launches ----------------------------------------------------------------

    /// Loads a module. The image must be of [`Capabilities::image`]'s kind. May wait for the device.
    fn load_module(&self, image: &Image<'_>) -> Result<ModuleHandle>;

    /// Unloads a module with its functions.
    ///
    /// # Safety
    /// Handle rule; no launch of its functions is unfinished.
    unsafe fn unload_module(&self, module: ModuleHandle) -> Result<()>;

    /// Looks a function up by name.
    ///
    /// # Safety
    /// Handle rule.
    unsafe fn function(&self, module: ModuleHandle, name: &str) -> Result<FunctionHandle>;

    /// Enqueues a launch of `function` with one by-value parameter: the block `args`, which is read
    /// before the call returns. On the CPU the function has run when the call returns.
    ///
    /// # Safety
    /// Handle rule; `args` is the block that the function was compiled for: its words are of the
    /// number and meaning that the function reads, and addresses in it stay valid until the launch
    /// is complete. `args` is at most [`Capabilities::max_argument_bytes`] long.
    unsafe fn launch(
        &self,
        function: FunctionHandle,
        config: &LaunchConfig,
        args: &[u64],
        stream: StreamHandle,
    ) -> Result<()>;

    // ---- graphs (optional) -------------------------------------------------------------------

    /// Creates an empty graph. Needs [`Capabilities::graphs`], as all graph methods do.
    fn create_graph(&self) -> Result<GraphHandle> {
        Err(no_graphs())
    }

    /// Destroys a graph. Executables made of it live on.
    ///
    /// # Safety
    /// Handle rule.
    unsafe fn destroy_graph(&self, graph: GraphHandle) -> Result<()> {
        let _ = graph;
        Err(no_graphs())
    }

    /// Adds a launch behind `dependencies`, which are nodes of the same graph. `args` is copied.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch), for every launch of the graph.
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

    /// Adds a copy of `bytes`, at least 1 and at most 1 GiB, within the device behind `dependencies`, which are nodes of the same graph. The
    /// ranges do not overlap.
    ///
    /// # Safety
    /// Handle rule, for every launch of the graph; both have `bytes`.
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

    /// Makes an executable of a graph.
    ///
    /// # Safety
    /// Handle rule.
    unsafe fn instantiate_graph(&self, graph: GraphHandle) -> Result<GraphExecHandle> {
        let _ = graph;
        Err(no_graphs())
    }

    /// Destroys an executable.
    ///
    /// # Safety
    /// Handle rule; no launch of it is unfinished.
    unsafe fn destroy_graph_exec(&self, exec: GraphExecHandle) -> Result<()> {
        let _ = exec;
        Err(no_graphs())
    }

    /// Replaces shape and arguments of a kernel node for later launches of `exec`; launches already
    /// enqueued keep theirs.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch); `node` is a kernel node of the graph `exec` was made of.
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

    /// Enqueues a launch of the graph. Launches of one executable never overlap each other.
    ///
    /// # Safety
    /// Handle rule; and what the nodes' arguments need.
    unsafe fn launch_graph(&self, exec: GraphExecHandle, stream: StreamHandle) -> Result<()> {
        let _ = (exec, stream);
        Err(no_graphs())
    }
}

fn no_graphs() -> Error {
    Error::Unsupported {
        operation: "a graph operation",
        reason: "this device has no graphs".to_owned(),
    }
}
