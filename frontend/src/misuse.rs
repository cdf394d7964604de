//! Errors in calls of the kernel builder.

use quadrants_ir::{ScalarType, types::Type};

/// An error in a call of the kernel builder.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Misuse {
    /// A value of another builder.
    #[error("the value belongs to another kernel builder; use values of one builder")]
    ForeignValue,
    /// A value used after the block that computed it.
    #[error(
        "the value was computed in a block that has ended; compute it before the block, or store it in a `var`"
    )]
    OutOfScope,
    /// An operand of the wrong type.
    #[error("expected {expected}, found {found}; convert with `cast`")]
    Type {
        /// The required type.
        expected: ScalarType,
        /// The type of the operand.
        found: ScalarType,
    },
    /// An operation that is not defined for a type.
    #[error("`{operation}` is not defined for {ty}; convert the value with `cast`")]
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
        /// The number of parameters.
        expected: usize,
        /// The number of arguments.
        found: usize,
    },
    /// A wrong number of indices.
    #[error(
        "the tensor has {expected} dimensions, but {found} indices were given; give one index per dimension"
    )]
    Rank {
        /// The tensor's dimensions.
        expected: u8,
        /// The indices given.
        found: usize,
    },
    /// A text of a message that kernels do not support, or that does not suit its values.
    #[error("{what}")]
    Format {
        /// What is wrong.
        what: String,
    },
    /// A part that does not exist.
    #[error("{ty} has no part `{part}`; use the name of a field, or the number of an element")]
    Part {
        /// The type.
        ty: Type,
        /// The part's name.
        part: String,
    },
    /// An aggregate used as a scalar.
    #[error("{ty} has several parts; read or write one of its parts")]
    Parts {
        /// The type.
        ty: Type,
    },
    /// A tensor of more than six dimensions.
    #[error("a tensor has up to six dimensions, not {rank}")]
    TensorRank {
        /// The requested number of dimensions.
        rank: u8,
    },
    /// An axis that does not exist.
    #[error(
        "the tensor has {rank} dimensions, so axis {axis} does not exist; axes are counted from 0"
    )]
    Axis {
        /// The axis.
        axis: u8,
        /// The tensor's dimensions.
        rank: u8,
    },
    /// A name that is not an identifier.
    #[error("`{name}` is not a name; use letters, digits and `_`, not beginning with a digit")]
    Name {
        /// The name.
        name: String,
    },
    /// Two parameters with the same name.
    #[error("the kernel already has a parameter `{name}`; choose another name")]
    DuplicateParam {
        /// The name.
        name: String,
    },
    /// A parameter declared inside a block.
    #[error("parameters must be declared outside loops and blocks")]
    ParamInBlock,
    /// A kernel's result returned inside a block.
    #[error("a kernel must return its result at its top level")]
    ReturnInBlock,
    /// A statement after the kernel's result.
    #[error("the kernel has already returned its result; no statement may follow")]
    AfterReturn,
}
