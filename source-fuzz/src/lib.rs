#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod branch;
mod coverage;
mod expr;
mod fragment;
mod generate;
mod grammar;
mod items;
mod kernel;
mod linear;
mod literal;
mod loop_value;
mod module;
pub mod rng;
mod shorthand;
pub mod stage;
mod stmt;
mod strips;
mod traps;
mod types;

pub use grammar::{Coverage, PRODUCTIONS};
pub use module::Module;
pub use traps::KNOWN_DEFECTS;

#[cfg(test)]
mod tests;
