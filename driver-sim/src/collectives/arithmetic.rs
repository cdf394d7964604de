//! Element types and reductions.

use std::ffi::c_int;

use half::{bf16, f16};

use super::status::Status;
use crate::memory::Payload;

/// `ncclDataType_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DataType {
    I8,
    U8,
    I32,
    U32,
    I64,
    U64,
    F16,
    F32,
    F64,
    Bf16,
}

/// `ncclRedOp_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReduceOp {
    Sum,
    Product,
    Max,
    Min,
    /// The sum divided by the number of ranks.
    Average,
}

/// Arithmetic of an element type. Floats of 16 bits are rounded once, at the end.
trait Element {
    type Wide: Copy;
    const BYTES: usize;
    fn load(bytes: &[u8]) -> Self::Wide;
    fn store(value: Self::Wide, bytes: &mut [u8]);
    fn combine(op: ReduceOp, a: Self::Wide, b: Self::Wide) -> Self::Wide;
    fn divide(sum: Self::Wide, count: usize) -> Self::Wide;
}

macro_rules! integers {
    ($($ty:ty),*) => {$(
        impl Element for $ty {
            type Wide = Self;
            const BYTES: usize = size_of::<Self>();
            fn load(bytes: &[u8]) -> Self {
                bytes.first_chunk().map_or(0, |bytes| Self::from_le_bytes(*bytes))
            }
            fn store(value: Self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&value.to_le_bytes());
            }
            fn combine(op: ReduceOp, a: Self, b: Self) -> Self {
                match op {
                    ReduceOp::Sum | ReduceOp::Average => a.wrapping_add(b),
                    ReduceOp::Product => a.wrapping_mul(b),
                    ReduceOp::Max => a.max(b),
                    ReduceOp::Min => a.min(b),
                }
            }
            fn divide(sum: Self, count: usize) -> Self {
                // The number of ranks need not fit the type.
                (i128::from(sum) / count as i128) as Self
            }
        }
    )*};
}

macro_rules! floats {
    ($($ty:ty, $wide:ty, $from:expr, $to:expr;)*) => {$(
        impl Element for $ty {
            type Wide = $wide;
            const BYTES: usize = size_of::<Self>();
            fn load(bytes: &[u8]) -> $wide {
                bytes.first_chunk().map_or(0.0, |bytes| $from(Self::from_le_bytes(*bytes)))
            }
            fn store(value: $wide, bytes: &mut [u8]) {
                bytes.copy_from_slice(&$to(value).to_le_bytes());
            }
            fn combine(op: ReduceOp, a: $wide, b: $wide) -> $wide {
                match op {
                    ReduceOp::Sum | ReduceOp::Average => a + b,
                    ReduceOp::Product => a * b,
                    ReduceOp::Max => a.max(b),
                    ReduceOp::Min => a.min(b),
                }
            }
            fn divide(sum: $wide, count: usize) -> $wide {
                sum / count as $wide
            }
        }
    )*};
}

integers!(i8, u8, i32, u32, i64, u64);
floats! {
    f32, f32, std::convert::identity, std::convert::identity::<f32>;
    f64, f64, std::convert::identity, std::convert::identity::<f64>;
    f16, f32, f16::to_f32, f16::from_f32;
    bf16, f32, bf16::to_f32, bf16::from_f32;
}

