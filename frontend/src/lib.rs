//! Frontend of kernels: syntax tree, language rules, race check, lowering to IR, and the run-time kernel builder.
#![forbid(unsafe_code)]

pub mod builder;
mod builtins;
mod check;
mod encoding;
mod error;
mod function_unit;
mod language_rule;
mod literal;
mod lower;
mod misuse;
mod operands;
mod races;
mod resolve;
mod symbol_table;
pub mod syntax;
mod visit;

pub use builtins::{
    CONVERSIONS, FILLED, builtin_functions, builtin_methods, is_builtin_function, is_builtin_method,
};
pub use check::{check, check_with};
pub use error::Error;
pub use language_rule::{LanguageRule, MACROS, NotCombined, RuleViolation};
pub use lower::{lower, lower_checked};
pub use operands::{Operator, Projection, Root, operators};
pub use quadrants_ir::{
    source::{Callee, EmittedSource},
    types::name_number,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
