//! [`RecordingDevice`]: a wrapper around a device that records all calls and forwards them, while a profile runs.
//!
//! On a device that works asynchronously, it records a timing event before and one after each operation of a stream.
//! The events come from a pool. Their times are read when the profile ends, and earlier where many are pending.

use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use quadrants_ir::Offloaded;
use quadrants_rhi::{
    Activities, Capabilities, Copy2d, CopySides, Current, Device, DeviceInfo, DevicePtr, Entered,
    EventHandle, EventOptions, FunctionHandle, FunctionUsage, GraphExecHandle, GraphHandle,
    GraphNodeHandle, Image, LaunchConfig, MemoryAt, ModuleHandle, Result, StreamHandle,
    StreamOptions,
};
use quadrants_runtime::{Context, StreamUse};

use super::{
    activity::ActivityRecording,
    origin,
    session::{GraphLaunch, HostCall, Mark, OperationDetails, Session, Waits},
    timeline::{SpanKind, TrackKind},
};

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct RecordingDevice {
    pub(super) inner: Arc<dyn Device>,
    context: Weak<Context>,
    pub(super) asynchronous: bool,
    pub(super) session: Mutex<Option<Session>>,
}

impl RecordingDevice {
    pub(super) fn new(inner: Arc<dyn Device>, context: Weak<Context>) -> Self {
        let asynchronous = inner.capabilities().asynchronous;
        Self { inner, context, asynchronous, session: Mutex::new(None) }
    }

    /// Begins a recording. All work of the device is complete.
    ///
    /// # Errors
    /// The device's.
    pub(super) fn begin(&self) -> Result<()> {
        let (exact, note) = ActivityRecording::begin(&*self.inner);
        let (exact, base) = exact.unzip();
        let (base, began) = match base {
            Some(base) => (Some(base.event), base.at),
            None => {
                let base = self.asynchronous.then(|| self.base_event()).transpose()?;
                (base, Instant::now())
            }
        };
        let mut session = Session::new(began, base);
        (session.exact, session.notes) = (exact, note.into_iter().collect());
        *self.session.lock() = Some(session);
        Ok(())
    }

    /// A complete event on the default stream.
    fn base_event(&self) -> Result<EventHandle> {
        let event = self.inner.create_event(EventOptions { timing: true })?;
        // SAFETY: the event was created above.
        let recorded = unsafe {
            self.inner
                .event_record(event, StreamHandle::DEFAULT)
                .and_then(|()| self.inner.event_synchronize(event))
        };
        if let Err(error) = recorded {
            self.destroy([event]);
            return Err(error);
        }
        Ok(event)
    }

    /// Where the recording is now.
    pub(crate) fn mark(&self) -> Mark {
        self.session.lock().as_ref().map_or_else(Mark::default, |session| Mark {
            operations: session.operations.len(),
            host_calls: session.host_calls.len(),
            at: session.began.elapsed(),
        })
    }

    /// Calls `read` with the recording, which goes on. The times of all operations that are complete are known.
    pub(crate) fn read<R>(&self, read: impl FnOnce(&Session) -> R) -> Option<R> {
        while self.read_times(0) {}
        let mut session = self.session.lock();
        let session = session.as_mut()?;
        session.read_activities();
        Some(read(session))
    }

    /// Ends the recording. Returns it, with the times of all operations that are complete.
    pub(crate) fn end(&self) -> Option<Session> {
        while self.read_times(0) {}
        let mut session = self.session.lock().take()?;
        session.read_activities();
        session.exact = None;
        let pending =
            session.pending.drain(..).flat_map(|pending| [pending.events.0, pending.events.1]);
        let anchors = session.tracks.iter_mut().filter_map(|track| track.anchor.take());
        let events = pending.chain(anchors.map(|(event, _)| event));
        self.destroy(events.chain(session.idle_events.drain(..)).chain(session.base));
        Some(session)
    }

    /// Tells the functions of a kernel, which is about to be launched.
    pub(crate) fn name_functions(&self, id: u32, kernel: &Offloaded, functions: &[FunctionHandle]) {
        if let Some(session) = &mut *self.session.lock() {
            session.name_functions(id, kernel, functions);
        }
    }

    /// See [`Session::conflict`].
    pub(crate) fn conflict(&self, earlier: (u32, u32), later: u32) {
        if let Some(session) = &mut *self.session.lock() {
            session.conflict(earlier, later);
        }
    }

