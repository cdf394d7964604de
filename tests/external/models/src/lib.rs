//! The lock-free and pooled parts of runtime and program under loom: every interleaving of small scenes, with the weak memory
//! that their orderings allow.
//!
//! The modules are those crates' own files; what they take from their crate has the same names here. So a scene fails
//! when an ordering is weakened there.

// A scene uses a part of each.
#![expect(dead_code, reason = "a scene uses a part of each file")]

#[path = "../../../../program/src/launch/report_slot.rs"]
mod report_slot;
#[path = "../../../../runtime/src/handle_pool.rs"]
mod handle_pool;
#[path = "../../../../runtime/src/stream_registry.rs"]
mod stream_registry;
#[path = "../../../../program/src/launch/seqlock.rs"]
mod seqlock;
mod sync;
#[path = "../../../../runtime/src/stamps.rs"]
mod stamps;

pub mod scenes;

use quadrants_runtime::{Error, Result};
use stamps::Stamp;
