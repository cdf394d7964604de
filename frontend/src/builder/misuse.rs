//! Errors in the use of a kernel builder.

use quadrants_ir::{ScalarType, types::Type};

/// What is wrong with a call of the builder.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Misuse {
    /// A handle of another builder.
    #[error("the value belongs to another kernel builder")]
    ForeignValue,
    /// A value used after the block that computed it.
    #[error(
        "the value was computed in a block that has ended; compute it before, or keep it in a `var`"
    )]
    OutOfScope,
    /// Two types where one was needed.
    #[error("expected {expected}, found {found}; convert with `cast`")]
    Type {
        /// What was needed.
        expected: ScalarType,
        /// What was given.
        found: ScalarType,
    },
    /// An operation that the type does not have.
    #[error("`{operation}` is not defined for {ty}")]
    Undefined {
        /// The operation.
        operation: &'static str,
        /// The type.
        ty: ScalarType,
    },
    /// A method called with a wrong number of arguments.
    #[error("`{method}` takes {expected} arguments after its receiver, not {found}")]
    Arguments {
        /// The method.
        method: &'static str,
        /// How many it takes.
        expected: usize,
        /// How many were given.
        found: usize,
    },
    /// A wrong number of indices.
    #[error("the tensor has {expected} dimensions, not {found}")]
    Rank {
        /// The tensor's dimensions.
        expected: u8,
        /// The indices given.
        found: usize,
    },
    /// A part that a type does not have.
    #[error("{ty} has no part `{part}`")]
    Part {
        /// The type.
        ty: Type,
        /// The part's name.
        part: String,
    },
    /// Several numbers where one was needed.
    #[error("{ty} has parts; read or write one of them")]
    Parts {
        /// The type.
        ty: Type,
    },
    /// A tensor of more than six dimensions.
    #[error("a tensor has up to six dimensions, not {rank}")]
    TensorRank {
        /// The dimensions asked for.
        rank: u8,
    },
    /// An axis that the tensor does not have.
    #[error("the tensor has {rank} dimensions and so no axis {axis}")]
    Axis {
        /// The axis.
        axis: u8,
        /// The tensor's dimensions.
        rank: u8,
    },
    /// A name that is no identifier.
    #[error("`{name}` is not a name; use letters, digits and `_`, not beginning with a digit")]
    Name {
        /// The name.
        name: String,
    },
    /// Two parameters of one name.
    #[error("there is a parameter `{name}` already")]
    DuplicateParam {
        /// The name.
        name: String,
    },
    /// A parameter declared inside a block.
    #[error("parameters are declared outside loops and blocks")]
    ParamInBlock,
    /// A kernel's value given inside a block.
    #[error("a kernel gives its value at its top level")]
    ReturnInBlock,
    /// A statement after the kernel's value.
    #[error("the kernel has given its value already; nothing may follow")]
    AfterReturn,
}
