#![doc = include_str!("../README.md")]

pub mod bootstrap;
mod call;
mod communicator;
mod element;
mod error;
mod group;
mod ledger;
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
mod unrun;
mod watchdog;

pub use call::CollectiveCall;
pub use communicator::{Communicator, CommunicatorBuilder};
pub use element::{Element, Reduction};
pub use error::{Error, Failure, Result};
pub use group::Group;
pub use ledger::Mismatch;
pub use library::Library;
pub use library_mismatch::LibraryMismatch;
pub use unique_id::UniqueId;

pub use quadrants_program as program;
