//! The errors that kernels report while they run.

use quadrants_ir::format::comparison_text;

/// An error that a kernel reported while it ran, with the launch that caused it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("kernel `{kernel}` ({file}:{line}): {cause}")]
#[non_exhaustive]
pub struct KernelError {
    /// The name of the kernel.
    pub kernel: String,
    /// Its source file.
    pub file: String,
    /// The source line; 0 where it is unknown.
    pub line: u32,
    /// The column; 0 where it is unknown.
    pub column: u32,
    /// The number of the launch in the program, from 1.
    pub launch: u64,
    /// The cause.
    pub cause: KernelErrorCause,
}

/// The cause of a kernel's error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelErrorCause {
    /// An index was out of range.
    #[error(
        "index {index:?} of `{tensor}` is out of range for its shape {shape:?}; help: put a condition around the access, or correct the index or the shape"
    )]
    IndexOutOfRange {
        /// The tensor parameter, the shared array of a block, or the indexed local value.
        tensor: String,
        /// The index.
        index: Vec<u64>,
        /// The tensor's shape.
        shape: Vec<u64>,
    },
    /// An `assert!` failed.
    #[error("assertion failed: {message}")]
    Assert {
        /// The message, or the source text of the condition.
        message: String,
    },
    /// An `assert_eq!` or `assert_ne!` failed. The operands are written as by `{:?}`.
    #[error("{}", comparison_text(.operator, .left, .right, .message.as_deref()))]
    Comparison {
        /// What must hold between the operands: `==` or `!=`.
        operator: &'static str,
        /// The left operand.
        left: String,
        /// The right operand.
        right: String,
        /// The message, if there is one.
        message: Option<String>,
    },
    /// An integer was divided by zero.
    #[error("division by zero; help: put a condition around the division")]
    DivideByZero,
    /// A parallel loop whose bounds the device computed has too many iterations: one of the bounds has wrapped, as
    /// `0..n - 1` does where `n` is 0. No iteration ran.
    #[error(
        "the loop has {iterations:?} iterations: one of its bounds has wrapped; help: use `saturating_sub` in the bound"
    )]
    BoundWrapped {
        /// The number of iterations of each dimension.
        iterations: Vec<u64>,
    },
    /// The error record has a site that the kernel does not have: device memory was overwritten.
    #[error(
        "an error at the unknown site {site}: device memory was overwritten; help: look for wrong `unsafe` code in kernels \
         and on the host"
    )]
    Unknown {
        /// The site's number.
        site: u32,
    },
}
