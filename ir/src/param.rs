//! The parameters of kernels.

use serde::{Deserialize, Serialize};

use crate::ScalarType;

/// A parameter.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Param {
    /// Its name in the source; of what is one of several for a parameter of the source, also its path in that:
    /// `place.0` in a value, `bodies[].place` in a tensor, `group.bodies` in a struct of tensors.
    pub name: String,
    /// What it is.
    pub kind: ParamKind,
}

/// What a parameter is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum ParamKind {
    /// A value.
    Scalar(ScalarType),
    /// A dense row-major tensor of 0 to [`MAX_RANK`](crate::abi::MAX_RANK) dimensions.
    Tensor {
        /// The type of an element.
        elem: ScalarType,
        /// The number of dimensions.
        rank: u8,
        /// Whether the kernel may write it.
        writable: bool,
    },
    /// A component of a tensor of structs, tuples, arrays, vectors or matrices: the scalars that one
    /// path of fields leads to in each element. Where they lie, the launch says: an element's next one
    /// is `plane` scalars further, that of the next element `step`.
    Component {
        /// The type of a scalar.
        elem: ScalarType,
        /// The number of the tensor's dimensions.
        rank: u8,
        /// Whether the kernel may write it.
        writable: bool,
        /// How many scalars an element has of it. Where that is more than one, an access has one index
        /// more than the tensor has dimensions: which of them.
        scalars: u32,
    },
}

impl ParamKind {
    /// The type of a tensor's scalars; none of a value.
    #[must_use]
    pub const fn elem(self) -> Option<ScalarType> {
        match self {
            Self::Scalar(_) => None,
            Self::Tensor { elem, .. } | Self::Component { elem, .. } => Some(elem),
        }
    }

    /// The number of a tensor's dimensions.
    #[must_use]
    pub const fn rank(self) -> u8 {
        match self {
            Self::Scalar(_) => 0,
            Self::Tensor { rank, .. } | Self::Component { rank, .. } => rank,
        }
    }

    /// Whether the kernel may write it.
    #[must_use]
    pub const fn is_writable(self) -> bool {
        match self {
            Self::Scalar(_) => false,
            Self::Tensor { writable, .. } | Self::Component { writable, .. } => writable,
        }
    }

    /// How many scalars of an element an index chooses among, where one does.
    #[must_use]
    pub const fn choices(self) -> Option<u32> {
        match self {
            Self::Component { scalars, .. } if scalars > 1 => Some(scalars),
            _ => None,
        }
    }

    /// How many indices an access has.
    #[must_use]
    pub const fn indices(self) -> usize {
        self.rank() as usize + self.choices().is_some() as usize
    }
}

impl Param {
    /// What a tensor is called in the source. A component's name is that, then `[]` and its fields.
    #[must_use]
    pub fn tensor(&self) -> &str {
        self.name.split_once("[]").map_or(&self.name, |(tensor, _)| tensor)
    }
}