    pub(super) fn destroy(&self, events: impl IntoIterator<Item = EventHandle>) {
        for event in events {
            // SAFETY: the recording owns its events, and does not use them afterwards.
            if let Err(error) = unsafe { self.inner.destroy_event(event) } {
                tracing::debug!(%error, "an event of a profile could not be destroyed");
            }
        }
    }

    /// By what the session knows a stream: its handle, or its id where the handles are all equal.
    fn stream_key(&self, stream: StreamHandle) -> u64 {
        if self.asynchronous { stream.raw() } else { u64::from(origin::stream()) }
    }

    fn event_key(&self, event: EventHandle) -> u64 {
        if self.asynchronous { event.raw() } else { origin::event() }
    }

    /// The track of a stream, with the begin of the session; none where nothing is recorded.
    pub(super) fn track(&self, stream: StreamHandle) -> Option<(Instant, usize)> {
        let key = self.stream_key(stream);
        {
            let session = self.session.lock();
            let session = session.as_ref()?;
            if let Some(track) = session.known_track(key) {
                return Some((session.began, track));
            }
        }
        // Without the lock of the session: this takes that of the registry.
        let kind = if self.asynchronous {
            match self.context.upgrade()?.stream_use(stream) {
                StreamUse::Launches(id) => TrackKind::Stream(id),
                StreamUse::Fills => TrackKind::Fills,
                StreamUse::Frees => TrackKind::Frees,
                StreamUse::Pooled => TrackKind::Worker,
            }
        } else {
            match origin::stream() {
                0 => TrackKind::Fills,
                id => TrackKind::Stream(id),
            }
        };
        let mut session = self.session.lock();
        let session = session.as_mut()?;
        Some((session.began, session.add_track(key, kind)))
    }

    fn with_track(&self, track: Option<(Instant, usize)>, then: impl FnOnce(&mut Session, usize)) {
        if let (Some(session), Some((began, track))) = (&mut *self.session.lock(), track)
            && session.began == began
        {
            then(session, track);
        }
    }

    /// Passes on a call that enqueues an operation, and records it. The profiling interface, if there is one, knows its
    /// times.
    fn operation<R>(
        &self,
        stream: StreamHandle,
        what: impl FnOnce(&Session) -> OperationDetails,
        call: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        self.operation_with(false, stream, what, call)
    }

    /// As [`operation`](Self::operation), of one that may have no activities: it needs events in any case.
    fn operation_by_events<R>(
        &self,
        stream: StreamHandle,
        what: impl FnOnce(&Session) -> OperationDetails,
        call: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        self.operation_with(true, stream, what, call)
    }

    fn operation_with<R>(
        &self,
        by_events: bool,
        stream: StreamHandle,
        what: impl FnOnce(&Session) -> OperationDetails,
        call: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        // SAFETY: until the guard is dropped, this thread only calls this device. A device that runs native functions
        // has no contexts.
        let _current = unsafe { Current::enter(&*self.inner)? };
        let Some(begun) = self.begin_operation(stream, by_events) else { return call() };
        let result = call();
        self.end_operation(begun, stream, result.is_ok(), what);
        result
    }