impl DataType {
    pub(crate) fn from_number(number: c_int) -> Result<Self, Status> {
        Ok(match number {
            0 => Self::I8,
            1 => Self::U8,
            2 => Self::I32,
            3 => Self::U32,
            4 => Self::I64,
            5 => Self::U64,
            6 => Self::F16,
            7 => Self::F32,
            8 => Self::F64,
            9 => Self::Bf16,
            _ => return Err(Status::INVALID_ARGUMENT),
        })
    }

    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::F16 | Self::Bf16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::I8 => "int8",
            Self::U8 => "uint8",
            Self::I32 => "int32",
            Self::U32 => "uint32",
            Self::I64 => "int64",
            Self::U64 => "uint64",
            Self::F16 => "float16",
            Self::F32 => "float32",
            Self::F64 => "float64",
            Self::Bf16 => "bfloat16",
        }
    }

    /// Combines the elements of payloads of the same size in their order. An element is initialized if all that it is
    /// made of are.
    pub(crate) fn reduce(self, op: ReduceOp, payloads: &[Payload]) -> Payload {
        let data = match self {
            Self::I8 => fold::<i8>(op, payloads),
            Self::U8 => fold::<u8>(op, payloads),
            Self::I32 => fold::<i32>(op, payloads),
            Self::U32 => fold::<u32>(op, payloads),
            Self::I64 => fold::<i64>(op, payloads),
            Self::U64 => fold::<u64>(op, payloads),
            Self::F16 => fold::<f16>(op, payloads),
            Self::F32 => fold::<f32>(op, payloads),
            Self::F64 => fold::<f64>(op, payloads),
            Self::Bf16 => fold::<bf16>(op, payloads),
        };
        let bytes = self.bytes();
        let positions = payloads.iter().flat_map(|payload| &payload.undefined);
        let mut elements: Vec<usize> = positions.map(|at| at / bytes).collect();
        elements.sort_unstable();
        elements.dedup();
        let undefined = elements.into_iter().flat_map(|at| at * bytes..(at + 1) * bytes);
        Payload { data, undefined: undefined.collect() }
    }
}

impl ReduceOp {
    pub(crate) fn from_number(number: c_int) -> Result<Self, Status> {
        Ok(match number {
            0 => Self::Sum,
            1 => Self::Product,
            2 => Self::Max,
            3 => Self::Min,
            4 => Self::Average,
            _ => return Err(Status::INVALID_ARGUMENT),
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Product => "prod",
            Self::Max => "max",
            Self::Min => "min",
            Self::Average => "avg",
        }
    }
}

fn fold<T: Element>(op: ReduceOp, payloads: &[Payload]) -> Box<[u8]> {
    let Some((first, rest)) = payloads.split_first() else { return Box::default() };
    let mut result = first.data.clone();
    for (index, target) in result.chunks_exact_mut(T::BYTES).enumerate() {
        let at = index * T::BYTES;
        let own = |payload: &Payload| T::load(&payload.data[at..at + T::BYTES]);
        let all = rest.iter().map(own).fold(own(first), |a, b| T::combine(op, a, b));
        let all = if op == ReduceOp::Average { T::divide(all, payloads.len()) } else { all };
        T::store(all, target);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload<const N: usize>(elements: &[[u8; N]]) -> Payload {
        Payload { data: elements.concat().into(), undefined: Vec::new() }
    }

    #[test]
    fn small_floats_are_rounded_once() {
        // In 11 bits, 2048 + 1 is 2048 again. The sum of all three is 2050.
        let value = |x: f32| f16::from_f32(x).to_le_bytes();
        let payloads = [2048.0, 1.0, 1.0].map(|x| payload(&[value(x)]));
        assert_eq!(&*DataType::F16.reduce(ReduceOp::Sum, &payloads).data, value(2050.0));
        let value = |x: f32| bf16::from_f32(x).to_le_bytes();
        let payloads = [256.0, 1.0, 1.0].map(|x| payload(&[value(x)]));
        assert_eq!(&*DataType::Bf16.reduce(ReduceOp::Sum, &payloads).data, value(258.0));
    }

    #[test]
    fn averages_of_integers_are_truncated() {
        let payloads = [-3i32, 0, -4].map(|x| payload(&[x.to_le_bytes()]));
        let average = DataType::I32.reduce(ReduceOp::Average, &payloads);
        assert_eq!(&*average.data, (-2i32).to_le_bytes());
    }

    #[test]
    fn an_element_is_initialized_if_all_operands_are() {
        let mut payloads = [1i32, 2].map(|x| payload(&[x.to_le_bytes(), [0; 4], [0; 4]]));
        payloads[0].undefined = vec![5];
        payloads[1].undefined = vec![4, 5, 11];
        let sum = DataType::I32.reduce(ReduceOp::Sum, &payloads);
        assert_eq!(sum.undefined, (4..12).collect::<Vec<_>>());
    }
}
