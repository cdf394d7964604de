//! Graphs: launches with edges between them, enqueued as one operation.

use std::collections::HashMap;

use crate::{
    code::{Code, Result},
    handle::{Key, Kind, encode},
    module::Launch,
    op::{OpKind, Work},
    queue::OpId,
    schedule::{Random, Schedule},
    state::State,
    stream::StreamRef,
};

#[derive(Debug, Default)]
pub(crate) struct Graph {
    nodes: Vec<Step>,
}

/// Where a node's handle leads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    graph: Key,
    index: usize,
}

/// An executable graph.
#[derive(Debug)]
pub(crate) struct Exec {
    /// The graph that it was made of, which may be gone.
    graph: Key,
    nodes: Vec<Step>,
    /// Its last launch: one executable never overlaps itself.
    last: Option<OpId>,
}

#[derive(Clone, Debug)]
struct Step {
    launch: Launch,
    after: Vec<usize>,
}

impl Exec {
    /// Its last launch.
    pub(crate) fn last(&self) -> Option<OpId> {
        self.last
    }
}

impl State {
    pub(crate) fn create_graph(&mut self) -> Result<usize> {
        let key = self.graphs.insert(Graph::default())?;
        self.creates.graphs += 1;
        Ok(encode(Kind::Graph, self.ordinal, key))
    }

    /// Destroys a graph and the handles of its nodes.
    pub(crate) fn destroy_graph(&mut self, graph: Key) -> Result<()> {
        self.graphs.remove(graph)?;
        self.nodes.retain(|node| node.graph != graph);
        Ok(())
    }

    pub(crate) fn add_node(&mut self, graph: Key, after: &[Key], launch: Launch) -> Result<usize> {
        let index = self.graphs.get(graph)?.nodes.len();
        let mut before = Vec::with_capacity(after.len());
        for &node in after {
            let node = self.nodes.get(node).map_err(|_| Code::INVALID_VALUE)?;
            if node.graph != graph || before.contains(&node.index) {
                return Err(Code::INVALID_VALUE);
            }
            before.push(node.index);
        }
        self.graphs.get_mut(graph)?.nodes.push(Step { launch, after: before });
        let key = self.nodes.insert(Node { graph, index })?;
        Ok(encode(Kind::Node, self.ordinal, key))
    }

    pub(crate) fn instantiate(&mut self, graph: Key) -> Result<usize> {
        let nodes = self.graphs.get(graph)?.nodes.clone();
        let key = self.execs.insert(Exec { graph, nodes, last: None })?;
        self.creates.graph_execs += 1;
        Ok(encode(Kind::Exec, self.ordinal, key))
    }

    pub(crate) fn destroy_exec(&mut self, exec: Key) -> Result<()> {
        self.execs.remove(exec).map(drop)
    }

    /// Replaces the launch of a node for later launches of the executable.
    pub(crate) fn set_node(&mut self, exec: Key, node: Key, launch: Launch) -> Result<()> {
        let node = *self.nodes.get(node).map_err(|_| Code::INVALID_VALUE)?;
        let exec = self.execs.get_mut(exec)?;
        if exec.graph != node.graph {
            return Err(Code::INVALID_VALUE);
        }
        // Nodes that were added after the executable was made are not in it.
        exec.nodes.get_mut(node.index).ok_or(Code::INVALID_VALUE)?.launch = launch;
        Ok(())
    }

    pub(crate) fn launch_graph(&mut self, exec: Key, stream: StreamRef) -> Result<()> {
        self.stream(stream)?;
        let mut random = (self.schedule == Schedule::Random).then_some(&mut self.random);
        let exec_ref = self.execs.get(exec)?;
        let launches = order(&exec_ref.nodes, &mut random);
        let last = exec_ref.last;
        let work = Work::Graph(launches);
        let op = self.enqueue(stream, work, OpKind::GraphLaunch, last, None)?;
        self.execs.get_mut(exec)?.last = Some(op);
        Ok(())
    }
}

/// The launches in an order that the edges allow: a random one, or without `random` the opposite of the
/// order in which they were added, as far as can be.
fn order(nodes: &[Step], random: &mut Option<&mut Random>) -> Vec<Launch> {
    let mut blockers: Vec<usize> = nodes.iter().map(|node| node.after.len()).collect();
    let mut followers: HashMap<usize, Vec<usize>> = HashMap::new();
    for (index, node) in nodes.iter().enumerate() {
        for &before in &node.after {
            followers.entry(before).or_default().push(index);
        }
    }
    let mut ready: Vec<usize> = (0..nodes.len()).filter(|&i| blockers[i] == 0).collect();
    let mut launches = Vec::with_capacity(nodes.len());
    while !ready.is_empty() {
        let at = match random {
            Some(random) => random.below(ready.len() as u64) as usize,
            None => ready.len() - 1,
        };
        let node = ready.swap_remove(at);
        launches.push(nodes[node].launch.clone());
        for &next in followers.get(&node).into_iter().flatten() {
            blockers[next] -= 1;
            if blockers[next] == 0 {
                ready.push(next);
            }
        }
    }
    launches
}
