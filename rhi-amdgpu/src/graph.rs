//! Graphs of launches and copies.

use quadrants_rhi::{
    DevicePtr, Error, FunctionHandle, GraphExecHandle, GraphHandle, GraphNodeHandle, LaunchConfig,
    Result, StreamHandle,
};

use crate::{
    device::HipDevice,
    generated::hip::{dim3, hipGraph_t, hipGraphExec_t, hipGraphNode_t, hipKernelNodeParams},
    launch::parameters,
    table::Table,
};

/// The oldest runtime whose kernel nodes accept functions of loaded modules. Older ones only accept functions that the
/// compiler registered in the program.
const OLDEST: i32 = 60_000_000;

/// `hipMemcpyDeviceToDevice`.
const WITHIN_DEVICE: u32 = 3;

/// Whether the runtime has all functions that graphs need.
pub(crate) fn available(table: &Table, version: i32) -> bool {
    let functions = &table.functions;
    version >= OLDEST
        && functions.create_graph.is_some()
        && functions.destroy_graph.is_some()
        && functions.add_kernel_node.is_some()
        && functions.add_copy_node.is_some()
        && functions.instantiate_graph.is_some()
        && functions.destroy_graph_exec.is_some()
        && functions.update_kernel_node.is_some()
        && functions.launch_graph.is_some()
}

pub(crate) fn create(device: &HipDevice) -> Result<GraphHandle> {
    if !device.capabilities.graphs {
        let version = &device.info.driver_version;
        let reason = format!("graphs need ROCm 6.0 or newer, and the driver has version {version}");
        return Err(Error::Unsupported { operation: "create_graph", reason });
    }
    let context = device.enter()?;
    let mut graph: hipGraph_t = std::ptr::null_mut();
    // SAFETY: the runtime writes the graph; no flags.
    unsafe { context.table.create_graph(&mut graph, 0) }?;
    Ok(GraphHandle::from_ptr(graph))
}

pub(crate) unsafe fn destroy(device: &HipDevice, graph: GraphHandle) -> Result<()> {
    let context = device.enter()?;
    // SAFETY: a graph of this device that is not used again, as the caller guarantees.
    unsafe { context.table.destroy_graph(graph.as_ptr()) }
}

pub(crate) unsafe fn add_kernel_node(
    device: &HipDevice,
    graph: GraphHandle,
    dependencies: &[GraphNodeHandle],
    function: FunctionHandle,
    config: &LaunchConfig,
    args: &[u64],
) -> Result<GraphNodeHandle> {
    let mut parameters = parameters(device, args)?;
    let node_parameters = node_parameters(function, config, parameters.as_mut_ptr());
    let dependencies: Vec<hipGraphNode_t> = dependencies.iter().map(|node| node.as_ptr()).collect();
    let context = device.enter()?;
    let mut node: hipGraphNode_t = std::ptr::null_mut();
    // SAFETY: graph, nodes and function are of this device and the block is the function's, as the caller
    // guarantees. The driver copies shape and block before the call returns.
    unsafe {
        context.table.add_kernel_node(
            &mut node,
            graph.as_ptr(),
            dependencies.as_ptr(),
            dependencies.len(),
            &node_parameters,
        )?;
    }
    Ok(GraphNodeHandle::from_ptr(node))
}

pub(crate) unsafe fn add_copy_node(
    device: &HipDevice,
    graph: GraphHandle,
    dependencies: &[GraphNodeHandle],
    dst: DevicePtr,
    src: DevicePtr,
    bytes: usize,
) -> Result<GraphNodeHandle> {
    let dependencies: Vec<hipGraphNode_t> = dependencies.iter().map(|node| node.as_ptr()).collect();
    let context = device.enter()?;
    let mut node: hipGraphNode_t = std::ptr::null_mut();
    // SAFETY: graph and nodes are of this device, and both sides have the bytes, as the caller guarantees.
    unsafe {
        context.table.add_copy_node(
            &mut node,
            graph.as_ptr(),
            dependencies.as_ptr(),
            dependencies.len(),
            dst.as_ptr(),
            src.as_ptr(),
            bytes,
            WITHIN_DEVICE,
        )?;
    }
    Ok(GraphNodeHandle::from_ptr(node))
}

pub(crate) unsafe fn instantiate(
    device: &HipDevice,
    graph: GraphHandle,
) -> Result<GraphExecHandle> {
    let context = device.enter()?;
    let mut exec: hipGraphExec_t = std::ptr::null_mut();
    // SAFETY: a graph of this device, as the caller guarantees; the runtime writes the executable; no flags.
    unsafe { context.table.instantiate_graph(&mut exec, graph.as_ptr(), 0) }?;
    Ok(GraphExecHandle::from_ptr(exec))
}

pub(crate) unsafe fn destroy_exec(device: &HipDevice, exec: GraphExecHandle) -> Result<()> {
    let context = device.enter()?;
    // SAFETY: an executable of this device that is not used again, as the caller guarantees.
    unsafe { context.table.destroy_graph_exec(exec.as_ptr()) }
}

#[inline(always)]
pub(crate) unsafe fn update_kernel_node(
    device: &HipDevice,
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
    unsafe { context.table.update_kernel_node(exec.as_ptr(), node.as_ptr(), &node_parameters) }
}

#[inline(always)]
pub(crate) unsafe fn launch(
    device: &HipDevice,
    exec: GraphExecHandle,
    stream: StreamHandle,
) -> Result<()> {
    let context = device.enter()?;
    // SAFETY: an executable and a stream of this device, as the caller guarantees.
    unsafe { context.table.launch_graph(exec.as_ptr(), stream.as_ptr()) }
}

fn node_parameters(
    function: FunctionHandle,
    config: &LaunchConfig,
    parameters: *mut *mut std::ffi::c_void,
) -> hipKernelNodeParams {
    let dim = |[x, y, z]: [u32; 3]| dim3 { x, y, z };
    hipKernelNodeParams {
        blockDim: dim(config.block_dim),
        extra: std::ptr::null_mut(),
        func: function.as_ptr(),
        gridDim: dim(config.grid_dim),
        kernelParams: parameters,
        sharedMemBytes: config.shared_bytes,
    }
}
