//! The rules of the kernel language, for macro and builder alike.

use std::fmt;

use crate::syntax::{Function, Span};

/// A rule broken, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rejection {
    /// The offending tokens.
    pub span: Span,
    /// The rule.
    pub rule: Rule,
}

/// A rule of the kernel language; its text says what to do instead.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Rule {
    /// A `stream_parallel` inside another.
    #[error("`stream_parallel` cannot stand inside another `stream_parallel`")]
    Nested,
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.span.line, self.rule)
    }
}

/// All rules that `function` breaks, in source order; none for a function that may be compiled.
#[must_use]
pub fn check(_function: &Function) -> Vec<Rejection> {
    Vec::new()
}
