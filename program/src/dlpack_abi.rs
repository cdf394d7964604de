//! The C structs of DLPack 1.0, and the older managed tensor without a version. The names are those of `dlpack.h`.

use std::ffi::c_void;

/// The major version of the structs here. Another one has another layout.
pub const DLPACK_MAJOR_VERSION: u32 = 1;
/// The minor version of the structs here.
pub const DLPACK_MINOR_VERSION: u32 = 0;
/// The flag of a tensor whose elements must not be written.
pub const DLPACK_FLAG_BITMASK_READ_ONLY: u64 = 1;

/// The version of the structs that a producer fills in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct DLPackVersion {
    /// The major version: the layout of the structs.
    pub major: u32,
    /// The minor version.
    pub minor: u32,
}

/// A device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct DLDevice {
    /// The kind of device: 1 for CPU memory, 2 for CUDA, 10 for ROCm.
    pub device_type: i32,
    /// The ordinal of the device; 0 for CPU memory.
    pub device_id: i32,
}

/// The type of an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct DLDataType {
    /// The kind of number: 0 for signed integers, 1 for unsigned ones, 2 for floats, 6 for bools.
    pub code: u8,
    /// The bits of a number.
    pub bits: u8,
    /// The numbers of a short vector; 1 for plain numbers.
    pub lanes: u16,
}

/// A tensor in memory of others.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DLTensor {
    /// The address, to which `byte_offset` is added.
    pub data: *mut c_void,
    /// The device that has the memory.
    pub device: DLDevice,
    /// The number of dimensions.
    pub ndim: i32,
    /// The type of the elements.
    pub dtype: DLDataType,
    /// The extents: `ndim` numbers.
    pub shape: *mut i64,
    /// The distances between neighbours in elements: `ndim` numbers, or null for row-major order without gaps.
    pub strides: *mut i64,
    /// The distance in bytes from `data` to the first element.
    pub byte_offset: u64,
}

/// A tensor with an owner, before DLPack 1.0. Python's capsules of it are named `dltensor`.
#[derive(Debug)]
#[repr(C)]
pub struct DLManagedTensor {
    /// The tensor.
    pub dl_tensor: DLTensor,
    /// The producer's data.
    pub manager_ctx: *mut c_void,
    /// Frees the tensor. Called once, by its consumer.
    pub deleter: Option<unsafe extern "C" fn(*mut Self)>,
}

/// A tensor with an owner. Python's capsules of it are named `dltensor_versioned`.
#[derive(Debug)]
#[repr(C)]
pub struct DLManagedTensorVersioned {
    /// The version. Where the major version is an unknown one, only this, `manager_ctx` and `deleter` may be used.
    pub version: DLPackVersion,
    /// The producer's data.
    pub manager_ctx: *mut c_void,
    /// Frees the tensor. Called once, by its consumer.
    pub deleter: Option<unsafe extern "C" fn(*mut Self)>,
    /// Bits such as [`DLPACK_FLAG_BITMASK_READ_ONLY`].
    pub flags: u64,
    /// The tensor.
    pub dl_tensor: DLTensor,
}

// The sizes of `dlpack.h` where pointers have 64 bits.
#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(size_of::<DLTensor>() == 48);
    assert!(size_of::<DLManagedTensor>() == 64);
    assert!(size_of::<DLManagedTensorVersioned>() == 80);
    assert!(std::mem::offset_of!(DLTensor, byte_offset) == 40);
    assert!(std::mem::offset_of!(DLManagedTensorVersioned, dl_tensor) == 32);
};
