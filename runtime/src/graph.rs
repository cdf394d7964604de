//! [`Graph`]: a device graph of launches and copies that is launched repeatedly with other arguments.

use std::sync::Arc;

use quadrants_rhi::{
    self as rhi, DevicePtr, FunctionHandle, GraphExecHandle, GraphHandle, GraphNodeHandle,
    LaunchConfig, StreamHandle,
};
use smallvec::SmallVec;

use crate::{Context, Result};

/// An instantiated graph of launches and copies. Dropping it waits until the stamped work of the context is complete.
///
/// It keeps the driver's graph, whose nodes name the nodes of the executable.
#[derive(Debug)]
pub struct Graph {
    context: Arc<Context>,
    graph: GraphHandle,
    exec: Option<GraphExecHandle>,
    nodes: Vec<GraphNodeHandle>,
}

/// A launch in a [`Graph`].
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_structs)] // a launch has exactly these three parts
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
    graph: Graph,
}

/// A graph of what other code enqueued on a captured stream, to be added to other graphs.
#[derive(Debug)]
pub struct ChildGraph {
    context: Arc<Context>,
    graph: GraphHandle,
}

/// Ends a capture on every exit path.
struct CaptureGuard<'a> {
    context: &'a Arc<Context>,
    stream: StreamHandle,
}

impl ChildGraph {
    /// Captures what `enqueue` enqueues on the given stream, which is not used for anything else meanwhile.
    ///
    /// # Errors
    /// The device's error, if it has no graphs or if something cannot be captured.
    pub fn capture<R>(
        context: &Arc<Context>,
        enqueue: impl FnOnce(StreamHandle) -> R,
    ) -> Result<(Self, R)> {
        context.check()?;
        let lease = context.lease_stream()?;
        let stream = lease.handle();
        // SAFETY: the stream is leased, and not capturing.
        context.observe(unsafe { context.device().begin_capture(stream) })?;
        let guard = CaptureGuard { context, stream };
        let result = enqueue(stream);
        std::mem::forget(guard);
        // SAFETY: begun above, on this thread.
        let graph = context.observe(unsafe { context.device().end_capture(stream) })?;
        Ok((Self { context: context.clone(), graph }, result))
    }
}

impl Drop for CaptureGuard<'_> {
    fn drop(&mut self) {
        let Self { context, stream } = self;
        // SAFETY: the stream is capturing, on this thread; the graph is not used by anybody.
        unsafe {
            if let Ok(graph) = context.observe(context.device().end_capture(*stream)) {
                context.destroyed(context.device().destroy_graph(graph));
            }
        }
    }
}

impl Drop for ChildGraph {
    fn drop(&mut self) {
        // SAFETY: the graph is owned; graphs that it was added to have copies of its nodes.
        self.context.destroyed(unsafe { self.context.device().destroy_graph(self.graph) });
    }
}

impl GraphBuilder {
    /// Creates an empty graph.
    ///
    /// # Errors
    /// The device's error, for example that it has no graphs.
    pub fn new(context: &Arc<Context>) -> Result<Self> {
        context.check()?;
        let graph = context.observe(context.device().create_graph())?;
        let context = context.clone();
        Ok(Self { graph: Graph { context, graph, exec: None, nodes: Vec::new() } })
    }

    /// The number of nodes.
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // no caller needs it
    pub fn len(&self) -> usize {
        self.graph.nodes.len()
    }

    /// Adds a launch that runs after the nodes `after`, and returns its index. Nodes are numbered in the order of
    /// addition.
    ///
    /// # Safety
    /// The function is of this context's device and stays loaded as long as the graph exists. `launch.args` is an
    /// argument block of the function.
    ///
    /// # Errors
    /// The device's error.
    pub unsafe fn launch(&mut self, after: &[usize], launch: NodeLaunch<'_>) -> Result<usize> {
        let NodeLaunch { function, config, args } = launch;
        let (graph, after) = (self.graph.graph, self.handles(after));
        let device = self.graph.context.device();
        // SAFETY: this builder owns the graph and its nodes; the caller guarantees the rest.
        let node = unsafe { device.add_kernel_node(graph, &after, function, &config, args) };
        self.added(node)
    }

    /// Adds a copy of `bytes`, at least 1, within the device. It runs after the nodes `after`. Returns the index of its
    /// last node; a large copy has several.
    ///
    /// # Safety
    /// At every launch of the graph, both ranges are valid, and they do not overlap.
    ///
    /// # Errors
    /// The device's error.
    pub unsafe fn copy(
        &mut self,
        after: &[usize],
        dst: DevicePtr,
        src: DevicePtr,
        bytes: usize,
    ) -> Result<usize> {
        let (graph, after) = (self.graph.graph, self.handles(after));
        let mut node = None;
        for at in (0..bytes).step_by(Graph::MAX_COPY_BYTES) {
            let part = Graph::MAX_COPY_BYTES.min(bytes - at);
            let previous = node.and_then(|node: usize| self.graph.nodes.get(node));
            let dependencies = previous.map_or(&after[..], std::slice::from_ref);
            let device = self.graph.context.device();
            // SAFETY: this builder owns the graph and its nodes; the caller guarantees the rest.
            let added = unsafe {
                device.add_copy_node(graph, dependencies, dst.offset(at), src.offset(at), part)
            };
            node = Some(self.added(added)?);
        }
        Ok(node.unwrap_or_default())
    }

