//! Parameter codes: the kind of an argument or a parameter in one word, so that a launch compares one word per
//! argument.

use std::fmt;

use quadrants_ir::{Param, ParamKind, ScalarType};

/// A [`ParamKind`] in one word. Displayed as the parameter's type in Rust.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct ParamCode(u64);

impl ParamCode {
    /// The tags in the lowest byte; that of a scalar is 0.
    const TENSOR: u64 = 1;
    const COMPONENT: u64 = 2;
    /// The position of the element type.
    const ELEM: u32 = 8;
    const RANK: u32 = 16;
    const WRITABLE: u64 = 1 << 24;
    const DISTINCT: u64 = 1 << 25;
    const STRIDED: u64 = 1 << 26;
    /// The position of the number of scalars.
    const SCALARS: u32 = 32;

    #[inline]
    pub(crate) const fn of(kind: ParamKind) -> Self {
        let distinct = kind.is_distinct();
        let (tag, elem, rank, writable, scalars) = match kind {
            ParamKind::Scalar(ty) => (0, ty, 0, false, 0),
            ParamKind::Tensor { elem, rank, writable, .. } => {
                (Self::TENSOR, elem, rank, writable, 0)
            }
            ParamKind::Component { elem, rank, writable, scalars } => {
                (Self::COMPONENT, elem, rank, writable, scalars)
            }
        };
        Self(
            tag | (elem as u64) << Self::ELEM
                | (rank as u64) << Self::RANK
                | if writable { Self::WRITABLE } else { 0 }
                | if distinct { Self::DISTINCT } else { 0 }
                | (scalars as u64) << Self::SCALARS,
        )
    }

    /// The code of a parameter.
    pub(crate) fn of_param(param: &Param) -> Self {
        Self::of(param.kind).with_strides(param.strided)
    }

    /// The code with or without strides: those of an argument, or for a parameter.
    pub(crate) fn with_strides(self, strided: bool) -> Self {
        Self(self.0 & !Self::STRIDED | if strided { Self::STRIDED } else { 0 })
    }

    /// Whether the words of the argument or parameter include strides.
    pub(crate) fn is_strided(self) -> bool {
        self.0 & Self::STRIDED != 0
    }

    /// The kind that the code was made of.
    pub(crate) fn kind(self) -> ParamKind {
        let elem = ScalarType::ALL[(self.0 >> Self::ELEM) as u8 as usize];
        let (rank, writable) = ((self.0 >> Self::RANK) as u8, self.is_writable());
        match self.0 & 0xff {
            0 => ParamKind::Scalar(elem),
            Self::TENSOR => {
                ParamKind::Tensor { elem, rank, writable, distinct: self.is_distinct() }
            }
            _ => {
                let scalars = (self.0 >> Self::SCALARS) as u32;
                ParamKind::Component { elem, rank, writable, scalars }
            }
        }
    }

    pub(crate) fn is_scalar(self) -> bool {
        matches!(self.kind(), ParamKind::Scalar(_))
    }

    pub(crate) fn is_writable(self) -> bool {
        self.0 & Self::WRITABLE != 0
    }

    pub(crate) fn is_distinct(self) -> bool {
        self.0 & Self::DISTINCT != 0
    }

    /// Whether a parameter with code `param` accepts an argument with this code: the codes are equal, or differ only in
    /// that the argument is writable, or that its elements are known to differ.
    #[inline]
    pub(crate) fn accepted_by(self, param: Self) -> bool {
        (self.0 ^ param.0) & !(self.0 & (Self::WRITABLE | Self::DISTINCT)) == 0
    }
}

impl fmt::Debug for ParamCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind().fmt(f)
    }
}

impl fmt::Display for ParamCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mutable = if self.is_writable() { "mut " } else { "" };
        match self.kind() {
            ParamKind::Scalar(ty) => write!(f, "{ty}"),
            ParamKind::Tensor { elem, rank, distinct, .. } => {
                let name = if distinct { "Distinct" } else { "Tensor" };
                write!(f, "&{mutable}{name}<{elem}, {rank}>")
            }
            ParamKind::Component { elem, rank, scalars, .. } => {
                write!(f, "a component of {scalars} {elem} of a &{mutable}Tensor<_, {rank}>")
            }
        }?;
        f.write_str(if self.is_strided() { " that is not contiguous or not aligned" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_round_trip_and_differ_for_different_kinds() {
        let mut kinds = Vec::new();
        for elem in ScalarType::ALL {
            kinds.push(ParamKind::Scalar(elem));
            for (rank, writable) in [(0, false), (1, true), (6, false), (255, true)] {
                kinds.extend([false, true].map(|distinct| ParamKind::Tensor {
                    elem,
                    rank,
                    writable,
                    distinct,
                }));
                for scalars in [1, 9, u32::MAX] {
                    kinds.push(ParamKind::Component { elem, rank, writable, scalars });
                }
            }
        }
        for (at, kind) in kinds.iter().enumerate() {
            assert_eq!(ParamCode::of(*kind).kind(), *kind);
            assert!(kinds[..at].iter().all(|other| ParamCode::of(*other) != ParamCode::of(*kind)));
        }
    }

    #[test]
    fn strides_are_accepted_only_where_they_are_expected() {
        let kind =
            ParamKind::Tensor { elem: ScalarType::F32, rank: 2, writable: true, distinct: false };
        let (dense, strided) = (ParamCode::of(kind), ParamCode::of(kind).with_strides(true));
        assert!(!strided.accepted_by(dense) && !dense.accepted_by(strided));
        assert!(strided.accepted_by(strided) && strided.is_strided() && !dense.is_strided());
        assert_eq!((strided.kind(), strided.with_strides(false) == dense), (kind, true));
    }

    #[test]
    fn a_writable_tensor_is_accepted_for_a_read_only_parameter_and_nothing_else_differs() {
        let tensor = |elem, rank, writable| {
            ParamCode::of(ParamKind::Tensor { elem, rank, writable, distinct: false })
        };
        let param = tensor(ScalarType::F32, 2, false);
        assert!(tensor(ScalarType::F32, 2, true).accepted_by(param) && param.accepted_by(param));
        assert!(!param.accepted_by(tensor(ScalarType::F32, 2, true)));
        for other in [tensor(ScalarType::F64, 2, true), tensor(ScalarType::F32, 1, true)] {
            assert!(!other.accepted_by(param));
        }
        assert!(!ParamCode::of(ParamKind::Scalar(ScalarType::F32)).accepted_by(param));
    }
}
