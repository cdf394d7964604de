//! [`Error`]: why something cannot be shared with cudarc.

use cudarc::driver::DriverError;

/// An error of sharing with the crate `cudarc`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of quadrants.
    #[error(transparent)]
    Quadrants(#[from] crate::Error),
    /// An error of the driver, in a call of cudarc; also one that cudarc kept from an earlier drop.
    #[error("cudarc's call of the CUDA driver failed: {0:?}")]
    Driver(DriverError),
    /// cudarc finds no CUDA driver, though the program may have found one elsewhere.
    #[error(
        "cudarc finds no CUDA driver; help: it looks for `libcuda.so` and ignores `QUADRANTS_CUDA_LIBRARY`, so add the \
         driver's folder to LD_LIBRARY_PATH"
    )]
    NoDriver,
    /// The program is of another backend.
    #[error(
        "the program runs on the backend `{backend}`, and cudarc is for `cuda`; help: open it by `cudarc::open`, or with `Arch::Cuda`"
    )]
    OtherBackend {
        /// The program's backend.
        backend: &'static str,
    },
    /// The object of cudarc is of another device.
    #[error(
        "{what} of cudarc is of device {found}, and the program of device {expected}; help: open a program on that device, or copy the memory"
    )]
    OtherDevice {
        /// What it is.
        what: &'static str,
        /// The ordinal of its device.
        found: usize,
        /// The ordinal of the program's device.
        expected: usize,
    },
    /// The object of cudarc is of the same device, and of another context or another driver library.
    #[error(
        "{what} of cudarc is of another context of device {ordinal}; help: programs use the primary context, as \
         `CudaContext::new` does, of the driver that `QUADRANTS_CUDA_LIBRARY` names or else of the system's"
    )]
    OtherContext {
        /// What it is.
        what: &'static str,
        /// The ordinal of the device.
        ordinal: usize,
    },
    /// The handle of the per-thread default stream means another stream on each thread.
    #[error(
        "the per-thread default stream is another stream on each thread; help: `CudaContext::new_stream`"
    )]
    PerThreadStream,
    /// The number of elements is not that of the shape.
    #[error(
        "{elements} elements of cudarc have no shape {shape:?}; help: use a shape with as many elements"
    )]
    Length {
        /// The number of elements.
        elements: usize,
        /// The shape.
        shape: Vec<usize>,
    },
    /// The elements of a tensor are of another type than its view.
    #[error(
        "the elements of the tensor at position {position} are not of the type `{wanted}`; help: a view has the \
         tensor's own type, and `transmute` of cudarc makes another one of it"
    )]
    ElementType {
        /// The position of the tensor in its list, from 0.
        position: usize,
        /// The type of the view.
        wanted: &'static str,
    },
    /// The elements of a tensor have gaps.
    #[error(
        "the elements of the tensor at position {position} are not side by side; help: the layout \
         `ArrayOfStructs`"
    )]
    Gaps {
        /// The position of the tensor in its list, from 0.
        position: usize,
    },
}

impl From<DriverError> for Error {
    fn from(error: DriverError) -> Self {
        Self::Driver(error)
    }
}

/// The result of sharing with the crate `cudarc`.
pub type Result<T, E = Error> = std::result::Result<T, E>;
