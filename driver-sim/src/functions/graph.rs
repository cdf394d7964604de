//! Graphs.

use std::{
    ffi::{c_uint, c_void},
    mem::offset_of,
};

use super::module::launch_of;
use crate::{
    code::{Code, Result},
    copy_shape::CopyShape,
    entry::{ApiCall, Stop, driver_functions},
    graph::NodeWork,
    handle::{HandleKind, Key},
    launch::{KernelLaunch, LaunchShape},
    pointer::{Array, Out, Parameters},
    state::WorldState,
};

/// `CUDA_KERNEL_NODE_PARAMS_v2`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct NodeParams {
    launch: NodeParamsV1,
    kernel: usize,
    context: usize,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct NodeParamsV1 {
    function: usize,
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared_bytes: c_uint,
    parameters: Parameters,
    extra: *mut *mut c_void,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct HipNodeParams {
    block: [c_uint; 3],
    extra: *mut *mut c_void,
    function: usize,
    grid: [c_uint; 3],
    parameters: Parameters,
    shared_bytes: c_uint,
}

/// `CUDA_MEMCPY3D`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Copy3d {
    src: Side3d,
    dst: Side3d,
    width: usize,
    height: usize,
    depth: usize,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Side3d {
    x: usize,
    y: usize,
    z: usize,
    level: usize,
    kind: c_uint,
    host: usize,
    device: u64,
    array: usize,
    reserved: usize,
    pitch: usize,
    height: usize,
}

/// `CU_MEMORYTYPE_DEVICE`.
const DEVICE: c_uint = 2;
/// `hipMemcpyDeviceToDevice`.
const WITHIN_DEVICE: c_uint = 3;

// The layouts of the C headers.
const _: () = {
    assert!(size_of::<Copy3d>() == 200);
    assert!(offset_of!(Copy3d, dst) == 88);
    assert!(offset_of!(Copy3d, width) == 176);
    assert!(offset_of!(Side3d, kind) == 32);
    assert!(offset_of!(Side3d, device) == 48);
    assert!(size_of::<NodeParams>() == 72);
    assert!(size_of::<NodeParamsV1>() == 56);
    assert!(offset_of!(NodeParams, launch) == 0);
    assert!(offset_of!(NodeParamsV1, function) == 0);
    assert!(offset_of!(NodeParamsV1, grid) == 8);
    assert!(offset_of!(NodeParamsV1, block) == 20);
    assert!(offset_of!(NodeParamsV1, shared_bytes) == 32);
    assert!(offset_of!(NodeParamsV1, parameters) == 40);
    assert!(offset_of!(NodeParamsV1, extra) == 48);
    assert!(offset_of!(NodeParams, kernel) == 56);
    assert!(offset_of!(NodeParams, context) == 64);
    assert!(size_of::<HipNodeParams>() == 64);
    assert!(offset_of!(HipNodeParams, block) == 0);
    assert!(offset_of!(HipNodeParams, extra) == 16);
    assert!(offset_of!(HipNodeParams, function) == 24);
    assert!(offset_of!(HipNodeParams, grid) == 32);
    assert!(offset_of!(HipNodeParams, parameters) == 48);
    assert!(offset_of!(HipNodeParams, shared_bytes) == 56);
};

driver_functions! {
    /// Creates an empty graph.
    fn [Cuda cuGraphCreate, Hip hipGraphCreate](graph: Out<usize>, flags: c_uint) |call| {
        let mut state = call.here()?;
        if flags != 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        graph.set(state.create_graph()?)?;
    }

    /// Destroys a graph with its nodes.
    fn [Cuda cuGraphDestroy, Hip hipGraphDestroy](graph: usize) |call| {
        let (mut state, graph) = call.at(HandleKind::Graph, graph)?;
        state.destroy_graph(graph)?;
    }

    /// Adds a launch to a graph.
    fn [Cuda cuGraphAddKernelNode_v2](
        node: Out<usize>,
        graph: usize,
        dependencies: Array<usize>,
        count: usize,
        parameters: Array<NodeParams>,
    ) |call| {
        add_node(call, node, graph, dependencies.read(count)?, &parameters.first()?.launch)?;
    }

    /// Adds a launch to a graph, with the parameters of CUDA 11.
    fn [Cuda cuGraphAddKernelNode](
        node: Out<usize>,
        graph: usize,
        dependencies: Array<usize>,
        count: usize,
        parameters: Array<NodeParamsV1>,
    ) |call| {
        add_node(call, node, graph, dependencies.read(count)?, &parameters.first()?)?;
    }

    /// Adds a launch to a graph.
    fn [Hip hipGraphAddKernelNode](
        node: Out<usize>,
        graph: usize,
        dependencies: Array<usize>,
        count: usize,
        parameters: Array<HipNodeParams>,
    ) |call| {
        add_node(call, node, graph, dependencies.read(count)?, &parameters.first()?.into())?;
    }

    /// Adds a copy to a graph: only one row, from device to device.
    fn [Cuda cuGraphAddMemcpyNode](
        node: Out<usize>,
        graph: usize,
        dependencies: Array<usize>,
        count: usize,
        copy: Array<Copy3d>,
        context: usize,
    ) |call| {
        let (mut state, graph) = call.at(HandleKind::Graph, graph)?;
        let Copy3d { src, dst, width, height, depth } = copy.first()?;
        let plain = |side: &Side3d| {
            side.kind == DEVICE
                && [side.x, side.y, side.z, side.level, side.reserved] == [0; 5]
                && side.pitch >= width
        };
        if context == 0 || width == 0 || [height, depth] != [1; 2] || !plain(&src) || !plain(&dst) {
            return Err(Code::INVALID_VALUE.into());
        }
        let keys = keys(call, &state, dependencies.read(count)?)?;
        let work = NodeWork::Copy { dst: dst.device, src: src.device, rows: CopyShape::one(width) };
        node.set(state.add_node(graph, &keys, work)?)?;
    }

    /// Adds a contiguous copy to a graph: only from device to device.
    fn [Hip hipGraphAddMemcpyNode1D](
        node: Out<usize>,
        graph: usize,
        dependencies: Array<usize>,
        count: usize,
        dst: u64,
        src: u64,
        bytes: usize,
        kind: c_uint,
    ) |call| {
        let (mut state, graph) = call.at(HandleKind::Graph, graph)?;
        if kind != WITHIN_DEVICE || bytes == 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        let keys = keys(call, &state, dependencies.read(count)?)?;
        let work = NodeWork::Copy { dst, src, rows: CopyShape::one(bytes) };
        node.set(state.add_node(graph, &keys, work)?)?;
    }

    /// Adds the nodes of a graph to another one.
    fn [Cuda cuGraphAddChildGraphNode, Hip hipGraphAddChildGraphNode](
        node: Out<usize>,
        graph: usize,
        dependencies: Array<usize>,
        count: usize,
        child: usize,
    ) |call| {
        let (mut state, graph) = call.at(HandleKind::Graph, graph)?;
        let child = call.sibling(&state, HandleKind::Graph, child)?;
        let keys = keys(call, &state, dependencies.read(count)?)?;
        node.set(state.add_child(graph, &keys, child)?)?;
    }

    /// Begins to capture a stream. The mode is ignored: the simulator only refuses what it cannot make a node of.
    fn [Cuda cuStreamBeginCapture_v2, Hip hipStreamBeginCapture](stream: usize, mode: c_uint) |call| {
        let (mut state, stream) = call.on_stream(stream)?;
        if mode > 2 {
            return Err(Code::INVALID_VALUE.into());
        }
        state.begin_capture(stream)?;
    }

    /// Ends the capture of a stream.
    fn [Cuda cuStreamEndCapture, Hip hipStreamEndCapture](stream: usize, graph: Out<usize>) |call| {
        let (mut state, stream) = call.on_stream(stream)?;
        graph.set(state.end_capture(stream)?)?;
    }

    /// Whether a stream is captured.
    fn [Cuda cuStreamIsCapturing, Hip hipStreamIsCapturing](stream: usize, status: Out<c_uint>) |call| {
        let (state, stream) = call.on_stream(stream)?;
        status.set(c_uint::from(state.is_capturing(stream)?))?;
    }

    /// Instantiates a graph.
    fn [Cuda cuGraphInstantiateWithFlags, Hip hipGraphInstantiateWithFlags](
        exec: Out<usize>,
        graph: usize,
        _flags: u64,
    ) |call| {
        let (mut state, graph) = call.at(HandleKind::Graph, graph)?;
        exec.set(state.instantiate(graph)?)?;
    }

    /// Destroys an executable.
    fn [Cuda cuGraphExecDestroy, Hip hipGraphExecDestroy](exec: usize) |call| {
        let (mut state, exec) = call.at(HandleKind::Exec, exec)?;
        state.execs.remove(exec)?;
    }

    /// Replaces a launch of an executable.
    fn [Cuda cuGraphExecKernelNodeSetParams_v2](
        exec: usize,
        node: usize,
        parameters: Array<NodeParams>,
    ) |call| {
        set_node(call, exec, node, &parameters.first()?.launch)?;
    }

    /// Replaces a launch of an executable, with the parameters of CUDA 11.
    fn [Cuda cuGraphExecKernelNodeSetParams](
        exec: usize,
        node: usize,
        parameters: Array<NodeParamsV1>,
    ) |call| {
        set_node(call, exec, node, &parameters.first()?)?;
    }

    /// Replaces a launch of an executable.
    fn [Hip hipGraphExecKernelNodeSetParams](
        exec: usize,
        node: usize,
        parameters: Array<HipNodeParams>,
    ) |call| {
        set_node(call, exec, node, &parameters.first()?.into())?;
    }

    /// Launches an executable.
    fn [Cuda cuGraphLaunch, Hip hipGraphLaunch](exec: usize, stream: usize) |call| {
        let (mut state, stream) = call.on_stream(stream)?;
        let exec = call.sibling(&state, HandleKind::Exec, exec)?;
        state.launch_graph(exec, stream)?;
    }
}

fn add_node(
    call: &ApiCall,
    node: Out<usize>,
    graph: usize,
    dependencies: Vec<usize>,
    params: &NodeParamsV1,
) -> Result<(), Stop> {
    let (mut state, graph) = call.at(HandleKind::Graph, graph)?;
    let keys = keys(call, &state, dependencies);
    let launch = launch(call, &state, params)?;
    Ok(node.set(state.add_node(graph, &keys?, NodeWork::Launch(launch))?)?)
}

fn keys(call: &ApiCall, state: &WorldState, nodes: Vec<usize>) -> Result<Vec<Key>> {
    let key = |node| call.sibling(state, HandleKind::Node, node).map_err(|_| Code::INVALID_VALUE);
    nodes.into_iter().map(key).collect()
}

fn set_node(call: &ApiCall, exec: usize, node: usize, params: &NodeParamsV1) -> Result<(), Stop> {
    let (mut state, exec) = call.at(HandleKind::Exec, exec)?;
    let node = call.sibling(&state, HandleKind::Node, node).map_err(|_| Code::INVALID_VALUE)?;
    let launch = launch(call, &state, params)?;
    Ok(state.set_node(exec, node, launch)?)
}

fn launch(call: &ApiCall, state: &WorldState, params: &NodeParamsV1) -> Result<KernelLaunch> {
    let function =
        state.functions.get(call.sibling(state, HandleKind::Function, params.function)?)?;
    if !params.extra.is_null() {
        return Err(Code::NOT_SUPPORTED);
    }
    let shape =
        LaunchShape { grid: params.grid, block: params.block, shared_bytes: params.shared_bytes };
    launch_of(call, function, &shape, params.parameters)
}

impl From<HipNodeParams> for NodeParamsV1 {
    fn from(params: HipNodeParams) -> Self {
        let HipNodeParams { block, extra, function, grid, parameters, shared_bytes } = params;
        Self { function, grid, block, shared_bytes, parameters, extra }
    }
}
