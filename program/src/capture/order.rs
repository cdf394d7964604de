//! The hazards within a graph: two launches that nothing orders, and that use the same bytes, one of them writing.
//!
//! What a program does about hazards it does here too. Where it inserts waits, the graph gets another edge; and so it does
//! around copies of the host's, which come behind all that use their tensor whatever a program does about hazards.

use std::{collections::HashMap, sync::Arc};

use quadrants_runtime::{Buffer, Origin, Use};

use super::{
    args::{OwnedArg, Replacements},
    record::{Behind, Recorded},
};
use crate::{Result, hazards::Tracker, launch::arguments::ArgKind};

/// Of each operation, those that it comes behind, a bit each.
struct Order(Vec<Vec<u64>>);

impl Order {
    fn push(&mut self, after: &[usize]) {
        self.0.push(vec![0; self.0.len().div_ceil(64)]);
        let this = self.0.len() - 1;
        for &earlier in after {
            self.edge(earlier, this);
        }
    }

    fn edge(&mut self, earlier: usize, later: usize) {
        let (before, rest) = self.0.split_at_mut(later);
        rest[0].iter_mut().zip(&before[earlier]).for_each(|(bits, others)| *bits |= others);
        rest[0][earlier / 64] |= 1 << (earlier % 64);
    }

    fn has(&self, earlier: usize, later: usize) -> bool {
        self.0[later][earlier / 64] >> (earlier % 64) & 1 == 1
    }
}

/// Looks for hazards among the launches with these arguments, and says whether an edge was added.
///
/// # Errors
/// [`Error::Hazard`](crate::Error::Hazard) where they are refused.
pub(super) fn check(
    recorded: &Recorded,
    after: &mut [Behind],
    replaced: Option<Replacements<'_>>,
) -> Result<bool> {
    let shared = &recorded.program.shared;
    let tracker = shared.hazards.as_ref();
    if tracker.is_none() && !recorded.has_copies {
        return Ok(false);
    }
    let mut order = Order(Vec::new());
    let mut users: HashMap<*const Buffer, Vec<(usize, Use)>> = HashMap::new();
    let mut added = false;
    for (this, op) in recorded.ops.iter().enumerate() {
        order.push(&after[this]);
        let (params, kernel) = recorded.uses(op);
        let given = replaced.and_then(|replaced| replaced.get(this));
        let own = op.args.iter().map(OwnedArg::as_arg);
        let args: Vec<ArgKind<'_>> =
            given.map_or_else(|| own.collect(), |replaced| replaced.args());
        let mut uses = Vec::new();
        let tensors = args.iter().filter_map(|arg| match arg {
            ArgKind::Scalar(..) => None,
            ArgKind::Tensor(_, tensor) => Some(tensor),
        });
        for (tensor, param) in tensors.zip(params) {
            let (Some(core), Some(writes)) = (tensor.core(), param.touch) else { continue };
            let by = Origin { kernel, parameter: param.number, at: op.at };
            let stamp = op.stamp;
            uses.push((
                Arc::as_ptr(&core.buffer),
                Use { stamp, bytes: tensor.bytes(), writes, by },
            ));
        }
        for (buffer, later) in &uses {
            // The latest first: it may come behind the others.
            for (earlier, earlier_use) in users.get(buffer).into_iter().flatten().rev() {
                if order.has(*earlier, this) || !earlier_use.conflicts_with(later) {
                    continue;
                }
                let copies = op.is_copy() || recorded.ops[*earlier].is_copy();
                let unordered = |tracker: &Tracker| tracker.unordered(shared, earlier_use, later);
                if copies || tracker.map_or(Ok(false), unordered)? {
                    after[this].push(*earlier);
                    order.edge(*earlier, this);
                    added = true;
                }
            }
        }
        for (buffer, one) in uses {
            users.entry(buffer).or_default().push((this, one));
        }
    }
    Ok(added)
}
