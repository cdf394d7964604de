//! Explanations: how a launch runs, and which accesses it could not prove in range.

use std::{
    fmt::{self, Display, Formatter},
    sync::OnceLock,
};

use quadrants_ir::{
    Array, Offloaded, SiteId, SiteKind, TaskId, TaskKind,
    abi::{Form, Forms},
    launch_analysis::{IterationWork, UnprovenIndex},
};
use quadrants_rhi::{DeviceInfo, FunctionUsage, LaunchConfig};

use super::{
    errors::argument_error,
    grid::LaunchConfigs,
    inline_list::Words,
    kernel_context::KernelContext,
    launch_cache::{Checks, LaunchDecision},
    param_code::ParamCode,
};
use crate::{
    Result,
    kernel::loader::{KernelLoader, LoadedImage},
    variables::EXPLAIN_VARIABLE,
};

/// How a launch runs: for each task of the kernel, whether it checks its accesses and why, how it is scheduled on the
/// device, and its grid. Its text has a paragraph per task.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Explanation {
    /// The kernel's name.
    pub kernel: String,
    /// The kernel's source file.
    pub file: String,
    /// The tasks, in source order.
    pub tasks: Vec<TaskExplanation>,
}

/// How a task runs: a loop, or serial code.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct TaskExplanation {
    /// The source line, or 0 if it is unknown.
    pub line: u32,
    /// What the task is: `loop`, `thread blocks`, or `serial code`.
    pub kind: &'static str,
    /// The number of the task's `stream_parallel` block, from 1; 0 outside of these.
    pub region_block: u32,
    /// Whether accesses are checked.
    pub is_checked: bool,
    /// The decisions of the schedule. Empty on the CPU, whose code rustc compiles.
    pub schedule: Vec<String>,
    /// The grid in blocks and the block in threads, as x, y and z. None on the CPU, and where nothing runs.
    pub grid: Option<([u32; 3], [u32; 3])>,
    /// What an iteration does, or a block of threads, or the serial code.
    pub work: IterationWork,
    /// What the task's function uses of the device, and how many of its blocks run at once. None where the device
    /// cannot tell.
    pub usage: Option<FunctionUsage>,
    /// The share of the threads that a multiprocessor can have which its blocks fill, from 0 to 1.
    pub occupancy: Option<f64>,
    /// The float operations per byte at which the device's arithmetic and its memory take the same time: below, memory
    /// limits the task. None where the device does not tell its clocks, and for tasks without float operations.
    pub balance: Option<f64>,
    /// The indices that could not be proven in range, with the reason. Empty if nothing is checked.
    pub unproven: Vec<String>,
}

/// The kind of a task that one thread runs.
const SERIAL: &str = "serial code";

impl Display for Explanation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "kernel `{}`", self.kernel)?;
        for task in &self.tasks {
            write!(f, "\n  {}:{}: {}", self.file, task.line, task.kind)?;
            if task.region_block > 0 {
                write!(f, " in block {} of its region", task.region_block)?;
            }
            match task.schedule.as_slice() {
                [] if task.is_checked => write!(f, ", bounds checks")?,
                [] => write!(f, ", no bounds checks")?,
                schedule => write!(f, ", {}", schedule.join(", "))?,
            }
            if let Some(([x, y, z], [a, b, c])) = task.grid {
                write!(f, ", grid {x} x {y} x {z} of blocks of {a} x {b} x {c}")?;
            }
            if let Some(usage) = task.usage {
                let FunctionUsage { registers, local_bytes, shared_bytes, .. } = usage;
                write!(
                    f,
                    "\n    {registers} registers and {local_bytes} bytes of local memory per thread"
                )?;
                write!(f, ", {shared_bytes} bytes of shared memory per block")?;
                let blocks = usage.blocks_per_multiprocessor;
                write!(f, "; {blocks} blocks per multiprocessor")?;
                if let Some(occupancy) = task.occupancy {
                    write!(f, ", occupancy {:.0} %", 100.0 * occupancy)?;
                }
            }
            task.write_work(f)?;
            if task.kind == SERIAL && task.work.has_loop {
                write!(
                    f,
                    "\n    one thread runs its loops; only loops at the top level of the kernel are parallel, also in \
                     `if`, `match`, `unsafe` and braces, but not in other loops and in values"
                )?;
            }
            for reason in &task.unproven {
                write!(f, "\n    not proven: {reason}")?;
            }
        }
        Ok(())
    }
}

