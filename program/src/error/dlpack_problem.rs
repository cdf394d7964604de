//! [`DlpackProblem`]: why a tensor cannot be shared by DLPack.

use crate::dlpack_abi::{DLDataType, DLDevice};

/// Why a tensor cannot be shared by DLPack.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DlpackProblem {
    /// The pointer to the managed tensor is null.
    #[error("the pointer to it is null; help: take a capsule once, before it is renamed")]
    Null,
    /// The managed tensor is of a version with other structs.
    #[error(
        "its version is {major}.{minor}, and this library knows version 1; help: ask the producer for \
         `max_version=(1, 0)`"
    )]
    Version {
        /// The major version.
        major: u32,
        /// The minor version.
        minor: u32,
    },
    /// The managed tensor has no shape.
    #[error(
        "it has {ndim} dimensions and no shape, which is against the protocol; help: use a producer that fills in the shape"
    )]
    NoShape {
        /// The number of dimensions.
        ndim: i32,
    },
    /// DLPack has no name for the program's backend.
    #[error(
        "DLPack has no name for the memory of the backend `{backend}`; help: copy the elements through the host"
    )]
    Backend {
        /// The backend.
        backend: &'static str,
    },
    /// The memory is of another device.
    #[error(
        "its memory is of device {} of the type {}{}, and that of this {backend} program of device {} of the \
         type {}{}; help: copy it to that device first, or open a program on the other one",
        .found.device_id, .found.device_type, type_name(.found.device_type),
        .expected.device_id, .expected.device_type, type_name(.expected.device_type)
    )]
    Device {
        /// The device that has the memory.
        found: DLDevice,
        /// The program's device.
        expected: DLDevice,
        /// The program's backend.
        backend: &'static str,
    },
    /// The elements are of another type.
    #[error(
        "its elements are {}, and those of the tensor {}; help: convert one of them",
        data_type_name(.found), data_type_name(.expected)
    )]
    DataType {
        /// The type of its elements.
        found: DLDataType,
        /// That of the tensor.
        expected: DLDataType,
    },
    /// The number of dimensions is another one.
    #[error(
        "its number of dimensions is {found}, and that of the tensor {expected}; help: reshape it (the scalars of vectors \
         are a dimension)"
    )]
    Rank {
        /// Its number of dimensions.
        found: usize,
        /// That of the tensor, and one for the scalars of elements that are not scalars.
        expected: usize,
    },
    /// An extent is negative, or not the number of scalars of the elements.
    #[error(
        "its extent is {extent} on axis {axis}{}",
        .expected.map_or_else(
            || "; help: use a producer that fills in the extents".to_owned(),
            |of| format!(", and the elements of the tensor have {of} scalars there; help: reshape it")
        )
    )]
    Extent {
        /// The axis, from 0.
        axis: usize,
        /// The extent.
        extent: i64,
        /// The number of scalars of the tensor's elements, where this is about them.
        expected: Option<usize>,
    },
    /// Two indices may have the same element, an axis runs backwards, or the scalars of an element are apart.
    #[error(
        "its elements have the strides {strides:?} for the shape {shape:?}; those of a tensor are positive, give no two \
         indices one element, and are 1 between the scalars of a vector; help: make it contiguous first"
    )]
    Strides {
        /// The shape of the imported tensor.
        shape: Vec<i64>,
        /// Its strides, in elements.
        strides: Vec<i64>,
    },
    /// The elements must not be written.
    #[error("its elements must not be written; help: `from_dlpack_read_only`, or a copy")]
    ReadOnly,
    /// The sum of address and offset is not an address.
    #[error(
        "its address and its byte offset exceed 64 bits; help: use a producer that fills in the address"
    )]
    Address,
    /// The elements have several fields.
    #[error(
        "DLPack has no structs, and the elements of the tensor have several fields; help: one tensor for each field"
    )]
    Struct,
}

/// The name of a device type, in brackets.
fn type_name(device_type: i32) -> &'static str {
    match device_type {
        1 => " (CPU)",
        2 => " (CUDA)",
        3 => " (CUDA host)",
        10 => " (ROCm)",
        11 => " (ROCm host)",
        13 => " (CUDA managed)",
        _ => "",
    }
}

fn data_type_name(of: &DLDataType) -> String {
    let DLDataType { code, bits, lanes } = *of;
    let name = match code {
        0 => format!("i{bits}"),
        1 => format!("u{bits}"),
        2 => format!("f{bits}"),
        4 => format!("bf{bits}"),
        5 => format!("complex numbers of {bits} bits"),
        6 => "bool".to_owned(),
        code => format!("of the type code {code} with {bits} bits"),
    };
    if lanes == 1 { name } else { format!("{lanes} lanes of {name}") }
}
