//! Scheduling: how the loops of a kernel run on a device.
//!
//! [`schedule`] is the only place that decides this. It rewrites the kernel where a decision can be expressed in the
//! IR: [32-bit indices](narrow_indices), unrolling [for coarsening](mod@unroll) and [of local arrays](unroll_arrays),
//! and [batches of loads](batch_loads). It states all others as data, in the [`TaskSchedule`] of each task. Printers,
//! the interpreter and the launcher carry out what it says. A kernel without a schedule runs as written: one iteration
//! at a time, with bounds checks.
//!
//! No decision changes a result, except that atomic operations are reordered, which their meaning allows.

mod batch_loads;
mod coarsen;
mod inspect;
mod joint_loads;
mod narrow_indices;
mod reduce;
mod speculate;
mod substitute;
mod unroll;
mod unroll_arrays;

pub use inspect::can_inspect;
use narrow_indices::Width;
pub use speculate::split_at_stores;

use crate::{
    ExprId, ExprKind, LoopDim, Offloaded, ParamId, Task, TaskId, TaskKind,
    abi::{Form, Forms},
    launch_analysis::may_have_interior,
    visit::Nodes,
};
pub use crate::{
    task_schedule::{GridPreference, Privatized, Reduction, ReductionTarget, TaskSchedule},
    visit::assigned_outer_locals,
};

/// Schedules all tasks of a simplified kernel. Tasks, sites and temporaries stay the same.
#[must_use]
pub fn schedule(kernel: &Offloaded, forms: impl Into<Forms>) -> Offloaded {
    let forms = forms.into();
    let out = schedule_width(kernel, forms, &[]);
    if !forms.has_narrow_indices() {
        return out;
    }
    let mut narrowed = kernel.clone();
    let narrow = |(id, task): (TaskId, &Task)| {
        // The address of a vector load is the loop variable itself.
        let can_narrow = forms.of(id) == Form::Proven && task.schedule.vector_load.is_none();
        if can_narrow { narrow_indices::run(&mut narrowed, id) } else { Width::Wide }
    };
    let widths: Vec<Width> = out.tasks().map(narrow).collect();
    match widths.iter().all(|width| *width == Width::Wide) {
        true => out,
        false => schedule_width(&narrowed, forms, &widths),
    }
}

/// Schedules the tasks of a kernel, whose index arithmetic has been rewritten to these widths.
fn schedule_width(kernel: &Offloaded, forms: Forms, narrow: &[Width]) -> Offloaded {
    let unrolled = unroll_arrays::run(kernel);
    let kernel = unrolled.as_ref().unwrap_or(kernel);
    let mut out = unroll::run(kernel, forms).unwrap_or_else(|| kernel.clone());
    for at in 0..out.tasks.len() {
        let id = TaskId::new(at as u32);
        let width = narrow.get(at).copied().unwrap_or_default();
        let schedule = TaskSchedule {
            narrow_indices: width != Width::Wide,
            narrow_counters: width == Width::Narrow,
            interleaved: !forms.has_planes(),
            ..TaskSchedule::of(&out, id, forms)
        };
        let batches = schedule.form == Form::Proven
            && schedule.coarsening == 1
            && out.tasks[at].kind.is_range_for();
        out.tasks[at].schedule = schedule;
        if batches {
            batch_loads::run(&mut out, at);
        }
    }
    out
}

/// A loop that begins few iterations after a multiple of this begins at the multiple: 32 elements of 32 bits are a
/// cache line. A stencil without its border, whose rows begin at 1 or 4, would otherwise access two lines in each warp.
pub const ALIGNED_ITERATIONS: u32 = 32;

/// The most iterations that are skipped for that: the borders of common stencils. Threads that skip do nothing else.
const MOST_SKIPPED: u32 = 8;

/// The number of iterations between the last multiple of [`ALIGNED_ITERATIONS`] and the begin of the innermost
/// dimension, if that is a small constant; else 0.
fn skipped(kernel: &Offloaded, dims: &[LoopDim]) -> u32 {
    let Some(LoopDim { begin, .. }) = dims.last() else { return 0 };
    let ExprKind::Const(begin) = &kernel.exprs[*begin].kind else { return 0 };
    let begin = begin.as_int().and_then(|begin| u32::try_from(begin).ok()).unwrap_or(0);
    let after = begin % ALIGNED_ITERATIONS;
    if after <= MOST_SKIPPED { after } else { 0 }
}

