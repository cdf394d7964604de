//! Graphs of launches and copies.

use cudarc::driver::sys::CUmemorytype_enum::CU_MEMORYTYPE_DEVICE;
use cudarc::driver::sys::{
    CUDA_KERNEL_NODE_PARAMS_st, CUDA_KERNEL_NODE_PARAMS_v2, CUDA_MEMCPY3D_st, CUgraph, CUgraphExec,
    CUgraphNode,
};
use quadrants_rhi::{DevicePtr, FunctionHandle, LaunchConfig, Result};

use crate::{context::PrimaryContext, table::Table};

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

/// Adds a launch to a graph.
///
/// # Safety
/// As for [`Device::add_kernel_node`](quadrants_rhi::Device::add_kernel_node). The context is current.
pub(crate) unsafe fn add_kernel_node(
    table: &Table,
    node: &mut CUgraphNode,
    graph: CUgraph,
    dependencies: &[CUgraphNode],
    parameters: &CUDA_KERNEL_NODE_PARAMS_v2,
) -> Result<()> {
    let (nodes, count) = (dependencies.as_ptr(), dependencies.len());
    // SAFETY: the caller guarantees the conditions.
    unsafe {
        if table.functions.add_kernel_node.is_some() {
            table.add_kernel_node(node, graph, nodes, count, parameters)
        } else {
            table.add_kernel_node_v1(node, graph, nodes, count, &v1(parameters))
        }
    }
}

/// Adds a copy to a graph.
///
/// # Safety
/// As for [`Device::add_copy_node`](quadrants_rhi::Device::add_copy_node). The context is current.
pub(crate) unsafe fn add_copy_node(
    context: &PrimaryContext,
    node: &mut CUgraphNode,
    graph: CUgraph,
    dependencies: &[CUgraphNode],
    (dst, src, bytes): (DevicePtr, DevicePtr, usize),
) -> Result<()> {
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
    let (nodes, count) = (dependencies.as_ptr(), dependencies.len());
    // SAFETY: the caller guarantees the conditions.
    unsafe { context.table.add_copy_node(node, graph, nodes, count, &copy, context.raw()) }
}

/// Replaces a launch in an executable.
///
/// # Safety
/// As for [`Device::update_kernel_node`](quadrants_rhi::Device::update_kernel_node). The context is current.
#[inline(always)]
pub(crate) unsafe fn update_kernel_node(
    table: &Table,
    exec: CUgraphExec,
    node: CUgraphNode,
    parameters: &CUDA_KERNEL_NODE_PARAMS_v2,
) -> Result<()> {
    // SAFETY: the caller guarantees the conditions.
    unsafe {
        if table.functions.update_kernel_node.is_some() {
            table.update_kernel_node(exec, node, parameters)
        } else {
            table.update_kernel_node_v1(exec, node, &v1(parameters))
        }
    }
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

pub(crate) fn node_parameters(
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
