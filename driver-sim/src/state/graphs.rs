//! Creates, captures and launches graphs.

use super::WorldState;
use crate::{
    activity::Activity,
    code::{Code, Result},
    graph::{Exec, FlatNode, Graph, NodeKey, NodeWork, times},
    handle::{HandleKind, Key, encode},
    launch::KernelLaunch,
    op::{OpKind, Operation, Work},
    op_id::{OpId, Ops},
    stream::StreamRef,
};

/// The sequences of graph nodes start at this number, above those of streams.
const NODE_SEQUENCES: u64 = 1 << 32;

impl WorldState {
    pub(crate) fn create_graph(&mut self) -> Result<usize> {
        let key = self.graphs.insert(Graph::default())?;
        self.creates.graphs += 1;
        Ok(encode(HandleKind::Graph, self.ordinal, key))
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
        let own = self.graphs.get_mut(graph)?;
        let node = own.next_node();
        own.nodes.push(FlatNode { work, after: before, node, sequence: 0 });
        let key = self.nodes.insert(NodeKey { graph, index })?;
        Ok(encode(HandleKind::Node, self.ordinal, key))
    }

    /// Adds the nodes of another graph, and a node after all of them, which stands for them.
    pub(crate) fn add_child(&mut self, graph: Key, after: &[Key], child: Key) -> Result<usize> {
        let nodes = self.graphs.get(child)?.nodes.clone();
        let first = self.graphs.get(graph)?.nodes.len();
        // Checks the dependencies, and stands for the beginning.
        self.add_node(graph, after, NodeWork::Empty)?;
        let own = self.graphs.get_mut(graph)?;
        for mut flat in nodes {
            flat.node = own.nodes[first].node;
            flat.after = match &flat.after[..] {
                [] => vec![first],
                after => after.iter().map(|at| first + 1 + at).collect(),
            };
            own.nodes.push(flat);
        }
        let all = (first..own.nodes.len()).collect();
        let node = own.nodes[first].node;
        own.nodes.push(FlatNode { work: NodeWork::Empty, after: all, node, sequence: 0 });
        let index = own.nodes.len() - 1;
        let key = self.nodes.insert(NodeKey { graph, index })?;
        Ok(encode(HandleKind::Node, self.ordinal, key))
    }

    /// Makes a node of work that is enqueued on a captured stream. Returns the number of no operation: nothing runs.
    pub(crate) fn capture_node(
        &mut self,
        stream: StreamRef,
        (graph, last): (Key, Option<usize>),
        work: Work,
    ) -> Result<OpId> {
        let work = match work {
            Work::Launch(launch) => NodeWork::Launch(launch),
            Work::Copy { dst, src, rows } => NodeWork::Copy { dst, src, rows },
            Work::Fill { dst, pattern, width, bytes } => {
                NodeWork::Fill { dst, pattern, width, bytes }
            }
            // Events, allocations and pageable memory, which drivers can capture in part.
            _ => return Err(Code::STREAM_CAPTURE_UNSUPPORTED),
        };
        let own = self.graphs.get_mut(graph)?;
        let node = own.next_node();
        own.nodes.push(FlatNode { work, after: last.into_iter().collect(), node, sequence: 0 });
        let this = own.nodes.len() - 1;
        self.stream_mut(stream)?.capture = Some((graph, Some(this)));
        Ok(0)
    }

    pub(crate) fn instantiate(&mut self, graph: Key) -> Result<usize> {
        let mut nodes = self.graphs.get(graph)?.nodes.clone();
        for node in &mut nodes {
            self.node_sequences += 1;
            node.sequence = NODE_SEQUENCES + self.node_sequences;
        }
        let key = self.execs.insert(Exec { graph, nodes, last: None })?;
        self.creates.graph_execs += 1;
        Ok(encode(HandleKind::Exec, self.ordinal, key))
    }

    /// Replaces the launch of a node for later launches of the executable.
    pub(crate) fn set_node(&mut self, exec: Key, node: Key, launch: KernelLaunch) -> Result<()> {
        let node = *self.nodes.get(node).map_err(|_| Code::INVALID_VALUE)?;
        let exec = self.execs.get_mut(exec)?;
        if exec.graph != node.graph {
            return Err(Code::INVALID_VALUE);
        }
        // Nodes that were added after the instantiation are not in the executable.
        match exec.nodes.get_mut(node.index) {
            Some(FlatNode { work: NodeWork::Launch(old), .. }) => {
                *old = launch;
                Ok(())
            }
            _ => Err(Code::INVALID_VALUE),
        }
    }

    /// When each node of an executable starts and ends in the simulated clock, from its launch.
    pub(crate) fn node_times(&self, exec: Key) -> Result<Vec<(u64, u64)>> {
        let flat = &self.execs.get(exec)?.nodes;
        let mut nodes: Vec<(u64, u64)> = Vec::new();
        for (node, (start, end)) in flat.iter().zip(times(flat)) {
            match nodes.get_mut(node.node) {
                Some(node) => *node = (node.0.min(start), node.1.max(end)),
                None => nodes.push((start, end)),
            }
        }
        Ok(nodes)
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
        let launched = self.stream(stream)?.end.saturating_sub(Work::Marker.cost());
        // Their clocks are needed until the end operation has its own.
        let orphans = self.orphans.len();
        let node_times = times(&nodes);
        let ends = node_times.iter().map(|(_, end)| *end);
        let took = ends.max().unwrap_or(0).saturating_sub(Work::Marker.cost());
        let mut ops: Vec<OpId> = Vec::new();
        for (FlatNode { work, after, sequence, .. }, (start, end)) in
            nodes.into_iter().zip(node_times)
        {
            let mut before: Ops = after.iter().map(|&node| ops[node]).collect();
            if before.is_empty() {
                before.push(begin);
            }
            let (work, kind) = match work {
                NodeWork::Launch(launch) => {
                    let kind = OpKind::Launch(launch.name().clone());
                    (Work::Launch(launch), kind)
                }
                NodeWork::Copy { dst, src, rows } => {
                    (Work::Copy { dst, src, rows }, OpKind::CopyDtod)
                }
                NodeWork::Fill { dst, pattern, width, bytes } => {
                    (Work::Fill { dst, pattern, width, bytes }, OpKind::Fill)
                }
                NodeWork::Empty => (Work::Marker, OpKind::GraphLaunch),
            };
            let times = [launched + start, launched + end];
            let activity = Activity::of((&work, &kind), self.ordinal, times, sequence);
            let operation = Operation { work, kind, event: None, remote: None };
            let op = self.push(operation, (handle, turn, sequence), &before);
            self.activities.extend(activity.map(|activity| (op, activity)));
            self.orphans.push(op);
            self.enqueued(op);
            ops.push(op);
        }
        let end = self.enqueue(stream, Work::Marker, OpKind::GraphLaunch, &ops, None)?;
        self.orphans.truncate(orphans);
        self.advance(stream, end, took)?;
        self.execs.get_mut(exec)?.last = Some(end);
        Ok(())
    }
}
