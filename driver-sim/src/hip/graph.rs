//! Graphs.

use std::{
    ffi::{c_uint, c_void},
    mem::offset_of,
};

use super::module::launch_of;
use crate::{
    code::{Code, Result},
    entry::{Call, facade},
    graph::NodeWork,
    handle::{Key, Kind},
    launch::{Launch, Shape},
    pointer::{Array, Out, Parameters},
    state::State,
};

/// `hipKernelNodeParams`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct NodeParams {
    block: [c_uint; 3],
    extra: *mut *mut c_void,
    function: usize,
    grid: [c_uint; 3],
    parameters: Parameters,
    shared_bytes: c_uint,
}

/// `hipMemcpyDeviceToDevice`.
const WITHIN_DEVICE: c_uint = 3;

// The layout of the C header.
const _: () = {
    assert!(size_of::<NodeParams>() == 64);
    assert!(offset_of!(NodeParams, block) == 0);
    assert!(offset_of!(NodeParams, extra) == 16);
    assert!(offset_of!(NodeParams, function) == 24);
    assert!(offset_of!(NodeParams, grid) == 32);
    assert!(offset_of!(NodeParams, parameters) == 48);
    assert!(offset_of!(NodeParams, shared_bytes) == 56);
};

facade! { Hip;
    /// Creates an empty graph.
    fn hipGraphCreate(graph: Out<usize>, flags: c_uint) |call| {
        let mut state = call.here()?;
        if flags != 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        graph.set(state.create_graph()?)?;
    }

    /// Destroys a graph with its nodes.
    fn hipGraphDestroy(graph: usize) |call| {
        let (mut state, graph) = call.at(Kind::Graph, graph)?;
        state.destroy_graph(graph)?;
    }

    /// Adds a launch to a graph.
    fn hipGraphAddKernelNode(
        node: Out<usize>,
        graph: usize,
        dependencies: Array<usize>,
        count: usize,
        parameters: Array<NodeParams>,
    ) |call| {
        let (mut state, graph) = call.at(Kind::Graph, graph)?;
        let keys = keys(call, &state, dependencies.read(count)?);
        let launch = launch(call, &state, &parameters.first()?)?;
        node.set(state.add_node(graph, &keys?, NodeWork::Launch(launch))?)?;
    }

    /// Adds a contiguous copy to a graph: only from device to device.
    fn hipGraphAddMemcpyNode1D(
        node: Out<usize>,
        graph: usize,
        dependencies: Array<usize>,
        count: usize,
        dst: u64,
        src: u64,
        bytes: usize,
        kind: c_uint,
    ) |call| {
        let (mut state, graph) = call.at(Kind::Graph, graph)?;
        if kind != WITHIN_DEVICE || bytes == 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        let keys = keys(call, &state, dependencies.read(count)?)?;
        node.set(state.add_node(graph, &keys, NodeWork::Copy { dst, src, bytes })?)?;
    }

    /// Instantiates a graph.
    fn hipGraphInstantiateWithFlags(exec: Out<usize>, graph: usize, _flags: u64) |call| {
        let (mut state, graph) = call.at(Kind::Graph, graph)?;
        exec.set(state.instantiate(graph)?)?;
    }

    /// Destroys an executable.
    fn hipGraphExecDestroy(exec: usize) |call| {
        let (mut state, exec) = call.at(Kind::Exec, exec)?;
        state.destroy_exec(exec)?;
    }

    /// Replaces a launch of an executable.
    fn hipGraphExecKernelNodeSetParams(
        exec: usize,
        node: usize,
        parameters: Array<NodeParams>,
    ) |call| {
        let (mut state, exec) = call.at(Kind::Exec, exec)?;
        let node = call.sibling(&state, Kind::Node, node).map_err(|_| Code::INVALID_VALUE)?;
        let launch = launch(call, &state, &parameters.first()?)?;
        state.set_node(exec, node, launch)?;
    }

    /// Launches an executable.
    fn hipGraphLaunch(exec: usize, stream: usize) |call| {
        let (mut state, stream) = call.on_stream(stream)?;
        let exec = call.sibling(&state, Kind::Exec, exec)?;
        state.launch_graph(exec, stream)?;
    }
}

fn keys(call: &Call, state: &State, nodes: Vec<usize>) -> Result<Vec<Key>> {
    let key = |node| call.sibling(state, Kind::Node, node).map_err(|_| Code::INVALID_VALUE);
    nodes.into_iter().map(key).collect()
}

fn launch(call: &Call, state: &State, params: &NodeParams) -> Result<Launch> {
    let function = state.functions.get(call.sibling(state, Kind::Function, params.function)?)?;
    if !params.extra.is_null() {
        return Err(Code::NOT_SUPPORTED);
    }
    let shape = Shape { grid: params.grid, block: params.block, shared_bytes: params.shared_bytes };
    let args = params.parameters.words(function.words())?;
    launch_of(function, &shape, &args)
}
