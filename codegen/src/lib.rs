#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod compiler;
mod dialect;
mod error;
mod print;
mod run_time_compiler;
pub mod search;
mod simulator;

pub use compiler::{CompileRequest, Compiled, Compiler, SourceText};
pub use dialect::Dialect;
pub use error::{Error, Result};
pub use print::{WITHOUT_FAILURES, print_kernel};
pub use simulator::SimulatorCompiler;

/// A hash of this crate's sources. Together with those of `quadrants_ir` and of the backend's compiler it determines
/// the text of a kernel.
pub const SOURCES: &str = env!("QUADRANTS_SOURCES");
