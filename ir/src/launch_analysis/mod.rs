//! What the host knows of a task before it launches it: the extents of its loop, and whether all
//! its accesses stay inside their tensors, or which of its iterations do.

mod interior;
mod interval;
mod prove;
mod races;

use crate::{
    ExprKind, Offloaded, ParamId, TaskId,
    abi::{ArgLayout, MAX_BOUND},
    interp::{Code, Part, compile},
    visit::{Nodes, Reach},
};

use prove::{Hull, Proof};
use races::Races;

pub use interior::may_split;
pub use races::{Overflow, Race, Touched};

/// The bounds of a task's loop for one launch, outermost dimension first. Of a loop whose bounds
/// [only the device knows](crate::TaskKind::is_bounded_on_device) the host knows bounds around them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Extents {
    dims: [(i128, i128); 3],
    len: usize,
}

/// What is prepared once per kernel so that each launch is cheap.
///
/// Made of a kernel that [`verify_offloaded`](crate::verify_offloaded) accepts. Its calls allocate
/// nothing unless a task is unusually large.
#[derive(Debug)]
pub struct HostPlan {
    arguments: usize,
    inputs: Vec<usize>,
    tasks: Vec<TaskPlan>,
    races: Races,
}

#[derive(Debug)]
struct TaskPlan {
    bounds: Bounds,
    proof: Proof,
    /// Whether it is a loop over iterations, and so has an interior.
    is_loop: bool,
}

#[derive(Debug)]
enum Bounds {
    Exact(Code),
    /// What the device's bounds are within.
    Around(Hull),
}

/// The bounds of a task's loop; see [`HostPlan::extents`], which is faster from the second call on.
#[must_use]
pub fn extents(kernel: &Offloaded, task: TaskId, args: &[u64]) -> Extents {
    HostPlan::new(kernel).extents(task, args)
}

/// Whether a task needs no index checks; see [`HostPlan::prove`], which is faster from the second
/// call on.
#[must_use]
pub fn prove(kernel: &Offloaded, task: TaskId, args: &[u64]) -> bool {
    HostPlan::new(kernel).prove(task, args)
}

impl Extents {
    /// The dimensions as `(begin, end)`; none of a serial task. An inverted one is empty.
    #[must_use]
    pub fn dims(&self) -> &[(i128, i128)] {
        &self.dims[..self.len]
    }

    /// The number of iterations, at most `u64::MAX`; 1 of a serial task.
    #[must_use]
    pub fn iterations(&self) -> u64 {
        if self.is_empty() {
            return 0;
        }
        self.counts().fold(1, u64::saturating_mul)
    }

    /// The number of iterations of each dimension, at most `u64::MAX`.
    pub fn counts(&self) -> impl Iterator<Item = u64> {
        let count = |(begin, end): &(i128, i128)| (end - begin).max(0);
        self.dims().iter().map(move |dim| u64::try_from(count(dim)).unwrap_or(u64::MAX))
    }

    /// Whether something would run, and a bound is beyond [`MAX_BOUND`].
    #[must_use]
    pub fn have_wrapped(&self) -> bool {
        let beyond = |(begin, end): &(i128, i128)| *begin < -MAX_BOUND || *end > MAX_BOUND;
        !self.is_empty() && self.dims().iter().any(beyond)
    }

    /// Whether nothing runs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.dims().iter().any(|(begin, end)| begin >= end)
    }

    /// Appends a dimension; a fourth one is ignored, as no verified kernel has it.
    pub(crate) fn push(&mut self, begin: i128, end: i128) {
        if let Some(dim) = self.dims.get_mut(self.len) {
            *dim = (begin, end);
            self.len += 1;
        }
    }
}

