#![doc = include_str!("../README.md")]

pub mod bootstrap;
mod call;
mod communicator;
mod element;
mod error;
mod group;
mod library;
mod local;
mod reduce;
mod table;
mod unique_id;
mod watchdog;

pub use communicator::{Communicator, CommunicatorBuilder};
pub use element::{Element, Reduction};
pub use error::{Error, Failure, Result};
pub use group::Group;
pub use library::Library;
pub use unique_id::UniqueId;

pub use quadrants_program as program;
