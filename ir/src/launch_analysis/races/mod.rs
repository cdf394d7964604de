//! The race check of a launch: a small program over affine forms, built once per task and evaluated for each launch
//! that needs it.
//!
//! At a launch all parameters are numbers, so that an index is either an affine form of loop variables or unknown.
//! [`crate::races`] defines what two forms prove. Pairs of accesses that are disjoint for all arguments, as accesses to
//! `t[i]` and `t[[i, k]]`, are removed when the program is built.

mod broadcast;
mod build;
mod cause;
mod load;
mod loops;
mod pairs;
mod phases;
mod program;
mod unroll;

pub(super) use build::races;
pub use cause::{Cause, ValueOrigin};
pub(super) use program::Races;
pub use program::{Overflow, Race};
