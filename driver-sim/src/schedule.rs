//! Schedules: when operations run. They use the driver's freedom against the program.

use std::{fmt, ops::Range};

use smallvec::SmallVec;

use crate::{code::Result, op_id::OpId, state::State};

/// The rule by which a world chooses the operations to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Schedule {
    /// An operation runs only when something waits for it, together with as few others as possible.
    #[default]
    Lazy,
    /// An operation runs when it is enqueued.
    Eager,
    /// At every call, some ready operations run, chosen by the seed. Some streams are slower than others.
    Random,
    /// As lazy. In addition, an operation that must run waits for every younger one that accesses the same memory and
    /// is not ordered after it. So each missing wait, also before a free, has an effect with every seed.
    Adversarial,
}

/// The state of a seeded generator (splitmix64).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Random {
    state: u64,
}

/// The largest number of pending operations, as in a real driver. Above it, the oldest runs.
const DEPTH: usize = 4096;

impl State {
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
        }
    }

    /// Runs what `targets` depend on, and with the random schedule also other operations. Returns an error if the
    /// context is lost meanwhile.
    pub(crate) fn wait_for(&mut self, targets: &[OpId]) -> Result<()> {
        self.drive(targets);
        self.check_lost()
    }

    /// Lets a query run some work, so that repeated queries make progress.
    pub(crate) fn nudge(&mut self, target: OpId) {
        let step = self.queue.first_step(target, &mut Vec::new());
        if let Some(step) = step
            && (self.schedule != Schedule::Random || self.random.below(2) == 0)
        {
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
                let choice: Vec<OpId> = ready.filter(|op| needed.contains(op)).collect();
                match self.random.pick(&choice) {
                    Some(&op) => self.run(op),
                    None => return,
                }
            }
            return;
        }
        for &target in targets {
            let mut path = Vec::new();
            while let Some(step) = self.queue.first_step(target, &mut path) {
                self.step(step);
            }
        }
    }

    /// Runs an operation that is ready and needed.
    fn step(&mut self, id: OpId) {
        if self.schedule == Schedule::Adversarial {
            self.run_late(id, &mut Vec::new());
        } else {
            self.run(id);
        }
    }

    /// Runs one of the ready operations, or none if all of them are of slow streams.
    fn run_any(&mut self) -> bool {
        let total: u64 = self.queue.ready().iter().map(|&op| self.speed(self.queue.turn(op))).sum();
        if total == 0 {
            return false;
        }
        let mut at = self.random.below(total);
        for index in 0..self.queue.ready().len() {
            let op = self.queue.ready()[index];
            let speed = self.speed(self.queue.turn(op));
            if at < speed {
                self.run(op);
                return true;
            }
            at -= speed;
        }
        false
    }

    /// The speed of a stream with this seed. Some streams run only when something waits for them.
    fn speed(&self, turn: u64) -> u64 {
        let choice = Random::new(self.seed ^ turn.rotate_left(32)).next();
        [0, 1, 4, 16][(choice % 4) as usize]
    }
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// A number below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        if from.is_empty() {
            return None;
        }
        from.get(self.below(from.len() as u64) as usize)
    }

    /// The numbers below `count`, split into a few ranges in random order.
    pub(crate) fn pieces(&mut self, count: u64) -> SmallVec<[Range<u64>; 1]> {
        let cuts = self.below(4);
        let mut ends: SmallVec<[u64; 5]> =
            (0..cuts).map(|_| self.below(count.max(1))).chain([0, count]).collect();
        ends.sort_unstable();
        let mut pieces: SmallVec<[Range<u64>; 1]> =
            ends.windows(2).map(|ends| ends[0]..ends[1]).collect();
        for last in (1..pieces.len()).rev() {
            pieces.swap(last, self.below(last as u64 + 1) as usize);
        }
        pieces
    }
}

pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Schedule {
    /// The schedule with this name, as in the environment variable and the C interface.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [Self::Lazy, Self::Eager, Self::Random, Self::Adversarial];
        all.into_iter().find(|schedule| schedule.to_string() == name)
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lazy => "lazy",
            Self::Eager => "eager",
            Self::Random => "random",
            Self::Adversarial => "adversarial",
        })
    }
}
