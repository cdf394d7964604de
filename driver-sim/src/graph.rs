//! Graphs: launches and copies with dependencies, enqueued by one call.

use crate::{
    code::{Code, Result},
    handle::{Key, Kind, encode},
    launch::Launch,
    op::{OpKind, Work},
    op_id::{OpId, Ops},
    state::{Operation, State},
    stream::StreamRef,
};

/// The lanes of graph nodes start at this number, above those of streams.
const NODE_LANES: u64 = 1 << 32;

#[derive(Debug, Default)]
pub(crate) struct Graph {
    nodes: Vec<Step>,
}

/// The graph and index of a node handle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    graph: Key,
    index: usize,
}

/// An executable graph.
#[derive(Debug)]
pub(crate) struct Exec {
    /// The graph that it was instantiated from, which may be destroyed.
    graph: Key,
    nodes: Vec<Step>,
    /// Its last launch: launches of one executable never overlap.
    pub(crate) last: Option<OpId>,
}

#[derive(Clone, Debug)]
pub(crate) enum NodeWork {
    Launch(Launch),
    Copy { dst: u64, src: u64, bytes: usize },
}

#[derive(Clone, Debug)]
struct Step {
    work: NodeWork,
    after: Vec<usize>,
    /// In an executable: the lane of the node. Operations of one lane run in order, as in a stream.
    lane: u64,
}

impl State {
    pub(crate) fn create_graph(&mut self) -> Result<usize> {
        let key = self.graphs.insert(Graph::default())?;
        self.creates.graphs += 1;
        Ok(encode(Kind::Graph, self.ordinal, key))
    }

    pub(crate) fn destroy_graph(&mut self, graph: Key) -> Result<()> {
        self.graphs.remove(graph)?;
        self.nodes.retain(|node| node.graph != graph);
        Ok(())
    }

    pub(crate) fn add_node(&mut self, graph: Key, after: &[Key], work: NodeWork) -> Result<usize> {
        let index = self.graphs.get(graph)?.nodes.len();
        let mut before = Vec::with_capacity(after.len());
        for &node in after {
            let node = self.nodes.get(node).map_err(|_| Code::INVALID_VALUE)?;
            if node.graph != graph || before.contains(&node.index) {
                return Err(Code::INVALID_VALUE);
            }
            before.push(node.index);
        }
        self.graphs.get_mut(graph)?.nodes.push(Step { work, after: before, lane: 0 });
        let key = self.nodes.insert(Node { graph, index })?;
        Ok(encode(Kind::Node, self.ordinal, key))
    }

    pub(crate) fn instantiate(&mut self, graph: Key) -> Result<usize> {
        let mut nodes = self.graphs.get(graph)?.nodes.clone();
        for node in &mut nodes {
            self.node_lanes += 1;
            node.lane = NODE_LANES + self.node_lanes;
        }
        let key = self.execs.insert(Exec { graph, nodes, last: None })?;
        self.creates.graph_execs += 1;
        Ok(encode(Kind::Exec, self.ordinal, key))
    }

    /// Replaces the launch of a node for later launches of the executable.
    pub(crate) fn set_node(&mut self, exec: Key, node: Key, launch: Launch) -> Result<()> {
        let node = *self.nodes.get(node).map_err(|_| Code::INVALID_VALUE)?;
        let exec = self.execs.get_mut(exec)?;
        if exec.graph != node.graph {
            return Err(Code::INVALID_VALUE);
        }
        // Nodes that were added after the instantiation are not in the executable.
        match exec.nodes.get_mut(node.index) {
            Some(Step { work: NodeWork::Launch(old), .. }) => {
                *old = launch;
                Ok(())
            }
            _ => Err(Code::INVALID_VALUE),
        }
    }

    /// Enqueues a start operation, one operation per node after those that its edges name, and an end operation after
    /// all nodes.
    pub(crate) fn launch_graph(&mut self, exec: Key, stream: StreamRef) -> Result<()> {
        let turn = self.turn(stream)?;
        let (last, nodes) = {
            let exec = self.execs.get(exec)?;
            (exec.last, exec.nodes.clone())
        };
        let begin =
            self.enqueue(stream, Work::Marker, OpKind::GraphLaunch, last.as_slice(), None)?;
        let handle = self.stream_handle(stream);
        // Their clocks are needed until the end operation has its own.
        let orphans = self.orphans.len();
        let (mut ops, mut ends): (Vec<OpId>, Vec<u64>) = (Vec::new(), Vec::new());
        for Step { work, after, lane } in nodes {
            let mut before: Ops = after.iter().map(|&node| ops[node]).collect();
            if before.is_empty() {
                before.push(begin);
            }
            let start = after.iter().map(|&node| ends[node]).max().unwrap_or(0);
            let (work, kind) = match work {
                NodeWork::Launch(launch) => {
                    let kind = OpKind::Launch(launch.name().clone());
                    (Work::Launch(launch), kind)
                }
                NodeWork::Copy { dst, src, bytes } => {
                    (Work::Copy { dst, src, bytes }, OpKind::CopyDtod)
                }
            };
            ends.push(start + work.cost());
            let operation = Operation { work, kind, event: None };
            let op = self.push(operation, (handle, turn, lane), &before);
            self.orphans.push(op);
            self.enqueued(op);
            ops.push(op);
        }
        let took = ends.into_iter().max().unwrap_or(0);
        let end = self.enqueue(stream, Work::Marker, OpKind::GraphLaunch, &ops, None)?;
        self.orphans.truncate(orphans);
        self.advance(stream, end, took)?;
        self.execs.get_mut(exec)?.last = Some(end);
        Ok(())
    }
}
