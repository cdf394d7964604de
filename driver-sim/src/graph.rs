//! Graphs: launches and copies with dependencies, enqueued by one call.

use crate::{
    copy_shape::CopyShape,
    handle::Key,
    launch::KernelLaunch,
    op::{Work, transfer_cost},
    op_id::OpId,
};

#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<FlatNode>,
}

/// The graph and index of a node handle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeKey {
    pub(crate) graph: Key,
    pub(crate) index: usize,
}

/// An executable graph.
#[derive(Debug)]
pub(crate) struct Exec {
    /// The graph that it was instantiated from, which may be destroyed.
    pub(crate) graph: Key,
    pub(crate) nodes: Vec<FlatNode>,
    /// Its last launch: launches of one executable never overlap.
    pub(crate) last: Option<OpId>,
}

#[derive(Clone, Debug)]
pub(crate) enum NodeWork {
    Launch(KernelLaunch),
    Copy {
        dst: u64,
        src: u64,
        rows: CopyShape,
    },
    Fill {
        dst: u64,
        pattern: u32,
        width: usize,
        bytes: usize,
    },
    /// The end of the nodes of a child graph.
    Empty,
}

/// A node of a graph in which the nodes of child graphs are in place of these.
#[derive(Clone, Debug)]
pub(crate) struct FlatNode {
    pub(crate) work: NodeWork,
    pub(crate) after: Vec<usize>,
    /// The number of the driver's node that it is of: a child graph is one node of the driver.
    pub(crate) node: usize,
    /// In an executable: the sequence of the node. Operations of one sequence run in order, as in a stream.
    pub(crate) sequence: u64,
}

impl Graph {
    pub(crate) fn next_node(&self) -> usize {
        self.nodes.last().map_or(0, |last| last.node + 1)
    }
}

/// When each node starts and ends in the simulated clock, from the launch of the graph.
pub(crate) fn times(nodes: &[FlatNode]) -> Vec<(u64, u64)> {
    let begin = Work::Marker.cost();
    let mut times: Vec<(u64, u64)> = Vec::with_capacity(nodes.len());
    for FlatNode { work, after, .. } in nodes {
        let start = after.iter().map(|&node| times[node].1).max().unwrap_or(begin);
        times.push((start, start + work.cost()));
    }
    times
}

impl NodeWork {
    fn cost(&self) -> u64 {
        match self {
            Self::Launch(launch) => launch.cost(),
            Self::Copy { rows, .. } => transfer_cost(rows.bytes()),
            Self::Fill { bytes, .. } => transfer_cost(*bytes),
            Self::Empty => Work::Marker.cost(),
        }
    }
}
