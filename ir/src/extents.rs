//! The iteration space of a loop in one launch.

use crate::abi::MAX_BOUND;

/// The bounds of a task's loop in one launch, outermost dimension first. If [only the
/// device](crate::TaskKind::has_device_bounds) can compute the bounds, these are conservative bounds around them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Extents {
    pub(crate) dims: [(i128, i128); 3],
    pub(crate) len: usize,
}

impl Extents {
    /// The dimensions as `(begin, end)`; none for a serial task. A dimension with `begin >= end` is empty.
    #[must_use]
    pub fn dims(&self) -> &[(i128, i128)] {
        &self.dims[..self.len]
    }

    /// The number of iterations, saturating at `u64::MAX`; 1 for a serial task.
    #[must_use]
    pub fn iterations(&self) -> u64 {
        if self.is_empty() {
            return 0;
        }
        self.counts().fold(1, u64::saturating_mul)
    }

    /// The number of iterations of each dimension, saturating at `u64::MAX`.
    pub fn counts(&self) -> impl Iterator<Item = u64> {
        let count = |(begin, end): &(i128, i128)| (end - begin).max(0);
        self.dims().iter().map(move |dim| u64::try_from(count(dim)).unwrap_or(u64::MAX))
    }

    /// Whether the loop is not empty and a bound exceeds [`MAX_BOUND`].
    #[must_use]
    pub fn exceed_max_bound(&self) -> bool {
        let beyond = |(begin, end): &(i128, i128)| *begin < -MAX_BOUND || *end > MAX_BOUND;
        !self.is_empty() && self.dims().iter().any(beyond)
    }

    /// Whether there are no iterations.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.dims().iter().any(|(begin, end)| begin >= end)
    }

    /// Appends a dimension. A fourth one is ignored; verified kernels have at most three.
    pub(crate) fn push(&mut self, begin: i128, end: i128) {
        if let Some(dim) = self.dims.get_mut(self.len) {
            *dim = (begin, end);
            self.len += 1;
        }
    }
}
