//! The interior of a loop: iterations whose accesses a launch proves where it cannot prove all.
//!
//! Where a guard is more than the proof understands, or an access is out of range at a border, most
//! iterations are still provable without it. They are found by asking the proof: a box of one iteration
//! first, whose sides are then moved out as far as it holds. A box within a proven one is proven, so
//! that a side is found by halving.

use super::{Extents, HostPlan, prove::Proof};
use crate::{Offloaded, TaskId, TaskKind, abi::ArgLayout};

impl HostPlan {
    /// The part of a task's iterations whose accesses are proven in a launch with this argument block:
    /// one interval per dimension of a loop, all of them empty where nothing is proven. A device that
    /// finds the loop's bounds by itself runs what of them is within. Nothing
    /// is proven of a task that is no loop over iterations.
    #[must_use]
    pub fn inside(&self, task: TaskId, args: &[u64]) -> Extents {
        let (Some(plan), Some(words)) = (self.tasks.get(task.index()), args.get(..self.arguments))
        else {
            return Extents::default();
        };
        let extents = self.extents(task, args);
        if !plan.is_loop || !plan.proof.may_hold() {
            return nothing_of(&extents);
        }
        if extents.is_empty() || self.prove(task, args) {
            return extents;
        }
        interior(&plan.proof, words, &extents)
    }

    /// The interiors of all loops as they stand in an argument block, behind these arguments.
    #[must_use]
    pub fn interiors(&self, args: &[u64]) -> Vec<u64> {
        let mut words = Vec::new();
        for (at, _) in self.tasks.iter().enumerate().filter(|(_, plan)| plan.is_loop) {
            let inside = self.inside(TaskId::new(at as u32), args);
            words.extend(inside.dims().iter().flat_map(|(begin, end)| [*begin, *end]));
        }
        // A negative number is the same in 64 bits.
        words.into_iter().map(|word: i128| word as u64).collect()
    }
}

/// Whether a launch may find iterations of the task that it can prove where it cannot prove all: not
/// where an index is whatever a tensor holds.
#[must_use]
pub fn may_split(kernel: &Offloaded, task: TaskId) -> bool {
    let task = &kernel.tasks[task.index()];
    is_loop(&task.kind) && Proof::new(kernel, &ArgLayout::new(&kernel.params), task).may_hold()
}

pub(super) fn is_loop(kind: &TaskKind) -> bool {
    matches!(kind, TaskKind::RangeFor { .. })
}

const fn nothing_of(extents: &Extents) -> Extents {
    Extents { dims: [(0, 0); 3], len: extents.len }
}

fn interior(proof: &Proof, args: &[u64], extents: &Extents) -> Extents {
    let holds = |inside: &Extents| proof.holds(args, inside);
    let Some(mut inside) = anchors(proof, args, extents).into_iter().find(holds) else {
        return nothing_of(extents);
    };
    for at in 0..extents.len {
        let (begin, end) = extents.dims[at];
        let known = inside.dims[at];
        let with = |side: (i128, i128)| {
            let mut wider = inside;
            wider.dims[at] = side;
            holds(&wider)
        };
        let from = furthest(known.0, begin, |from| with((from, known.1)));
        let to = furthest(known.1, end, |to| with((from, to)));
        inside.dims[at] = (from, to);
    }
    inside
}

/// Boxes of one iteration from which an interior may be found: in the middle, where the smallest tensor
/// has its middle, and the first.
fn anchors(proof: &Proof, args: &[u64], extents: &Extents) -> [Extents; 3] {
    let smallest = proof.extents(args).min().unwrap_or(0);
    let point = |of: &dyn Fn(i128, i128) -> i128| {
        let mut point = *extents;
        for (begin, end) in &mut point.dims[..extents.len] {
            let at = of(*begin, *end).clamp(*begin, *end - 1);
            (*begin, *end) = (at, at + 1);
        }
        point
    };
    [
        point(&|begin, end| begin + (end - begin) / 2),
        point(&|begin, _| begin.max(0) + i128::from(smallest) / 2),
        point(&|begin, _| begin),
    ]
}

/// The place furthest from `known` towards `limit` that is as good as it.
fn furthest(known: i128, limit: i128, is_good: impl Fn(i128) -> bool) -> i128 {
    if known == limit || is_good(limit) {
        return limit;
    }
    let (mut good, mut bad) = (known, limit);
    while (bad - good).abs() > 1 {
        let middle = good + (bad - good) / 2;
        if is_good(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    good
}
