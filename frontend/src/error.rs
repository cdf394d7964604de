//! What can go wrong between a kernel's source and its IR.

use quadrants_ir::types::Type;

use crate::{builder::Misuse, rule::Rejection, syntax::Span};

/// Why a kernel's IR could not be made.
///
/// A kernel from the macro has passed rustc and [`check`](fn@crate::check) before it gets here, so for it
/// all of these but [`Recursion`](Self::Recursion) are faults of this project.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes of a tree could not be written or read.
    #[error("the kernel's embedded syntax tree is unreadable: {source}")]
    Tree {
        /// The serializer's word.
        source: postcard::Error,
    },
    /// The kernel breaks a rule of the language.
    #[error("{function}: {}", list(.rejections))]
    Rejected {
        /// The kernel or func.
        function: String,
        /// All that is wrong, in source order.
        rejections: Vec<Rejection>,
    },
    /// A func calls itself, directly or through others.
    #[error("{function}: func `{func}` calls itself; write the repetition as a loop (line {})", .span.line)]
    Recursion {
        /// The kernel or func with the call.
        function: String,
        /// The func called.
        func: String,
        /// The call.
        span: Span,
    },
    /// The type that propagation found is not the one that rustc inferred.
    #[error(
        "{function}: line {}: `{name}` is of type {rustc} to rustc and of type {found} to the kernel's lowering",
        .span.line
    )]
    TypeMismatch {
        /// The kernel or func.
        function: String,
        /// The binding.
        name: String,
        /// rustc's type.
        rustc: Type,
        /// The type found here.
        found: Type,
        /// The place.
        span: Span,
    },
    /// An operation was given a type that it is not defined for.
    #[error("{function}: line {}: {what}", .span.line)]
    Type {
        /// The kernel or func.
        function: String,
        /// What does not fit, in words.
        what: String,
        /// The place.
        span: Span,
    },
    /// A name or a table's entry that is not there.
    #[error("{function}: line {}: {what} is not known", .span.line)]
    Unknown {
        /// The kernel or func.
        function: String,
        /// What was looked for.
        what: String,
        /// The place.
        span: Span,
    },
    /// A call of the builder that makes no sense.
    #[error("{function}: line {}: {misuse}", .span.line)]
    Misuse {
        /// The kernel.
        function: String,
        /// What is wrong with it.
        misuse: Misuse,
        /// The call.
        span: Span,
    },
    /// The finished IR broke its own rules.
    #[error("{function}: the kernel's IR is invalid: {source}")]
    Invalid {
        /// The kernel.
        function: String,
        /// The verifier's finding.
        source: quadrants_ir::VerifyError,
    },
}

fn list(rejections: &[Rejection]) -> String {
    let lines: Vec<String> = rejections.iter().map(ToString::to_string).collect();
    lines.join("; ")
}
