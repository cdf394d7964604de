//! Vector clocks: how far each stream's work comes before something.

use quadrants_runtime::Stamp;
use smallvec::SmallVec;

/// Of each stream named, the newest work that comes before.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Clock(SmallVec<[Stamp; 4]>);

impl Clock {
    /// That work, and all before it in its stream.
    pub(crate) fn of(stamp: Stamp) -> Self {
        Self(SmallVec::from_iter([stamp]))
    }

    /// Whether the work comes before.
    pub(crate) fn covers(&self, stamp: Stamp) -> bool {
        self.0.iter().any(|own| own.stream == stamp.stream && own.sequence >= stamp.sequence)
    }

    /// That work, and all before it in its stream, comes before from now on.
    pub(crate) fn raise(&mut self, stamp: Stamp) {
        match self.0.iter_mut().find(|own| own.stream == stamp.stream) {
            Some(own) => own.sequence = own.sequence.max(stamp.sequence),
            None => self.0.push(stamp),
        }
    }

    /// The newest work of each stream.
    pub(crate) fn stamps(&self) -> impl Iterator<Item = Stamp> + '_ {
        self.0.iter().copied()
    }

    /// Whatever comes before the other comes before from now on.
    pub(crate) fn join(&mut self, other: &Self) {
        other.0.iter().for_each(|stamp| self.raise(*stamp));
    }
}
