//! The clocks of operations, and the races that were found.

use std::collections::{HashMap, VecDeque};

use super::Race;
use crate::{
    clock::{Clock, Epoch},
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
    pub(crate) room: usize,
    /// The operations that the host does not know to be complete, oldest first. It may contain complete ones.
    pub(crate) open: VecDeque<Epoch>,
    /// Further dependencies of the next operation.
    pub(crate) after: Option<Clock>,
    pub(crate) races: Vec<Race>,
}

/// The largest number of recorded races.
const RACES: usize = 1000;
pub(crate) const ROOM: usize = 1024;

impl Detector {
    pub(crate) fn new(on: bool) -> Self {
        Self { on, print: on, room: ROOM, ..Self::default() }
    }

    /// Orders the next operation after an earlier one because the driver knows that it is complete.
    pub(crate) fn order_next_after(&mut self, op: OpId) {
        self.after = self.clocks.get(&op).map(|(_, clock)| clock.clone());
    }

    pub(crate) fn add(&mut self, race: Race) {
        if self.races.len() < RACES {
            if self.print {
                eprintln!("quadrants simulator: {race}");
            }
            self.races.push(race);
        }
    }
}
