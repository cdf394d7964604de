//! [`ForeignMemoryProblem`]: why memory of other code cannot be a tensor.

/// Why memory of other code cannot be a tensor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ForeignMemoryProblem {
    /// The address is null.
    #[error("the address is null; help: pass the address of an allocation")]
    Null,
    /// The address is not aligned.
    #[error(
        "the address is not a multiple of {alignment}; help: pass an address that is aligned for the elements"
    )]
    Misaligned {
        /// The alignment that the elements need.
        alignment: usize,
    },
    /// The driver has no memory at the address.
    #[error("the {backend} driver has no memory there; help: pass an address that it allocated")]
    NotOfDriver {
        /// The backend.
        backend: &'static str,
    },
    /// It is memory of another device.
    #[error(
        "it is memory of {backend} device {found}, and the program's device is {expected}; help: pass memory of the program's device, or open a program on the other one"
    )]
    OtherDevice {
        /// The backend.
        backend: &'static str,
        /// The ordinal of the device that has the memory.
        found: usize,
        /// The ordinal of the program's device.
        expected: usize,
    },
    /// It is memory of another context of the device.
    #[error(
        "it belongs to another context of the device; help: allocate it in the primary context, which this program uses"
    )]
    OtherContext,
    /// The allocation ends before the tensor does.
    #[error(
        "the tensor needs {needed} bytes there, and the allocation has {available}; help: use a shape that fits the allocation"
    )]
    TooSmall {
        /// The bytes that the tensor needs. Tensors of scalars of 1 or 2 bytes need whole 4-byte words on GPUs.
        needed: usize,
        /// The bytes from the address to the end of the allocation, or what the shape has where that is unknown.
        available: usize,
    },
}