impl TaskExplanation {
    /// The float operations of any width, and the bytes that are read or written.
    fn intensity(&self) -> Option<f64> {
        let operations = self.work.float_operations.saturating_add(self.work.double_operations);
        let bytes = self.work.read_bytes.saturating_add(self.work.written_bytes);
        (bytes > 0 && operations > 0).then(|| operations as f64 / bytes as f64)
    }

    fn write_work(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let IterationWork {
            read_bytes, written_bytes, float_operations, double_operations, ..
        } = self.work;
        let of = match self.kind {
            "loop" => "an iteration",
            "thread blocks" => "a block",
            _ => "the code",
        };
        write!(f, "\n    {of} reads {read_bytes} bytes and writes {written_bytes}")?;
        for (count, what) in [
            (float_operations, "f32"),
            (double_operations, "f64"),
            (self.work.integer_operations, "integer"),
        ] {
            if count > 0 {
                write!(f, ", {count} {what} operations")?;
            }
        }
        if self.work.has_open_loop {
            write!(f, ", with one trip of loops whose bounds only the device knows")?;
        }
        if let Some(intensity) = self.intensity() {
            write!(f, "; {intensity:.2} float operations per byte")?;
            if let Some(balance) = self.balance {
                let limit = if intensity < balance { "memory" } else { "arithmetic" };
                write!(f, ", limited by {limit} (the device balances at {balance:.1})")?;
            }
        }
        Ok(())
    }
}

/// The results of additions, multiplications or both in one, per clock and multiprocessor: of CUDA by the table of
/// arithmetic throughput in the CUDA C++ Programming Guide; of AMD by the ISA documents (CDNA 2 and 3, RDNA 2 to 4,
/// without packed and dual-issued instructions).
fn results_per_clock(arch: &str, doubles: bool) -> Option<u32> {
    let (floats, of_doubles) = match arch {
        "sm_60" | "sm_70" | "sm_80" => (64, 32),
        "sm_75" => (64, 2),
        "sm_86" | "sm_87" | "sm_89" | "sm_120" | "sm_121" => (128, 2),
        "sm_90" | "sm_100" => (128, 64),
        "gfx90a" | "gfx940" | "gfx941" | "gfx942" => (64, 64),
        other if other.starts_with("gfx1") => (64, 2),
        _ => return None,
    };
    Some(if doubles { of_doubles } else { floats })
}

/// The float operations per byte at which arithmetic and memory take the same time.
fn balance(info: &DeviceInfo, work: &IterationWork) -> Option<f64> {
    let doubles = work.double_operations > work.float_operations;
    if work.double_operations + work.float_operations == 0
        || info.clock_khz == 0
        || info.memory_bandwidth == 0
    {
        return None;
    }
    let results = f64::from(results_per_clock(&info.arch, doubles)?);
    // A multiplication with an addition is one result, and two operations.
    let operations =
        2.0 * results * f64::from(info.multiprocessors) * 1000.0 * f64::from(info.clock_khz);
    Some(operations / info.memory_bandwidth as f64)
}

impl KernelContext {
    /// Explains a launch with these arguments. Decides it as every launch is decided.
    pub(crate) fn explain(
        &self,
        loader: &KernelLoader,
        codes: &[ParamCode],
        mut words: Words,
    ) -> Result<Explanation> {
        if !self.accepts(codes) {
            return Err(argument_error(&self.kernel, codes));
        }
        let mut configs = LaunchConfigs::new();
        let LaunchDecision { forms, first } =
            self.decide(loader, 0, Checks::On, &mut words, &mut configs)?;
        if configs.is_empty() {
            configs.push(first);
        }
        let loaded = match self.plan.is_native() {
            true => None,
            false => Some(self.loaded(loader, forms)?),
        };
        self.explanation(loader, forms, loaded, &configs, &words)
    }

