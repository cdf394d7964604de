//! Guarantees: the blocks of a region are ordered by nothing but the fork before and the join after them, and a failed
//! region leaves nothing behind.

mod fork_join;
mod host;
pub(crate) mod overlap;
