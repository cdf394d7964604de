//! [`NpyProblem`]: why a `.npy` file cannot be read or written.

use quadrants_ir::ScalarType;

/// Why a `.npy` file cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NpyProblem {
    /// The file cannot be read or written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The file is not of the format, or has no plain numbers.
    #[error("{what}; help: write it by `numpy.save`")]
    Format {
        /// What is wrong.
        what: &'static str,
    },
    /// The elements are of another type.
    #[error(
        "its elements are `{found}`, and those of the tensor {expected}; help: load it with its own type"
    )]
    DataType {
        /// NumPy's name of the type in the file.
        found: String,
        /// The type of the tensor's elements.
        expected: ScalarType,
    },
    /// The number of dimensions is another one.
    #[error(
        "its number of dimensions is {found}, and that of the tensor {expected}; help: load it with its own, \
         and `reshape`"
    )]
    Rank {
        /// That of the file.
        found: usize,
        /// That of the tensor.
        expected: usize,
    },
    /// The file is shorter than its elements.
    #[error(
        "it has {bytes} bytes, which is too little for the shape {shape:?}; help: write the file again"
    )]
    Truncated {
        /// The shape in its header.
        shape: Vec<usize>,
        /// The size of the file in bytes.
        bytes: u64,
    },
}
