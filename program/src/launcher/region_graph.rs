//! Regions that are launched repeatedly, as graphs: one driver call sets the arguments of each task, one launches all,
//! and no event is recorded or waited for.
//!
//! A graph never changes results or order, only what a launch costs. It is made at the third launch of a region with
//! the same key. Events are used where the device refuses it, or where another thread is launching the graph. Where a
//! launch has the configurations and arguments of the one before, nothing is set.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

use parking_lot::Mutex;
use quadrants_ir::TaskId;
use quadrants_rhi::{FunctionHandle, LaunchConfig, Severity, StreamHandle};
use quadrants_runtime::{self as rt, Context, Graph, NodeLaunch};

use super::grid::LaunchConfigs;
use crate::kernel::loader::LoadedImage;

/// How many launches of a region use events before it becomes a graph.
const LAUNCHES_BEFORE_GRAPH: u8 = 2;
/// The number of keys of a region that are remembered. Launches with further keys use events.
const MAX_GRAPHS_PER_REGION: usize = 32;

/// How the regions of a program were launched.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct RegionStatistics {
    /// Launches of regions as graphs.
    pub as_graph: u64,
    /// Launches of regions by events: fork and join.
    pub by_events: u64,
    /// Graphs that were made.
    pub graphs_made: u64,
    /// Graphs that the device refused to make, set or launch. Events are used for their launches from then on.
    pub graphs_refused: u64,
}

/// Whether a program makes graphs of regions, and the statistics of its regions.
#[derive(Debug)]
pub(crate) struct Graphs {
    pub(crate) enabled: bool,
    /// Whether regions become graphs: where they are enabled, but not while a profile measures each task.
    for_regions: AtomicBool,
    as_graph: AtomicU64,
    by_events: AtomicU64,
    made: AtomicU64,
    refused: AtomicU64,
}

#[derive(Debug, Default)]
pub(crate) struct RegionGraphCache(Mutex<Vec<GraphEntry>>);

/// The key of a region's graph: a graph can be launched for all launches with its key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct GraphKey {
    /// The launch stream's number. An executable graph cannot run concurrently with itself, so streams do not share it.
    pub(crate) stream: u32,
    /// The function of the first task with iterations. It identifies the form.
    pub(crate) first_function: FunctionHandle,
    /// A bit for each task of the kernel: whether it has iterations.
    pub(crate) active_tasks: u64,
}

#[derive(Clone, Copy)]
pub(crate) struct RegionTasks<'a> {
    pub(crate) loaded: &'a LoadedImage,
    /// By task; none where a task has no iteration.
    pub(crate) configs: &'a [Option<LaunchConfig>],
    /// The argument block.
    pub(crate) args: &'a [u64],
}

#[derive(Debug)]
struct GraphEntry {
    key: GraphKey,
    state: GraphState,
}

#[derive(Debug)]
enum GraphState {
    /// The number of launches so far, all by events.
    Counted(u8),
    Idle(Box<CachedGraph>),
    /// Used by a launch at the moment.
    InUse,
    Refused,
}

/// A graph, and the configurations and arguments that its nodes are set to.
#[derive(Debug)]
struct CachedGraph {
    graph: Graph,
    configs: LaunchConfigs,
    args: Vec<u64>,
}

/// What the cache has for a launch.
enum Lookup {
    Graph(Box<CachedGraph>),
    /// No graph yet; it must be built now.
    Build,
    Nothing,
}

impl Graphs {
    /// With graphs for regions where they are `enabled`.
    pub(crate) fn new(enabled: bool) -> Self {
        let count = || AtomicU64::new(0);
        Self {
            enabled,
            for_regions: AtomicBool::new(enabled),
            as_graph: count(),
            by_events: count(),
            made: count(),
            refused: count(),
        }
    }

    pub(crate) fn statistics(&self) -> RegionStatistics {
        RegionStatistics {
            as_graph: self.as_graph.load(Relaxed),
            by_events: self.by_events.load(Relaxed),
            graphs_made: self.made.load(Relaxed),
            graphs_refused: self.refused.load(Relaxed),
        }
    }

    #[inline]
    pub(crate) fn are_for_regions(&self) -> bool {
        self.for_regions.load(Relaxed)
    }

    /// Turns the graphs of regions off or on again, where graphs are enabled.
    pub(crate) fn set_for_regions(&self, on: bool) {
        self.for_regions.store(on && self.enabled, Relaxed);
    }

    pub(crate) fn count_by_events(&self) {
        self.by_events.fetch_add(1, Relaxed);
    }
}

impl<'a> RegionTasks<'a> {
    fn get(self, task: TaskId) -> Option<NodeLaunch<'a>> {
        let config = self.configs[task.index()]?;
        Some(NodeLaunch { function: self.loaded.function(task.index()), config, args: self.args })
    }
}

impl CachedGraph {
    fn is_set_to(&self, tasks: &RegionTasks<'_>) -> bool {
        self.args == tasks.args && self.configs[..] == *tasks.configs
    }

