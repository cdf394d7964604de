//! Kernel parameters.

use serde::{Deserialize, Serialize};

use crate::ScalarType;

/// A parameter.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Param {
    /// The name in the source. If a source parameter becomes several, the path follows: `place.0` in a value,
    /// `bodies[].place` in a tensor, `group.bodies` in a struct of tensors.
    pub name: String,
    /// The kind.
    pub kind: ParamKind,
    /// Whether the launch passes the distance between neighbouring elements along each axis of the tensor, in elements:
    /// its strides. The elements are in row-major order otherwise.
    pub strided: bool,
    /// For a component of a tensor: the distance between elements, in scalars, if the components of an element lie side
    /// by side (an array of structs). 0 if it is unknown. Then the scalars of an element follow each other.
    pub interleaved_step: u32,
    /// For an interleaved component: the distance of its first scalar from the beginning of the element, in scalars.
    pub interleaved_offset: u32,
}

/// The largest alignment of elements that vector loads and stores of GPUs use, in bytes.
const MAX_ELEMENT_ALIGNMENT: usize = 16;

/// The alignment of elements of `size` bytes, if the first one is aligned: the largest power of two that divides the
/// size, at most 16 bytes. Kernels rely on it for tensors of [interleaved components](Param::interleaved_step).
#[must_use]
pub const fn element_alignment(size: usize) -> usize {
    power_of_two_factor(size, MAX_ELEMENT_ALIGNMENT)
}

/// The largest power of two up to `most` that divides `size`.
const fn power_of_two_factor(size: usize, most: usize) -> usize {
    let factor = size & size.wrapping_neg();
    if factor == 0 || factor > most { most } else { factor }
}

/// The kind of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum ParamKind {
    /// A scalar, passed by value.
    Scalar(ScalarType),
    /// A tensor of 0 to [`MAX_RANK`](crate::abi::MAX_RANK) dimensions.
    Tensor {
        /// The element type.
        elem: ScalarType,
        /// The number of dimensions.
        rank: u8,
        /// Whether the kernel may write it.
        writable: bool,
        /// Whether the caller guarantees that all elements differ. Then it is not writable.
        distinct: bool,
    },
    /// A component of a tensor of structs, tuples, arrays, vectors or matrices: the scalars at one field path in each
    /// element. The launch passes its strides in scalars: `plane` between the scalars of one element, `step` between
    /// elements.
    Component {
        /// The type of a scalar.
        elem: ScalarType,
        /// The number of dimensions of the tensor.
        rank: u8,
        /// Whether the kernel may write it.
        writable: bool,
        /// The number of scalars per element. If it is more than one, an access has one more index than the tensor has
        /// dimensions, which selects the scalar.
        scalars: u32,
    },
}

impl ParamKind {
    /// The type of a tensor's scalars; none for a scalar parameter.
    #[must_use]
    pub const fn elem(self) -> Option<ScalarType> {
        match self {
            Self::Scalar(_) => None,
            Self::Tensor { elem, .. } | Self::Component { elem, .. } => Some(elem),
        }
    }

    /// The number of dimensions of a tensor; 0 for a scalar parameter.
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

    /// Whether the caller guarantees that all elements differ.
    #[must_use]
    pub const fn is_distinct(self) -> bool {
        matches!(self, Self::Tensor { distinct: true, .. })
    }

    /// The number of scalars that the extra index of a component selects from; none if there is no extra index.
    #[must_use]
    pub const fn component_extent(self) -> Option<u32> {
        match self {
            Self::Component { scalars, .. } if scalars > 1 => Some(scalars),
            _ => None,
        }
    }

    /// The number of indices of an access.
    #[must_use]
    pub const fn indices(self) -> usize {
        self.rank() as usize + self.component_extent().is_some() as usize
    }
}

impl Param {
    /// A parameter whose elements, if it is a tensor, are in row-major order.
    #[must_use]
    pub fn new(name: impl Into<String>, kind: ParamKind) -> Self {
        Self { name: name.into(), kind, strided: false, interleaved_step: 0, interleaved_offset: 0 }
    }

    /// The alignment of the first scalar of the component in each element, in bytes, where components are interleaved
    /// and the elements have their [alignment](element_alignment). None for other parameters and for strided ones,
    /// whose elements may have any address.
    #[must_use]
    pub const fn component_alignment(&self) -> Option<usize> {
        let ParamKind::Component { elem, .. } = self.kind else { return None };
        if self.strided || self.interleaved_step == 0 {
            return None;
        }
        let of_element = element_alignment(self.interleaved_step as usize * elem.size());
        Some(power_of_two_factor(self.interleaved_offset as usize * elem.size(), of_element))
    }

    /// The number of strides that the launch passes.
    #[must_use]
    pub const fn strides(&self) -> usize {
        if self.strided { self.kind.rank() as usize } else { 0 }
    }

    /// The name of the tensor in the source. The name of a component is that name, then `[]` and the field path.
    #[must_use]
    pub fn tensor(&self) -> &str {
        self.name.split_once("[]").map_or(&self.name, |(tensor, _)| tensor)
    }
}
