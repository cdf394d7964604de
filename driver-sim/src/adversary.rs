//! The adversarial schedule: who must not rely on an order gets the other one.
//!
//! A lazy schedule already runs work as late as can be. But where work has to run, what nothing orders
//! with it may run before, whether it was enqueued first or not. So an operation that touches the same
//! memory, is younger, and does not wait for it runs first: a consumer before the producer that it forgot
//! to wait for, a free before the reader that it forgot.

use crate::{queue::OpId, state::State};

impl State {
    /// Runs an operation that is ready, behind every younger one that conflicts with it and may come
    /// first.
    pub(crate) fn run_late(&mut self, id: OpId) {
        self.delay(id, &mut Vec::new());
    }

    /// `delayed` are the operations that wait for this one to be over, without any right to.
    fn delay(&mut self, id: OpId, delayed: &mut Vec<OpId>) {
        delayed.push(id);
        while let Some(first) = self.overtaking(id, delayed) {
            let mut path = Vec::new();
            while let Some(step) = self.queue.first_step(first, &mut path) {
                self.delay(step, delayed);
            }
        }
        delayed.pop();
        self.run(id);
    }

    /// The youngest operation that conflicts with `id` and needs none of those that are delayed.
    fn overtaking(&self, id: OpId, delayed: &[OpId]) -> Option<OpId> {
        let reach = self.queue.work(id)?.reach(&self.memory);
        if reach.is_empty() {
            return None;
        }
        let younger = (id + 1..self.queue.next()).rev();
        younger.filter(|other| !delayed.contains(other)).find(|&other| {
            let Some(work) = self.queue.work(other) else { return false };
            reach.conflicts(&work.reach(&self.memory)) && {
                let needs = self.queue.ancestors(&[other]);
                !delayed.iter().any(|op| needs.contains(op))
            }
        })
    }
}
