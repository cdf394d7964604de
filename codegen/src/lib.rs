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

/// Names the sources of this crate and of those that kernels' text depends on besides: where it is the same, the same
/// kernel has the same text.
pub const SOURCES: &str = env!("QUADRANTS_SOURCES");
