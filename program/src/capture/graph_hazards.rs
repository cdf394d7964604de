//! Hazards within a graph: two launches without an order that use the same bytes, of which one writes.
//!
//! The program's [`Hazards`](crate::Hazards) policy applies. Where it inserts waits, the graph gets an edge. Captured
//! copies are ordered with all other uses of their tensor under every policy.

use std::{collections::HashMap, sync::Arc};

use quadrants_runtime::{AccessOrigin, Buffer, BufferUse};

use super::{
    args::Replacements,
    recorded::{Dependencies, OwnedArg, Recorded},
};
use crate::{Result, arguments::ArgKind, hazards::tracker::Tracker};

/// For each operation, a bit for each earlier operation: whether it is ordered after that one.
struct Reachability(Vec<Vec<u64>>);

impl Reachability {
    fn push(&mut self, dependencies: &[usize]) {
        self.0.push(vec![0; self.0.len().div_ceil(64)]);
        let this = self.0.len() - 1;
        for &earlier in dependencies {
            self.add_edge(earlier, this);
        }
    }

    fn add_edge(&mut self, earlier: usize, later: usize) {
        let (before, rest) = self.0.split_at_mut(later);
        rest[0].iter_mut().zip(&before[earlier]).for_each(|(bits, others)| *bits |= others);
        rest[0][earlier / 64] |= 1 << (earlier % 64);
    }

    fn has(&self, earlier: usize, later: usize) -> bool {
        self.0[later][earlier / 64] >> (earlier % 64) & 1 == 1
    }
}

/// Checks the operations for hazards, with replaced arguments if there are any. Returns whether an edge was added.
///
/// # Errors
/// [`Error::Hazard`](crate::Error::Hazard) under [`Hazards::Check`](crate::Hazards::Check).
pub(super) fn check(
    recorded: &Recorded,
    dependencies: &mut [Dependencies],
    replacements: Option<Replacements<'_>>,
) -> Result<bool> {
    let shared = &recorded.program.shared;
    let tracker = shared.hazards.as_ref();
    if tracker.is_none() && !recorded.has_host_copies {
        return Ok(false);
    }
    let mut order = Reachability(Vec::new());
    let mut users: HashMap<*const Buffer, Vec<(usize, BufferUse)>> = HashMap::new();
    let mut added = false;
    for (this, op) in recorded.ops.iter().enumerate() {
        order.push(&dependencies[this]);
        let (params, kernel) = recorded.uses(op);
        let replaced = replacements.and_then(|replacements| replacements.get(this));
        let captured = op.args.iter().map(OwnedArg::as_arg);
        let args: Vec<ArgKind<'_>> =
            replaced.map_or_else(|| captured.collect(), |replaced| replaced.args());
        let mut uses = Vec::new();
        let tensors = args.into_iter().filter_map(ArgKind::tensor);
        for (tensor, param) in tensors.zip(params) {
            let (Some(device_tensor), Some(writes)) = (tensor.device_tensor(), param.writes) else {
                continue;
            };
            let by = AccessOrigin { kernel, parameter: param.index, at: op.at };
            let stamp = op.stamp;
            uses.push((
                Arc::as_ptr(&device_tensor.buffer),
                BufferUse { stamp, bytes: tensor.bytes(), writes, by },
            ));
        }
        for (buffer, later) in &uses {
            // The latest first: it may be ordered after the others.
            for (earlier, earlier_use) in users.get(buffer).into_iter().flatten().rev() {
                if order.has(*earlier, this) || !earlier_use.conflicts_with(later) {
                    continue;
                }
                let is_copy = op.is_host_copy() || recorded.ops[*earlier].is_host_copy();
                let conflict =
                    |tracker: &Tracker| shared.graph_conflict(tracker, earlier_use, later);
                if is_copy || tracker.map_or(Ok(false), conflict)? {
                    dependencies[this].push(*earlier);
                    order.add_edge(*earlier, this);
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
