//! Graphs of launches and copies.

use cudarc::driver::sys::CUmemorytype_enum::CU_MEMORYTYPE_DEVICE;
use cudarc::driver::sys::{
    CUDA_KERNEL_NODE_PARAMS_st, CUDA_KERNEL_NODE_PARAMS_v2, CUDA_MEMCPY3D_st, CUgraph, CUgraphExec,
    CUgraphNode,
};
use quadrants_rhi::{
    DevicePtr, Error, FunctionHandle, GraphExecHandle, GraphHandle, GraphNodeHandle, LaunchConfig,
    Result, StreamHandle,
};

use crate::{device::CudaDevice, launch::parameters, table::Table};

/// Whether the driver has all functions that graphs need.
pub(crate) fn available(table: &Table) -> bool {
    let functions = &table.functions;
    functions.create_graph.is_some()
        && functions.destroy_graph.is_some()
        && (functions.add_kernel_node.is_some() || functions.add_kernel_node_v1.is_some())
        && functions.add_copy_node.is_some()
        && functions.instantiate_graph.is_some()
        && functions.destroy_graph_exec.is_some()
        && (functions.update_kernel_node.is_some() || functions.update_kernel_node_v1.is_some())
        && functions.launch_graph.is_some()
}

pub(crate) fn create(device: &CudaDevice) -> Result<GraphHandle> {
    if !device.capabilities.graphs {
        let version = &device.info.driver_version;
        let reason =
            format!("graphs need CUDA 11.4 or newer, and the driver has version {version}");
        return Err(Error::Unsupported { operation: "create_graph", reason });
    }
    let context = device.enter()?;
    let mut graph: CUgraph = std::ptr::null_mut();
    // SAFETY: the driver writes the graph; no flags.
    unsafe { context.table.create_graph(&mut graph, 0) }?;
    Ok(GraphHandle::from_ptr(graph))
}

pub(crate) unsafe fn destroy(device: &CudaDevice, graph: GraphHandle) -> Result<()> {
    let context = device.enter()?;
    // SAFETY: a graph of this device that is not used again, as the caller guarantees.
    unsafe { context.table.destroy_graph(graph.as_ptr()) }
}

pub(crate) unsafe fn add_kernel_node(
    device: &CudaDevice,
    graph: GraphHandle,
    dependencies: &[GraphNodeHandle],
    function: FunctionHandle,
    config: &LaunchConfig,
    args: &[u64],
) -> Result<GraphNodeHandle> {
    let mut parameters = parameters(device, args)?;
    let node_parameters = node_parameters(function, config, parameters.as_mut_ptr());
    let dependencies: Vec<CUgraphNode> = dependencies.iter().map(|node| node.as_ptr()).collect();
    let context = device.enter()?;
    let mut node: CUgraphNode = std::ptr::null_mut();
    // SAFETY: graph, nodes and function are of this device and the block is the function's, as the caller
    // guarantees. The driver copies shape and block before the call returns.
    unsafe {
        let (graph, nodes, count) = (graph.as_ptr(), dependencies.as_ptr(), dependencies.len());
        if context.table.functions.add_kernel_node.is_some() {
            context.table.add_kernel_node(&mut node, graph, nodes, count, &node_parameters)?;
        } else {
            let v1 = v1(&node_parameters);
            context.table.add_kernel_node_v1(&mut node, graph, nodes, count, &v1)?;
        }
    }
    Ok(GraphNodeHandle::from_ptr(node))
}

pub(crate) unsafe fn add_copy_node(
    device: &CudaDevice,
    graph: GraphHandle,
    dependencies: &[GraphNodeHandle],
    dst: DevicePtr,
    src: DevicePtr,
    bytes: usize,
) -> Result<GraphNodeHandle> {
    let copy = CUDA_MEMCPY3D_st {
        srcXInBytes: 0,
        srcY: 0,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: CU_MEMORYTYPE_DEVICE,
        srcHost: std::ptr::null(),
        srcDevice: src.raw(),
        srcArray: std::ptr::null_mut(),
        reserved0: std::ptr::null_mut(),
        srcPitch: bytes,
        srcHeight: 1,
        dstXInBytes: 0,
        dstY: 0,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: CU_MEMORYTYPE_DEVICE,
        dstHost: std::ptr::null_mut(),
        dstDevice: dst.raw(),
        dstArray: std::ptr::null_mut(),
        reserved1: std::ptr::null_mut(),
        dstPitch: bytes,
        dstHeight: 1,
        WidthInBytes: bytes,
        Height: 1,
        Depth: 1,
    };
    let dependencies: Vec<CUgraphNode> = dependencies.iter().map(|node| node.as_ptr()).collect();
    let context = device.enter()?;
    let mut node: CUgraphNode = std::ptr::null_mut();
    // SAFETY: graph and nodes are of this device, and both sides have the bytes, as the caller guarantees.
    unsafe {
        let (nodes, count) = (dependencies.as_ptr(), dependencies.len());
        let own = device.context.raw();
        context.table.add_copy_node(&mut node, graph.as_ptr(), nodes, count, &copy, own)?;
    }
    Ok(GraphNodeHandle::from_ptr(node))
}