    /// Prints the explanation of a new launch decision, if `QUADRANTS_EXPLAIN` is set.
    pub(super) fn print_explanation(
        &self,
        loader: &KernelLoader,
        forms: Forms,
        configs: &[Option<LaunchConfig>],
        words: &[u64],
    ) {
        static ENABLED: OnceLock<bool> = OnceLock::new();
        let enabled = || std::env::var_os(EXPLAIN_VARIABLE).is_some_and(|value| value == "1");
        if *ENABLED.get_or_init(enabled) {
            match self.explanation(loader, forms, self.images.get(forms), configs, words) {
                Ok(explanation) => eprintln!("{explanation}"),
                Err(error) => tracing::warn!(%error, "no explanation of `{}`", self.kernel.name),
            }
        }
    }

    fn explanation(
        &self,
        loader: &KernelLoader,
        forms: Forms,
        loaded: Option<&LoadedImage>,
        configs: &[Option<LaunchConfig>],
        words: &[u64],
    ) -> Result<Explanation> {
        let (kernel, info) = (&self.kernel, loader.context.device().info());
        let scheduled = (!self.plan.is_native()).then(|| self.images.scheduled(forms, kernel));
        let tasks = kernel.tasks().map(|(id, task)| {
            let is_checked = forms.of(id) == Form::Checked;
            let unproven = match is_checked {
                true => self.host.unproven(id, words),
                false => Vec::new(),
            };
            let grid = scheduled.and(configs.get(id.index()).copied().flatten());
            let usage = match (loaded, grid) {
                (Some(loaded), Some(config)) => loaded.usage(&kernel.name, id.index(), &config)?,
                _ => None,
            };
            let resident = f64::from(info.max_threads_per_multiprocessor);
            let occupancy = usage.zip(grid).filter(|_| resident > 0.0).map(|(usage, config)| {
                let threads: u32 = config.block_dim.iter().product();
                f64::from(usage.blocks_per_multiprocessor * threads) / resident
            });
            let work = self.host.work(kernel, id, words);
            Ok(TaskExplanation {
                work,
                usage,
                occupancy,
                balance: scheduled.and_then(|_| balance(info, &work)),
                line: task.line,
                kind: match task.kind {
                    TaskKind::Serial => SERIAL,
                    TaskKind::RangeFor { .. } => "loop",
                    TaskKind::BlockFor { .. } => "thread blocks",
                },
                region_block: task.region_block.raw(),
                is_checked,
                schedule: scheduled.map_or_else(Vec::new, |kernel| schedule_of(kernel, id)),
                grid: grid.map(|config| (config.grid_dim, config.block_dim)),
                unproven: unproven.iter().map(|index| reason(kernel, index)).collect(),
            })
        });
        let tasks = tasks.collect::<Result<_>>()?;
        Ok(Explanation { kernel: kernel.name.clone(), file: kernel.file.clone(), tasks })
    }
}

fn schedule_of(kernel: &Offloaded, task: TaskId) -> Vec<String> {
    kernel.tasks[task.index()].schedule.describe(kernel)
}

/// Why an index was not proven in range.
fn reason(kernel: &Offloaded, index: &UnprovenIndex) -> String {
    let UnprovenIndex { site, axis, values, extent } = *index;
    let values = match values {
        Some((low, high)) => format!("may be {low} to {high}"),
        None => "depends on values that only the device knows, or may have wrapped".to_owned(),
    };
    let (name, rank, line) = accessed(kernel, site);
    let which = if rank > 1 { format!("index {axis}") } else { "the index".to_owned() };
    format!("{which} of `{name}` at line {line} {values}; the extent is {extent}")
}

/// The name and rank of the array that is accessed at a site, and the line.
fn accessed(kernel: &Offloaded, site: SiteId) -> (&str, usize, u32) {
    let site = &kernel.sites[site.index()];
    let (name, rank) = match site.kind {
        SiteKind::Index(Array::Tensor(param)) => {
            let param = &kernel.params[param.index()];
            (param.tensor(), usize::from(param.kind.rank()))
        }
        SiteKind::Index(Array::Shared(array) | Array::Local(array)) => {
            (kernel.locals[array].name.as_str(), kernel.shared_rank(array).unwrap_or(1))
        }
        _ => ("", 1),
    };
    (name, rank, site.line)
}
