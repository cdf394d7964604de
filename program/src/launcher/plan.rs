//! Launch plans: the serial steps and regions of a kernel, made once; their launch configurations; and their
//! enqueueing.
//!
//! A region forks and joins by events. An event is recorded on the launch stream. The first block stays on that stream;
//! every other block runs on a worker stream, which waits for the event. Each worker records an event at its end, and
//! the launch stream waits for it. The host never waits, and nothing orders two blocks of a region. A region that is
//! launched repeatedly becomes a graph instead: see `region_graph.rs`.

use std::{slice, sync::Arc};

use quadrants_ir::{
    Offloaded, RegionBlockId, Task, TaskId, TaskKind,
    abi::DEFAULT_BLOCK_SIZE,
    launch_analysis::{Extents, LaunchAnalysis},
    schedule::GridPreference,
};
use quadrants_rhi::{Device, DeviceInfo, ImageKind, LaunchConfig, StreamHandle};
use quadrants_runtime::{self as rt, Context};
use smallvec::SmallVec;

use super::{
    autotune::Candidate,
    fork_join::{ForkJoin, MAX_REGION_WORKERS, WorkerSetCache},
    grid::{
        LaunchConfigs, THREADS_PER_MULTIPROCESSOR, block_config, block_size_for_few_iterations,
        is_loop, launch_config, limit_to_device_max, limit_to_resident_blocks,
    },
    region_graph::{GraphKey, Graphs, RegionGraphCache, RegionTasks},
};
use crate::{Error, Result, kernel::loader::LoadedImage};

/// For each task that is a loop: the number of iterations of each dimension, and the size of its dynamic shared arrays.
pub(crate) type TaskSizes = SmallVec<[Option<(SmallVec<[u64; 3]>, u32)>; 8]>;

/// The launch plan of a kernel: its steps in order.
#[derive(Debug)]
pub(crate) struct Plan {
    steps: Vec<PlanStep>,
    /// The number of launch configurations of a launch: one per task, or one for a native body.
    config_count: usize,
    /// Whether a launch is one driver call: the only step is a task or a native body.
    single_call: bool,
}

#[derive(Debug)]
enum PlanStep {
    /// The whole kernel as one native function.
    Native,
    /// A task on the launch stream.
    Task(TaskId),
    Region(Region),
}

/// A region: blocks that run concurrently.
#[derive(Debug, Default)]
struct Region {
    blocks: Vec<Vec<TaskId>>,
    graphs: RegionGraphCache,
}

/// Where a launch is enqueued: its stream, and what regions need besides.
#[derive(Clone, Copy)]
pub(crate) struct EnqueueTarget<'a> {
    pub(crate) context: &'a Arc<Context>,
    /// The context's device, or its [interposer](Context::interpose).
    pub(crate) device: &'a Arc<dyn Device>,
    pub(crate) stream: &'a rt::Stream,
    pub(crate) workers: &'a WorkerSetCache,
    pub(crate) graphs: &'a Graphs,
}

impl EnqueueTarget<'_> {
    /// The same target with the interposer as its device, if one is active.
    #[inline]
    pub(crate) fn interposed(self) -> Self {
        Self { device: self.context.device(), ..self }
    }
}

pub(crate) struct LaunchFailure {
    /// Whether some of its tasks had been enqueued.
    pub(crate) started: bool,
    pub(crate) source: rt::Error,
}

impl Plan {
    pub(crate) fn new(kernel: &Offloaded, image: ImageKind) -> Self {
        let mut steps: Vec<PlanStep> = Vec::new();
        if image == ImageKind::Native {
            steps.push(PlanStep::Native);
            return Self { steps, config_count: 1, single_call: true };
        }
        let mut last = RegionBlockId::NONE;
        for (id, task) in kernel.tasks() {
            match (task.region_block, steps.last_mut()) {
                (region_block, _) if region_block == RegionBlockId::NONE => {
                    steps.push(PlanStep::Task(id))
                }
                (region_block, Some(PlanStep::Region(region))) if region_block == last => {
                    if let Some(block) = region.blocks.last_mut() {
                        block.push(id);
                    }
                }
                (_, Some(PlanStep::Region(region))) => region.blocks.push(vec![id]),
                _ => {
                    let blocks = vec![vec![id]];
                    steps.push(PlanStep::Region(Region { blocks, ..Region::default() }));
                }
            }
            last = task.region_block;
        }
        let single_call = matches!(steps.as_slice(), [PlanStep::Task(_)]);
        Self { steps, config_count: kernel.tasks.len(), single_call }
    }

