//! Scalar types and constants.

use std::fmt;

use half::f16;
use serde::{Deserialize, Serialize};

use crate::named::named_enum;

named_enum! {
    /// A scalar type. Rust's `usize` is `U64`, and `isize` is `I64`, on every device.
    ///
    /// Types of 8 and 16 bits, including `f16`, are [narrow](Self::is_narrow): they can be loaded, stored, selected and
    /// kept in locals. Arithmetic uses their [wide](Self::wide) type, so that no backend needs narrow arithmetic.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
    enum ScalarType
    /// The name of the type in Rust (`u64` also for `usize`, `i64` also for `isize`).
    fn name {
        /// in memory: one byte, 0 or 1
        Bool = "bool",
        I8 = "i8",
        I16 = "i16",
        U8 = "u8",
        U16 = "u16",
        I32 = "i32",
        /// and `isize`
        I64 = "i64",
        U32 = "u32",
        /// and `usize`
        U64 = "u64",
        F32 = "f32",
        F64 = "f64",
        /// is IEEE's binary16
        F16 = "f16",
    }
}

impl ScalarType {
    /// The size of an element in memory, in bytes.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// Whether it is a float type with arithmetic: `f32` or `f64`, not a [narrow](Self::is_narrow) type.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// Whether it is an integer type with arithmetic, not a [narrow](Self::is_narrow) type.
    #[must_use]
    pub const fn is_int(self) -> bool {
        matches!(self, Self::I32 | Self::I64 | Self::U32 | Self::U64)
    }

    /// Whether it is a signed integer type with arithmetic: `i32` or `i64`, not a [narrow](Self::is_narrow) type.
    #[must_use]
    pub const fn is_wide_signed_int(self) -> bool {
        matches!(self, Self::I32 | Self::I64)
    }

    /// Whether it is a type of 8 or 16 bits, without arithmetic; bool is not.
    #[must_use]
    pub const fn is_narrow(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::U8 | Self::U16 | Self::F16)
    }

    /// The type that arithmetic on its values uses: `I32`, `U32` or `F32` for a narrow type, else the type itself.
    #[must_use]
    pub const fn wide(self) -> Self {
        match self {
            Self::I8 | Self::I16 => Self::I32,
            Self::U8 | Self::U16 => Self::U32,
            Self::F16 => Self::F32,
            _ => self,
        }
    }

    /// The unsigned type of the same width of a signed integer type, else the type itself.
    #[must_use]
    pub const fn unsigned(self) -> Self {
        match self {
            Self::I8 => Self::U8,
            Self::I16 => Self::U16,
            Self::I32 => Self::U32,
            Self::I64 => Self::U64,
            _ => self,
        }
    }

    /// The smallest and the largest value of an integer type.
    #[must_use]
    pub const fn int_range(self) -> Option<(i128, i128)> {
        match self {
            Self::I8 => Some((i8::MIN as i128, i8::MAX as i128)),
            Self::I16 => Some((i16::MIN as i128, i16::MAX as i128)),
            Self::U8 => Some((0, u8::MAX as i128)),
            Self::U16 => Some((0, u16::MAX as i128)),
            Self::I32 => Some((i32::MIN as i128, i32::MAX as i128)),
            Self::I64 => Some((i64::MIN as i128, i64::MAX as i128)),
            Self::U32 => Some((0, u32::MAX as i128)),
            Self::U64 => Some((0, u64::MAX as i128)),
            _ => None,
        }
    }
}

impl fmt::Display for ScalarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A constant: a type and the bits of a value.
///
/// Equality compares bits, so that the hash of a kernel is well defined for every float.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Const {
    ty: ScalarType,
    bits: u64,
}

macro_rules! consts {
    ($($rust:ty, $variant:ident, |$v:ident| $bits:expr;)*) => {$(
        impl From<$rust> for Const {
            fn from($v: $rust) -> Self {
                Self { ty: ScalarType::$variant, bits: $bits }
            }
        }
    )*};
}

