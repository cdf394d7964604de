//! The launch plan of a kernel, made once: serial steps and regions, and how a region forks and
//! joins.
//!
//! One pooled event is recorded on the launch stream. The first block stays there; every other takes
//! a worker stream, which waits for that event. Each worker records a pooled event at its end, and
//! the launch stream waits for it. The host never waits, and two blocks of a region are ordered with
//! each other by nothing. A region that is launched again and again becomes a graph instead: see `graphs`.

use std::slice;

use quadrants_ir::{
    Coarsening, GroupId, Offloaded, Task, TaskId, TaskKind,
    abi::Form,
    launch_analysis::{Extents, LaunchAnalysis},
};
use quadrants_rhi::{Device, ImageKind, LaunchConfig, StreamHandle};
use quadrants_runtime as rt;
use smallvec::SmallVec;

use crate::{
    Error, Result,
    kernel::image::LoadedForm,
    launch::{
        fork_join::{ForkJoin, MAX_WORKERS},
        grid::{block_config, fit_device, fit_limits, is_loop, launch_config},
        region_graph::{GraphKey, RegionGraphCache, Tasks},
    },
    program::ProgramShared,
    stream::StreamState,
};

/// What is launched, in order.
#[derive(Debug)]
pub(crate) struct Plan {
    steps: Vec<Step>,
    tasks: usize,
    /// Whether there is one task, or body, and nothing else.
    only: bool,
}

#[derive(Debug)]
enum Step {
    /// The whole kernel as one native body.
    Native,
    /// A task on the launch stream.
    Task(TaskId),
    Region(Region),
}

/// A region.
#[derive(Debug, Default)]
struct Region {
    /// The tasks of each block.
    blocks: Vec<Vec<TaskId>>,
    graphs: RegionGraphCache,
}

/// The launch shape of each task; none where the task has no iteration.
pub(crate) type LaunchShapes = SmallVec<[Option<LaunchConfig>; 8]>;

/// A launch that failed.
pub(crate) struct LaunchFailure {
    /// Whether something was enqueued before.
    pub(crate) started: bool,
    pub(crate) source: rt::Error,
}

impl Plan {
    pub(crate) fn new(kernel: &Offloaded, image: ImageKind) -> Self {
        let mut steps: Vec<Step> = Vec::new();
        if image == ImageKind::Native {
            steps.push(Step::Native);
            return Self { steps, tasks: 1, only: true };
        }
        let mut last = GroupId::NONE;
        for (id, task) in kernel.tasks() {
            match (task.group, steps.last_mut()) {
                (group, _) if group == GroupId::NONE => steps.push(Step::Task(id)),
                (group, Some(Step::Region(region))) if group == last => {
                    if let Some(block) = region.blocks.last_mut() {
                        block.push(id);
                    }
                }
                (_, Some(Step::Region(region))) => region.blocks.push(vec![id]),
                _ => {
                    let blocks = vec![vec![id]];
                    steps.push(Step::Region(Region { blocks, ..Region::default() }));
                }
            }
            last = task.group;
        }
        let only = matches!(steps.as_slice(), [Step::Task(_)]);
        Self { steps, tasks: kernel.tasks.len(), only }
    }

    /// Whether all that a launch calls of the driver is one launch, where it calls anything.
    pub(crate) fn is_one_call(&self) -> bool {
        self.only
    }

    /// The launch shape of every task for these arguments.
    pub(crate) fn shapes(
        &self,
        kernel: &Offloaded,
        host: &LaunchAnalysis,
        words: &[u64],
        shared: &ProgramShared,
    ) -> Result<LaunchShapes> {
        if matches!(self.steps.as_slice(), [Step::Native]) {
            for (id, task) in kernel.tasks() {
                counts(kernel, task, &host.extents(id, words))?;
            }
            return Ok(SmallVec::from_slice(&[Some(LaunchConfig::SERIAL)]));
        }
        let info = shared.context.device().info();
        let mut shapes = LaunchShapes::with_capacity(self.tasks);
        for (id, task) in kernel.tasks() {
            if !is_loop(&task.kind) {
                shapes.push(Some(LaunchConfig::SERIAL));
                continue;
            }
            let extents = counts(kernel, task, &host.extents(id, words))?;
            if extents.contains(&0) {
                shapes.push(None);
                continue;
            }
            let mut config = match task.kind {
                TaskKind::BlockFor { threads, .. } => block_config(&extents, threads),
                TaskKind::RangeFor { block_size, .. } => {
                    let square = Coarsening::of(kernel, task, Form::Checked).square_blocks;
                    launch_config(&extents, block_size, square)
                }
                TaskKind::Serial => LaunchConfig::SERIAL,
            };
            if task.kind.has_device_bounds() {
                fit_device(&mut config, info.multiprocessors);
            }
            fit_limits(&mut config, info);
            let threads: u32 = config.block_dim.iter().product();
            if threads > info.max_threads_per_block {
                let what = format!("a block of {threads} threads is too large for the device");
                return Err(Error::Grid { kernel: kernel.name.clone(), what });
            }
            shapes.push(Some(config));
        }
        Ok(shapes)
    }

