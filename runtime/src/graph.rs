//! Graphs of launches that run again and again with other arguments.

use std::sync::Arc;

use quadrants_rhi::{
    self as rhi, DevicePtr, FunctionHandle, GraphExecHandle, GraphHandle, GraphNodeHandle,
    LaunchConfig, StreamHandle,
};
use smallvec::SmallVec;

use crate::{Context, Result};

/// One node copies so much; drivers have limits.
const COPY_AT_MOST: usize = 1 << 30;

/// Launches with edges between them, ready to be launched as one. Destroyed with its owner, after the
/// context's work is complete.
///
/// The driver's graph lives as long as the executable: its nodes are how the executable's are named.
#[derive(Debug)]
pub struct Graph {
    context: Arc<Context>,
    graph: GraphHandle,
    exec: Option<GraphExecHandle>,
    nodes: Vec<GraphNodeHandle>,
}

/// A launch of a [`Graph`]: a function, its shape, its argument block.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_structs)] // these three are a launch
pub struct NodeLaunch<'a> {
    /// The function.
    pub function: FunctionHandle,
    /// The shape.
    pub config: LaunchConfig,
    /// The argument block, which is copied.
    pub args: &'a [u64],
}

/// A [`Graph`] under construction.
#[derive(Debug)]
pub struct GraphBuilder {
    made: Graph,
}

impl GraphBuilder {
    /// An empty graph.
    ///
    /// # Errors
    /// What the device returns, where it has no graphs above all.
    pub fn new(context: &Arc<Context>) -> Result<Self> {
        context.check()?;
        let graph = context.observe(context.device().create_graph())?;
        let made = Graph { context: context.clone(), graph, exec: None, nodes: Vec::new() };
        Ok(Self { made })
    }

    /// How many nodes it has so far.
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // nobody asks
    pub fn len(&self) -> usize {
        self.made.nodes.len()
    }

    /// Adds a launch behind others, and gives its number. Nodes are numbered as they come.
    ///
    /// # Safety
    /// The function is of this context's device and stays loaded as long as the graph; the argument block is one of
    /// its.
    ///
    /// # Errors
    /// What the device returns.
    pub unsafe fn launch(&mut self, after: &[usize], launch: NodeLaunch<'_>) -> Result<usize> {
        let NodeLaunch { function, config, args } = launch;
        let (graph, after) = (self.made.graph, self.handles(after));
        let device = self.made.context.device();
        // SAFETY: the graph and its nodes are ours; the rest is the caller's promise.
        let node = unsafe { device.add_kernel_node(graph, &after, function, &config, args) };
        self.added(node)
    }

    /// Adds a copy of `bytes`, at least 1, within the device behind others, and gives its number.
    ///
    /// # Safety
    /// Both sides have the bytes, which do not overlap, as long as the graph is launched.
    ///
    /// # Errors
    /// What the device returns.
    pub unsafe fn copy(
        &mut self,
        after: &[usize],
        dst: DevicePtr,
        src: DevicePtr,
        bytes: usize,
    ) -> Result<usize> {
        let (graph, after) = (self.made.graph, self.handles(after));
        let mut node = None;
        for at in (0..bytes).step_by(COPY_AT_MOST) {
            let part = COPY_AT_MOST.min(bytes - at);
            let behind = node.and_then(|node: usize| self.made.nodes.get(node));
            let behind = behind.map_or(&after[..], std::slice::from_ref);
            let device = self.made.context.device();
            // SAFETY: the graph and its nodes are ours; the rest is the caller's promise.
            let added = unsafe {
                device.add_copy_node(graph, behind, dst.offset(at), src.offset(at), part)
            };
            node = Some(self.added(added)?);
        }
        Ok(node.unwrap_or_default())
    }

    /// Makes the graph ready.
    ///
    /// # Errors
    /// What the device returns.
    pub fn finish(self) -> Result<Graph> {
        let Self { mut made } = self;
        // SAFETY: made by `new`.
        let exec = unsafe { made.context.device().instantiate_graph(made.graph) };
        made.exec = Some(made.context.observe(exec)?);
        Ok(made)
    }

    fn handles(&self, nodes: &[usize]) -> SmallVec<[GraphNodeHandle; 4]> {
        nodes.iter().filter_map(|&node| self.made.nodes.get(node).copied()).collect()
    }

    fn added(&mut self, node: rhi::Result<GraphNodeHandle>) -> Result<usize> {
        let node = self.made.context.observe(node)?;
        self.made.nodes.push(node);
        Ok(self.made.nodes.len() - 1)
    }
}

impl Graph {
    /// A graph of chains: the launches of one run one behind the other, and chains are ordered by nothing.
    /// The launches are numbered as they come, over all chains.
    ///
    /// # Safety
    /// The functions are of this context's device and stay loaded as long as the graph; each argument block is
    /// one of its function's.
    ///
    /// # Errors
    /// What the device returns, where it has no graphs above all.
    pub unsafe fn of_chains<'a, Chain>(
        context: &Arc<Context>,
        chains: impl IntoIterator<Item = Chain>,
    ) -> Result<Self>
    where
        Chain: IntoIterator<Item = NodeLaunch<'a>>,
    {
        let mut graph = GraphBuilder::new(context)?;
        for chain in chains {
            let mut before: Option<usize> = None;
            for launch in chain {
                // SAFETY: the caller's promise.
                before = Some(unsafe { graph.launch(before.as_slice(), launch)? });
            }
        }
        graph.finish()
    }

    /// How many launches it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether it has no launch.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Sets a launch for all later launches of the graph. One that is not there is not set.
    ///
    /// # Safety
    /// As for [`of_chains`](Self::of_chains).
    ///
    /// # Errors
    /// What the device returns.
    #[inline]
    pub unsafe fn set(&self, node: usize, launch: NodeLaunch<'_>) -> Result<()> {
        let (Some(&node), Some(exec)) = (self.nodes.get(node), self.exec) else { return Ok(()) };
        let NodeLaunch { function, config, args } = launch;
        // SAFETY: the executable and its node are ours; the rest is the caller's promise.
        let set = unsafe {
            self.context.device().update_kernel_node(exec, node, function, &config, args)
        };
        self.context.observe(set)
    }

    /// Enqueues all launches on `stream`: behind what is there, and before what comes later.
    ///
    /// # Safety
    /// The stream is a live one of this context, and what the argument blocks name lives until the launches are
    /// over.
    ///
    /// # Errors
    /// What the device returns.
    #[inline]
    pub unsafe fn launch(&self, stream: StreamHandle) -> Result<()> {
        let Some(exec) = self.exec else { return Ok(()) };
        // SAFETY: the executable is ours; the rest is the caller's promise.
        self.context.observe(unsafe { self.context.device().launch_graph(exec, stream) })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let device = self.context.device();
        // An executable goes when no launch of it is under way, and on which stream the last one was it does
        // not know.
        if self.exec.is_some()
            && !self.context.live.is_idle()
            && let Err(error) = self.context.synchronize()
        {
            self.context.defer(error);
        }
        // SAFETY: ours, and nothing uses them: launches are stamped, and all that is, is complete.
        let results = unsafe {
            [
                self.exec.map_or(Ok(()), |exec| device.destroy_graph_exec(exec)),
                device.destroy_graph(self.graph),
            ]
        };
        for error in results.into_iter().filter_map(|r| self.context.observe(r).err()) {
            self.context.defer(error);
        }
    }
}
