//! [`ViewProblem`]: why a part of a tensor cannot be taken, or cannot be used as it is.

use crate::{Error, value::strided::Strided};

/// Why a part of a tensor cannot be taken, or cannot be used as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ViewProblem {
    /// The tensor has no axis of this number.
    #[error("a tensor of shape {shape:?} has no axis {axis}; help: use an axis in 0..{}", shape.len())]
    NoAxis {
        /// The axis.
        axis: usize,
        /// The tensor's shape.
        shape: Vec<usize>,
    },
    /// A range or an index is not inside an axis.
    #[error(
        "{begin}..{end} is not inside axis {axis} of a tensor of shape {shape:?}; help: use a range within 0..{}",
        shape.get(*.axis).copied().unwrap_or_default()
    )]
    Range {
        /// The axis.
        axis: usize,
        /// The range's start.
        begin: usize,
        /// The range's end.
        end: usize,
        /// The tensor's shape.
        shape: Vec<usize>,
    },
    /// The distance between the selected indices of an axis is 0.
    #[error("every 0th index of axis {axis} was asked for; help: 1 selects all indices")]
    NoStep {
        /// The axis.
        axis: usize,
    },
    /// The given axes are not all axes of the tensor, each once.
    #[error(
        "{axes:?} does not name each axis of a tensor of shape {shape:?} once; help: pass a permutation of 0..{}",
        shape.len()
    )]
    Permutation {
        /// The axes.
        axes: Vec<usize>,
        /// The tensor's shape.
        shape: Vec<usize>,
    },
    /// An operation needs elements in row-major order without gaps.
    #[error(
        "{what} needs elements in row-major order without gaps, and those of a tensor of shape {shape:?} have the \
         strides {strides:?}; help: copy it to a tensor first, by `try_clone` or in a kernel"
    )]
    NotContiguous {
        /// The operation.
        what: &'static str,
        /// The tensor's shape.
        shape: Vec<usize>,
        /// The distance between neighbours along each axis, in elements.
        strides: Vec<usize>,
    },
}

impl ViewProblem {
    /// The error of the operation `what`.
    #[cold]
    pub(crate) fn not_contiguous(what: &'static str, view: &Strided) -> Error {
        let (shape, strides) = (view.extents.to_vec(), view.strides.to_vec());
        Error::View(Self::NotContiguous { what, shape, strides })
    }
}
