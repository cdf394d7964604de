//! Graphs: only the edges order nodes, and arguments are copied when they are passed.

use std::collections::HashSet;

use quadrants_driver_sim::Schedule;

use super::{kernels::add_args, support::*};

/// Adds a node that launches `function` with these words.
fn add_node(graph: usize, after: &[usize], function: usize, args: &[u64]) -> usize {
    let parameters = [args.as_ptr()];
    let params = node(function, &parameters);
    get(|out| cuGraphAddKernelNode_v2(out, graph, after.as_ptr(), after.len(), &params))
}

fn instantiate(graph: usize) -> usize {
    get(|out| cuGraphInstantiateWithFlags(out, graph, 0))
}

#[test]
fn edges_order_nodes_and_their_absence_does_not() {
    let run = |seed, edge: bool| {
        let gpu = Gpu::open(Schedule::Random, seed);
        let (add, s) = (gpu.add(), gpu.stream());
        let (x, y, z) = (gpu.alloc(2), gpu.alloc(2), gpu.alloc(2));
        for memory in [x, y, z] {
            gpu.upload(memory, &[1, 1], s);
        }
        let graph = get(|out| cuGraphCreate(out, 0));
        let first = add_node(graph, &[], add, &add_args(y, x, 2, 10));
        let after: &[usize] = if edge { &[first] } else { &[] };
        add_node(graph, after, add, &add_args(z, y, 2, 100));
        let exec = instantiate(graph);
        ok(cuGraphLaunch(exec, s));
        gpu.download(z, 1, s)[0]
    };
    assert!((0..100).all(|seed| run(seed, true) == 111));
    let seen: HashSet<u32> = (0..100).map(|seed| run(seed, false)).collect();
    assert_eq!(seen, HashSet::from([101, 111]));
}

#[test]
fn launches_keep_the_arguments_that_they_were_launched_with() {
    let gpu = Gpu::lazy();
    let (add, s, t, x) = (gpu.add(), gpu.stream(), gpu.stream(), gpu.alloc(2));
    gpu.upload(x, &[0, 0], s);
    ok(cuStreamSynchronize(s));
    let graph = get(|out| cuGraphCreate(out, 0));
    let handle = add_node(graph, &[], add, &add_args(x, x, 2, 1));
    let exec = instantiate(graph);
    ok(cuGraphLaunch(exec, s));
    let args = add_args(x, x, 2, 1000);
    let parameters = [args.as_ptr()];
    ok(cuGraphExecKernelNodeSetParams_v2(exec, handle, &node(add, &parameters)));
    // Launches of one executable never overlap, so this one runs after the first.
    ok(cuGraphLaunch(exec, t));
    assert_eq!(gpu.download(x, 2, t), [1001, 1001]);
    assert_eq!(cuStreamQuery(s), 0);
    assert_eq!(gpu.world.creates().graph_execs, 1);
}

#[test]
fn an_executable_outlives_its_graph_but_nodes_do_not() {
    let gpu = Gpu::lazy();
    let (add, x) = (gpu.add(), gpu.alloc(2));
    gpu.upload(x, &[5, 6], 0);
    let graph = get(|out| cuGraphCreate(out, 0));
    let args = add_args(x, x, 2, 1);
    let parameters = [args.as_ptr()];
    let handle = add_node(graph, &[], add, &args);
    let exec = instantiate(graph);
    ok(cuGraphDestroy(graph));
    assert_eq!(cuGraphDestroy(graph), 400);
    let params = node(add, &parameters);
    assert_eq!(cuGraphExecKernelNodeSetParams_v2(exec, handle, &params), 1);
    ok(cuGraphLaunch(exec, 0));
    ok(cuGraphExecDestroy(exec));
    assert_eq!(cuGraphLaunch(exec, 0), 400);
    assert_eq!(gpu.download(x, 2, 0), [6, 7]);
}

#[test]
fn foreign_nodes_and_invalid_shapes_are_errors() {
    let gpu = Gpu::lazy();
    let (add, x) = (gpu.add(), gpu.alloc(2));
    let (graph, other) = (get(|out| cuGraphCreate(out, 0)), get(|out| cuGraphCreate(out, 0)));
    let args = add_args(x, x, 2, 1);
    let handle = add_node(graph, &[], add, &args);
    let parameters = [args.as_ptr()];
    let mut params = node(add, &parameters);
    assert_eq!(cuGraphAddKernelNode_v2(&mut 0, other, &handle, 1, &params), 1);
    let twice = [handle, handle];
    assert_eq!(cuGraphAddKernelNode_v2(&mut 0, graph, twice.as_ptr(), 2, &params), 1);
    let exec = instantiate(other);
    assert_eq!(cuGraphExecKernelNodeSetParams_v2(exec, handle, &params), 1);
    params.block = [2048, 1, 1];
    assert_eq!(cuGraphAddKernelNode_v2(&mut 0, graph, std::ptr::null(), 0, &params), 1);
}