    /// The steps, as chains of tasks that run side by side. The tasks come in the order of their numbers.
    pub(crate) fn steps(&self) -> impl Iterator<Item = Vec<&[TaskId]>> {
        self.steps.iter().map(|step| match step {
            Step::Native => Vec::new(),
            Step::Task(task) => vec![slice::from_ref(task)],
            Step::Region(region) => region.blocks.iter().map(Vec::as_slice).collect(),
        })
    }

    /// How many launch shapes a launch has.
    pub(crate) fn shapes_of_a_launch(&self) -> usize {
        self.tasks
    }

    /// Makes grids of loops whose threads take some iterations at once smaller by as much, where that leaves enough
    /// threads to fill the device.
    pub(crate) fn narrow(
        kernel: &Offloaded,
        form: Form,
        shapes: &mut [Option<LaunchConfig>],
        multiprocessors: u32,
    ) {
        for ((_, task), config) in kernel.tasks().zip(shapes) {
            let (Coarsening { factor, single_wave, .. }, Some(config)) =
                (Coarsening::of(kernel, task, form), config)
            else {
                continue;
            };
            let Some(dims) = task.kind.dims() else { continue };
            let axis = dims.len().clamp(1, 3) - 1;
            let threads = |config: &LaunchConfig| {
                let sizes = config.grid_dim.iter().chain(&config.block_dim);
                sizes.map(|&size| u64::from(size)).product::<u64>()
            };
            let filling = u64::from(THREADS_EACH) * u64::from(multiprocessors.max(1));
            if factor > 1 && threads(config) >= filling * u64::from(factor) {
                config.grid_dim[axis] = config.grid_dim[axis].div_ceil(factor);
            }
            if single_wave {
                fit_device(config, multiprocessors);
            }
        }
    }

    /// Enqueues all steps on `stream` with the argument block `args`. The shapes are in `shapes`; where there is one
    /// task and nothing else, its shape is `first`.
    #[inline(always)]
    pub(crate) fn enqueue(
        &self,
        shared: &ProgramShared,
        loaded: &LoadedForm,
        first: Option<LaunchConfig>,
        shapes: &[Option<LaunchConfig>],
        args: &[u64],
        stream: &StreamState,
    ) -> Result<(), LaunchFailure> {
        let device = &**shared.context.device();
        let enqueue = Enqueue { shared, device, loaded, shapes, args, started: false };
        if !self.only {
            return self.enqueue_steps(enqueue, stream);
        }
        let Some(config) = first else { return Ok(()) };
        let launched = enqueue.launch(0, &config, stream.stream.handle());
        launched.map_err(|source| LaunchFailure { started: false, source })
    }

    #[inline]
    fn enqueue_steps(
        &self,
        mut enqueue: Enqueue<'_>,
        stream: &StreamState,
    ) -> Result<(), LaunchFailure> {
        let result = self.steps.iter().try_for_each(|step| match step {
            Step::Native => enqueue.task(0, stream.stream.handle()),
            Step::Task(task) => enqueue.task(task.index(), stream.stream.handle()),
            Step::Region(region) => enqueue.region(region, stream),
        });
        result.map_err(|source| LaunchFailure { started: enqueue.started, source })
    }
}

/// The number of iterations of each dimension of a loop.
fn counts(kernel: &Offloaded, task: &Task, extents: &Extents) -> Result<SmallVec<[u64; 3]>> {
    let counts: SmallVec<[u64; 3]> = extents.counts().collect();
    if let Some(wrapped) = counts.iter().find(|n| **n > i64::MAX as u64)
        && !extents.is_empty()
    {
        let what = format!(
            "the loop at line {} has {wrapped} iterations: one of its bounds has wrapped, or its step is 0",
            task.line
        );
        return Err(Error::Grid { kernel: kernel.name.clone(), what });
    }
    // Of bounds that only the device knows, it asks the same where it computes them.
    if !task.kind.has_device_bounds() && extents.exceed_max_bound() {
        let dims: Vec<_> =
            extents.dims().iter().map(|(from, to)| format!("{from}..{to}")).collect();
        let what = format!(
            "the loop at line {} runs over {}, but bounds of parallel loops are at most 2^48 from zero: one of them has \
             wrapped, or the loop should count from 0 and add its first value inside",
            task.line,
            dims.join(" and ")
        );
        return Err(Error::Grid { kernel: kernel.name.clone(), what });
    }
    Ok(counts)
}