    /// Sets the configurations and arguments of all nodes.
    ///
    /// # Safety
    /// As for [`RegionGraphCache::launch`]; the graph was made of these blocks, with the same key.
    #[inline]
    unsafe fn set(&self, blocks: &[Vec<TaskId>], tasks: RegionTasks<'_>) -> rt::Result<()> {
        let mut node = 0;
        for block in blocks {
            for task in block {
                let Some(launch) = tasks.get(*task) else { continue };
                // SAFETY: by the caller.
                unsafe { self.graph.set(node, launch)? };
                node += 1;
            }
        }
        Ok(())
    }

    #[inline]
    fn remember(&mut self, tasks: &RegionTasks<'_>) {
        self.args.clear();
        self.args.extend_from_slice(tasks.args);
        self.configs.clear();
        self.configs.extend_from_slice(tasks.configs);
    }
}

/// Builds the graph of a region.
///
/// # Safety
/// As for [`RegionGraphCache::launch`].
#[cold]
unsafe fn build(
    context: &Arc<Context>,
    graphs: &Graphs,
    key: GraphKey,
    blocks: &[Vec<TaskId>],
    tasks: RegionTasks<'_>,
) -> rt::Result<Box<CachedGraph>> {
    let chains = blocks.iter().map(|block| block.iter().filter_map(|task| tasks.get(*task)));
    // SAFETY: by the caller.
    let graph = unsafe { Graph::of_chains(context, chains)? };
    graphs.made.fetch_add(1, Relaxed);
    tracing::debug!(launches = graph.len(), stream = key.stream, "graph");
    let (configs, args) = (tasks.configs.into(), tasks.args.to_vec());
    Ok(Box::new(CachedGraph { graph, configs, args }))
}

impl RegionGraphCache {
    /// Launches the region on the stream as a graph. Returns false where events must be used; then nothing is enqueued.
    ///
    /// # Errors
    /// The context is lost.
    ///
    /// # Safety
    /// The functions stay loaded as long as this cache lives. The argument block is one of theirs, and its memory lives
    /// until the launches are complete. `stream` is the live stream of `key`.
    #[inline]
    pub(crate) unsafe fn launch(
        &self,
        context: &Arc<Context>,
        graphs: &Graphs,
        key: GraphKey,
        blocks: &[Vec<TaskId>],
        tasks: RegionTasks<'_>,
        stream: StreamHandle,
    ) -> rt::Result<bool> {
        let cached = match self.take_for_launch(key) {
            Lookup::Nothing => return Ok(false),
            Lookup::Graph(cached) if cached.is_set_to(&tasks) => Ok(cached),
            Lookup::Graph(mut cached) => {
                // SAFETY: by the caller; with the same key, the nodes are the same tasks in order.
                unsafe { cached.set(blocks, tasks) }.map(|()| {
                    cached.remember(&tasks);
                    cached
                })
            }
            // SAFETY: by the caller.
            Lookup::Build => unsafe { build(context, graphs, key, blocks, tasks) },
        };
        // SAFETY: by the caller.
        let launched =
            cached.and_then(|cached| unsafe { cached.graph.launch(stream) }.map(|()| cached));
        match launched {
            Ok(cached) => {
                self.give_back(key, GraphState::Idle(cached));
                graphs.as_graph.fetch_add(1, Relaxed);
                Ok(true)
            }
            Err(error) => {
                self.give_back(key, GraphState::Refused);
                if error.severity() == Severity::ContextLost {
                    return Err(error);
                }
                graphs.refused.fetch_add(1, Relaxed);
                tracing::debug!(%error, "a region stays without a graph");
                Ok(false)
            }
        }
    }

    fn take_for_launch(&self, key: GraphKey) -> Lookup {
        let mut entries = self.0.lock();
        let Some(at) = entries.iter().position(|entries| entries.key == key) else {
            if entries.len() == MAX_GRAPHS_PER_REGION {
                // Evict a key that was used once or twice.
                let evicted = entries
                    .iter()
                    .position(|entries| matches!(entries.state, GraphState::Counted(_)));
                let Some(evicted) = evicted else { return Lookup::Nothing };
                entries.remove(evicted);
            }
            entries.push(GraphEntry { key, state: GraphState::Counted(1) });
            return Lookup::Nothing;
        };
        let state = &mut entries[at].state;
        match state {
            GraphState::Counted(times) if *times < LAUNCHES_BEFORE_GRAPH => {
                *times += 1;
                Lookup::Nothing
            }
            GraphState::InUse | GraphState::Refused => Lookup::Nothing,
            GraphState::Counted(_) | GraphState::Idle(_) => {
                match std::mem::replace(state, GraphState::InUse) {
                    GraphState::Idle(cached) => Lookup::Graph(cached),
                    _ => Lookup::Build,
                }
            }
        }
    }

    fn give_back(&self, key: GraphKey, state: GraphState) {
        if let Some(entries) = self.0.lock().iter_mut().find(|entries| entries.key == key) {
            entries.state = state;
        }
    }
}
