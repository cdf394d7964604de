//! The clocks of operations, and the races that were found.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use parking_lot::Mutex;

use super::Race;
use crate::{
    clock::{Clock, Epoch, WorldKey},
    op_id::OpId,
};

#[derive(Debug, Default)]
pub(crate) struct Detector {
    pub(crate) on: bool,
    /// Whether races are printed when they are detected.
    pub(crate) print: bool,
    pub(crate) host: Clock,
    pub(crate) clocks: HashMap<OpId, (Epoch, Clock)>,
    /// The number of clocks above which unneeded clocks are removed.
    pub(crate) prune_threshold: usize,
    /// The operations that the host does not know to be complete, oldest first. It may contain complete ones. All
    /// operations before the first are in the clock of the host.
    pub(crate) open: VecDeque<Epoch>,
    /// Further dependencies of the next operation.
    pub(crate) after: Option<Clock>,
    pub(crate) races: Vec<Race>,
}

/// By world, what the host knows of it by waits in other worlds.
static HOST_CLOCKS: Mutex<BTreeMap<WorldKey, Clock>> = Mutex::new(BTreeMap::new());
/// The number of worlds in [`HOST_CLOCKS`].
static HOST_CLOCK_COUNT: AtomicUsize = AtomicUsize::new(0);

/// Takes what the host knows of a world by waits in others.
pub(crate) fn take_host_clock(world: WorldKey) -> Option<Clock> {
    if HOST_CLOCK_COUNT.load(Relaxed) == 0 {
        return None;
    }
    let mut host_clocks = HOST_CLOCKS.lock();
    let part = host_clocks.remove(&world);
    HOST_CLOCK_COUNT.store(host_clocks.len(), Relaxed);
    part
}

/// The largest number of recorded races.
const MAX_RECORDED_RACES: usize = 1000;
pub(crate) const MIN_PRUNE_THRESHOLD: usize = 1024;

impl Detector {
    pub(crate) fn new(on: bool) -> Self {
        Self { on, print: on, prune_threshold: MIN_PRUNE_THRESHOLD, ..Self::default() }
    }

    /// Orders the next operation after an earlier one because the driver knows that it is complete.
    pub(crate) fn order_next_after(&mut self, op: OpId) {
        self.after = self.clocks.get(&op).map(|(_, clock)| clock.clone());
    }

    /// Tells the other worlds what the host knows of them by waits in this one.
    pub(crate) fn publish_host_clocks(&self) {
        if !self.on || self.host.others().is_empty() {
            return;
        }
        let mut host_clocks = HOST_CLOCKS.lock();
        for (world, part) in self.host.others() {
            host_clocks.entry(*world).or_default().join(part);
        }
        HOST_CLOCK_COUNT.store(host_clocks.len(), Relaxed);
    }

    /// Learns what the host knows of this world by waits in others.
    pub(crate) fn merge_host_clock(&mut self, own: WorldKey) {
        if let Some(part) = take_host_clock(own) {
            self.host.join(&part);
        }
    }

    pub(crate) fn add(&mut self, race: Race) {
        if self.races.len() < MAX_RECORDED_RACES {
            if self.print {
                eprintln!("quadrants simulator: {race}");
            }
            self.races.push(race);
        }
    }
}
