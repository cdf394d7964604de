//! Vector clocks: how far the work of each stream is covered.

use quadrants_runtime::Stamp;
use smallvec::SmallVec;

/// A vector clock: for each stream that it names, the newest stamp that it covers. It covers a stamp with all earlier
/// ones of the stream.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Clock(SmallVec<[Stamp; 4]>);

impl Clock {
    pub(crate) fn of(stamp: Stamp) -> Self {
        Self(SmallVec::from_iter([stamp]))
    }

    pub(crate) fn covers(&self, stamp: Stamp) -> bool {
        self.0.iter().any(|own| own.stream == stamp.stream && own.sequence >= stamp.sequence)
    }

    pub(crate) fn raise(&mut self, stamp: Stamp) {
        match self.0.iter_mut().find(|own| own.stream == stamp.stream) {
            Some(own) => own.sequence = own.sequence.max(stamp.sequence),
            None => self.0.push(stamp),
        }
    }

    /// The newest covered stamp of each stream.
    pub(crate) fn stamps(&self) -> impl Iterator<Item = Stamp> + '_ {
        self.0.iter().copied()
    }

    /// Raises the clock so that it covers all that `other` covers.
    pub(crate) fn join(&mut self, other: &Self) {
        other.0.iter().for_each(|stamp| self.raise(*stamp));
    }
}
