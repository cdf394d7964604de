//! [`Element`]: the scalar types of tensors and kernel arguments, and their [`KernelValue`] implementations.

use half::f16;
use quadrants_ir::{Const, ScalarType, types::Type};

use super::{
    KernelValue,
    identity::Identity,
    memory::{Memory, ScalarMemory, ScalarRef, Strided},
};

/// A scalar type of tensors and kernels: `f16 f32 f64 i8 i16 i32 i64 isize u8 u16 u32 u64 usize bool`.
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
    KernelValue<
        Components = Strided<Self>,
        Storage = ScalarMemory<Self>,
        Location = ScalarRef<Self>,
    > + Default
    + Into<Const>
    + sealed::Sealed
{
    /// The type in the IR.
    const TYPE: ScalarType;

    /// Whether every bit pattern of the type's size is a value of the type: false for `bool` alone.
    const ANY_BITS: bool = true;

    /// The value whose little-endian bits these are; higher bits are dropped.
    fn from_bits64(bits: u64) -> Self;
}

/// Reads a scalar. A `bool` may have any bits.
///
/// # Safety
/// `from` is valid for a read, and aligned.
#[inline(always)]
unsafe fn load<T: Element>(from: *const T) -> T {
    // SAFETY: by the caller; a bool is read as a byte.
    unsafe {
        if T::ANY_BITS {
            from.read()
        } else {
            T::from_bits64(u64::from(from.cast::<u8>().read() != 0))
        }
    }
}

impl<T: Element> ScalarRef<T> {
    #[inline(always)]
    fn read(self) -> T {
        // SAFETY: the maker of the [`Memory`] guarantees its scalars, and nothing writes this one at the same time.
        self.address().map_or_else(T::default, |scalar| unsafe { load(scalar) })
    }

    #[inline(always)]
    fn write(self, value: T) {
        if let Some(scalar) = self.address() {
            // SAFETY: as in `read`, and nothing else accesses the scalar at the same time.
            unsafe { scalar.write(value) }
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
        // SAFETY: a scalar is one component of its own type.
        #[diagnostic::do_not_recommend]
        unsafe impl KernelValue for $ty {
            const LAYOUT: Type = Type::Scalar(ScalarType::$scalar);
            const TYPE_IDENTITY: &'static Identity =
                &Identity { name: stringify!($ty), parts: &[] };
            type Same = Self;
            type Components = Strided<$ty>;
            type Storage = ScalarMemory<$ty>;
            type Location = ScalarRef<$ty>;
            #[inline(always)]
            fn push_scalars(self, scalars: &mut dyn FnMut(Const)) {
                scalars(self.into());
            }
            #[inline(always)]
            fn from_scalars(bits: &mut dyn FnMut() -> u64) -> Self {
                Self::from_bits64(bits())
            }
            #[inline(always)]
            fn components(values: usize, memory: &mut Memory<'_>) -> Strided<$ty> {
                Strided::take(values, memory)
            }
            #[inline(always)]
            fn storage(memory: &mut Memory<'_>) -> ScalarMemory<$ty> {
                ScalarMemory::take(memory)
            }
            #[inline(always)]
            fn element_location(storage: ScalarMemory<$ty>, at: Option<usize>) -> ScalarRef<$ty> {
                storage.at(at)
            }
            #[inline(always)]
            fn nested_location(components: Strided<$ty>, element: Option<usize>, offset: usize) -> ScalarRef<$ty> {
                components.at(element, offset)
            }
            #[inline(always)]
            fn read(location: ScalarRef<$ty>) -> Self {
                location.read()
            }
            #[inline(always)]
            fn write(self, location: ScalarRef<$ty>) {
                location.write(self);
            }
            #[inline(always)]
            fn kernel_eq(self, other: Self) -> bool {
                self == other
            }
            fn bytes(values: &[Self]) -> Option<&[u8]> {
                // SAFETY: scalars have no padding.
                Some(unsafe {
                    std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values))
                })
            }
            fn bytes_mut(values: &mut [Self]) -> Option<&mut [u8]> {
                let (first, len) = (values.as_mut_ptr().cast(), size_of_val(values));
                // SAFETY: scalars have no padding, and any bits are a value of all but `bool`.
                Self::ANY_BITS.then(|| unsafe { std::slice::from_raw_parts_mut(first, len) })
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
    isize, I64, |bits| bits as isize;
    u32, U32, |bits| bits as u32;
    u64, U64, |bits| bits;
    usize, U64, |bits| bits as usize;
    bool, Bool, |bits| bits & 1 != 0;
}
