#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod compiler;
mod dialect;
mod error;
mod print;
#[doc(hidden)]
pub mod samples;
pub mod search;
mod simulator;

pub use compiler::{CompileRequest, Compiled, Compiler, SourceText};
pub use dialect::Dialect;
pub use error::{Error, Result};
pub use print::print_kernel;
pub use simulator::SimulatorCompiler;

/// A hash of all sources that the text of kernels depends on, of this crate and others. Kernels have the same text if
/// it is the same.
pub const SOURCES: &str = env!("QUADRANTS_SOURCES");
