//! The numbers of operations.

use smallvec::SmallVec;

/// The number of an operation, counted per world from 1.
pub type OpId = u64;

/// A few operations.
pub(crate) type Ops = SmallVec<[OpId; 3]>;