    /// Passes on a call for which the host waits or takes time, and records it.
    fn host_call<R>(
        &self,
        (kind, name, bytes): (SpanKind, &'static str, Option<usize>),
        waits: impl FnOnce(&Session) -> Waits,
        call: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let start = Instant::now();
        let waits = self.session.lock().as_ref().map(waits);
        let result = call();
        let end = Instant::now();
        let (Some(session), Some(waits)) = (&mut *self.session.lock(), waits) else {
            return result;
        };
        if session.has_room() {
            let track = session.thread_track();
            let since = |at: Instant| -> Duration { at.saturating_duration_since(session.began) };
            let (start, end) = (since(start), since(end));
            let (bytes, before) = (bytes.map(|bytes| bytes as u64), session.operations.len());
            session.host_calls.push(HostCall {
                kind,
                name,
                bytes,
                track,
                start,
                end,
                before,
                waits,
            });
        }
        result
    }

    fn host_wait<R>(
        &self,
        name: &'static str,
        waits: impl FnOnce(&Session) -> Waits,
        call: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        if self.asynchronous {
            self.host_call((SpanKind::HostWait, name, None), waits, call)
        } else {
            call()
        }
    }
}

fn bytes(kind: SpanKind, bytes: usize) -> impl FnOnce(&Session) -> OperationDetails {
    move |_| OperationDetails::Bytes(kind, bytes as u64)
}

// SAFETY: every call is passed on to a device with the same arguments, and its result is returned. The operations that
// are added are records of events that only this device uses; they change no order between other operations.
unsafe impl Device for RecordingDevice {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }

    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }

    unsafe fn make_current(&self) -> Result<Entered> {
        // SAFETY: by the caller.
        unsafe { self.inner.make_current() }
    }

    unsafe fn lend_context(&self) -> Result<Entered> {
        // SAFETY: by the caller.
        unsafe { self.inner.lend_context() }
    }

    unsafe fn take_context_back(&self, entered: Entered) {
        // SAFETY: by the caller.
        unsafe { self.inner.take_context_back(entered) }
    }

    fn memory_at(&self, address: DevicePtr) -> Result<MemoryAt> {
        self.inner.memory_at(address)
    }

    unsafe fn restore_current(&self, entered: Entered) {
        // SAFETY: by the caller.
        unsafe { self.inner.restore_current(entered) };
    }

    fn memory_info(&self) -> Result<(u64, u64)> {
        self.inner.memory_info()
    }

    fn synchronize(&self) -> Result<()> {
        self.host_wait("wait for the device", |_| Waits::Device, || self.inner.synchronize())
    }

    fn alloc(&self, bytes: usize) -> Result<DevicePtr> {
        let what = (SpanKind::HostCall, "allocate device memory", Some(bytes));
        self.host_call(what, |_| Waits::Nothing, || self.inner.alloc(bytes))
    }

    unsafe fn free(&self, memory: DevicePtr) -> Result<()> {
        let what = (SpanKind::HostCall, "free device memory", None);
        // SAFETY: by the caller.
        self.host_call(what, |_| Waits::Nothing, || unsafe { self.inner.free(memory) })
    }

    unsafe fn alloc_async(&self, size: usize, stream: StreamHandle) -> Result<DevicePtr> {
        // SAFETY: by the caller.
        self.operation_by_events(stream, bytes(SpanKind::Allocation, size), || unsafe {
            self.inner.alloc_async(size, stream)
        })
    }

    unsafe fn free_async(&self, memory: DevicePtr, stream: StreamHandle) -> Result<()> {
        // SAFETY: by the caller.
        let free = || unsafe { self.inner.free_async(memory, stream) };
        self.operation_by_events(stream, |_| OperationDetails::Free, free)
    }

    fn alloc_pinned(&self, bytes: usize) -> Result<*mut u8> {
        let what = (SpanKind::HostCall, "allocate pinned memory", Some(bytes));
        self.host_call(what, |_| Waits::Nothing, || self.inner.alloc_pinned(bytes))
    }

    unsafe fn free_pinned(&self, memory: *mut u8) -> Result<()> {
        let what = (SpanKind::HostCall, "free pinned memory", None);
        // SAFETY: by the caller.
        self.host_call(what, |_| Waits::Nothing, || unsafe { self.inner.free_pinned(memory) })
    }

    unsafe fn copy_htod_async(
        &self,
        dst: DevicePtr,
        src: *const u8,
        size: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        // SAFETY: by the caller.
        self.operation(stream, bytes(SpanKind::CopyToDevice, size), || unsafe {
            self.inner.copy_htod_async(dst, src, size, stream)
        })
    }

    unsafe fn copy_dtoh_async(
        &self,
        dst: *mut u8,
        src: DevicePtr,
        size: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        // SAFETY: by the caller.
        self.operation(stream, bytes(SpanKind::CopyToHost, size), || unsafe {
            self.inner.copy_dtoh_async(dst, src, size, stream)
        })
    }

    unsafe fn copy_dtod_async(
        &self,
        dst: DevicePtr,
        src: DevicePtr,
        size: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        // SAFETY: by the caller.
        self.operation(stream, bytes(SpanKind::CopyOnDevice, size), || unsafe {
            self.inner.copy_dtod_async(dst, src, size, stream)
        })
    }

    unsafe fn copy_2d_async(
        &self,
        sides: CopySides,
        shape: &Copy2d,
        stream: StreamHandle,
    ) -> Result<()> {
        let kind = match sides {
            CopySides::HostToDevice { .. } => SpanKind::CopyToDevice,
            CopySides::DeviceToHost { .. } => SpanKind::CopyToHost,
            CopySides::WithinDevice { .. } => SpanKind::CopyOnDevice,
        };
        // SAFETY: by the caller.
        self.operation(stream, bytes(kind, shape.bytes()), || unsafe {
            self.inner.copy_2d_async(sides, shape, stream)
        })
    }

    fn is_peer(&self, other: &(dyn Device + 'static)) -> bool {
        self.inner.is_peer(other)
    }

    fn can_access_peer(&self, ordinal: usize) -> Result<bool> {
        self.inner.can_access_peer(ordinal)
    }

    unsafe fn copy_from_peer_async(
        &self,
        dst: DevicePtr,
        source: &(dyn Device + 'static),
        src: DevicePtr,
        size: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        // SAFETY: by the caller.
        self.operation(stream, bytes(SpanKind::CopyOnDevice, size), || unsafe {
            self.inner.copy_from_peer_async(dst, source, src, size, stream)
        })
    }

    unsafe fn fill_u8_async(
        &self,
        dst: DevicePtr,
        value: u8,
        size: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        // SAFETY: by the caller.
        self.operation(stream, bytes(SpanKind::Fill, size), || unsafe {
            self.inner.fill_u8_async(dst, value, size, stream)
        })
    }

    unsafe fn fill_u32_async(
        &self,
        dst: DevicePtr,
        value: u32,
        words: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        // SAFETY: by the caller.
        self.operation(stream, bytes(SpanKind::Fill, 4 * words), || unsafe {
            self.inner.fill_u32_async(dst, value, words, stream)
        })
    }

    fn create_stream(&self, options: StreamOptions) -> Result<StreamHandle> {
        self.inner.create_stream(options)
    }

    unsafe fn destroy_stream(&self, stream: StreamHandle) -> Result<()> {
        if let Some(session) = &mut *self.session.lock() {
            session.forget_stream(self.stream_key(stream));
        }
        // SAFETY: by the caller.
        unsafe { self.inner.destroy_stream(stream) }
    }

    unsafe fn stream_query(&self, stream: StreamHandle) -> Result<bool> {
        // SAFETY: by the caller.
        unsafe { self.inner.stream_query(stream) }
    }

    unsafe fn stream_synchronize(&self, stream: StreamHandle) -> Result<()> {
        let key = self.stream_key(stream);
        let waits =
            |session: &Session| session.known_track(key).map_or(Waits::Nothing, Waits::Track);
        // SAFETY: by the caller.
        let wait = || unsafe { self.inner.stream_synchronize(stream) };
        self.host_wait("wait for a stream", waits, wait)
    }

    unsafe fn stream_wait_event(&self, stream: StreamHandle, event: EventHandle) -> Result<()> {
        let track = self.track(stream);
        // SAFETY: by the caller.
        unsafe { self.inner.stream_wait_event(stream, event)? };
        self.with_track(track, |session, track| session.wait(self.event_key(event), track));
        Ok(())
    }

    fn create_event(&self, options: EventOptions) -> Result<EventHandle> {
        self.inner.create_event(options)
    }

    unsafe fn destroy_event(&self, event: EventHandle) -> Result<()> {
        if let Some(session) = &mut *self.session.lock() {
            session.forget_event(self.event_key(event));
        }
        // SAFETY: by the caller.
        unsafe { self.inner.destroy_event(event) }
    }

    unsafe fn event_record(&self, event: EventHandle, stream: StreamHandle) -> Result<()> {
        let track = self.track(stream);
        // SAFETY: by the caller.
        unsafe { self.inner.event_record(event, stream)? };
        self.with_track(track, |session, track| session.record(self.event_key(event), track));
        Ok(())
    }

    unsafe fn event_query(&self, event: EventHandle) -> Result<bool> {
        // SAFETY: by the caller.
        unsafe { self.inner.event_query(event) }
    }

    unsafe fn event_synchronize(&self, event: EventHandle) -> Result<()> {
        let key = self.event_key(event);
        let waits = |session: &Session| Waits::Operations(session.sources_of(key));
        // SAFETY: by the caller.
        let wait = || unsafe { self.inner.event_synchronize(event) };
        self.host_wait("wait for an event", waits, wait)
    }

    unsafe fn event_elapsed_ms(&self, start: EventHandle, end: EventHandle) -> Result<f32> {
        // SAFETY: by the caller.
        unsafe { self.inner.event_elapsed_ms(start, end) }
    }

    fn load_module(&self, image: &Image<'_>) -> Result<ModuleHandle> {
        let what = (SpanKind::HostCall, "load a module", None);
        self.host_call(what, |_| Waits::Nothing, || self.inner.load_module(image))
    }

    unsafe fn unload_module(&self, module: ModuleHandle) -> Result<()> {
        // SAFETY: by the caller.
        unsafe { self.inner.unload_module(module) }
    }

    unsafe fn function(&self, module: ModuleHandle, name: &str) -> Result<FunctionHandle> {
        // SAFETY: by the caller.
        unsafe { self.inner.function(module, name) }
    }

    unsafe fn allow_shared_bytes(&self, function: FunctionHandle, bytes: u32) -> Result<()> {
        // SAFETY: by the caller.
        unsafe { self.inner.allow_shared_bytes(function, bytes) }
    }

    unsafe fn function_usage(
        &self,
        function: FunctionHandle,
        threads: u32,
        shared_bytes: u32,
    ) -> Result<Option<FunctionUsage>> {
        // SAFETY: by the caller.
        unsafe { self.inner.function_usage(function, threads, shared_bytes) }
    }

    unsafe fn launch(
        &self,
        function: FunctionHandle,
        config: &LaunchConfig,
        args: &[u64],
        stream: StreamHandle,
    ) -> Result<()> {
        let what = |session: &Session| session.task_of(function);
        // SAFETY: by the caller.
        self.operation(stream, what, || unsafe {
            self.inner.launch(function, config, args, stream)
        })
    }

    fn create_graph(&self) -> Result<GraphHandle> {
        self.inner.create_graph()
    }

    unsafe fn destroy_graph(&self, graph: GraphHandle) -> Result<()> {
        // SAFETY: by the caller.
        unsafe { self.inner.destroy_graph(graph) }
    }

    unsafe fn add_kernel_node(
        &self,
        graph: GraphHandle,
        dependencies: &[GraphNodeHandle],
        function: FunctionHandle,
        config: &LaunchConfig,
        args: &[u64],
    ) -> Result<GraphNodeHandle> {
        // SAFETY: by the caller.
        unsafe { self.inner.add_kernel_node(graph, dependencies, function, config, args) }
    }

    unsafe fn add_copy_node(
        &self,
        graph: GraphHandle,
        dependencies: &[GraphNodeHandle],
        dst: DevicePtr,
        src: DevicePtr,
        bytes: usize,
    ) -> Result<GraphNodeHandle> {
        // SAFETY: by the caller.
        unsafe { self.inner.add_copy_node(graph, dependencies, dst, src, bytes) }
    }

    unsafe fn instantiate_graph(&self, graph: GraphHandle) -> Result<GraphExecHandle> {
        let what = (SpanKind::HostCall, "make a graph", None);
        // SAFETY: by the caller.
        let make = || unsafe { self.inner.instantiate_graph(graph) };
        self.host_call(what, |_| Waits::Nothing, make)
    }

    unsafe fn destroy_graph_exec(&self, exec: GraphExecHandle) -> Result<()> {
        // SAFETY: by the caller.
        unsafe { self.inner.destroy_graph_exec(exec) }
    }

    unsafe fn update_kernel_node(
        &self,
        exec: GraphExecHandle,
        node: GraphNodeHandle,
        function: FunctionHandle,
        config: &LaunchConfig,
        args: &[u64],
    ) -> Result<()> {
        // SAFETY: by the caller.
        unsafe { self.inner.update_kernel_node(exec, node, function, config, args) }
    }

    unsafe fn begin_capture(&self, stream: StreamHandle) -> Result<()> {
        // SAFETY: by the caller.
        unsafe { self.inner.begin_capture(stream) }
    }

    unsafe fn is_capturing(&self, stream: StreamHandle) -> Result<bool> {
        // SAFETY: by the caller.
        unsafe { self.inner.is_capturing(stream) }
    }

    unsafe fn end_capture(&self, stream: StreamHandle) -> Result<GraphHandle> {
        // SAFETY: by the caller.
        unsafe { self.inner.end_capture(stream) }
    }

    unsafe fn add_child_node(
        &self,
        graph: GraphHandle,
        dependencies: &[GraphNodeHandle],
        child: GraphHandle,
    ) -> Result<GraphNodeHandle> {
        // SAFETY: by the caller.
        unsafe { self.inner.add_child_node(graph, dependencies, child) }
    }

    unsafe fn launch_graph(&self, exec: GraphExecHandle, stream: StreamHandle) -> Result<()> {
        let what = |session: &Session| {
            let is_logical = session.exact.is_none();
            // SAFETY: by the caller.
            let node_times = is_logical.then(|| unsafe { self.logical_node_times(exec) }).flatten();
            OperationDetails::Graph(GraphLaunch { contents: origin::graph(), node_times })
        };
        // SAFETY: by the caller.
        self.operation_by_events(stream, what, || unsafe { self.inner.launch_graph(exec, stream) })
    }

    fn activities(&self) -> Result<Option<Arc<dyn Activities>>> {
        self.inner.activities()
    }

    unsafe fn logical_node_times(&self, exec: GraphExecHandle) -> Option<Vec<(u64, u64)>> {
        // SAFETY: by the caller.
        unsafe { self.inner.logical_node_times(exec) }
    }
}
