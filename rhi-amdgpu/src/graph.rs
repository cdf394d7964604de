//! Graphs of launches and copies.

use quadrants_rhi::{DevicePtr, FunctionHandle, LaunchConfig, Result};

use crate::{
    context::DeviceContext,
    generated::hip::{dim3, hipGraph_t, hipGraphExec_t, hipGraphNode_t, hipKernelNodeParams},
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

/// Adds a launch to a graph.
///
/// # Safety
/// As for [`Device::add_kernel_node`](quadrants_rhi::Device::add_kernel_node). The device is current.
pub(crate) unsafe fn add_kernel_node(
    table: &Table,
    node: &mut hipGraphNode_t,
    graph: hipGraph_t,
    dependencies: &[hipGraphNode_t],
    parameters: &hipKernelNodeParams,
) -> Result<()> {
    let (nodes, count) = (dependencies.as_ptr(), dependencies.len());
    // SAFETY: the caller guarantees the conditions.
    unsafe { table.add_kernel_node(node, graph, nodes, count, parameters) }
}

/// Adds a copy to a graph.
///
/// # Safety
/// As for [`Device::add_copy_node`](quadrants_rhi::Device::add_copy_node). The device is current.
pub(crate) unsafe fn add_copy_node(
    context: &DeviceContext,
    node: &mut hipGraphNode_t,
    graph: hipGraph_t,
    dependencies: &[hipGraphNode_t],
    (dst, src, bytes): (DevicePtr, DevicePtr, usize),
) -> Result<()> {
    let (nodes, count) = (dependencies.as_ptr(), dependencies.len());
    let (dst, src) = (dst.as_ptr(), src.as_ptr());
    // SAFETY: the caller guarantees the conditions.
    unsafe {
        context.table.add_copy_node(node, graph, nodes, count, dst, src, bytes, WITHIN_DEVICE)
    }
}

/// Replaces a launch in an executable.
///
/// # Safety
/// As for [`Device::update_kernel_node`](quadrants_rhi::Device::update_kernel_node). The device is current.
#[inline(always)]
pub(crate) unsafe fn update_kernel_node(
    table: &Table,
    exec: hipGraphExec_t,
    node: hipGraphNode_t,
    parameters: &hipKernelNodeParams,
) -> Result<()> {
    // SAFETY: the caller guarantees the conditions.
    unsafe { table.update_kernel_node(exec, node, parameters) }
}

/// The parameters of a launch in a graph: an array of addresses, as for launches.
///
/// HIP also takes parameters as one packed buffer (`extra`). For one struct both pass the same bytes. With the array
/// the runtime takes the size from the code object, so it does not read beyond the function's parameters.
pub(crate) fn node_parameters(
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
