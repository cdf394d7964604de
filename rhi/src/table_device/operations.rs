//! [`table_operations!`](crate::table_operations): the operations of a device that are one row of its driver table.

/// Expands to the methods of [`Device`](crate::Device) that are one row of a driver table, inside of its `impl`.
///
/// The device has the fields `context`, `info` and `capabilities`. The context implements
/// [`DriverContext`](crate::table_device::DriverContext) and has the methods `make_current_until_restored`,
/// `restore_entered`, `lend`, `take_back` and `is_own`, which tells whether a driver's context, as a number, is this
/// one. Its table has rows with the names of the methods. The arguments are the driver's flags, its
/// attributes of pointers and functions, functions that copy from a peer and copy rows while the context is current,
/// what an image is, and the version of the driver that introduced graphs.
///
/// Where drivers differ, the expansion calls functions of the backend: `module::load`, and `node_parameters`,
/// `add_kernel_node`, `add_copy_node` and `update_kernel_node` of its module `graph`.
#[macro_export]
macro_rules! table_operations {
    (
        non_blocking_stream: $non_blocking:expr,
        timing_event: $timing:expr, event_without_timing: $no_timing:expr,
        pinned_memory: $pinned:expr, pointer_attribute: $pointer_attribute:expr, copy_peer: $copy_peer:expr,
        copy_2d: $copy_2d:expr,
        function_attributes: [$registers:expr, $local_bytes:expr, $shared_bytes:expr $(,)?],
        capture_mode: $capture_mode:expr, image: $image:literal, graphs_since: $graphs_since:literal $(,)?
    ) => {
        fn info(&self) -> &$crate::DeviceInfo {
            &self.info
        }

        fn capabilities(&self) -> &$crate::Capabilities {
            &self.capabilities
        }

        unsafe fn make_current(&self) -> $crate::Result<$crate::Entered> {
            self.context.make_current_until_restored()
        }

        unsafe fn restore_current(&self, entered: $crate::Entered) {
            self.context.restore_entered(entered);
        }

        unsafe fn lend_context(&self) -> $crate::Result<$crate::Entered> {
            self.context.lend()
        }

        unsafe fn take_context_back(&self, entered: $crate::Entered) {
            self.context.take_back(entered);
        }

        fn memory_at(&self, address: $crate::DevicePtr) -> $crate::Result<$crate::MemoryAt> {
            let context = $crate::table_device::enter(&self.context)?;
            $crate::table_device::memory_at(|attribute, value| {
                // SAFETY: the driver writes at most 8 bytes, which `memory_at` provides, and accepts any address.
                unsafe {
                    let value = ::std::ptr::from_mut(value).cast();
                    let attribute = $pointer_attribute(attribute);
                    context.table.pointer_attribute(value, attribute, address.into())
                }
            }, |owner| self.context.is_own(owner))
        }

        fn memory_info(&self) -> $crate::Result<(u64, u64)> {
            let context = $crate::table_device::enter(&self.context)?;
            let (mut free, mut total) = (0, 0);
            // SAFETY: the driver writes two numbers.
            unsafe { context.table.memory_info(&mut free, &mut total) }?;
            Ok((free as u64, total as u64))
        }

        fn synchronize(&self) -> $crate::Result<()> {
            let context = $crate::table_device::enter(&self.context)?;
            // SAFETY: it has no conditions; it waits for the current context.
            unsafe { context.table.synchronize() }
        }

        fn alloc(&self, bytes: usize) -> $crate::Result<$crate::DevicePtr> {
            $crate::table_device::not_empty(bytes)?;
            let context = $crate::table_device::enter(&self.context)?;
            let mut memory = $crate::DevicePtr::NULL.into();
            // SAFETY: the driver writes the address.
            unsafe { context.table.alloc(&mut memory, bytes) }?;
            Ok(memory.into())
        }

        unsafe fn free(&self, memory: $crate::DevicePtr) -> $crate::Result<()> {
            let context = $crate::table_device::enter(&self.context)?;
            // SAFETY: the memory is of this device and unused, as the caller guarantees.
            unsafe { context.table.free(memory.into()) }
        }

        unsafe fn alloc_async(
            &self,
            bytes: usize,
            stream: $crate::StreamHandle,
        ) -> $crate::Result<$crate::DevicePtr> {
            if !self.capabilities.stream_ordered_memory {
                return self.alloc(bytes);
            }
            $crate::table_device::not_empty(bytes)?;
            let context = $crate::table_device::enter(&self.context)?;
            let mut memory = $crate::DevicePtr::NULL.into();
            // SAFETY: the driver writes the address; the stream is valid, as the caller guarantees.
            unsafe { context.table.alloc_async(&mut memory, bytes, stream.as_ptr()) }?;
            Ok(memory.into())
        }

        unsafe fn free_async(
            &self,
            memory: $crate::DevicePtr,
            stream: $crate::StreamHandle,
        ) -> $crate::Result<()> {
            let context = $crate::table_device::enter(&self.context)?;
            if self.capabilities.stream_ordered_memory {
                // SAFETY: uses of the memory are ordered before this point of the stream, as the caller guarantees.
                return unsafe { context.table.free_async(memory.into(), stream.as_ptr()) };
            }
            // SAFETY: all uses are finished or ordered before this point of the stream, and so finished after it.
            unsafe {
                context.table.stream_synchronize(stream.as_ptr())?;
                context.table.free(memory.into())
            }
        }

        fn alloc_pinned(&self, bytes: usize) -> $crate::Result<*mut u8> {
            $crate::table_device::not_empty(bytes)?;
            let context = $crate::table_device::enter(&self.context)?;
            let mut memory = ::std::ptr::null_mut();
            // SAFETY: the driver writes the address.
            unsafe { context.table.alloc_pinned(&mut memory, bytes, $pinned) }?;
            let memory = memory.cast::<u8>();
            // SAFETY: `bytes` were just allocated, and no other code has the address.
            unsafe { memory.write_bytes(0, bytes) };
            Ok(memory)
        }

        unsafe fn free_pinned(&self, memory: *mut u8) -> $crate::Result<()> {
            let context = $crate::table_device::enter(&self.context)?;
            // SAFETY: from `alloc_pinned` and unused, as the caller guarantees.
            unsafe { context.table.free_pinned(memory.cast()) }
        }

        unsafe fn copy_htod_async(
            &self,
            dst: $crate::DevicePtr,
            src: *const u8,
            bytes: usize,
            stream: $crate::StreamHandle,
        ) -> $crate::Result<()> {
            if bytes == 0 {
                return Ok(());
            }
            let (src, stream) = (src.cast_mut().cast(), stream.as_ptr());
            let context = $crate::table_device::enter(&self.context)?;
            // SAFETY: both sides have `bytes` and the stream is valid, as the caller guarantees.
            unsafe { context.table.copy_htod_async(dst.into(), src, bytes, stream) }
        }

        unsafe fn copy_dtoh_async(
            &self,
            dst: *mut u8,
            src: $crate::DevicePtr,
            bytes: usize,
            stream: $crate::StreamHandle,
        ) -> $crate::Result<()> {
            if bytes == 0 {
                return Ok(());
            }
            let (dst, stream) = (dst.cast(), stream.as_ptr());
            let context = $crate::table_device::enter(&self.context)?;
            // SAFETY: both sides have `bytes` and the stream is valid, as the caller guarantees.
            unsafe { context.table.copy_dtoh_async(dst, src.into(), bytes, stream) }
        }

        unsafe fn copy_dtod_async(
            &self,
            dst: $crate::DevicePtr,
            src: $crate::DevicePtr,
            bytes: usize,
            stream: $crate::StreamHandle,
        ) -> $crate::Result<()> {
            if bytes == 0 {
                return Ok(());
            }
            let context = $crate::table_device::enter(&self.context)?;
            // SAFETY: both sides have `bytes` and the stream is valid, as the caller guarantees.
            unsafe { context.table.copy_dtod_async(dst.into(), src.into(), bytes, stream.as_ptr()) }
        }

        unsafe fn copy_2d_async(
            &self,
            sides: $crate::CopySides,
            shape: &$crate::Copy2d,
            stream: $crate::StreamHandle,
        ) -> $crate::Result<()> {
            if $crate::table_device::is_copied_by_rows(shape)? {
                // SAFETY: the caller guarantees the same conditions.
                return unsafe { sides.copy_by_rows(self, shape, stream) };
            }
            let context = $crate::table_device::enter(&self.context)?;
            // SAFETY: both sides have the rows, in one allocation each, and the stream is valid, as the caller
            // guarantees.
            match unsafe { $copy_2d(context.table, sides, shape, stream) } {
                // SAFETY: nothing is enqueued; the caller guarantees the rest.
                Err(error) if $crate::table_device::is_pitch_refused(&error, sides) => unsafe {
                    sides.copy_by_rows(self, shape, stream)
                },
                copied => copied,
            }
        }

        fn is_peer(&self, other: &(dyn $crate::Device + 'static)) -> bool {
            let other = (other as &dyn ::std::any::Any).downcast_ref::<Self>();
            let driver = |device: &Self| device.context.table.functions.init as usize;
            other.is_some_and(|other| driver(self) == driver(other))
        }

        unsafe fn copy_from_peer_async(
            &self,
            dst: $crate::DevicePtr,
            source: &(dyn $crate::Device + 'static),
            src: $crate::DevicePtr,
            bytes: usize,
            stream: $crate::StreamHandle,
        ) -> $crate::Result<()> {
            let peer = (source as &dyn ::std::any::Any).downcast_ref::<Self>();
            let Some(peer) = peer.filter(|_| self.is_peer(source)) else {
                return Err($crate::table_device::not_a_peer());
            };
            if bytes == 0 {
                return Ok(());
            }
            let context = $crate::table_device::enter(&self.context)?;
            // SAFETY: both sides have `bytes` and the stream is valid, as the caller guarantees.
            unsafe { $copy_peer(self, context.table, dst, (peer, src), bytes, stream) }
        }

        unsafe fn fill_u8_async(
            &self,
            dst: $crate::DevicePtr,
            value: u8,
            bytes: usize,
            stream: $crate::StreamHandle,
        ) -> $crate::Result<()> {
            if bytes == 0 {
                return Ok(());
            }
            let context = $crate::table_device::enter(&self.context)?;
            // SAFETY: `dst` has `bytes` and the stream is valid, as the caller guarantees.
            unsafe { context.table.fill_u8_async(dst.into(), value, bytes, stream.as_ptr()) }
        }

        unsafe fn fill_u32_async(
            &self,
            dst: $crate::DevicePtr,
            value: u32,
            words: usize,
            stream: $crate::StreamHandle,
        ) -> $crate::Result<()> {
            if words == 0 {
                return Ok(());
            }
            let context = $crate::table_device::enter(&self.context)?;
            // SAFETY: `dst` is aligned and has the words, and the stream is valid, as the caller guarantees. The
            // conversion is for drivers that declare the value as `int`.
            unsafe { context.table.fill_u32_async(dst.into(), value as _, words, stream.as_ptr()) }
        }

        fn create_stream(
            &self,
            options: $crate::StreamOptions,
        ) -> $crate::Result<$crate::StreamHandle> {
            let range = self.capabilities.priorities;
            let priority = $crate::table_device::clamp_priority(options.priority, range);
            let context = $crate::table_device::enter(&self.context)?;
            let mut stream = ::std::ptr::null_mut();
            // SAFETY: the driver writes the stream.
            unsafe { context.table.create_stream(&mut stream, $non_blocking, priority) }?;
            Ok($crate::StreamHandle::from_ptr(stream))
        }

        unsafe fn stream_query(&self, stream: $crate::StreamHandle) -> $crate::Result<bool> {
            let context = $crate::table_device::enter(&self.context)?;
            // SAFETY: a stream of this device, as the caller guarantees.
            $crate::table_device::not_ready_is_false(unsafe { context.table.stream_query(stream.as_ptr()) })
        }

        #[inline(always)]
        unsafe fn stream_wait_event(
            &self,
            stream: $crate::StreamHandle,
            event: $crate::EventHandle,
        ) -> $crate::Result<()> {
            // SAFETY: a stream and an event of this device, as the caller guarantees; no flags.
            $crate::table_device::in_context(&self.context, |table| unsafe {
                table.stream_wait_event(stream.as_ptr(), event.as_ptr(), 0)
            })
        }

        fn create_event(
            &self,
            options: $crate::EventOptions,
        ) -> $crate::Result<$crate::EventHandle> {
            let flags = if options.timing { $timing } else { $no_timing };
            let context = $crate::table_device::enter(&self.context)?;
            let mut event = ::std::ptr::null_mut();
            // SAFETY: the driver writes the event.
            unsafe { context.table.create_event(&mut event, flags) }?;
            Ok($crate::EventHandle::from_ptr(event))
        }

        #[inline(always)]
        unsafe fn event_record(
            &self,
            event: $crate::EventHandle,
            stream: $crate::StreamHandle,
        ) -> $crate::Result<()> {
            // SAFETY: an event and a stream of this device, as the caller guarantees.
            $crate::table_device::in_context(&self.context, |table| unsafe {
                table.event_record(event.as_ptr(), stream.as_ptr())
            })
        }

        unsafe fn event_query(&self, event: $crate::EventHandle) -> $crate::Result<bool> {
            let context = $crate::table_device::enter(&self.context)?;
            // SAFETY: an event of this device, as the caller guarantees.
            $crate::table_device::not_ready_is_false(unsafe { context.table.event_query(event.as_ptr()) })
        }

        unsafe fn event_elapsed_ms(
            &self,
            start: $crate::EventHandle,
            end: $crate::EventHandle,
        ) -> $crate::Result<f32> {
            let context = $crate::table_device::enter(&self.context)?;
            let mut ms = 0.0;
            // SAFETY: events of this device, as the caller guarantees; the driver writes a number.
            unsafe { context.table.event_elapsed_ms(&mut ms, start.as_ptr(), end.as_ptr()) }?;
            Ok(ms)
        }

        unsafe fn function(
            &self,
            module: $crate::ModuleHandle,
            name: &str,
        ) -> $crate::Result<$crate::FunctionHandle> {
            let name = $crate::table_device::function_name(name)?;
            let context = $crate::table_device::enter(&self.context)?;
            let mut function = ::std::ptr::null_mut();
            // SAFETY: a module of this device, as the caller guarantees; the driver writes the function.
            unsafe { context.table.function(&mut function, module.as_ptr(), name.as_ptr()) }?;
            Ok($crate::FunctionHandle::from_ptr(function))
        }

        unsafe fn function_usage(
            &self,
            function: $crate::FunctionHandle,
            threads: u32,
            shared_bytes: u32,
        ) -> $crate::Result<Option<$crate::FunctionUsage>> {
            let context = $crate::table_device::enter(&self.context)?;
            let number = |value: ::std::ffi::c_int| u32::try_from(value).unwrap_or(0);
            let attribute = |attribute| {
                let mut value = 0;
                // SAFETY: a function of this device, as the caller guarantees; the driver writes a number.
                unsafe { context.table.function_attribute(&mut value, attribute, function.as_ptr()) }
                    .map(|()| number(value))
            };
            let threads = ::std::ffi::c_int::try_from(threads).unwrap_or(::std::ffi::c_int::MAX);
            let active_blocks = || {
                let (mut blocks, shared_bytes) = (0, shared_bytes as usize);
                // SAFETY: as above.
                unsafe {
                    let function = function.as_ptr();
                    context.table.active_blocks(&mut blocks, function, threads, shared_bytes)
                }
                .map(|()| number(blocks))
            };
            let usage = || {
                Ok($crate::FunctionUsage {
                    registers: attribute($registers)?,
                    local_bytes: attribute($local_bytes)?,
                    shared_bytes: attribute($shared_bytes)?,
                    blocks_per_multiprocessor: active_blocks()?,
                })
            };
            match usage() {
                Ok(usage) => Ok(Some(usage)),
                Err($crate::Error::SymbolMissing { .. }) => Ok(None),
                Err(error) => Err(error),
            }
        }

        #[inline(always)]
        unsafe fn launch(
            &self,
            function: $crate::FunctionHandle,
            config: &$crate::LaunchConfig,
            args: &[u64],
            stream: $crate::StreamHandle,
        ) -> $crate::Result<()> {
            let limit = self.capabilities.max_argument_bytes;
            let mut parameters = $crate::table_device::launch_parameters(args, limit)?;
            // Not `in_context`: a closure with this many arguments costs more than the guard.
            let context = $crate::table_device::enter(&self.context)?;
            let ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]) =
                (config.grid_dim, config.block_dim);
            // SAFETY: function and stream are of this device, and the block is the one that the function was compiled
            // for, as the caller guarantees. The driver has read it when the call returns.
            unsafe {
                context.table.launch(
                    function.as_ptr(),
                    grid_x,
                    grid_y,
                    grid_z,
                    block_x,
                    block_y,
                    block_z,
                    config.shared_bytes,
                    stream.as_ptr(),
                    parameters.as_mut_ptr(),
                    ::std::ptr::null_mut(),
                )
            }
        }

        fn create_graph(&self) -> $crate::Result<$crate::GraphHandle> {
            if !self.capabilities.graphs {
                return Err($crate::Error::Unsupported {
                    operation: "create_graph",
                    reason: format!(
                        "graphs need {} or newer, and the driver has version {}",
                        $graphs_since, self.info.driver_version
                    ),
                });
            }
            let context = $crate::table_device::enter(&self.context)?;
            let mut graph = ::std::ptr::null_mut();
            // SAFETY: the driver writes the graph; no flags.
            unsafe { context.table.create_graph(&mut graph, 0) }?;
            Ok($crate::GraphHandle::from_ptr(graph))
        }

        unsafe fn add_kernel_node(
            &self,
            graph: $crate::GraphHandle,
            dependencies: &[$crate::GraphNodeHandle],
            function: $crate::FunctionHandle,
            config: &$crate::LaunchConfig,
            args: &[u64],
        ) -> $crate::Result<$crate::GraphNodeHandle> {
            let limit = self.capabilities.max_argument_bytes;
            let mut parameters = $crate::table_device::launch_parameters(args, limit)?;
            let parameters = graph::node_parameters(function, config, parameters.as_mut_ptr());
            let nodes: Vec<_> = dependencies.iter().map(|node| node.as_ptr()).collect();
            let context = $crate::table_device::enter(&self.context)?;
            let mut node = ::std::ptr::null_mut();
            // SAFETY: graph, nodes and function are of this device and the block is the function's, as the caller
            // guarantees. The driver copies shape and block before the call returns.
            unsafe {
                let graph = graph.as_ptr();
                graph::add_kernel_node(context.table, &mut node, graph, &nodes, &parameters)
            }?;
            Ok($crate::GraphNodeHandle::from_ptr(node))
        }

        unsafe fn add_copy_node(
            &self,
            graph: $crate::GraphHandle,
            dependencies: &[$crate::GraphNodeHandle],
            dst: $crate::DevicePtr,
            src: $crate::DevicePtr,
            bytes: usize,
        ) -> $crate::Result<$crate::GraphNodeHandle> {
            let nodes: Vec<_> = dependencies.iter().map(|node| node.as_ptr()).collect();
            let _entered = $crate::table_device::enter(&self.context)?;
            let mut node = ::std::ptr::null_mut();
            // SAFETY: graph and nodes are of this device, and both sides have the bytes, as the caller guarantees.
            unsafe {
                let graph = graph.as_ptr();
                graph::add_copy_node(&self.context, &mut node, graph, &nodes, (dst, src, bytes))
            }?;
            Ok($crate::GraphNodeHandle::from_ptr(node))
        }

        unsafe fn begin_capture(&self, stream: $crate::StreamHandle) -> $crate::Result<()> {
            let context = $crate::table_device::enter(&self.context)?;
            // SAFETY: a stream of this device, as the caller guarantees.
            unsafe { context.table.begin_capture(stream.as_ptr(), $capture_mode) }
        }

        unsafe fn end_capture(
            &self,
            stream: $crate::StreamHandle,
        ) -> $crate::Result<$crate::GraphHandle> {
            let context = $crate::table_device::enter(&self.context)?;
            let mut graph = ::std::ptr::null_mut();
            // SAFETY: a stream of this device, as the caller guarantees; the driver writes the graph.
            unsafe { context.table.end_capture(stream.as_ptr(), &mut graph) }?;
            Ok($crate::GraphHandle::from_ptr(graph))
        }

        unsafe fn is_capturing(&self, stream: $crate::StreamHandle) -> $crate::Result<bool> {
            let context = $crate::table_device::enter(&self.context)?;
            let mut status: ::std::ffi::c_uint = 0;
            // SAFETY: a stream of this device, as the caller guarantees; the driver writes an enum of that size.
            let told = unsafe {
                context.table.is_capturing(stream.as_ptr(), (&raw mut status).cast())
            };
            match told {
                Ok(()) => Ok(status != 0),
                Err($crate::Error::SymbolMissing { .. }) => Ok(false),
                Err(error) => Err(error),
            }
        }

        unsafe fn add_child_node(
            &self,
            graph: $crate::GraphHandle,
            dependencies: &[$crate::GraphNodeHandle],
            child: $crate::GraphHandle,
        ) -> $crate::Result<$crate::GraphNodeHandle> {
            let nodes: Vec<_> = dependencies.iter().map(|node| node.as_ptr()).collect();
            let context = $crate::table_device::enter(&self.context)?;
            let (mut node, child) = (::std::ptr::null_mut(), child.as_ptr());
            // SAFETY: graphs and nodes are of this device, as the caller guarantees; the driver copies the child.
            unsafe {
                let (graph, after, count) = (graph.as_ptr(), nodes.as_ptr(), nodes.len());
                context.table.add_child_node(&mut node, graph, after, count, child)
            }?;
            Ok($crate::GraphNodeHandle::from_ptr(node))
        }

        #[inline(always)]
        unsafe fn update_kernel_node(
            &self,
            exec: $crate::GraphExecHandle,
            node: $crate::GraphNodeHandle,
            function: $crate::FunctionHandle,
            config: &$crate::LaunchConfig,
            args: &[u64],
        ) -> $crate::Result<()> {
            let limit = self.capabilities.max_argument_bytes;
            let mut parameters = $crate::table_device::launch_parameters(args, limit)?;
            let parameters = graph::node_parameters(function, config, parameters.as_mut_ptr());
            // SAFETY: the node is of the graph that the executable was made of, and the block is the function's, as
            // the caller guarantees. The driver copies shape and block before the call returns.
            $crate::table_device::in_context(&self.context, |table| unsafe {
                graph::update_kernel_node(table, exec.as_ptr(), node.as_ptr(), &parameters)
            })
        }

        fn load_module(&self, image: &$crate::Image<'_>) -> $crate::Result<$crate::ModuleHandle> {
            let bytes = $crate::table_device::binary(image, $image)?;
            let staged = $crate::PaddedImage::new(bytes)?;
            let context = $crate::table_device::enter(&self.context)?;
            let mut module = ::std::ptr::null_mut();
            // SAFETY: the image is complete and padded, so the driver finds its end; it lives until the call returns.
            unsafe { module::load(context.table, &mut module, staged.as_ptr()) }?;
            Ok($crate::ModuleHandle::from_ptr(module))
        }

        unsafe fn instantiate_graph(
            &self,
            graph: $crate::GraphHandle,
        ) -> $crate::Result<$crate::GraphExecHandle> {
            let context = $crate::table_device::enter(&self.context)?;
            let mut exec = ::std::ptr::null_mut();
            // SAFETY: a graph of this device, as the caller guarantees; the driver writes the executable; no flags.
            unsafe { context.table.instantiate_graph(&mut exec, graph.as_ptr(), 0) }?;
            Ok($crate::GraphExecHandle::from_ptr(exec))
        }

        $crate::table_operations! { of_a_handle:
            destroy_stream(StreamHandle), stream_synchronize(StreamHandle), destroy_event(EventHandle),
            event_synchronize(EventHandle), unload_module(ModuleHandle), destroy_graph(GraphHandle),
            destroy_graph_exec(GraphExecHandle),
        }

        unsafe fn logical_node_times(
            &self,
            exec: $crate::GraphExecHandle,
        ) -> Option<::std::vec::Vec<(u64, u64)>> {
            if !self.info.simulated {
                return None;
            }
            let context = $crate::table_device::enter(&self.context).ok()?;
            let (mut count, mut none) = (0, 0);
            let exec = exec.as_ptr();
            // SAFETY: an executable of this device, as the caller guarantees; there is room for no node.
            unsafe { context.table.graph_times(exec, &mut none, 0, &mut count) }.ok()?;
            let mut times = ::std::vec![0; 2 * count];
            // SAFETY: as above, with room for all nodes.
            unsafe { context.table.graph_times(exec, times.as_mut_ptr(), count, &mut count) }
                .ok()?;
            Some(times.as_chunks().0.iter().map(|&[start, end]| (start, end)).collect())
        }

        #[inline(always)]
        unsafe fn launch_graph(
            &self,
            exec: $crate::GraphExecHandle,
            stream: $crate::StreamHandle,
        ) -> $crate::Result<()> {
            // SAFETY: an executable and a stream of this device, as the caller guarantees.
            $crate::table_device::in_context(&self.context, |table| unsafe {
                table.launch_graph(exec.as_ptr(), stream.as_ptr())
            })
        }
    };
    (of_a_handle: $($name:ident($handle:ident),)*) => {$(
        unsafe fn $name(&self, handle: $crate::$handle) -> $crate::Result<()> {
            let context = $crate::table_device::enter(&self.context)?;
            // SAFETY: a handle of this device, and not used again after it is destroyed, as the caller guarantees.
            unsafe { context.table.$name(handle.as_ptr()) }
        }
    )*};
}
