//! The driver table of libcuda: one row per function that this crate calls.
//!
//! The symbols are those that the macros of the CUDA headers select (`cuMemAlloc` is `cuMemAlloc_v2`), so libcuda
//! returns the versions with these signatures. The `_ptsz` variants are not used, in which stream 0 is the per-thread
//! default stream: handle 0 is the legacy default stream.

use std::ffi::{c_char, c_int, c_uint, c_void};

use cudarc::driver::sys::{
    CUDA_KERNEL_NODE_PARAMS_st, CUDA_KERNEL_NODE_PARAMS_v2, CUDA_MEMCPY2D_st, CUDA_MEMCPY3D_st,
    CUcontext, CUdevice, CUdevice_attribute, CUdeviceptr, CUevent, CUfunction,
    CUfunction_attribute, CUgraph, CUgraphExec, CUgraphNode, CUjit_option, CUmemAccessDesc,
    CUmemPool_attribute, CUmemoryPool, CUmodule, CUmoduleLoadingMode, CUpointer_attribute,
    CUstream, CUstreamCaptureMode, CUstreamCaptureStatus,
};
use quadrants_rhi::{Error, table::Status};

use crate::error::failed;

macro_rules! cuda_functions {
    ([$($consumer:tt)*] $($header:tt)*) => { $($consumer)*! { $($header)*
        /// Initializes the driver for the process.
        init = cuInit(flags: c_uint), required;
        /// The newest CUDA version that the driver supports: 1000 major + 10 minor.
        driver_version = cuDriverGetVersion(version: *mut c_int), required;
        /// The name of a result code.
        error_name = cuGetErrorName(error: Status, name: *mut *const c_char), required;

        /// Counts the devices.
        device_count = cuDeviceGetCount(count: *mut c_int), required;
        /// The device of an ordinal.
        device = cuDeviceGet(device: *mut CUdevice, ordinal: c_int), required;
        /// A device's product name.
        device_name = cuDeviceGetName(name: *mut c_char, bytes: c_int, device: CUdevice), required;
        /// A device attribute.
        device_attribute = cuDeviceGetAttribute(value: *mut c_int, attribute: CUdevice_attribute, device: CUdevice), required;
        /// A device's memory in bytes.
        device_total_memory = cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice), required;
        /// The default memory pool of a device.
        device_default_pool = cuDeviceGetDefaultMemPool(pool: *mut CUmemoryPool, device: CUdevice), optional("11.2");

        /// Whether a device can access the memory of another one.
        can_access_peer = cuDeviceCanAccessPeer(can: *mut c_int, device: CUdevice, peer: CUdevice), required;

        /// Retains a device's primary context.
        retain_context = cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice), required;
        /// Releases a device's primary context.
        release_context = cuDevicePrimaryCtxRelease_v2(device: CUdevice), required;
        /// The context that is current on the thread.
        current_context = cuCtxGetCurrent(context: *mut CUcontext), required;
        /// Makes a context current on the thread, in the place of the one that is; null for none.
        set_context = cuCtxSetCurrent(context: CUcontext), required;
        /// Makes a context current on the thread, above the one that is.
        push_context = cuCtxPushCurrent_v2(context: CUcontext), required;
        /// Takes the current context off the thread.
        pop_context = cuCtxPopCurrent_v2(context: *mut CUcontext), required;
        /// Lets the current context access the memory of another one.
        enable_peer_access = cuCtxEnablePeerAccess(peer: CUcontext, flags: c_uint), required;
        /// Waits for all work of the current context.
        synchronize = cuCtxSynchronize(), required;
        /// The current context's stream priorities.
        priority_range = cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int), required;

        /// Free and total memory.
        memory_info = cuMemGetInfo_v2(free: *mut usize, total: *mut usize), required;
        /// Allocates device memory.
        alloc = cuMemAlloc_v2(memory: *mut CUdeviceptr, bytes: usize), required;
        /// Frees device memory.
        free = cuMemFree_v2(memory: CUdeviceptr), required;
        /// Allocates device memory in stream order.
        alloc_async = cuMemAllocAsync(memory: *mut CUdeviceptr, bytes: usize, stream: CUstream), optional("11.2");
        /// Frees device memory in stream order.
        free_async = cuMemFreeAsync(memory: CUdeviceptr, stream: CUstream), optional("11.2");
        /// Changes how a memory pool reuses and keeps memory.
        set_pool_attribute = cuMemPoolSetAttribute(pool: CUmemoryPool, attribute: CUmemPool_attribute, value: *mut c_void), optional("11.2");
        /// Lets devices access the memory of a pool: what it has, and what it gets later.
        set_pool_access = cuMemPoolSetAccess(pool: CUmemoryPool, devices: *const CUmemAccessDesc, count: usize), optional("11.2");
        /// Reads an attribute of the memory at an address.
        pointer_attribute = cuPointerGetAttribute(value: *mut c_void, attribute: CUpointer_attribute, memory: CUdeviceptr), required;
        /// Allocates pinned host memory.
        alloc_pinned = cuMemHostAlloc(memory: *mut *mut c_void, bytes: usize, flags: c_uint), required;
        /// Frees pinned host memory.
        free_pinned = cuMemFreeHost(memory: *mut c_void), required;
        /// Copies from host to device in stream order.
        copy_htod_async = cuMemcpyHtoDAsync_v2(dst: CUdeviceptr, src: *const c_void, bytes: usize, stream: CUstream), required;
        /// Copies from device to host in stream order.
        copy_dtoh_async = cuMemcpyDtoHAsync_v2(dst: *mut c_void, src: CUdeviceptr, bytes: usize, stream: CUstream), required;
        /// Copies within the device in stream order.
        copy_dtod_async = cuMemcpyDtoDAsync_v2(dst: CUdeviceptr, src: CUdeviceptr, bytes: usize, stream: CUstream), required;
        /// Copies rows with gaps between them in stream order.
        copy_2d_async = cuMemcpy2DAsync_v2(copy: *const CUDA_MEMCPY2D_st, stream: CUstream), required;
        /// Copies from the memory of one context to that of another one in stream order.
        copy_peer_async = cuMemcpyPeerAsync(dst: CUdeviceptr, dst_context: CUcontext, src: CUdeviceptr, src_context: CUcontext, bytes: usize, stream: CUstream), required;
        /// Fills bytes in stream order.
        fill_u8_async = cuMemsetD8Async(dst: CUdeviceptr, value: u8, bytes: usize, stream: CUstream), required;
        /// Fills 32-bit words in stream order.
        fill_u32_async = cuMemsetD32Async(dst: CUdeviceptr, value: c_uint, words: usize, stream: CUstream), required;

        /// Creates a stream.
        create_stream = cuStreamCreateWithPriority(stream: *mut CUstream, flags: c_uint, priority: c_int), required;
        /// Destroys a stream.
        destroy_stream = cuStreamDestroy_v2(stream: CUstream), required;
        /// Queries whether a stream's work is complete.
        stream_query = cuStreamQuery(stream: CUstream), required;
        /// Waits for a stream's work.
        stream_synchronize = cuStreamSynchronize(stream: CUstream), required;
        /// Makes a stream wait for an event.
        stream_wait_event = cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint), required;

        /// Creates an event.
        create_event = cuEventCreate(event: *mut CUevent, flags: c_uint), required;
        /// Destroys an event.
        destroy_event = cuEventDestroy_v2(event: CUevent), required;
        /// Records an event.
        event_record = cuEventRecord(event: CUevent, stream: CUstream), required;
        /// Queries whether an event's record is complete.
        event_query = cuEventQuery(event: CUevent), required;
        /// Waits for an event's record.
        event_synchronize = cuEventSynchronize(event: CUevent), required;
        /// Milliseconds between two records.
        event_elapsed_ms = cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent), required;

        /// Loads a module.
        load_module = cuModuleLoadDataEx(module: *mut CUmodule, image: *const c_void, count: c_uint, options: *mut CUjit_option, values: *mut *mut c_void), required;
        /// Whether the code of functions is loaded at their first use.
        loading_mode = cuModuleGetLoadingMode(mode: *mut CUmoduleLoadingMode), optional("11.7");
        /// Unloads a module.
        unload_module = cuModuleUnload(module: CUmodule), required;
        /// Looks up a function.
        function = cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char), required;
        /// Changes an attribute of a function.
        set_function_attribute = cuFuncSetAttribute(function: CUfunction, attribute: CUfunction_attribute, value: c_int), required;
        /// Reads an attribute of a function.
        function_attribute = cuFuncGetAttribute(value: *mut c_int, attribute: CUfunction_attribute, function: CUfunction), required;
        /// The number of a function's blocks that run at once on a multiprocessor.
        active_blocks = cuOccupancyMaxActiveBlocksPerMultiprocessor(count: *mut c_int, function: CUfunction, threads: c_int, shared_bytes: usize), required;
        /// Launches a function.
        launch = cuLaunchKernel(
            function: CUfunction,
            grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
            block_x: c_uint, block_y: c_uint, block_z: c_uint,
            shared_bytes: c_uint, stream: CUstream,
            parameters: *mut *mut c_void, extra: *mut *mut c_void,
        ), required;

        /// Creates a graph.
        create_graph = cuGraphCreate(graph: *mut CUgraph, flags: c_uint), optional("10.0");
        /// Destroys a graph.
        destroy_graph = cuGraphDestroy(graph: CUgraph), optional("10.0");
        /// Adds a launch to a graph.
        add_kernel_node = cuGraphAddKernelNode_v2(
            node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, count: usize,
            parameters: *const CUDA_KERNEL_NODE_PARAMS_v2,
        ), optional("12.0");
        /// Adds a launch to a graph, with the parameters of CUDA 11.
        add_kernel_node_v1 = cuGraphAddKernelNode(
            node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, count: usize,
            parameters: *const CUDA_KERNEL_NODE_PARAMS_st,
        ), optional("10.0");
        /// Adds a copy to a graph.
        add_copy_node = cuGraphAddMemcpyNode(
            node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, count: usize,
            copy: *const CUDA_MEMCPY3D_st, context: CUcontext,
        ), optional("10.0");
        /// Adds the nodes of a graph to another one.
        add_child_node = cuGraphAddChildGraphNode(
            node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, count: usize, child: CUgraph,
        ), optional("10.0");
        /// Begins to capture what is enqueued on a stream.
        begin_capture = cuStreamBeginCapture_v2(stream: CUstream, mode: CUstreamCaptureMode), optional("10.1");
        /// Ends a capture.
        end_capture = cuStreamEndCapture(stream: CUstream, graph: *mut CUgraph), optional("10.0");
        /// Whether a stream is captured.
        is_capturing = cuStreamIsCapturing(stream: CUstream, status: *mut CUstreamCaptureStatus), optional("10.0");
        /// Instantiates a graph.
        instantiate_graph = cuGraphInstantiateWithFlags(exec: *mut CUgraphExec, graph: CUgraph, flags: u64), optional("11.4");
        /// Destroys an executable.
        destroy_graph_exec = cuGraphExecDestroy(exec: CUgraphExec), optional("10.0");
        /// Replaces a launch in an executable.
        update_kernel_node = cuGraphExecKernelNodeSetParams_v2(exec: CUgraphExec, node: CUgraphNode, parameters: *const CUDA_KERNEL_NODE_PARAMS_v2), optional("12.0");
        /// Replaces a launch in an executable, with the parameters of CUDA 11.
        update_kernel_node_v1 = cuGraphExecKernelNodeSetParams(exec: CUgraphExec, node: CUgraphNode, parameters: *const CUDA_KERNEL_NODE_PARAMS_st), optional("10.1");
        /// Launches an executable.
        launch_graph = cuGraphLaunch(exec: CUgraphExec, stream: CUstream), optional("10.0");

        /// Identifies the simulator: real drivers lack this function. Looked up, never called.
        simulator = quadrants_sim_version(), optional("the simulator");
        /// When each node of an executable graph runs in the simulator's clock.
        graph_times = quadrants_sim_graph_times(exec: CUgraphExec, times: *mut u64, room: usize, count: *mut usize), optional("the simulator");
    } };
}

