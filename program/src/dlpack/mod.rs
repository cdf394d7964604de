//! DLPack: tensors from and for other libraries, such as PyTorch, CuPy, JAX and NumPy, without a copy.
//!
//! A library hands out a *managed tensor*: an address, a shape, and a deleter that the consumer calls when it does not
//! use the memory any more. [`Tensor::to_dlpack`](crate::Tensor::to_dlpack) makes one of a tensor,
//! [`Program::from_dlpack`](crate::Program::from_dlpack) a tensor of one.
//!
//! Neither waits for work, nor orders it, which is the part of the streams: [`Tensor::order_before`] and
//! [`Stream::dlpack_number`] are for that.
//!
//! [`Tensor::order_before`]: crate::Tensor::order_before
//! [`Stream::dlpack_number`]: crate::Stream::dlpack_number

mod export;
mod import;
mod managed;
mod order;

use quadrants_ir::ScalarType;

pub use crate::dlpack_abi::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPACK_FLAG_BITMASK_READ_ONLY,
    DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION, DLPackVersion, DLTensor,
};
pub use crate::error::DlpackProblem;
pub use managed::ManagedTensor;

/// DLPack's name of a scalar type.
fn data_type(scalar: ScalarType) -> DLDataType {
    const INT: u8 = 0;
    const UINT: u8 = 1;
    const FLOAT: u8 = 2;
    const BOOL: u8 = 6;
    let code = match scalar {
        ScalarType::F16 | ScalarType::F32 | ScalarType::F64 => FLOAT,
        ScalarType::I8 | ScalarType::I16 | ScalarType::I32 | ScalarType::I64 => INT,
        ScalarType::U8 | ScalarType::U16 | ScalarType::U32 | ScalarType::U64 => UINT,
        ScalarType::Bool => BOOL,
    };
    DLDataType { code, bits: 8 * scalar.size() as u8, lanes: 1 }
}
