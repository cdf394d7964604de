//! The interior of a loop: a box of iterations with proven accesses, for launches that cannot prove all iterations.
//!
//! Where a condition is beyond the proof, or an access is out of range at the border, most iterations are still
//! provable. The search starts with a provable box of one iteration and extends each side as far as the proof holds.
//! Every box within a proven box is proven, so a binary search finds each side.

use super::{LaunchAnalysis, prove::Proof};
use crate::{Offloaded, TaskId, abi::ArgLayout, extents::Extents};

impl LaunchAnalysis {
    /// The box of a task's iterations whose accesses are proven in a launch with this argument block: one interval per
    /// dimension. All intervals are empty if nothing is proven, and if the task is not a range loop. If the device
    /// computes the loop's bounds, it intersects the box with them.
    #[must_use]
    pub fn interior(&self, task: TaskId, args: &[u64]) -> Extents {
        let (Some(plan), Some(words)) = (self.tasks.get(task.index()), args.get(..self.arguments))
        else {
            return Extents::default();
        };
        let extents = self.extents(task, args);
        if !plan.is_range_for || !plan.proof.may_hold() {
            return empty_box(&extents);
        }
        if extents.is_empty() || self.prove(task, args) {
            return extents;
        }
        find_interior(&plan.proof, words, &extents)
    }

    /// The interiors of all range loops, as words to append to this argument block.
    #[must_use]
    pub fn interiors(&self, args: &[u64]) -> Vec<u64> {
        let mut words = Vec::new();
        for (at, _) in self.tasks.iter().enumerate().filter(|(_, plan)| plan.is_range_for) {
            let interior = self.interior(TaskId::new(at as u32), args);
            words.extend(interior.dims().iter().flat_map(|(begin, end)| [*begin, *end]));
        }
        // Negative numbers are stored in 64-bit two's complement.
        words.into_iter().map(|word: i128| word as u64).collect()
    }
}

/// Whether launches may prove a part of the task's iterations. False if an index can be any value, for example one
/// loaded from a tensor.
#[must_use]
pub fn may_have_interior(kernel: &Offloaded, task: TaskId) -> bool {
    let task = &kernel.tasks[task.index()];
    task.kind.is_range_for() && Proof::new(kernel, &ArgLayout::new(&kernel.params), task).may_hold()
}

const fn empty_box(extents: &Extents) -> Extents {
    Extents { dims: [(0, 0); 3], len: extents.len }
}

fn find_interior(proof: &Proof, args: &[u64], extents: &Extents) -> Extents {
    let holds = |interior: &Extents| proof.holds(args, interior);
    let Some(mut interior) = seed_boxes(proof, args, extents).into_iter().find(holds) else {
        return empty_box(extents);
    };
    for at in 0..extents.len {
        let (begin, end) = extents.dims[at];
        let start = interior.dims[at];
        let holds_with = |side: (i128, i128)| {
            let mut wider = interior;
            wider.dims[at] = side;
            holds(&wider)
        };
        let from = extend(start.0, begin, |from| holds_with((from, start.1)));
        let to = extend(start.1, end, |to| holds_with((from, to)));
        interior.dims[at] = (from, to);
    }
    interior
}

/// The boxes of one iteration with which the search starts: the middle of the loop, the middle of the smallest tensor,
/// and the first iteration.
fn seed_boxes(proof: &Proof, args: &[u64], extents: &Extents) -> [Extents; 3] {
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

/// The value extend from `start` towards `limit` for which `holds` is true. It is true for `start`, and monotonic.
fn extend(start: i128, limit: i128, holds: impl Fn(i128) -> bool) -> i128 {
    if start == limit || holds(limit) {
        return limit;
    }
    let (mut good, mut bad) = (start, limit);
    while (bad - good).abs() > 1 {
        let middle = good + (bad - good) / 2;
        if holds(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    good
}