impl HostPlan {
    /// Prepares all tasks of a kernel.
    #[must_use]
    pub fn new(kernel: &Offloaded) -> Self {
        let layout = ArgLayout::new(&kernel.params);
        let races = Races::new(kernel, &layout);
        let mut inputs = extent_words(kernel, &layout);
        inputs.extend(races.inputs());
        let tasks = kernel.tasks().map(|(id, task)| {
            let reached = needed_by_bounds(kernel, id);
            inputs.extend(kernel.exprs.iter().filter_map(|(expr, at)| match at.kind {
                ExprKind::Param(param) if reached.has_seen(expr) => Some(layout.word(param)),
                _ => None,
            }));
            let needed = reached.locals;
            let bounds = if task.kind.is_bounded_on_device() {
                let hull = Hull::new(kernel, &layout, task, needed);
                inputs.extend(hull.inputs());
                Bounds::Around(hull)
            } else {
                Bounds::Exact(compile(kernel, &layout, task, Part::Bounds(&needed)))
            };
            let proof = Proof::new(kernel, &layout, task);
            inputs.extend(proof.inputs());
            TaskPlan { bounds, proof, is_loop: interior::is_loop(&task.kind) }
        });
        let tasks = tasks.collect();
        inputs.sort_unstable();
        inputs.dedup();
        Self { arguments: layout.len(), inputs, tasks, races }
    }

    /// The words of an argument block that all answers depend on, ascending: extents, and scalars that
    /// bounds, indices or conditions are computed from. Two blocks that are equal there get the same
    /// answers.
    #[must_use]
    pub fn inputs(&self) -> &[usize] {
        &self.inputs
    }

    /// The bounds of a task's loop, of the launch with this argument block: exactly what the device
    /// computes, or where only the device knows them, bounds around those that it runs. There are none
    /// of a serial task, of a task that the kernel does not have, and of a block that is too short.
    #[must_use]
    pub fn extents(&self, task: TaskId, args: &[u64]) -> Extents {
        let (Some(plan), Some(args)) = (self.tasks.get(task.index()), args.get(..self.arguments))
        else {
            return Extents::default();
        };
        match &plan.bounds {
            Bounds::Exact(code) => code.extents(args),
            Bounds::Around(hull) => hull.extents(args),
        }
    }

    /// The first pair of accesses that a launch with this argument block does not keep apart: iterations
    /// of one loop, or blocks of one region, may touch one element by them at the same time. None where
    /// there is no such pair, and where the block is too short.
    ///
    /// Accesses whose site is [asserted](crate::Site::asserted) are not asked about.
    #[must_use]
    pub fn race(&self, args: &[u64]) -> Option<Race> {
        args.get(..self.arguments).and_then(|args| self.races.first(self, args))
    }

    /// Whether in a launch with this argument block every index of the task is inside its tensor, and
    /// nothing that an index is computed from leaves its integer type. `false` says nothing.
    #[must_use]
    pub fn prove(&self, task: TaskId, args: &[u64]) -> bool {
        let (Some(plan), Some(words)) = (self.tasks.get(task.index()), args.get(..self.arguments))
        else {
            return false;
        };
        if plan.proof.is_trivial() {
            return true;
        }
        let extents = self.extents(task, args);
        extents.is_empty() || plan.proof.holds(words, &extents)
    }
}

/// The words of all tensors' extents.
fn extent_words(kernel: &Offloaded, layout: &ArgLayout) -> Vec<usize> {
    let words = kernel.params.iter().enumerate().map(|(at, param)| {
        // How many scalars a component has does not change.
        let rank = usize::from(param.kind.rank());
        let first = layout.word(ParamId::new(at as u32)) + 1;
        first..first + rank
    });
    words.flatten().collect()
}

/// What a task's bounds depend on.
fn needed_by_bounds(kernel: &Offloaded, task: TaskId) -> Reach {
    let nodes = Nodes::from(kernel);
    let task = &kernel.tasks[task.index()];
    let mut reach = Reach::new(nodes);
    for bound in task.kind.dims().into_iter().flatten().flat_map(|dim| [dim.begin, dim.end]) {
        nodes.reach_expr(bound, &mut reach);
    }
    for stmt in kernel.blocks[task.prelude].stmts.iter().rev() {
        if let crate::Stmt::Let { local, value } = *stmt
            && reach.locals[local.index()]
        {
            nodes.reach_expr(value, &mut reach);
        }
    }
    reach
}
