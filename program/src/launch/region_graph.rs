//! Regions that are launched again and again in the same way, as graphs: one call of the driver sets the
//! arguments of each task, one launches all, and no event is recorded or waited for.
//!
//! A graph never changes results or order, only the price. It is made when a region is launched in one way for
//! the third time; where that is refused, or the graph is out with another thread, events do. Where a launch is the
//! one before it over again, arguments and all, nothing is set.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use parking_lot::Mutex;
use quadrants_ir::TaskId;
use quadrants_rhi::{FunctionHandle, LaunchConfig, Severity, StreamHandle, environment};
use quadrants_runtime::{self as rt, Context, Graph, NodeLaunch};

use crate::{Error, Result, kernel::image::LoadedForm, launch::plan::LaunchShapes};

/// The environment variable that says whether repeated regions become graphs: `on`, which they do where nothing
/// is said and the device has graphs, or `off`.
pub const GRAPHS_VARIABLE: &str = "QUADRANTS_GRAPHS";

/// So often a region is launched by events before it becomes a graph.
const LAUNCHES_BEFORE_GRAPH: u8 = 2;
/// So many ways of launching one region are known; further ones use events.
const MAX_GRAPHS_PER_REGION: usize = 32;

/// How the regions of a program were launched.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct RegionStatistics {
    /// Launches of regions as graphs.
    pub as_graph: u64,
    /// Launches of regions by events: fork and join.
    pub by_events: u64,
    /// Graphs made.
    pub graphs_made: u64,
    /// Graphs that the device refused to make, to set or to launch; events were used instead, from then on.
    pub graphs_refused: u64,
}

/// Whether a program makes graphs, and how often it did.
#[derive(Debug)]
pub(crate) struct Graphs {
    pub(crate) on: bool,
    as_graph: AtomicU64,
    by_events: AtomicU64,
    made: AtomicU64,
    refused: AtomicU64,
}

/// The graphs of one region.
#[derive(Debug, Default)]
pub(crate) struct RegionGraphCache(Mutex<Vec<GraphEntry>>);

/// In which way a region is launched: what a graph of it is good for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct GraphKey {
    /// The launch stream's number: one executable never overlaps itself, and so is not shared by streams.
    pub(crate) stream: u32,
    /// The first task's function, which tells the form.
    pub(crate) first: FunctionHandle,
    /// The tasks that have iterations, a bit each.
    pub(crate) live: u64,
}

/// The tasks of a launch, by their numbers.
#[derive(Clone, Copy)]
pub(crate) struct Tasks<'a> {
    pub(crate) loaded: &'a LoadedForm,
    /// None where a task has no iteration.
    pub(crate) shapes: &'a [Option<LaunchConfig>],
    /// The argument block of all.
    pub(crate) args: &'a [u64],
}

#[derive(Debug)]
struct GraphEntry {
    key: GraphKey,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Launched by events so often.
    Counted(u8),
    Idle(Box<CachedGraph>),
    /// With a launch that is under way.
    InUse,
    Refused,
}

/// A graph, and what its nodes are set to.
#[derive(Debug)]
struct CachedGraph {
    graph: Graph,
    shapes: LaunchShapes,
    args: Vec<u64>,
}

/// What there is for a launch.
enum Lookup {
    Graph(Box<CachedGraph>),
    /// Nothing yet, but it is time.
    Build,
    Nothing,
}

impl Graphs {
    /// As the environment says where `asked` does not; off where the device has none.
    pub(crate) fn new(asked: Option<bool>, capable: bool) -> Result<Self> {
        let wanted = asked.map_or_else(from_env, Ok)?;
        let count = || AtomicU64::new(0);
        Ok(Self {
            on: wanted && capable,
            as_graph: count(),
            by_events: count(),
            made: count(),
            refused: count(),
        })
    }

    pub(crate) fn statistics(&self) -> RegionStatistics {
        RegionStatistics {
            as_graph: self.as_graph.load(Relaxed),
            by_events: self.by_events.load(Relaxed),
            graphs_made: self.made.load(Relaxed),
            graphs_refused: self.refused.load(Relaxed),
        }
    }

    pub(crate) fn count_by_events(&self) {
        self.by_events.fetch_add(1, Relaxed);
    }
}

fn from_env() -> Result<bool> {
    match environment::text(GRAPHS_VARIABLE)?.as_deref() {
        None | Some("on") => Ok(true),
        Some("off") => Ok(false),
        Some(other) => Err(Error::UnknownGraphs { name: other.to_owned() }),
    }
}

impl<'a> Tasks<'a> {
    fn get(self, task: TaskId) -> Option<NodeLaunch<'a>> {
        let config = self.shapes[task.index()]?;
        Some(NodeLaunch { function: self.loaded.function(task.index()), config, args: self.args })
    }
}

