//! The bounds proof: whether all accesses of a task are inside their tensors. It computes intervals by instructions
//! that are built once per task and evaluated in each launch.
//!
//! The instructions compute only what indices, bounds of inner loops and branch conditions depend on. A local stands
//! for the interval of its value; a local that changes in a loop, and a loaded element, for all values of its type.
//! Inside a branch, and after a branch that ends early, the condition narrows the compared values ([`guard`]). Branches
//! that the launch never takes and loops that it makes empty are skipped: they need no proof.

mod builder;
mod guard;
mod proof;

use super::interval::Interval;
use crate::{
    ExprId, LocalId, Offloaded, ScalarType, Task, TaskId,
    abi::{ArgLayout, MAX_BOUND},
    extents::Extents,
};

use builder::ProofBuilder;
use proof::{ProofInput, Register};

pub use proof::UnprovenIndex;
pub(super) use proof::{Proof, ProofOutcome};

/// Conservative bounds of a loop whose bounds the device computes.
#[derive(Debug)]
pub(super) struct ConservativeBounds {
    values: Proof,
    /// The begin and end of each dimension.
    dims: Vec<(Register, Register, ScalarType)>,
}

/// What the bounds proof of a task knows about the 64-bit values in its body. In a launch with [32-bit
/// indices](crate::abi::Forms::with_narrow_indices), each value that may fit into 32 bits does so wherever the proof
/// examines it. These are the indices of tensors and shared arrays, conditions, bounds of loops, and the values of the
/// locals that it [follows](Self::follows).
pub(crate) struct Narrowable {
    proof: Proof,
    followed: Vec<bool>,
}

impl Narrowable {
    pub(crate) fn new(kernel: &Offloaded, task: TaskId) -> Self {
        let task = &kernel.tasks[task.index()];
        let proof = Proof::new(kernel, &ArgLayout::new(&kernel.params), task);
        Self { proof, followed: builder::relevant(kernel.into(), task) }
    }

    pub(crate) fn may_fit(&self, value: ExprId) -> bool {
        self.proof.may_fit(value)
    }

    pub(crate) fn follows(&self, local: LocalId) -> bool {
        self.followed.get(local.index()) == Some(&true)
    }
}

impl Proof {
    pub(super) fn new(kernel: &Offloaded, layout: &ArgLayout, task: &Task) -> Self {
        let mut builder = ProofBuilder::new(kernel, layout, builder::relevant(kernel.into(), task));
        builder.threads = task.kind.threads().unwrap_or(1);
        builder.find_tables(task);
        builder.block(task.prelude);
        builder.examines = true;
        for (at, dim) in task.kind.dims().into_iter().flatten().enumerate() {
            let register = builder.leaf(ProofInput::Dimension(at));
            builder.set(dim.var, register);
        }
        builder.block(task.body);
        builder.finish()
    }
}

impl ConservativeBounds {
    /// `needed` are the prelude locals that the bounds depend on.
    pub(super) fn new(
        kernel: &Offloaded,
        layout: &ArgLayout,
        task: &Task,
        needed: Vec<bool>,
    ) -> Self {
        let mut builder = ProofBuilder::new(kernel, layout, needed);
        builder.block(task.prelude);
        let mut dims = Vec::new();
        for dim in task.kind.dims().into_iter().flatten() {
            let ty = kernel.locals[dim.var].ty;
            dims.push((builder.value(dim.begin), builder.value(dim.end), ty));
        }
        Self { values: builder.finish(), dims }
    }

    /// The words of the argument block that the bounds depend on.
    pub(super) fn inputs(&self) -> impl Iterator<Item = usize> {
        self.values.inputs()
    }

    /// Conservative bounds of the iterations that run. A bound that may have wrapped is still a value of its type, and
    /// nothing runs beyond [`MAX_BOUND`].
    pub(super) fn extents(&self, args: &[u64]) -> Extents {
        let mut extents = Extents::default();
        let registers = self.values.run(args, &extents);
        for &(begin, end, ty) in &self.dims {
            // Without values, because an index in the prelude may be out of range, every bound is possible.
            let of = |register: Register| match registers
                .as_ref()
                .map(|registers| registers[register as usize])
            {
                Some(value) if !value.is_wrapped() => value,
                _ => Interval::of(ty),
            };
            extents.push(of(begin).lo.max(-MAX_BOUND), of(end).hi.min(MAX_BOUND));
        }
        extents
    }
}
