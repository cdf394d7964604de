//! The lock-free and pooled parts of runtime and program under loom: every interleaving of small scenes, with the weak memory
//! that their orderings allow.
//!
//! The modules are those crates' own files; what they take from their crate has the same names here. So a scene fails
//! when an ordering is weakened there.

// A scene uses a part of each.
#![expect(dead_code, reason = "a scene uses a part of each file")]

#[path = "../../../../program/src/claim.rs"]
mod claim;
#[path = "../../../../runtime/src/handles.rs"]
mod handles;
#[path = "../../../../runtime/src/live.rs"]
mod live;
#[path = "../../../../program/src/recall.rs"]
mod recall;
mod sync;
#[path = "../../../../runtime/src/stamps.rs"]
mod stamps;

pub mod scenes;

use quadrants_runtime::{Error, Result};
use stamps::Stamp;
