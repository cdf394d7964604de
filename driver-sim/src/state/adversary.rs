//! The adversarial schedule: delays each operation as long as is legal.
//!
//! The lazy schedule runs work as late as possible. When an operation must run, this schedule first runs younger
//! operations that access the same memory and are not ordered after it: a consumer before the producer that it does not
//! wait for, or a free before a reader that it does not wait for.

use super::WorldState;
use crate::op_id::OpId;

impl WorldState {
    /// Runs an operation that is ready, after every younger one that conflicts with it and may run first. `delayed` are
    /// the operations that wait for this one although nothing orders them after the younger operations.
    pub(crate) fn run_late(&mut self, id: OpId, delayed: &mut Vec<OpId>) {
        delayed.push(id);
        while let Some(first) = self.conflicting_younger_op(id, delayed) {
            let mut path = Vec::new();
            while let Some(step) = self.queue.first_step(first, &mut path) {
                self.run_late(step, delayed);
            }
        }
        delayed.pop();
        self.run(id);
    }

    /// The youngest operation that conflicts with `id` and depends on none of the delayed operations.
    fn conflicting_younger_op(&self, id: OpId, delayed: &[OpId]) -> Option<OpId> {
        let ranges = self.queue.work(id)?.may_access(&self.memory);
        if ranges.is_empty() {
            return None;
        }
        let younger = (id + 1..self.queue.next_id()).rev();
        younger.filter(|other| !delayed.contains(other)).find(|&other| {
            let Some(work) = self.queue.work(other) else { return false };
            ranges.conflicts(&work.may_access(&self.memory)) && {
                let needs = self.queue.ancestors(&[other]);
                !delayed.iter().any(|op| needs.contains(op))
                    && !needs.iter().any(|op| self.queue.blocked_by(*op).is_some())
            }
        })
    }
}
