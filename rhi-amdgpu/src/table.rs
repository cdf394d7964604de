//! The driver table of libamdhip64: one row per function that this crate calls.
//!
//! The table loads from the libraries of ROCm 5, 6 and 7. Functions that some of them lack are optional, and `device`
//! chooses between them.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::{
    error::check,
    generated::hip::{
        hipDevice_t, hipDeviceAttribute_t, hipDeviceptr_t, hipEvent_t, hipFunction_t, hipGraph_t,
        hipGraphExec_t, hipGraphNode_t, hipKernelNodeParams, hipMemPool_t, hipMemPoolAttr,
        hipModule_t, hipStream_t,
    },
};

macro_rules! hip_functions {
    ([$($consumer:tt)*] $($header:tt)*) => { $($consumer)*! { $($header)*
        /// Initializes the runtime for the process.
        init = hipInit(flags: c_uint), required;
        /// The runtime's version: 10000000 major + 100000 minor + patch.
        driver_version = hipRuntimeGetVersion(version: *mut c_int), required;

        /// Counts the devices.
        device_count = hipGetDeviceCount(count: *mut c_int), required;
        /// Makes a device the thread's current one.
        set_device = hipSetDevice(ordinal: c_int), required;
        /// The thread's current device.
        current_device = hipGetDevice(ordinal: *mut c_int), required;
        /// A device's product name.
        device_name = hipDeviceGetName(name: *mut c_char, bytes: c_int, device: hipDevice_t), required;
        /// A device attribute.
        device_attribute = hipDeviceGetAttribute(value: *mut c_int, attribute: hipDeviceAttribute_t, ordinal: c_int), required;
        /// A device's memory in bytes.
        device_total_memory = hipDeviceTotalMem(bytes: *mut usize, device: hipDevice_t), required;
        /// A device's properties, in the struct of ROCm 6 and newer.
        device_properties_r0600 = hipGetDevicePropertiesR0600(properties: *mut c_void, ordinal: c_int), optional("6.0");
        /// A device's properties, in the struct of ROCm 5.
        device_properties = hipGetDeviceProperties(properties: *mut c_void, ordinal: c_int), optional("1.0, until 7.0");
        /// The default memory pool of a device.
        device_default_pool = hipDeviceGetDefaultMemPool(pool: *mut hipMemPool_t, ordinal: c_int), optional("5.2");
        /// Whether a device can access the memory of another one.
        can_access_peer = hipDeviceCanAccessPeer(can: *mut c_int, ordinal: c_int, peer: c_int), required;
        /// Waits for all work of the current device.
        synchronize = hipDeviceSynchronize(), required;
        /// The current device's stream priorities.
        priority_range = hipDeviceGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int), required;

        /// Free and total memory.
        memory_info = hipMemGetInfo(free: *mut usize, total: *mut usize), required;
        /// Allocates device memory.
        alloc = hipMalloc(memory: *mut *mut c_void, bytes: usize), required;
        /// Frees device memory.
        free = hipFree(memory: *mut c_void), required;
        /// Allocates device memory in stream order.
        alloc_async = hipMallocAsync(memory: *mut *mut c_void, bytes: usize, stream: hipStream_t), optional("5.2");
        /// Frees device memory in stream order.
        free_async = hipFreeAsync(memory: *mut c_void, stream: hipStream_t), optional("5.2");
        /// Changes how a memory pool reuses and keeps memory.
        set_pool_attribute = hipMemPoolSetAttribute(pool: hipMemPool_t, attribute: hipMemPoolAttr, value: *mut c_void), optional("5.2");
        /// Reads an attribute of the memory at an address: a `hipPointer_attribute`.
        pointer_attribute = hipPointerGetAttribute(value: *mut c_void, attribute: c_uint, memory: hipDeviceptr_t), optional("5.1");
        /// Allocates pinned host memory.
        alloc_pinned = hipHostMalloc(memory: *mut *mut c_void, bytes: usize, flags: c_uint), required;
        /// Frees pinned host memory.
        free_pinned = hipHostFree(memory: *mut c_void), required;
        /// Copies from host to device in stream order.
        copy_htod_async = hipMemcpyHtoDAsync(dst: hipDeviceptr_t, src: *mut c_void, bytes: usize, stream: hipStream_t), required;
        /// Copies from device to host in stream order.
        copy_dtoh_async = hipMemcpyDtoHAsync(dst: *mut c_void, src: hipDeviceptr_t, bytes: usize, stream: hipStream_t), required;
        /// Copies within the device in stream order.
        copy_dtod_async = hipMemcpyDtoDAsync(dst: hipDeviceptr_t, src: hipDeviceptr_t, bytes: usize, stream: hipStream_t), required;
        /// Copies rows with gaps between them in stream order. Its kind is a `hipMemcpyKind`.
        copy_2d_async = hipMemcpy2DAsync(
            dst: *mut c_void, dst_pitch: usize, src: *const c_void, src_pitch: usize, width: usize, height: usize,
            kind: c_uint, stream: hipStream_t,
        ), required;
        /// Copies from the memory of one device to that of another one in stream order.
        copy_peer_async = hipMemcpyPeerAsync(dst: *mut c_void, dst_ordinal: c_int, src: *const c_void, src_ordinal: c_int, bytes: usize, stream: hipStream_t), required;
        /// Fills bytes in stream order.
        fill_u8_async = hipMemsetD8Async(dst: hipDeviceptr_t, value: u8, bytes: usize, stream: hipStream_t), required;
        /// Fills 32-bit words in stream order.
        fill_u32_async = hipMemsetD32Async(dst: hipDeviceptr_t, value: c_int, words: usize, stream: hipStream_t), required;

        /// Creates a stream.
        create_stream = hipStreamCreateWithPriority(stream: *mut hipStream_t, flags: c_uint, priority: c_int), required;
        /// Destroys a stream.
        destroy_stream = hipStreamDestroy(stream: hipStream_t), required;
        /// Queries whether a stream's work is complete.
        stream_query = hipStreamQuery(stream: hipStream_t), required;
        /// Waits for a stream's work.
        stream_synchronize = hipStreamSynchronize(stream: hipStream_t), required;
        /// Makes a stream wait for an event.
        stream_wait_event = hipStreamWaitEvent(stream: hipStream_t, event: hipEvent_t, flags: c_uint), required;

        /// Creates an event.
        create_event = hipEventCreateWithFlags(event: *mut hipEvent_t, flags: c_uint), required;
        /// Destroys an event.
        destroy_event = hipEventDestroy(event: hipEvent_t), required;
        /// Records an event.
        event_record = hipEventRecord(event: hipEvent_t, stream: hipStream_t), required;
        /// Queries whether an event's record is complete.
        event_query = hipEventQuery(event: hipEvent_t), required;
        /// Waits for an event's record.
        event_synchronize = hipEventSynchronize(event: hipEvent_t), required;
        /// Milliseconds between two records.
        event_elapsed_ms = hipEventElapsedTime(milliseconds: *mut f32, start: hipEvent_t, end: hipEvent_t), required;

        /// Loads a module.
        load_module = hipModuleLoadData(module: *mut hipModule_t, image: *const c_void), required;
        /// Unloads a module.
        unload_module = hipModuleUnload(module: hipModule_t), required;
        /// Looks up a function.
        function = hipModuleGetFunction(function: *mut hipFunction_t, module: hipModule_t, name: *const c_char), required;
        /// Reads an attribute of a function, a `hipFunction_attribute`.
        function_attribute = hipFuncGetAttribute(value: *mut c_int, attribute: c_int, function: hipFunction_t), optional("3.5");
        /// The number of a function's blocks that run at once on a multiprocessor.
        active_blocks = hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(count: *mut c_int, function: hipFunction_t, threads: c_int, shared_bytes: usize), optional("3.5");
        /// Launches a function.
        launch = hipModuleLaunchKernel(
            function: hipFunction_t,
            grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
            block_x: c_uint, block_y: c_uint, block_z: c_uint,
            shared_bytes: c_uint, stream: hipStream_t,
            parameters: *mut *mut c_void, extra: *mut *mut c_void,
        ), required;

        /// Creates a graph.
        create_graph = hipGraphCreate(graph: *mut hipGraph_t, flags: c_uint), optional("4.3");
        /// Destroys a graph.
        destroy_graph = hipGraphDestroy(graph: hipGraph_t), optional("4.3");
        /// Adds a launch to a graph.
        add_kernel_node = hipGraphAddKernelNode(
            node: *mut hipGraphNode_t, graph: hipGraph_t, dependencies: *const hipGraphNode_t, count: usize,
            parameters: *const hipKernelNodeParams,
        ), optional("4.3");
        /// Adds a contiguous copy to a graph. Its kind is a `hipMemcpyKind`.
        add_copy_node = hipGraphAddMemcpyNode1D(
            node: *mut hipGraphNode_t, graph: hipGraph_t, dependencies: *const hipGraphNode_t, count: usize,
            dst: *mut c_void, src: *const c_void, bytes: usize, kind: c_uint,
        ), optional("5.0");
        /// Adds the nodes of a graph to another one.
        add_child_node = hipGraphAddChildGraphNode(
            node: *mut hipGraphNode_t, graph: hipGraph_t, dependencies: *const hipGraphNode_t, count: usize,
            child: hipGraph_t,
        ), optional("5.0");
        /// Begins to capture what is enqueued on a stream. The mode is a `hipStreamCaptureMode`.
        begin_capture = hipStreamBeginCapture(stream: hipStream_t, mode: c_uint), optional("4.3");
        /// Ends a capture.
        end_capture = hipStreamEndCapture(stream: hipStream_t, graph: *mut hipGraph_t), optional("4.3");
        /// Whether a stream is captured: a `hipStreamCaptureStatus`.
        is_capturing = hipStreamIsCapturing(stream: hipStream_t, status: *mut c_uint), optional("4.3");
        /// Instantiates a graph.
        instantiate_graph = hipGraphInstantiateWithFlags(exec: *mut hipGraphExec_t, graph: hipGraph_t, flags: u64), optional("4.5");
        /// Destroys an executable.
        destroy_graph_exec = hipGraphExecDestroy(exec: hipGraphExec_t), optional("4.3");
        /// Replaces a launch in an executable.
        update_kernel_node = hipGraphExecKernelNodeSetParams(exec: hipGraphExec_t, node: hipGraphNode_t, parameters: *const hipKernelNodeParams), optional("4.4");
        /// Launches an executable.
        launch_graph = hipGraphLaunch(exec: hipGraphExec_t, stream: hipStream_t), optional("4.3");

        /// Identifies the simulator: real drivers lack this function. Looked up, never called.
        simulator = quadrants_sim_version(), optional("the simulator");
        /// When each node of an executable graph runs in the simulator's clock.
        graph_times = quadrants_sim_graph_times(exec: hipGraphExec_t, times: *mut u64, room: usize, count: *mut usize), optional("the simulator");
    } };
}

hip_functions! { [quadrants_rhi::driver_table]
    /// The functions of one loaded libamdhip64.
    pub(crate) struct Table: check;
}