cuda_functions! { [quadrants_rhi::driver_table]
    /// The functions of one loaded libcuda.
    pub(crate) struct Table: check;
}

#[cold]
fn check(table: &Table, call: &'static str, symbol: &'static str, status: Status) -> Error {
    failed(table.functions.error_name, call, symbol, status)
}

/// Checks the signature of each row against the bindings of the CUDA headers at compile time.
mod signatures {
    use std::ffi::{c_char, c_int, c_uint, c_void};

    use cudarc::driver::sys::*;

    /// The argument of `cuGetErrorName`, which the rows declare as the table's status.
    type Status = CUresult;

    macro_rules! check_signatures {
        ($(
            #[doc = $doc:literal]
            $name:ident = $symbol:ident($($arg:ident: $ty:ty),* $(,)?), $need:ident $(($since:literal))?;
        )*) => {
            $(const _: unsafe fn($($ty),*) -> CUresult = $symbol;)*
        };
    }

    cuda_functions! { [check_signatures] }

    /// Functions that the bindings of CUDA 13 lack, by the headers of CUDA 11; and the simulator's.
    macro_rules! not_in_the_bindings {
        ($($symbol:ident($($ty:ty),*);)*) => {$(
            #[allow(non_snake_case)] // the C function's name
            unsafe fn $symbol($(_: $ty),*) -> CUresult {
                CUresult::CUDA_ERROR_NOT_FOUND
            }
        )*};
    }

    not_in_the_bindings! {
        cuEventElapsedTime(*mut f32, CUevent, CUevent);
        cuGraphAddKernelNode(
            *mut CUgraphNode, CUgraph, *const CUgraphNode, usize, *const CUDA_KERNEL_NODE_PARAMS_st
        );
        cuGraphExecKernelNodeSetParams(CUgraphExec, CUgraphNode, *const CUDA_KERNEL_NODE_PARAMS_st);
        quadrants_sim_version();
        quadrants_sim_graph_times(CUgraphExec, *mut u64, usize, *mut usize);
    }
}