    /// Whether a launch is one driver call, or none where there is no iteration.
    pub(crate) fn is_one_call(&self) -> bool {
        self.single_call
    }

    /// The number of iterations of each loop for these arguments, and the size of its dynamic shared arrays.
    ///
    /// # Errors
    /// [`Error::Grid`] where a bound has wrapped, and [`Error::SharedMemory`].
    pub(crate) fn sizes(
        kernel: &Offloaded,
        host: &LaunchAnalysis,
        words: &[u64],
        info: &DeviceInfo,
    ) -> Result<TaskSizes> {
        let sizes = kernel.tasks().map(|(id, task)| {
            if !is_loop(&task.kind) {
                return Ok(None);
            }
            let counts = iteration_counts(kernel, task, &host.extents(id, words))?;
            let shared_bytes = match counts.contains(&0) {
                true => 0,
                false => dynamic_shared_bytes(kernel, id, host, words, info)?,
            };
            Ok(Some((counts, shared_bytes)))
        });
        sizes.collect()
    }

    /// The launch configuration of every task of a scheduled kernel and its image, with the block sizes of `candidate`.
    ///
    /// # Errors
    /// [`Error::Grid`] where a block is too large for the device.
    pub(crate) fn launch_configs(
        &self,
        (scheduled, loaded): (&Offloaded, &LoadedImage),
        sizes: &TaskSizes,
        info: &DeviceInfo,
        candidate: &Candidate,
    ) -> Result<LaunchConfigs> {
        let mut configs = LaunchConfigs::with_capacity(self.config_count);
        for (at, (task, size)) in scheduled.tasks.iter().zip(sizes).enumerate() {
            let Some((counts, shared_bytes)) = size else {
                configs.push(Some(LaunchConfig::SERIAL));
                continue;
            };
            if counts.contains(&0) {
                configs.push(None);
                continue;
            }
            let grid = task.schedule.grid;
            let mut config = match task.kind {
                TaskKind::BlockFor { threads, .. } => block_config(counts, threads),
                TaskKind::RangeFor { block_size, .. } => {
                    let block_size =
                        block_size.or(candidate.block(at)).unwrap_or_else(|| match grid {
                            GridPreference { resident_blocks_only: true, .. } => DEFAULT_BLOCK_SIZE,
                            _ => block_size_for_few_iterations(counts, loaded.block_size(at), info),
                        });
                    let mut counts = counts.clone();
                    if let Some(innermost) = counts.last_mut() {
                        *innermost = innermost.saturating_add(task.schedule.skipped.into());
                    }
                    launch_config(&counts, block_size, grid.square_blocks)
                }
                TaskKind::Serial => LaunchConfig::SERIAL,
            };
            if task.kind.has_device_bounds() {
                limit_to_resident_blocks(&mut config, info.multiprocessors);
            }
            limit_to_device_max(&mut config, info);
            config.shared_bytes = *shared_bytes;
            let threads: u32 = config.block_dim.iter().product();
            if threads > info.max_threads_per_block {
                let most = info.max_threads_per_block;
                let what = format!(
                    "a block of {threads} threads is too large for the device, whose maximum is {most}; help: use \
                     `#[qd::block_size(n)]` or `block_for` with at most {most} threads"
                );
                return Err(Error::Grid { kernel: scheduled.name.clone(), what });
            }
            divide_grid(&mut config, task.schedule.coarsening, counts.len(), info.multiprocessors);
            if grid.resident_blocks_only {
                limit_to_resident_blocks(&mut config, info.multiprocessors);
            }
            configs.push(Some(config));
        }
        Ok(configs)
    }

    /// Whether a launch is one call of a native body.
    pub(crate) fn is_native(&self) -> bool {
        matches!(self.steps.as_slice(), [PlanStep::Native])
    }

    /// The steps. Each is a list of chains of tasks that run concurrently. Tasks are in the order of their numbers.
    pub(crate) fn steps(&self) -> impl Iterator<Item = Vec<&[TaskId]>> {
        self.steps.iter().map(|step| match step {
            PlanStep::Native => Vec::new(),
            PlanStep::Task(task) => vec![slice::from_ref(task)],
            PlanStep::Region(region) => region.blocks.iter().map(Vec::as_slice).collect(),
        })
    }

    pub(crate) fn shape_count(&self) -> usize {
        self.config_count
    }