pub(crate) unsafe fn instantiate(
    device: &CudaDevice,
    graph: GraphHandle,
) -> Result<GraphExecHandle> {
    let context = device.enter()?;
    let mut exec: CUgraphExec = std::ptr::null_mut();
    // SAFETY: a graph of this device, as the caller guarantees; the driver writes the executable; no flags.
    unsafe { context.table.instantiate_graph(&mut exec, graph.as_ptr(), 0) }?;
    Ok(GraphExecHandle::from_ptr(exec))
}

pub(crate) unsafe fn destroy_exec(device: &CudaDevice, exec: GraphExecHandle) -> Result<()> {
    let context = device.enter()?;
    // SAFETY: an executable of this device that is not used again, as the caller guarantees.
    unsafe { context.table.destroy_graph_exec(exec.as_ptr()) }
}

#[inline(always)]
pub(crate) unsafe fn update_kernel_node(
    device: &CudaDevice,
    exec: GraphExecHandle,
    node: GraphNodeHandle,
    function: FunctionHandle,
    config: &LaunchConfig,
    args: &[u64],
) -> Result<()> {
    let mut parameters = parameters(device, args)?;
    let node_parameters = node_parameters(function, config, parameters.as_mut_ptr());
    let context = device.enter()?;
    // SAFETY: the node is of the graph that the executable was made of, and the block is the function's, as
    // the caller guarantees. The driver copies shape and block before the call returns.
    unsafe {
        let (exec, node) = (exec.as_ptr(), node.as_ptr());
        if context.table.functions.update_kernel_node.is_some() {
            context.table.update_kernel_node(exec, node, &node_parameters)
        } else {
            context.table.update_kernel_node_v1(exec, node, &v1(&node_parameters))
        }
    }
}

#[inline(always)]
pub(crate) unsafe fn launch(
    device: &CudaDevice,
    exec: GraphExecHandle,
    stream: StreamHandle,
) -> Result<()> {
    // SAFETY: an executable and a stream of this device, as the caller guarantees.
    device.with_current(move |table| unsafe { table.launch_graph(exec.as_ptr(), stream.as_ptr()) })
}

/// The parameters in the struct of CUDA 11, which lacks the alternatives to `func`.
fn v1(parameters: &CUDA_KERNEL_NODE_PARAMS_v2) -> CUDA_KERNEL_NODE_PARAMS_st {
    CUDA_KERNEL_NODE_PARAMS_st {
        func: parameters.func,
        gridDimX: parameters.gridDimX,
        gridDimY: parameters.gridDimY,
        gridDimZ: parameters.gridDimZ,
        blockDimX: parameters.blockDimX,
        blockDimY: parameters.blockDimY,
        blockDimZ: parameters.blockDimZ,
        sharedMemBytes: parameters.sharedMemBytes,
        kernelParams: parameters.kernelParams,
        extra: parameters.extra,
    }
}

fn node_parameters(
    function: FunctionHandle,
    config: &LaunchConfig,
    parameters: *mut *mut std::ffi::c_void,
) -> CUDA_KERNEL_NODE_PARAMS_v2 {
    CUDA_KERNEL_NODE_PARAMS_v2 {
        func: function.as_ptr(),
        gridDimX: config.grid_dim[0],
        gridDimY: config.grid_dim[1],
        gridDimZ: config.grid_dim[2],
        blockDimX: config.block_dim[0],
        blockDimY: config.block_dim[1],
        blockDimZ: config.block_dim[2],
        sharedMemBytes: config.shared_bytes,
        kernelParams: parameters,
        extra: std::ptr::null_mut(),
        // Alternatives to `func`, which already identifies its context.
        kern: std::ptr::null_mut(),
        ctx: std::ptr::null_mut(),
    }
}
