//! Chooses the operations to run by the schedule.

use super::WorldState;
use crate::{code::Result, op_id::OpId, random::Random, schedule::Schedule};

/// The largest number of pending operations, as in a real driver. Above it, the oldest runs.
const DEPTH: usize = 4096;

impl WorldState {
    /// A scheduling point: every driver call is one. Work of other threads and streams may run here.
    pub(crate) fn point(&mut self) {
        if self.schedule != Schedule::Random || self.queue.pending() == 0 {
            return;
        }
        let steps = match self.random.below(8) {
            0..4 => 0,
            4..7 => 1,
            _ => 1 + self.random.below(8),
        };
        for _ in 0..steps {
            if !self.run_any() {
                return;
            }
        }
    }

    /// Called after an operation was enqueued.
    pub(crate) fn enqueued(&mut self, id: OpId) {
        if self.schedule == Schedule::Eager {
            self.run(id);
        } else if self.queue.pending() > DEPTH
            && let Some(oldest) = self.queue.oldest()
        {
            self.drive(&[oldest]);
            // If the oldest operation is blocked, the queue stays longer for a while.
            self.blocked = None;
        }
    }

    /// Runs what `targets` depend on, and with the random schedule also other operations. Returns an error if the
    /// context is lost meanwhile, or if work of another world must run first.
    pub(crate) fn wait_for(&mut self, targets: &[OpId]) -> Result<()> {
        self.blocked = None;
        self.drive(targets);
        self.check_lost()?;
        self.check_blocked()
    }

    /// Lets a query run some work, so that repeated queries make progress.
    pub(crate) fn nudge(&mut self, target: OpId) {
        let step = self.queue.first_step(target, &mut Vec::new());
        if let Some(step) = step
            && (self.schedule != Schedule::Random || self.random.below(2) == 0)
        {
            self.blocked = self.queue.blocked_by(step);
            self.step(step);
        }
    }

    fn drive(&mut self, targets: &[OpId]) {
        if self.schedule == Schedule::Random {
            let needed = self.queue.ancestors(targets);
            while targets.iter().any(|&target| !self.queue.is_done(target)) {
                if self.random.below(3) == 0 && self.run_any() {
                    continue;
                }
                let ready = self.queue.ready().iter().copied();
                let ready = ready.filter(|op| needed.contains(op));
                let (blocked, choice): (Vec<OpId>, Vec<OpId>) =
                    ready.partition(|op| self.queue.blocked_by(*op).is_some());
                match self.random.pick(&choice) {
                    Some(&op) => self.run(op),
                    None => {
                        let Some(&op) = self.random.pick(&blocked) else { return };
                        self.blocked = self.queue.blocked_by(op);
                        // Another world may have completed what it waits for meanwhile.
                        if self.blocked.is_some() {
                            return;
                        }
                    }
                }
            }
            return;
        }
        for &target in targets {
            let mut path = Vec::new();
            while let Some(step) = self.queue.first_step(target, &mut path) {
                self.blocked = self.queue.blocked_by(step);
                if self.blocked.is_some() {
                    return;
                }
                self.step(step);
            }
        }
    }

    /// Runs an operation that is ready and needed, unless it waits for another world.
    fn step(&mut self, id: OpId) {
        if self.queue.blocked_by(id).is_some() {
            return;
        }
        if self.schedule == Schedule::Adversarial {
            self.run_late(id, &mut Vec::new());
        } else {
            self.run(id);
        }
    }

    /// Runs one of the ready operations, or none if all of them are of slow streams.
    fn run_any(&mut self) -> bool {
        let total: u64 = self.queue.ready().iter().map(|&op| self.speed_of(op)).sum();
        if total == 0 {
            return false;
        }
        let mut at = self.random.below(total);
        for index in 0..self.queue.ready().len() {
            let op = self.queue.ready()[index];
            let speed = self.speed_of(op);
            if at < speed {
                self.run(op);
                return true;
            }
            at -= speed;
        }
        false
    }

    /// The speed of an operation's stream; 0 while it waits for another world.
    fn speed_of(&self, op: OpId) -> u64 {
        match self.queue.blocked_by(op) {
            Some(_) => 0,
            None => self.speed(self.queue.turn(op)),
        }
    }

    /// The speed of a stream with this seed. Some streams run only when something waits for them.
    fn speed(&self, turn: u64) -> u64 {
        let choice = Random::new(self.seed ^ turn.rotate_left(32)).next();
        [0, 1, 4, 16][(choice % 4) as usize]
    }
}
