//! Reductions of arrays on the CPU, in the order of the ranks.

use half::f16;

use crate::{Reduction, element::DataType};

/// A number that can be reduced.
trait Reduce: Copy {
    /// The type in which it is combined.
    type Accumulator: Copy;

    fn start(self) -> Self::Accumulator;
    fn combine(
        a: Self::Accumulator,
        b: Self::Accumulator,
        reduction: Reduction,
    ) -> Self::Accumulator;
    fn end(accumulator: Self::Accumulator, reduction: Reduction, ranks: usize) -> Self;
}

macro_rules! integers {
    ($($ty:ty),*) => { $(
        impl Reduce for $ty {
            type Accumulator = $ty;

            fn start(self) -> $ty {
                self
            }

            fn combine(a: $ty, b: $ty, reduction: Reduction) -> $ty {
                match reduction {
                    Reduction::Sum | Reduction::Mean => a.wrapping_add(b),
                    Reduction::Product => a.wrapping_mul(b),
                    Reduction::Max => a.max(b),
                    Reduction::Min => a.min(b),
                }
            }

            fn end(sum: $ty, reduction: Reduction, ranks: usize) -> $ty {
                match reduction {
                    // The quotient is not larger than the sum, so it fits.
                    Reduction::Mean => (i128::from(sum) / ranks as i128) as $ty,
                    _ => sum,
                }
            }
        }
    )* };
}

macro_rules! floats {
    ($($ty:ty as $accumulator:ty, $from:expr, $to:expr;)*) => { $(
        impl Reduce for $ty {
            type Accumulator = $accumulator;

            fn start(self) -> $accumulator {
                $from(self)
            }

            fn combine(a: $accumulator, b: $accumulator, reduction: Reduction) -> $accumulator {
                match reduction {
                    Reduction::Sum | Reduction::Mean => a + b,
                    Reduction::Product => a * b,
                    Reduction::Max => a.max(b),
                    Reduction::Min => a.min(b),
                }
            }

            fn end(sum: $accumulator, reduction: Reduction, ranks: usize) -> $ty {
                $to(match reduction {
                    Reduction::Mean => sum / ranks as $accumulator,
                    _ => sum,
                })
            }
        }
    )* };
}

integers! { i8, u8, i32, u32, i64, u64 }

floats! {
    f16 as f32, f16::to_f32, f16::from_f32;
    f32 as f32, std::convert::identity, std::convert::identity;
    f64 as f64, std::convert::identity, std::convert::identity;
}

/// The bytes of the combined elements.
///
/// # Safety
/// Each input has `count` elements of the type, at an aligned address.
pub(crate) unsafe fn reduce(
    data_type: DataType,
    reduction: Reduction,
    inputs: &[*const u8],
    count: usize,
) -> Vec<u8> {
    // SAFETY: by the caller.
    unsafe {
        match data_type {
            DataType::I8 => elements::<i8>(reduction, inputs, count),
            DataType::U8 => elements::<u8>(reduction, inputs, count),
            DataType::I32 => elements::<i32>(reduction, inputs, count),
            DataType::U32 => elements::<u32>(reduction, inputs, count),
            DataType::I64 => elements::<i64>(reduction, inputs, count),
            DataType::U64 => elements::<u64>(reduction, inputs, count),
            DataType::F16 => elements::<f16>(reduction, inputs, count),
            DataType::F32 => elements::<f32>(reduction, inputs, count),
            DataType::F64 => elements::<f64>(reduction, inputs, count),
        }
    }
}

/// # Safety
/// As for [`reduce`].
unsafe fn elements<T: Reduce>(reduction: Reduction, inputs: &[*const u8], count: usize) -> Vec<u8> {
    let mut result = vec![0_u8; count * size_of::<T>()];
    let out = result.as_mut_ptr().cast::<T>();
    for at in 0..count {
        // SAFETY: by the caller, every input has the element; the result has it too, perhaps unaligned.
        unsafe {
            let element = |input: &*const u8| (*input.cast::<T>().add(at)).start();
            let combined = inputs.iter().map(element).reduce(|a, b| T::combine(a, b, reduction));
            if let Some(combined) = combined {
                out.add(at).write_unaligned(T::end(combined, reduction, inputs.len()));
            }
        }
    }
    result
}