/// The threads that fill a multiprocessor.
const THREADS_EACH: u32 = 2048;

struct Enqueue<'a> {
    shared: &'a ProgramShared,
    device: &'a dyn Device,
    loaded: &'a LoadedForm,
    shapes: &'a [Option<LaunchConfig>],
    args: &'a [u64],
    started: bool,
}

impl Enqueue<'_> {
    #[inline]
    fn task(&mut self, task: usize, stream: StreamHandle) -> rt::Result<()> {
        let Some(config) = &self.shapes[task] else { return Ok(()) };
        self.launch(task, config, stream)?;
        self.started = true;
        Ok(())
    }

    #[inline(always)]
    fn launch(&self, task: usize, config: &LaunchConfig, stream: StreamHandle) -> rt::Result<()> {
        let function = self.loaded.function(task);
        // SAFETY: the function was compiled for this kernel's argument block, whose layout the
        // launcher filled; tensors and scratch in it are stamped or freed in stream order behind
        // this launch; the stream is held by its state or lease.
        let launched = unsafe { self.device.launch(function, config, self.args, stream) };
        self.shared.context.observe(launched)
    }

    /// Tasks behind each other.
    #[inline(always)]
    fn chain(&mut self, tasks: &[TaskId], stream: StreamHandle) -> rt::Result<()> {
        for task in tasks {
            self.task(task.index(), stream)?;
        }
        Ok(())
    }

    #[inline(never)]
    fn region(&mut self, region: &Region, stream: &StreamState) -> rt::Result<()> {
        let shapes = self.shapes;
        if shapes.iter().all(Option::is_some) {
            let blocks = region.blocks.iter();
            return self.blocks(region, blocks.len(), blocks, stream);
        }
        let has_work = |task: &TaskId| shapes[task.index()].is_some();
        let live = region.blocks.iter().filter(|block| block.iter().any(has_work));
        self.blocks(region, live.clone().count(), live, stream)
    }

    /// Those blocks of a region that have work, and how many they are.
    #[inline(always)]
    fn blocks<'b>(
        &mut self,
        region: &Region,
        count: usize,
        mut live: impl Iterator<Item = &'b Vec<TaskId>>,
        stream: &StreamState,
    ) -> rt::Result<()> {
        let Some(first) = live.next() else { return Ok(()) };
        let launch_stream = stream.stream.handle();
        if count == 1 {
            return self.chain(first, launch_stream);
        }
        if self.as_graph(region, stream)? {
            return Ok(());
        }
        self.shared.graphs.count_by_events();
        let mut workers = ForkJoin::take(self.shared, stream, MAX_WORKERS.min(count - 1))?;
        workers.fork()?;
        self.chain(first, launch_stream)?;
        let mut next = 0;
        for block in live {
            let worker = workers.next_worker(&mut next);
            self.chain(block, worker)?;
        }
        workers.join()
    }

    /// Launches a region as a graph; false where events have to do it.
    fn as_graph(&mut self, region: &Region, stream: &StreamState) -> rt::Result<bool> {
        let graphs = &self.shared.graphs;
        // A graph's tasks are told by the bits of a number.
        if !graphs.on || self.shapes.len() > u64::BITS as usize {
            return Ok(false);
        }
        let (mut live, mut first) = (0, None);
        for block in &region.blocks {
            for task in block.iter().map(|task| task.index()) {
                if self.shapes[task].is_some() {
                    live |= 1 << task;
                    first.get_or_insert(task);
                }
            }
        }
        let Some(first) = first.map(|task| self.loaded.function(task)) else { return Ok(false) };
        let key = GraphKey { stream: stream.stream.id(), first, live };
        let tasks = Tasks { loaded: self.loaded, shapes: self.shapes, args: self.args };
        let (context, handle) = (&self.shared.context, stream.stream.handle());
        // SAFETY: as in `task`. The kernel's context drops its plan before its modules.
        let launched =
            unsafe { region.graphs.launch(context, graphs, key, &region.blocks, tasks, handle)? };
        self.started |= launched;
        Ok(launched)
    }
}
