//! Launch analysis: what the host computes from the arguments of a launch before it is submitted. This is the iteration
//! space of each loop ([`Extents`]), the bounds proof of each task, the [interior](LaunchAnalysis::interior) where the
//! proof does not hold for all iterations, and the [race check](LaunchAnalysis::race).

mod interior;
mod interval;
mod prove;
mod races;
mod shared;
mod work;

use std::ops::Range;

use crate::{
    ExprKind, Offloaded, ParamId, ParamKind, TaskId,
    abi::{ArgLayout, Forms},
    interp::{Code, CodePart, compile},
    shared::SharedBytes,
    visit::{Nodes, Reach},
};

use prove::{ConservativeBounds, Proof, ProofOutcome};
use races::RaceCheck;
use shared::DynamicMemory;

pub use crate::extents::Extents;
pub use interior::may_have_interior;
pub(crate) use prove::Narrowable;
pub use prove::UnprovenIndex;
pub use races::{Cause, OverflowingCounter, Race, ValueOrigin};
pub use work::IterationWork;

/// The greatest constant that is added to a 32-bit linear index last, for each axis: as a multiple of its stride. See
/// [`LaunchAnalysis::forms`].
pub const MAX_INDEX_DISTANCE: u64 = 64;

/// The launch analysis of a kernel. Prepared once, so that each launch is cheap.
///
/// Requires a kernel that passes [`verify_offloaded`](crate::verify_offloaded). The methods do not allocate unless a
/// task is unusually large.
#[derive(Debug)]
pub struct LaunchAnalysis {
    arguments: usize,
    inputs: Vec<usize>,
    tasks: Vec<TaskAnalysis>,
    tensors: Vec<ExtentWords>,
    components: Vec<InterleavedComponent>,
    races: RaceCheck,
}

#[derive(Debug)]
struct TaskAnalysis {
    bounds: LoopBounds,
    proof: Proof,
    /// Whether it is a range loop, and so has an interior.
    is_range_for: bool,
    /// None for a task without dynamic arrays.
    shared: Option<DynamicMemory>,
}

#[derive(Debug)]
enum LoopBounds {
    Exact(Code),
    /// Conservative bounds around those that the device computes.
    Conservative(ConservativeBounds),
}

/// The bounds of a task's loop. For repeated use, [`LaunchAnalysis::extents`] is faster.
#[must_use]
pub fn extents(kernel: &Offloaded, task: TaskId, args: &[u64]) -> Extents {
    LaunchAnalysis::new(kernel).extents(task, args)
}

/// Whether all accesses of a task are in bounds. For repeated use, [`LaunchAnalysis::prove`] is faster.
#[must_use]
pub fn prove(kernel: &Offloaded, task: TaskId, args: &[u64]) -> bool {
    LaunchAnalysis::new(kernel).prove(task, args)
}

impl LaunchAnalysis {
    /// Prepares the analysis of all tasks of a kernel.
    #[must_use]
    pub fn new(kernel: &Offloaded) -> Self {
        let layout = ArgLayout::new(&kernel.params);
        let races = races::races(kernel, &layout);
        let tensors = extent_words(kernel, &layout);
        let components = interleaved_components(kernel, &layout);
        let words = tensors.iter().map(|tensor| tensor.words.clone());
        let words = words.chain(components.iter().map(|component| component.words.clone()));
        let mut inputs: Vec<usize> = words.flatten().collect();
        inputs.extend(races.inputs());
        let tasks = kernel.tasks().map(|(id, task)| {
            let reached = bounds_dependencies(kernel, id);
            inputs.extend(kernel.exprs.iter().filter_map(|(expr, at)| match at.kind {
                ExprKind::Param(param) if reached.contains(expr) => Some(layout.word(param)),
                _ => None,
            }));
            let needed = reached.locals;
            let bounds = if task.kind.has_device_bounds() {
                let conservative = ConservativeBounds::new(kernel, &layout, task, needed);
                inputs.extend(conservative.inputs());
                LoopBounds::Conservative(conservative)
            } else {
                LoopBounds::Exact(compile(kernel, &layout, task, CodePart::Bounds(&needed)))
            };
            let proof = Proof::new(kernel, &layout, task);
            inputs.extend(proof.inputs());
            let shared = DynamicMemory::new(kernel, &layout, task);
            inputs.extend(shared.iter().flat_map(DynamicMemory::inputs));
            TaskAnalysis { bounds, proof, is_range_for: task.kind.is_range_for(), shared }
        });
        let tasks = tasks.collect();
        inputs.sort_unstable();
        inputs.dedup();
        Self { arguments: layout.len(), inputs, tasks, tensors, components, races }
    }

