//! The hazards within a graph: two launches that nothing orders, and that use the same bytes, one of them writing.
//!
//! What a program does about hazards it does here too. Where it inserts waits, the graph gets another edge.

use std::{collections::HashMap, sync::Arc};

use quadrants_runtime::{Buffer, Origin, Use};

use super::{
    args::{OwnedArg, Replaced},
    record::{Behind, Recorded},
};
use crate::{Result, arg::ArgKind};

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
    replaced: &[Replaced<'_>],
) -> Result<bool> {
    let shared = &recorded.program.shared;
    let Some(tracker) = &shared.hazards else { return Ok(false) };
    let mut order = Order(Vec::new());
    let mut users: HashMap<*const Buffer, Vec<(usize, Use)>> = HashMap::new();
    let mut added = false;
    for (this, op) in recorded.ops.iter().enumerate() {
        order.push(&after[this]);
        let touches = recorded.context(op).touches();
        let given = replaced.iter().find(|replaced| replaced.op == this);
        let own = op.launch.args.iter().map(OwnedArg::as_arg);
        let args: Vec<ArgKind<'_>> = given.map_or_else(|| own.collect(), |g| g.args.clone());
        let mut uses = Vec::new();
        for (parameter, (arg, touch)) in args.iter().zip(touches).enumerate() {
            let (ArgKind::Tensor(_, tensor), Some(writes)) = (arg, touch) else { continue };
            let Some(core) = tensor.core() else { continue };
            let by = Origin { kernel: op.launch.kernel.id, parameter, at: op.launch.at };
            let stamp = op.stamp;
            uses.push((
                Arc::as_ptr(&core.buffer),
                Use { stamp, bytes: tensor.bytes(), writes, by },
            ));
        }
        for (buffer, later) in &uses {
            for (earlier, earlier_use) in users.get(buffer).into_iter().flatten() {
                if order.has(*earlier, this) || !earlier_use.conflicts_with(later) {
                    continue;
                }
                if tracker.unordered(shared, earlier_use, later)? {
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