    /// Enqueues all steps at `target` with the argument block `args`. Of a plan that [is one call](Self::is_one_call),
    /// the configuration is `first`; of others, they are `configs`.
    #[inline(always)]
    pub(crate) fn enqueue(
        &self,
        target: EnqueueTarget<'_>,
        loaded: &LoadedImage,
        first: Option<LaunchConfig>,
        configs: &[Option<LaunchConfig>],
        args: &[u64],
    ) -> Result<(), LaunchFailure> {
        let device = &**target.device;
        let enqueue = Enqueue { target, device, loaded, configs, args, started: false };
        if !self.single_call {
            return self.enqueue_steps(enqueue);
        }
        let Some(config) = first else { return Ok(()) };
        let launched = enqueue.launch(0, &config, target.stream.handle());
        launched.map_err(|source| LaunchFailure { started: false, source })
    }

    #[inline(always)]
    fn enqueue_steps(&self, mut enqueue: Enqueue<'_>) -> Result<(), LaunchFailure> {
        let stream = enqueue.target.stream.handle();
        let result = self.steps.iter().try_for_each(|step| match step {
            PlanStep::Native => enqueue.task(0, stream),
            PlanStep::Task(task) => enqueue.task(task.index(), stream),
            PlanStep::Region(region) => enqueue.region(region),
        });
        result.map_err(|source| LaunchFailure { started: enqueue.started, source })
    }
}

/// Divides a grid by the iterations per thread, where enough threads are left to fill the device.
fn divide_grid(config: &mut LaunchConfig, factor: u32, dims: usize, multiprocessors: u32) {
    let sizes = config.grid_dim.iter().chain(&config.block_dim);
    let threads = sizes.fold(1_u64, |product, size| product.saturating_mul(u64::from(*size)));
    let filling = u64::from(THREADS_PER_MULTIPROCESSOR) * u64::from(multiprocessors.max(1));
    if factor > 1 && threads >= filling.saturating_mul(u64::from(factor)) {
        let axis = dims.clamp(1, 3) - 1;
        config.grid_dim[axis] = config.grid_dim[axis].div_ceil(factor);
    }
}

/// The size of the dynamic shared arrays of a task's blocks.
///
/// # Errors
/// [`Error::SharedMemory`] where the device does not have as much.
fn dynamic_shared_bytes(
    kernel: &Offloaded,
    task: TaskId,
    host: &LaunchAnalysis,
    words: &[u64],
    info: &DeviceInfo,
) -> Result<u32> {
    let Some(shared) = host.shared_bytes(task, words) else { return Ok(0) };
    let (bytes, limit) = (shared.total(), u64::from(info.max_shared_bytes));
    match u32::try_from(shared.dynamic) {
        Ok(dynamic) if bytes <= limit => Ok(dynamic),
        _ => {
            let (kernel, line) = (kernel.name.clone(), kernel.tasks[task.index()].line);
            Err(Error::SharedMemory { kernel, line, bytes, limit })
        }
    }
}

/// The number of iterations of each dimension of a loop.
///
/// # Errors
/// [`Error::Grid`] where a bound has wrapped.
fn iteration_counts(
    kernel: &Offloaded,
    task: &Task,
    extents: &Extents,
) -> Result<SmallVec<[u64; 3]>> {
    let counts: SmallVec<[u64; 3]> = extents.counts().collect();
    if let Some(wrapped) = counts.iter().find(|n| **n > i64::MAX as u64)
        && !extents.is_empty()
    {
        let what = format!(
            "the loop at line {} has {wrapped} iterations: one of its bounds has wrapped, or its step is 0; help: use \
             `saturating_sub` in the bound, and a step of at least 1",
            task.line
        );
        return Err(Error::Grid { kernel: kernel.name.clone(), what });
    }
    // Where the device computes the bounds, it makes this check.
    if !task.kind.has_device_bounds() && extents.exceed_max_bound() {
        let dims: Vec<_> =
            extents.dims().iter().map(|(from, to)| format!("{from}..{to}")).collect();
        let what = format!(
            "the loop at line {} runs over {}, but bounds of parallel loops are at most 2^48 from zero; help: if one of \
             them has wrapped, use `saturating_sub` in it; else let the loop count from 0 and add its first value inside",
            task.line,
            dims.join(" and ")
        );
        return Err(Error::Grid { kernel: kernel.name.clone(), what });
    }
    Ok(counts)
}

struct Enqueue<'a> {
    target: EnqueueTarget<'a>,
    device: &'a dyn Device,
    loaded: &'a LoadedImage,
    configs: &'a [Option<LaunchConfig>],
    args: &'a [u64],
    /// Whether something was enqueued already.
    started: bool,
}

