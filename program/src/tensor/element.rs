//! The scalar types of tensors and kernel arguments.

use half::f16;
use quadrants_ir::{Const, ScalarType};

use crate::{
    KernelValue,
    body::{Dense, ScalarRef, Strided},
};

/// A scalar type of tensors and kernels: `f16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 usize bool`.
///
/// Sealed: the IR has a fixed type for each.
///
/// # Examples
/// ```
/// use quadrants_program::Element;
/// assert_eq!(f32::TYPE, quadrants_ir::ScalarType::F32);
/// assert_eq!(usize::TYPE, quadrants_ir::ScalarType::U64);
/// ```
pub trait Element:
    KernelValue<Components = Strided<Self>, Storage = Dense<Self>, Location = ScalarRef<Self>>
    + Default
    + Into<Const>
    + sealed::Sealed
{
    /// The type in the IR.
    const TYPE: ScalarType;

    /// Whether every bit pattern of the type's size is a value of it. Not so for `bool`.
    const ANY_BITS: bool = true;

    /// The value whose little-endian bits these are; higher bits are dropped.
    fn from_bits64(bits: u64) -> Self;
}

/// Reads a scalar. A `bool` may have any bits.
///
/// # Safety
/// `from` is valid for a read, and aligned.
#[inline(always)]
pub(crate) unsafe fn load<T: Element>(from: *const T) -> T {
    // SAFETY: by the caller; a bool is read as a byte.
    unsafe {
        if T::ANY_BITS {
            from.read()
        } else {
            T::from_bits64(u64::from(from.cast::<u8>().read() != 0))
        }
    }
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($ty:ty, $scalar:ident, |$bits:ident| $from:expr;)*) => {$(
        impl sealed::Sealed for $ty {}
        impl Element for $ty {
            const TYPE: ScalarType = ScalarType::$scalar;
            const ANY_BITS: bool = !matches!(ScalarType::$scalar, ScalarType::Bool);
            fn from_bits64($bits: u64) -> Self {
                $from
            }
        }
        const _: () = assert!(size_of::<$ty>() == ScalarType::$scalar.size());
    )*};
}

elements! {
    f32, F32, |bits| f32::from_bits(bits as u32);
    f64, F64, |bits| f64::from_bits(bits);
    f16, F16, |bits| f16::from_bits(bits as u16);
    i8, I8, |bits| bits as i8;
    i16, I16, |bits| bits as i16;
    u8, U8, |bits| bits as u8;
    u16, U16, |bits| bits as u16;
    i32, I32, |bits| bits as i32;
    i64, I64, |bits| bits as i64;
    u32, U32, |bits| bits as u32;
    u64, U64, |bits| bits;
    usize, U64, |bits| bits as usize;
    bool, Bool, |bits| bits & 1 != 0;
}
