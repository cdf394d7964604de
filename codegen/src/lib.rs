#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

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
