//! Errors of the frontend.

use quadrants_ir::types::Type;

use crate::{language_rule::RuleViolation, misuse::Misuse, syntax::Span};

/// An error in translating a kernel to IR.
///
/// A kernel from the macro has passed rustc and [`check`](fn@crate::check). For such a kernel, every error except
/// [`Recursion`](Self::Recursion) is a bug in this project.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A syntax tree could not be serialized or deserialized.
    #[error(
        "the kernel's embedded syntax tree is unreadable: {source}; help: this is a bug in quadrants, report it with the \
         source of the kernel"
    )]
    Tree {
        /// The serializer's error.
        source: postcard::Error,
    },
    /// The kernel breaks a rule of the language.
    #[error("{function}: {}", list(.violations))]
    Rejected {
        /// The kernel or func that is lowered.
        function: String,
        /// All violations, in source order.
        violations: Vec<RuleViolation>,
    },
    /// A func calls itself, directly or through others.
    #[error("{function}: line {}: func `{func}` calls itself; recursion is not supported in kernels; help: use a loop", .span.line)]
    Recursion {
        /// The kernel or func that contains the call.
        function: String,
        /// The called func.
        func: String,
        /// The call.
        span: Span,
    },
    /// Lowering computes another type than rustc inferred.
    #[error(
        "{function}: line {}: `{name}` has type {rustc} in rustc and type {found} in the IR; help: this is a bug in \
         quadrants, report it with the source of the kernel",
        .span.line
    )]
    TypeMismatch {
        /// The kernel or func that is lowered.
        function: String,
        /// The binding.
        name: String,
        /// rustc's type.
        rustc: Type,
        /// The type that lowering computes.
        found: Type,
        /// The source location.
        span: Span,
    },
    /// Kernels do not have an operation for a type, or a value exceeds a limit.
    #[error("{function}: line {}: {what}", .span.line)]
    Type {
        /// The kernel or func that is lowered.
        function: String,
        /// The message.
        what: String,
        /// The source location.
        span: Span,
    },
    /// The syntax tree has a type error that rustc or the builder should have found.
    #[error(
        "{function}: line {}: the IR cannot be built: {what}; help: this is a bug in quadrants, report it with the \
         source of the kernel", .span.line
    )]
    Inconsistent {
        /// The kernel or func that is lowered.
        function: String,
        /// The inconsistency.
        what: String,
        /// The source location.
        span: Span,
    },
    /// A name or table entry does not exist.
    #[error("{function}: line {}: the IR cannot be built, because {what} is missing; help: this is a bug in quadrants, report it with the \
         source of the kernel", .span.line)]
    Unknown {
        /// The kernel or func that is lowered.
        function: String,
        /// What does not exist.
        what: String,
        /// The source location.
        span: Span,
    },
    /// A builder call is invalid.
    #[error("{function}: line {}: {misuse}", .span.line)]
    Misuse {
        /// The kernel.
        function: String,
        /// The error.
        misuse: Misuse,
        /// The call.
        span: Span,
    },
    /// The verifier rejects the finished IR.
    #[error(
        "{function}: the kernel's IR is invalid: {source}; help: this is a bug in quadrants, report it with the source of \
         the kernel"
    )]
    Invalid {
        /// The kernel.
        function: String,
        /// The verifier's error.
        source: quadrants_ir::VerifyError,
    },
}

fn list(violations: &[RuleViolation]) -> String {
    let lines: Vec<String> = violations.iter().map(ToString::to_string).collect();
    lines.join("; ")
}
