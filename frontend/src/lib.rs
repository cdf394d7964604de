//! From a kernel's source to its IR: the syntax tree, the rules of the language, lowering, and the
//! builder for kernels made at run time.
#![forbid(unsafe_code)]

pub mod builder;
mod check;
mod error;
mod lower;
mod names;
mod races;
mod resolve;
mod source;
pub mod syntax;
mod visit;

pub use check::{Rejection, Rule, check};
pub use error::Error;
pub use lower::{is_builtin_function, is_builtin_method, lower, lower_checked};
pub use quadrants_ir::types::name_number;
pub use source::{Callee, FuncSource, KernelSource, Source};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
