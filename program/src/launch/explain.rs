//! Explanations: how a launch runs, and which accesses it could not prove in range.

use std::{
    fmt::{self, Display, Formatter},
    sync::OnceLock,
};

use quadrants_ir::{
    Array, Offloaded, SiteId, SiteKind, TaskId, TaskKind,
    abi::{Form, Forms},
    launch_analysis::UnprovenIndex,
};
use quadrants_rhi::LaunchConfig;

use super::{
    arguments::ArgList,
    context::KernelContext,
    errors::argument_error,
    grid::LaunchShapes,
    launch_cache::{Checks, LaunchDecision},
};
use crate::{Result, kernel::loader::KernelLoader, variables::EXPLAIN_VARIABLE};

/// How a launch runs: for each task of the kernel, whether it checks its accesses and why, how it is scheduled on the
/// device, and its grid. Its text has a paragraph per task.
#[derive(Clone, PartialEq, Eq, Debug)]
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
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TaskExplanation {
    /// The source line, or 0 if it is unknown.
    pub line: u32,
    /// What the task is: `loop`, `thread blocks`, or `serial code`.
    pub kind: &'static str,
    /// The number of the task's `stream_parallel` block, from 1; 0 outside of these.
    pub group: u32,
    /// Whether accesses are checked.
    pub is_checked: bool,
    /// The decisions of the schedule. Empty on the CPU, whose code rustc compiles.
    pub schedule: Vec<String>,
    /// The grid in blocks and the block in threads, as x, y and z. None on the CPU, and where nothing runs.
    pub grid: Option<([u32; 3], [u32; 3])>,
    /// The indices that could not be proven in range, with the reason. Empty if nothing is checked.
    pub unproven: Vec<String>,
}

impl Display for Explanation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "kernel `{}`", self.kernel)?;
        for task in &self.tasks {
            write!(f, "\n  {}:{}: {}", self.file, task.line, task.kind)?;
            if task.group > 0 {
                write!(f, " in block {} of its region", task.group)?;
            }
            match task.schedule.as_slice() {
                [] if task.is_checked => write!(f, ", bounds checks")?,
                [] => write!(f, ", no bounds checks")?,
                schedule => write!(f, ", {}", schedule.join(", "))?,
            }
            if let Some(([x, y, z], [a, b, c])) = task.grid {
                write!(f, ", grid {x} x {y} x {z} of blocks of {a} x {b} x {c}")?;
            }
            for reason in &task.unproven {
                write!(f, "\n    not proven: {reason}")?;
            }
        }
        Ok(())
    }
}

impl KernelContext {
    /// Explains a launch with these arguments. Decides it as every launch is decided.
    pub(super) fn explain(&self, loader: &KernelLoader, args: &ArgList<'_>) -> Result<Explanation> {
        if !self.accepts(&args.codes) {
            return Err(argument_error(&self.kernel, &args.codes));
        }
        let mut list = ArgList::new();
        args.iter().for_each(|arg| list.push(arg));
        let (mut words, mut shapes) = (list.words, LaunchShapes::new());
        let LaunchDecision { forms, first } =
            self.decide(loader, 0, Checks::On, &mut words, &mut shapes)?;
        if shapes.is_empty() {
            shapes.push(first);
        }
        Ok(self.explanation(forms, &shapes, &words))
    }

    /// Prints the explanation of a new launch decision, if `QUADRANTS_EXPLAIN` is set.
    pub(super) fn print_explanation(
        &self,
        forms: Forms,
        shapes: &[Option<LaunchConfig>],
        words: &[u64],
    ) {
        static ENABLED: OnceLock<bool> = OnceLock::new();
        let enabled = || std::env::var_os(EXPLAIN_VARIABLE).is_some_and(|value| value == "1");
        if *ENABLED.get_or_init(enabled) {
            eprintln!("{}", self.explanation(forms, shapes, words));
        }
    }

    fn explanation(
        &self,
        forms: Forms,
        shapes: &[Option<LaunchConfig>],
        words: &[u64],
    ) -> Explanation {
        let kernel = &self.kernel;
        let scheduled = (!self.plan.is_native()).then(|| self.images.scheduled(forms, kernel));
        let tasks = kernel.tasks().map(|(id, task)| {
            let is_checked = forms.of(id) == Form::Checked;
            let unproven = match is_checked {
                true => self.host.unproven(id, words),
                false => Vec::new(),
            };
            let grid = scheduled.and(shapes.get(id.index()).copied().flatten());
            TaskExplanation {
                line: task.line,
                kind: match task.kind {
                    TaskKind::Serial => "serial code",
                    TaskKind::RangeFor { .. } => "loop",
                    TaskKind::BlockFor { .. } => "thread blocks",
                },
                group: task.group.raw(),
                is_checked,
                schedule: scheduled.map_or_else(Vec::new, |kernel| schedule_of(kernel, id)),
                grid: grid.map(|config| (config.grid_dim, config.block_dim)),
                unproven: unproven.iter().map(|index| reason(kernel, index)).collect(),
            }
        });
        let tasks = tasks.collect();
        Explanation { kernel: kernel.name.clone(), file: kernel.file.clone(), tasks }
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