consts! {
    bool, Bool, |v| u64::from(v);
    i8, I8, |v| u64::from(v as u8);
    i16, I16, |v| u64::from(v as u16);
    u8, U8, |v| u64::from(v);
    u16, U16, |v| u64::from(v);
    i32, I32, |v| u64::from(v as u32);
    i64, I64, |v| v as u64;
    isize, I64, |v| v as u64;
    u32, U32, |v| u64::from(v);
    u64, U64, |v| v;
    usize, U64, |v| v as u64;
    f32, F32, |v| u64::from(v.to_bits());
    f64, F64, |v| v.to_bits();
    f16, F16, |v| u64::from(v.to_bits());
}

impl Const {
    /// A constant of type `ty` with these bits. Bits beyond the type's size are dropped.
    #[must_use]
    pub const fn from_bits(ty: ScalarType, bits: u64) -> Self {
        let bits = match ty.size() {
            1 if matches!(ty, ScalarType::Bool) => bits & 1,
            1 => bits & 0xff,
            2 => bits & 0xffff,
            4 => bits & 0xffff_ffff,
            _ => bits,
        };
        Self { ty, bits }
    }

    /// The type.
    #[must_use]
    pub const fn ty(self) -> ScalarType {
        self.ty
    }

    /// The bits, zero-extended. This is also the word of the value in an argument block.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.bits
    }

    /// The value of an integer or bool constant.
    #[must_use]
    pub const fn as_int(self) -> Option<i128> {
        match self.ty {
            ScalarType::I8 => Some(self.bits as u8 as i8 as i128),
            ScalarType::I16 => Some(self.bits as u16 as i16 as i128),
            ScalarType::I32 => Some(self.bits as u32 as i32 as i128),
            ScalarType::I64 => Some(self.bits as i64 as i128),
            ScalarType::F16 | ScalarType::F32 | ScalarType::F64 => None,
            _ => Some(self.bits as i128),
        }
    }

    /// The value of a float constant, converted to `f64`.
    #[must_use]
    pub fn as_float(self) -> Option<f64> {
        match self.ty {
            ScalarType::F16 => Some(f16::from_bits(self.bits as u16).to_f64()),
            ScalarType::F32 => Some(f64::from(f32::from_bits(self.bits as u32))),
            ScalarType::F64 => Some(f64::from_bits(self.bits)),
            _ => None,
        }
    }
}

impl fmt::Debug for Const {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ty {
            ScalarType::Bool => write!(f, "{}", self.bits != 0),
            ScalarType::F16 => write!(f, "{:?}f16", f16::from_bits(self.bits as u16)),
            ScalarType::F32 => write!(f, "{:?}f32", f32::from_bits(self.bits as u32)),
            ScalarType::F64 => write!(f, "{:?}f64", f64::from_bits(self.bits)),
            _ => write!(f, "{}{}", self.as_int().unwrap_or_default(), self.ty),
        }
    }
}

/// Operations that are defined here to the last bit, because the results of the standard library depend on the
/// optimization.
pub trait ExactFloat: Sized {
    /// The smaller one: of a number and a NaN the number, and −0 is less than +0 (`minimumNumber` of IEEE 754-2019, as
    /// GPUs compute it).
    #[must_use]
    fn minimum_number(self, other: Self) -> Self;

    /// The larger one, likewise.
    #[must_use]
    fn maximum_number(self, other: Self) -> Self;

    /// The power, by repeated squaring from the lowest bit of the exponent; of a negative exponent the reciprocal.
    #[must_use]
    fn power(self, exponent: i32) -> Self;
}

macro_rules! exact_float {
    ($($float:ident)*) => {$(
        impl ExactFloat for $float {
            #[inline(always)]
            fn minimum_number(self, other: Self) -> Self {
                // Equal numbers differ in the sign of zero at most.
                if self == other { Self::from_bits(self.to_bits() | other.to_bits()) } else { self.min(other) }
            }

            #[inline(always)]
            fn maximum_number(self, other: Self) -> Self {
                if self == other { Self::from_bits(self.to_bits() & other.to_bits()) } else { self.max(other) }
            }

            #[inline(always)]
            fn power(mut self, exponent: i32) -> Self {
                let (mut rest, mut result) = (exponent.unsigned_abs(), 1.0);
                loop {
                    if rest & 1 == 1 {
                        result *= self;
                    }
                    rest >>= 1;
                    if rest == 0 {
                        break;
                    }
                    self *= self;
                }
                if exponent < 0 { 1.0 / result } else { result }
            }
        }
    )*};
}

exact_float! { f32 f64 }
