//! The race check of a launch: a value graph that is built once per task, and evaluated to affine forms for each launch
//! that needs it.
//!
//! At a launch all parameters are numbers, so that an index is either an affine form of loop variables or unknown.
//! [`crate::races`] defines what two forms prove. Pairs of accesses that are disjoint for all arguments, as accesses to
//! `t[i]` and `t[[i, k]]`, are removed when the graph is built.

mod broadcast;
mod builder;
mod cause;
mod check;
mod load;
mod loops;
mod pairs;
mod part;
mod phases;
mod unroll;

pub(super) use builder::races;
pub use cause::{Cause, ValueOrigin};
pub(super) use check::RaceCheck;
pub use check::{OverflowingCounter, Race};
