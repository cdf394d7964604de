#![doc = include_str!("../README.md")]

pub mod bootstrap;
mod call;
mod call_matching;
mod communicator;
mod dropped_group;
mod element;
mod error;
mod group;
mod library;
mod library_mismatch;
mod local;
mod local_ranks;
#[cfg(test)]
mod random;
mod reduce;
mod resolved;
mod table;
mod unique_id;
mod watchdog;

pub use call::CollectiveCall;
pub use call_matching::Mismatch;
pub use communicator::{Communicator, CommunicatorBuilder};
pub use element::{Element, Reduction};
pub use error::{Error, Failure, Result};
pub use group::Group;
pub use library::Library;
pub use library_mismatch::LibraryMismatch;
pub use unique_id::UniqueId;

pub use quadrants_program as program;