impl TaskSchedule {
    fn of(kernel: &Offloaded, id: TaskId, forms: Forms) -> Self {
        let (task, form) = (&kernel.tasks[id.index()], forms.of(id));
        let mut schedule = Self { form, ..Self::default() };
        if form == Form::Checked {
            schedule.speculated = speculate::loops(kernel, task);
        }
        let TaskKind::RangeFor { dims, .. } = &task.kind else { return schedule };
        (schedule.reductions, schedule.privatized) = reduce::find(kernel, task);
        schedule.interior = form == Form::Checked && may_have_interior(kernel, id);
        if form == Form::Proven {
            (schedule.coarsening, schedule.vector_load) = coarsen::coarsening_factor(kernel, task);
        } else if dims.len() == 1
            && !schedule.interior
            && speculate::can_speculate_iterations(kernel, task)
        {
            schedule.coarsening = coarsen::speculated_factor(kernel, task);
        }
        if schedule.can_limit_coarsening() {
            schedule.coarsening = forms.coarsening().limit(schedule.coarsening);
        }
        let shares_loads = schedule.coarsening == coarsen::SHARING_FACTOR;
        let has_alignment = form == Form::Proven && dims.len() > 1 && schedule.has_free_grid();
        if has_alignment && !task.kind.has_device_bounds() {
            schedule.skipped = skipped(kernel, dims);
        }
        if form == Form::Proven {
            // With the code of a second body, iterations that share many loads would need more registers.
            schedule.covered = dims.len() > 1 && !shares_loads;
        }
        if form == Form::Checked && !schedule.interior && schedule.coarsening == 1 {
            schedule.speculative_iterations =
                schedule.has_free_grid() && speculate::has_speculative_iterations(kernel, task);
            if schedule.speculative_iterations {
                schedule.few_registers = speculate::has_conditions(kernel, task.body);
            } else {
                schedule.joint_loads = joint_loads::find(kernel, &schedule, task.body);
            }
        }
        schedule.grid = GridPreference {
            resident_blocks_only: !schedule.has_free_grid(),
            square_blocks: coarsen::has_uneven_loop(kernel, task),
            small_blocks: shares_loads,
        };
        schedule
    }

    /// Whether results are the same bits where a thread executes fewer iterations together: the loop does not combine
    /// values, which this would reorder. A vector load has a fixed number of elements.
    #[must_use]
    pub fn can_limit_coarsening(&self) -> bool {
        self.coarsening > 1 && self.vector_load.is_none() && self.has_free_grid()
    }

    /// Whether results are the same bits for each grid and block size: the loop does not combine values.
    #[must_use]
    pub fn has_free_grid(&self) -> bool {
        self.reductions.is_empty() && self.privatized.is_none()
    }

    /// The decisions as text, one each: for people, and for the printed IR.
    #[must_use]
    pub fn describe(&self, kernel: &Offloaded) -> Vec<String> {
        self.lines(kernel.into())
    }

    pub(crate) fn lines(&self, nodes: Nodes<'_>) -> Vec<String> {
        let name = |tensor: ParamId| nodes.params[tensor.index()].name.as_str();
        let constant = |at: &ExprId| match nodes.exprs[*at].kind {
            ExprKind::Const(value) => value.as_int().unwrap_or_default().to_string(),
            _ => "?".to_owned(),
        };
        let mut lines = vec![match self.form {
            Form::Proven => "no bounds checks".to_owned(),
            Form::Checked if self.interior => "bounds checks outside the interior".to_owned(),
            Form::Checked => "bounds checks".to_owned(),
        }];
        match (self.narrow_counters, self.narrow_indices) {
            (true, _) => lines.push("32-bit indices and counters".to_owned()),
            (false, true) => lines.push("32-bit indices".to_owned()),
            (false, false) => {}
        }
        if self.covered {
            lines.push("no loops where the grid covers all iterations".to_owned());
        }
        if self.skipped > 0 {
            lines.push(format!(
                "rows begin {} iterations early, at whole cache lines",
                self.skipped
            ));
        }
        match self.vector_load {
            Some(_) => {
                lines.push(format!("{} iterations per thread, vector load", self.coarsening))
            }
            None if self.coarsening > 1 => {
                lines.push(format!("{} iterations per thread", self.coarsening));
            }
            None => {}
        }
        for Reduction { target, op, ty, .. } in &self.reductions {
            let target = match target {
                ReductionTarget::Temp(temp) => format!("{temp:?}"),
                ReductionTarget::Element(tensor, index) => {
                    let index: Vec<String> = index.iter().map(constant).collect();
                    format!("{}[{}]", name(*tensor), index.join(", "))
                }
            };
            lines.push(format!("reduction {}<{ty}> into {target}", op.name()));
        }
        if let Some(Privatized { tensor, op, ty }) = &self.privatized {
            lines.push(format!("privatized {}<{ty}> into {}", op.name(), name(*tensor)));
        }
        for body in &self.speculated {
            lines.push(format!("speculative loop {body:?}"));
        }
        if self.speculative_iterations {
            lines.push("speculative iterations".to_owned());
        }
        if self.few_registers {
            lines.push("few registers".to_owned());
        }
        for loads in &self.joint_loads {
            lines.push(format!("{} loads with one check, from {:?} on", loads.len(), loads[0]));
        }
        if self.grid.resident_blocks_only {
            lines.push("grid of resident blocks".to_owned());
        }
        if self.grid.square_blocks {
            lines.push("square blocks".to_owned());
        }
        if self.grid.small_blocks {
            lines.push("small blocks".to_owned());
        }
        lines
    }
}