    /// The words of the argument block that the results depend on, in ascending order: extents, and the scalars that
    /// bounds, indices and conditions use. Argument blocks that agree in these words give the same results.
    #[must_use]
    pub fn inputs(&self) -> &[usize] {
        &self.inputs
    }

    /// The bounds of a task's loop in a launch with this argument block: the bounds that the device computes, or
    /// conservative bounds around them if only the device can compute them. Empty for a serial task, an unknown task,
    /// and an argument block that is too short.
    #[must_use]
    pub fn extents(&self, task: TaskId, args: &[u64]) -> Extents {
        let (Some(plan), Some(args)) = (self.tasks.get(task.index()), args.get(..self.arguments))
        else {
            return Extents::default();
        };
        match &plan.bounds {
            LoopBounds::Exact(code) => code.extents(args),
            LoopBounds::Conservative(conservative) => conservative.extents(args),
        }
    }

    /// The size of a task's shared arrays in a launch with this argument block. None for a task without dynamic arrays,
    /// an unknown task, and an argument block that is too short.
    #[must_use]
    pub fn shared_bytes(&self, task: TaskId, args: &[u64]) -> Option<SharedBytes> {
        let (task, args) = (self.tasks.get(task.index())?, args.get(..self.arguments)?);
        task.shared.as_ref().map(|shared| shared.bytes(args))
    }

    /// Finds a race: the first pair of accesses that may touch one element at the same time, from two iterations of a
    /// loop or two blocks of a region. None if there is no such pair, and if the argument block is too short.
    ///
    /// Accesses at [asserted](crate::Site::asserted) sites are not checked.
    #[must_use]
    pub fn race(&self, args: &[u64]) -> Option<Race> {
        args.get(..self.arguments)
            .and_then(|args| self.races.find(&|task| self.extents(task, args), args))
    }

    /// The forms of the tasks in a launch with this argument block: the checked form for tasks that cannot be
    /// [proven](Self::prove). If no task that has indices to prove can be proven, all have the checked form. The proven
    /// tasks have 32-bit indices where that is possible.
    #[must_use]
    pub fn forms(&self, args: &[u64]) -> Forms {
        let (mut forms, mut needed) = (Forms::PROVEN, Forms::PROVEN);
        let mut fits = self.elements_fit(args);
        for (at, task) in self.tasks.iter().enumerate() {
            let id = TaskId::new(at as u32);
            let outcome = self.outcome(id, args, false);
            if task.proof.has_requirements {
                needed = needed.with_checked(id);
            }
            match outcome.in_bounds {
                true => fits &= outcome.fits,
                false => forms = forms.with_checked(id),
            }
        }
        match (forms == needed && !forms.is_proven(), fits) {
            (true, _) => self.with_layout(Forms::CHECKED, args),
            (false, true) => self.with_layout(forms.with_narrow_indices(), args),
            (false, false) => self.with_layout(forms, args),
        }
    }

    /// The forms for the layout of the tensors in a launch.
    fn with_layout(&self, forms: Forms, args: &[u64]) -> Forms {
        let is_interleaved = |component: &InterleavedComponent| {
            args.get(component.words.clone()) == Some(&[component.step, 1])
        };
        match self.components.iter().all(is_interleaved) {
            // One image serves all launches of a kernel without components.
            true if forms.is_checked() && self.components.is_empty() => Forms::CHECKED,
            true => forms.without_planes(),
            false => forms.with_planes(),
        }
    }

    /// The forms of the tasks in a launch that is promised to have all indices in range.
    #[must_use]
    pub fn unchecked_forms(&self, args: &[u64]) -> Forms {
        let tasks = (0..self.tasks.len()).map(|at| TaskId::new(at as u32));
        let mut outcomes = tasks.map(|task| self.outcome(task, args, true));
        let fits = self.elements_fit(args) && outcomes.all(|outcome| outcome.fits);
        self.with_layout(if fits { Forms::NARROW } else { Forms::PROVEN }, args)
    }

