//! Graphs of launches that run again and again with other arguments.

use std::sync::Arc;

use quadrants_rhi::{
    FunctionHandle, GraphExecHandle, GraphHandle, GraphNodeHandle, LaunchConfig, StreamHandle,
};

use crate::{Context, Result};

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
        context.check()?;
        let device = context.device();
        let graph = context.observe(device.create_graph())?;
        let mut made = Self { context: context.clone(), graph, exec: None, nodes: Vec::new() };
        for chain in chains {
            let mut before: Option<GraphNodeHandle> = None;
            for NodeLaunch { function, config, args } in chain {
                // SAFETY: the graph and its node are ours; the rest is the caller's promise.
                let node = unsafe {
                    device.add_kernel_node(graph, before.as_slice(), function, &config, args)
                };
                let node = context.observe(node)?;
                made.nodes.push(node);
                before = Some(node);
            }
        }
        // SAFETY: made above.
        made.exec = Some(context.observe(unsafe { device.instantiate_graph(graph) })?);
        Ok(made)
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
