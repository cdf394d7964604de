//! Loom models of the lock-free and pooled parts of runtime and program: every interleaving of small scenarios, with
//! the weak memory effects that their orderings allow.
//!
//! The modules are the source files of those crates, included by path. What they import from their crate has the same
//! name here, so a scenario fails if an ordering in the source is weakened.

#![expect(dead_code, reason = "a scenario uses a part of each file")]

#[path = "../../../../program/src/launcher/report_slot.rs"]
mod report_slot;
#[path = "../../../../runtime/src/handle_pool.rs"]
mod handle_pool;
#[path = "../../../../runtime/src/lease_map.rs"]
mod lease_map;
#[path = "../../../../runtime/src/stream_registry.rs"]
mod stream_registry;
#[path = "../../../../program/src/launcher/seqlock.rs"]
mod seqlock;
mod sync;
#[path = "../../../../runtime/src/stamps.rs"]
mod stamps;

pub mod scenarios;

use quadrants_runtime::{Error, Result};
use stamps::Stamp;