impl Enqueue<'_> {
    /// Enqueues a task, where it has iterations.
    #[inline]
    fn task(&mut self, task: usize, stream: StreamHandle) -> rt::Result<()> {
        let Some(config) = &self.configs[task] else { return Ok(()) };
        self.launch(task, config, stream)?;
        self.started = true;
        Ok(())
    }

    #[inline(always)]
    fn launch(&self, task: usize, config: &LaunchConfig, stream: StreamHandle) -> rt::Result<()> {
        let function = self.loaded.function(task);
        // SAFETY: the function was compiled for this kernel's argument block, whose layout the launcher filled; the
        // tensors and temporaries in it are stamped or freed in stream order after this launch; the stream is held by
        // its state or lease.
        let launched = unsafe { self.device.launch(function, config, self.args, stream) };
        self.target.context.observe(launched)
    }

    #[inline(always)]
    fn enqueue_chain(&mut self, tasks: &[TaskId], stream: StreamHandle) -> rt::Result<()> {
        for task in tasks {
            self.task(task.index(), stream)?;
        }
        Ok(())
    }

    #[inline(never)]
    fn region(&mut self, region: &Region) -> rt::Result<()> {
        let configs = self.configs;
        if configs.iter().all(Option::is_some) {
            let blocks = region.blocks.iter();
            return self.blocks(region, blocks.len(), blocks);
        }
        let has_work = |task: &TaskId| configs[task.index()].is_some();
        let live = region.blocks.iter().filter(|block| block.iter().any(has_work));
        self.blocks(region, live.clone().count(), live)
    }

    /// Launches the blocks of a region that have work: `live`, and their number.
    #[inline(always)]
    fn blocks<'b>(
        &mut self,
        region: &Region,
        count: usize,
        mut live: impl Iterator<Item = &'b Vec<TaskId>>,
    ) -> rt::Result<()> {
        let Some(first) = live.next() else { return Ok(()) };
        let EnqueueTarget { context, device, stream, workers, graphs } = self.target;
        let launch_stream = stream.handle();
        if count == 1 {
            return self.enqueue_chain(first, launch_stream);
        }
        if self.try_graph(region)? {
            return Ok(());
        }
        graphs.count_by_events();
        let count = MAX_REGION_WORKERS.min(count - 1);
        let mut workers = ForkJoin::take(context, device, launch_stream, workers);
        workers.fork(count)?;
        self.enqueue_chain(first, launch_stream)?;
        let mut next = 0;
        for block in live {
            let worker = workers.next_worker(&mut next);
            self.enqueue_chain(block, worker)?;
        }
        workers.join()
    }

    /// Launches a region as a graph. Returns false where it must be launched by events.
    fn try_graph(&mut self, region: &Region) -> rt::Result<bool> {
        let EnqueueTarget { context, stream, graphs, .. } = self.target;
        // The key has a bit per task.
        if !graphs.are_for_regions() || self.configs.len() > u64::BITS as usize {
            return Ok(false);
        }
        let (mut active_tasks, mut first) = (0, None);
        for block in &region.blocks {
            for task in block.iter().map(|task| task.index()) {
                if self.configs[task].is_some() {
                    active_tasks |= 1 << task;
                    first.get_or_insert(task);
                }
            }
        }
        let Some(first) = first else { return Ok(false) };
        let first_function = self.loaded.function(first);
        let key = GraphKey { stream: stream.id(), first_function, active_tasks };
        let tasks = RegionTasks { loaded: self.loaded, configs: self.configs, args: self.args };
        let handle = stream.handle();
        // SAFETY: as in `task`. The kernel's context drops its plan before its modules.
        let launched =
            unsafe { region.graphs.launch(context, graphs, key, &region.blocks, tasks, handle)? };
        self.started |= launched;
        Ok(launched)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_grid_that_fills_the_device_is_divided() {
        let divided = |grid_dim| {
            let mut config = LaunchConfig { grid_dim, block_dim: [256, 1, 1], shared_bytes: 0 };
            divide_grid(&mut config, 4, 3, 132);
            config.grid_dim
        };
        assert_eq!(divided([1, 1, 4223]), [1, 1, 4223]);
        assert_eq!(divided([1, 1, 4224]), [1, 1, 1056]);
        // More threads than 64 bits can count.
        assert_eq!(divided([i32::MAX as u32, 65_535, 65_535]), [i32::MAX as u32, 65_535, 16_384]);
    }
}
