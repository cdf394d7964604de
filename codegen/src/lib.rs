//! C-family kernel text from the IR, and the compiler trait.
#![forbid(unsafe_code)]

mod compiler;
mod dialect;
mod error;

pub use compiler::{CompileRequest, Compiled, Compiler};
pub use dialect::Dialect;
pub use error::{Error, Result};