impl CachedGraph {
    fn is_set_to(&self, tasks: &Tasks<'_>) -> bool {
        self.args == tasks.args && self.shapes[..] == *tasks.shapes
    }

    /// Sets all launches.
    ///
    /// # Safety
    /// As for [`RegionGraphCache::launch`]; the graph was made of these blocks, launched in the same way.
    unsafe fn set(&self, blocks: &[Vec<TaskId>], tasks: Tasks<'_>) -> rt::Result<()> {
        let mut node = 0;
        for block in blocks {
            for task in block {
                let Some(launch) = tasks.get(*task) else { continue };
                // SAFETY: the caller's promise.
                unsafe { self.graph.set(node, launch)? };
                node += 1;
            }
        }
        Ok(())
    }

    fn note(&mut self, tasks: &Tasks<'_>) {
        self.args.clear();
        self.args.extend_from_slice(tasks.args);
        self.shapes.clear();
        self.shapes.extend_from_slice(tasks.shapes);
    }
}

impl RegionGraphCache {
    /// Launches the region on the stream as a graph; false where events have to do it, and nothing is enqueued.
    ///
    /// # Errors
    /// That the context is lost.
    ///
    /// # Safety
    /// The functions stay loaded as long as this, and the argument block is one of theirs, whose memory lives until
    /// the launches are over. `stream` is the live stream of `key`.
    pub(crate) unsafe fn launch(
        &self,
        context: &Arc<Context>,
        graphs: &Graphs,
        key: GraphKey,
        blocks: &[Vec<TaskId>],
        tasks: Tasks<'_>,
        stream: StreamHandle,
    ) -> rt::Result<bool> {
        let cached = match self.take(key) {
            Lookup::Nothing => return Ok(false),
            Lookup::Graph(cached) if cached.is_set_to(&tasks) => Ok(cached),
            Lookup::Graph(mut cached) => {
                // SAFETY: the caller's promise; blocks of the same way are the same launches in order.
                unsafe { cached.set(blocks, tasks) }.map(|()| {
                    cached.note(&tasks);
                    cached
                })
            }
            Lookup::Build => {
                let chains =
                    blocks.iter().map(|block| block.iter().filter_map(|task| tasks.get(*task)));
                // SAFETY: the caller's promise.
                unsafe { Graph::of_chains(context, chains) }.map(|graph| {
                    graphs.made.fetch_add(1, Relaxed);
                    tracing::debug!(launches = graph.len(), stream = key.stream, "graph");
                    let (shapes, args) = (tasks.shapes.into(), tasks.args.to_vec());
                    Box::new(CachedGraph { graph, shapes, args })
                })
            }
        };
        // SAFETY: the caller's promise.
        let launched =
            cached.and_then(|cached| unsafe { cached.graph.launch(stream) }.map(|()| cached));
        match launched {
            Ok(cached) => {
                self.give_back(key, State::Idle(cached));
                graphs.as_graph.fetch_add(1, Relaxed);
                Ok(true)
            }
            Err(error) => {
                self.give_back(key, State::Refused);
                if error.severity() == Severity::ContextLost {
                    return Err(error);
                }
                graphs.refused.fetch_add(1, Relaxed);
                tracing::debug!(%error, "a region stays without a graph");
                Ok(false)
            }
        }
    }

    fn take(&self, key: GraphKey) -> Lookup {
        let mut entries = self.0.lock();
        let Some(at) = entries.iter().position(|entries| entries.key == key) else {
            if entries.len() == MAX_GRAPHS_PER_REGION {
                // One of a stream that was used once or twice makes room.
                let seen =
                    entries.iter().position(|entries| matches!(entries.state, State::Counted(_)));
                let Some(seen) = seen else { return Lookup::Nothing };
                entries.remove(seen);
            }
            entries.push(GraphEntry { key, state: State::Counted(1) });
            return Lookup::Nothing;
        };
        let state = &mut entries[at].state;
        match state {
            State::Counted(times) if *times < LAUNCHES_BEFORE_GRAPH => {
                *times += 1;
                Lookup::Nothing
            }
            State::InUse | State::Refused => Lookup::Nothing,
            State::Counted(_) | State::Idle(_) => match std::mem::replace(state, State::InUse) {
                State::Idle(cached) => Lookup::Graph(cached),
                _ => Lookup::Build,
            },
        }
    }

    fn give_back(&self, key: GraphKey, state: State) {
        if let Some(entries) = self.0.lock().iter_mut().find(|entries| entries.key == key) {
            entries.state = state;
        }
    }
}