    fn outcome(&self, task: TaskId, args: &[u64], all: bool) -> ProofOutcome {
        let (Some(plan), Some(words)) = (self.tasks.get(task.index()), args.get(..self.arguments))
        else {
            return ProofOutcome { in_bounds: false, fits: false };
        };
        let extents = self.extents(task, args);
        // A task without iterations does not run.
        if extents.is_empty() {
            return ProofOutcome { in_bounds: true, fits: true };
        }
        let mut outcome = plan.proof.outcome(words, &extents, all);
        // A counter of 32 bits starts at 0, and may exceed its end by the number of threads, which is rounded up to
        // whole blocks.
        let limit = -(1 << 30)..=1 << 30;
        let within = |(begin, end): &(i128, i128)| {
            limit.contains(begin) && limit.contains(end) && end - begin <= 1 << 30
        };
        outcome.fits &= extents.dims().iter().all(within);
        outcome
    }

    /// Whether the linear index of each tensor can be computed with `i32`, also if constants up to
    /// [`MAX_INDEX_DISTANCE`] are added to it last: the part without them, and their sum, are below 2^30.
    fn elements_fit(&self, args: &[u64]) -> bool {
        let fits = |tensor: &ExtentWords| {
            let (mut most, mut row) = (0_u64, tensor.step);
            for extent in args.get(tensor.words.clone())?.iter().rev() {
                // Also of an empty tensor, so that every extent can be an `i32`.
                let axis = extent.checked_add(MAX_INDEX_DISTANCE).filter(|axis| *axis < 1 << 30)?;
                most = most.checked_add(axis.checked_mul(row)?)?;
                row = row.checked_mul(*extent)?;
            }
            // And the scalars of an element.
            Some(most < (1 << 30) - tensor.step)
        };
        self.tensors.iter().all(|tensor| fits(tensor) == Some(true))
    }

    /// The bounds proof: whether in a launch with this argument block every index of the task is in bounds, and no
    /// computation that an index depends on overflows. `false` means "unknown".
    #[must_use]
    pub fn prove(&self, task: TaskId, args: &[u64]) -> bool {
        let (Some(plan), Some(words)) = (self.tasks.get(task.index()), args.get(..self.arguments))
        else {
            return false;
        };
        if !plan.proof.has_requirements {
            return true;
        }
        let extents = self.extents(task, args);
        extents.is_empty() || plan.proof.holds(words, &extents)
    }

    /// The indices of a task that a launch with this argument block cannot prove in range. Each combination of an index
    /// and an extent is named once, at its first access.
    #[must_use]
    pub fn unproven(&self, task: TaskId, args: &[u64]) -> Vec<UnprovenIndex> {
        let (Some(plan), Some(words)) = (self.tasks.get(task.index()), args.get(..self.arguments))
        else {
            return Vec::new();
        };
        match self.extents(task, args) {
            extents if extents.is_empty() && plan.is_range_for => Vec::new(),
            extents => plan.proof.unproven(words, &extents),
        }
    }
}

/// The words of the extents of a tensor, and the distance of its elements if they are interleaved, at least 1.
#[derive(Debug)]
struct ExtentWords {
    words: Range<usize>,
    step: u64,
}

/// None for a scalar.
fn extent_words(kernel: &Offloaded, layout: &ArgLayout) -> Vec<ExtentWords> {
    let words = kernel.params.iter().enumerate().map(|(at, param)| {
        // The number of scalars of a component is fixed at compile time.
        let rank = usize::from(param.kind.rank());
        let first = layout.word(ParamId::new(at as u32)) + 1;
        ExtentWords { words: first..first + rank, step: param.interleaved_step.max(1).into() }
    });
    words.collect()
}

/// The words of the strides of a component, and the distance of its elements if they are interleaved.
#[derive(Debug)]
struct InterleavedComponent {
    words: Range<usize>,
    step: u64,
}

fn interleaved_components(kernel: &Offloaded, layout: &ArgLayout) -> Vec<InterleavedComponent> {
    let components = kernel.params.iter().enumerate().filter(|(_, param)| {
        param.interleaved_step > 0 && matches!(param.kind, ParamKind::Component { .. })
    });
    let words = components.map(|(at, param)| {
        let [step, plane] = layout.strides(ParamId::new(at as u32), param.kind);
        InterleavedComponent { words: step..plane + 1, step: param.interleaved_step.into() }
    });
    words.collect()
}

fn bounds_dependencies(kernel: &Offloaded, task: TaskId) -> Reach {
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