    /// Adds the nodes of a child graph, which run after the nodes `after`. Returns the index of the node that stands
    /// for them.
    ///
    /// # Safety
    /// At every launch of the graph, the memory that the child's nodes use is valid.
    ///
    /// # Errors
    /// The device's error.
    pub unsafe fn child(&mut self, after: &[usize], child: &ChildGraph) -> Result<usize> {
        let (graph, after) = (self.graph.graph, self.handles(after));
        let device = self.graph.context.device();
        // SAFETY: this builder owns the graph and its nodes; the caller guarantees the rest.
        let node = unsafe { device.add_child_node(graph, &after, child.graph) };
        self.added(node)
    }

    /// Instantiates the graph.
    ///
    /// # Errors
    /// The device's error.
    pub fn finish(self) -> Result<Graph> {
        let Self { mut graph } = self;
        // SAFETY: `new` created the graph.
        let exec = unsafe { graph.context.device().instantiate_graph(graph.graph) };
        graph.exec = Some(graph.context.observe(exec)?);
        Ok(graph)
    }

    fn handles(&self, nodes: &[usize]) -> SmallVec<[GraphNodeHandle; 4]> {
        nodes.iter().filter_map(|&node| self.graph.nodes.get(node).copied()).collect()
    }

    fn added(&mut self, node: rhi::Result<GraphNodeHandle>) -> Result<usize> {
        let node = self.graph.context.observe(node)?;
        self.graph.nodes.push(node);
        Ok(self.graph.nodes.len() - 1)
    }
}

impl Graph {
    /// The largest copy of one node, in bytes; see [`rhi::Device::add_copy_node`].
    pub const MAX_COPY_BYTES: usize = 1 << 30;

    /// Makes a graph of chains. The launches of a chain run in order; different chains are not ordered. The launches
    /// are numbered in order over all chains.
    ///
    /// # Safety
    /// As for [`GraphBuilder::launch`], for each launch.
    ///
    /// # Errors
    /// The device's error, for example that it has no graphs.
    pub unsafe fn of_chains<'a, Chain>(
        context: &Arc<Context>,
        chains: impl IntoIterator<Item = Chain>,
    ) -> Result<Self>
    where
        Chain: IntoIterator<Item = NodeLaunch<'a>>,
    {
        let mut graph = GraphBuilder::new(context)?;
        for chain in chains {
            let mut previous: Option<usize> = None;
            for launch in chain {
                // SAFETY: the caller guarantees the conditions.
                previous = Some(unsafe { graph.launch(previous.as_slice(), launch)? });
            }
        }
        graph.finish()
    }

    /// The number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether it has no node.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Replaces a launch for all later launches of the graph. Does nothing if there is no node with this index.
    ///
    /// # Safety
    /// As for [`of_chains`](Self::of_chains).
    ///
    /// # Errors
    /// The device's error.
    #[inline]
    pub unsafe fn set(&self, node: usize, launch: NodeLaunch<'_>) -> Result<()> {
        let (Some(&node), Some(exec)) = (self.nodes.get(node), self.exec) else { return Ok(()) };
        let NodeLaunch { function, config, args } = launch;
        // SAFETY: `self` owns the executable and its node; the caller guarantees the rest.
        let set = unsafe {
            self.context.direct_device().update_kernel_node(exec, node, function, &config, args)
        };
        self.context.observe(set)
    }

    /// Enqueues the graph on `stream`, after earlier work and before later work of the stream.
    ///
    /// # Safety
    /// `stream` is a live stream of this context. The addresses in the argument blocks stay valid until the launches
    /// are complete.
    ///
    /// # Errors
    /// The device's error.
    #[inline]
    pub unsafe fn launch(&self, stream: StreamHandle) -> Result<()> {
        // SAFETY: by the caller.
        unsafe { self.launch_through(&**self.context.direct_device(), stream) }
    }

    /// [`launch`](Self::launch) through the active [interposer](Context::interpose), if there is one.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch).
    ///
    /// # Errors
    /// The device's error.
    pub unsafe fn launch_interposed(&self, stream: StreamHandle) -> Result<()> {
        // SAFETY: by the caller.
        unsafe { self.launch_through(&**self.context.device(), stream) }
    }

    /// # Safety
    /// As for [`launch`](Self::launch); the device is the context's.
    #[inline]
    unsafe fn launch_through(&self, device: &dyn rhi::Device, stream: StreamHandle) -> Result<()> {
        let Some(exec) = self.exec else { return Ok(()) };
        // SAFETY: `self` owns the executable; the caller guarantees the rest.
        self.context.observe(unsafe { device.launch_graph(exec, stream) })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let device = self.context.device();
        // An executable may be destroyed only when its launches are complete, and it does not know their streams.
        if self.exec.is_some()
            && !self.context.registry.is_idle()
            && let Err(error) = self.context.synchronize()
        {
            self.context.defer(error);
        }
        // SAFETY: `self` owns them, and nothing uses them: all stamped work is complete, and launches are stamped.
        unsafe {
            if let Some(exec) = self.exec {
                self.context.destroyed(device.destroy_graph_exec(exec));
            }
            self.context.destroyed(device.destroy_graph(self.graph));
        }
    }
}
