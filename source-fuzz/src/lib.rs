#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod collide;
mod expr;
mod generate;
mod grammar;
mod items;
mod kernel;
mod linear;
mod loop_value;
mod module;
mod names;
mod of_structs;
pub mod rng;
pub mod stage;
mod stmt;
mod types;

pub use collide::KNOWN_WAYS;
pub use grammar::{Coverage, PRODUCTIONS};
pub use module::Module;

#[cfg(test)]
mod tests;
