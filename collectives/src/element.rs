//! The types of elements and the reductions of collective operations.

use quadrants_program::{KernelValue, f16};

/// A type of elements that collective operations take: integers of 8, 32 and 64 bits, and floats.
pub trait Element: KernelValue + sealed::Sealed {
    /// The type's name in the interface of NCCL.
    #[doc(hidden)]
    const TYPE: DataType;
}

/// `ncclDataType_t`.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum DataType {
    I8 = 0,
    U8 = 1,
    I32 = 2,
    U32 = 3,
    I64 = 4,
    U64 = 5,
    F16 = 6,
    F32 = 7,
    F64 = 8,
}

/// How the elements of the ranks are combined.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(i32)]
pub enum Reduction {
    /// The sum. Integers wrap.
    Sum = 0,
    /// The product. Integers wrap.
    Product = 1,
    /// The largest element.
    Max = 2,
    /// The smallest element.
    Min = 3,
    /// The sum divided by the number of ranks; of integers rounded towards zero.
    Mean = 4,
}

impl DataType {
    /// The name in Rust.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::I8 => "i8",
            Self::U8 => "u8",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// The size of an element in bytes.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($ty:ty = $name:ident),* $(,)?) => { $(
        impl sealed::Sealed for $ty {}
        impl Element for $ty {
            const TYPE: DataType = DataType::$name;
        }
    )* };
}

elements! {
    i8 = I8, u8 = U8, i32 = I32, u32 = U32, i64 = I64, u64 = U64, f16 = F16, f32 = F32, f64 = F64,
}
