//! [`ManagedTensor`]: the owner of a managed tensor of DLPack.

use std::{fmt, ptr::NonNull, slice};

use crate::dlpack_abi::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPACK_FLAG_BITMASK_READ_ONLY,
    DLPACK_MAJOR_VERSION, DLTensor,
};
use crate::{DlpackProblem, Error, Result};

/// A managed tensor of DLPack that is owned here. Dropping it calls its deleter.
pub struct ManagedTensor {
    managed: Managed,
}

enum Managed {
    Versioned(NonNull<DLManagedTensorVersioned>),
    Unversioned(NonNull<DLManagedTensor>),
}

// SAFETY: by the contract of `from_raw`, its deleter may be called on any thread; everything else is only read.
unsafe impl Send for ManagedTensor {}
// SAFETY: as above.
unsafe impl Sync for ManagedTensor {}

impl ManagedTensor {
    /// Takes a managed tensor of DLPack 1: what a Python capsule named `dltensor_versioned` contains.
    ///
    /// # Errors
    /// [`Error::Dlpack`] where it is null, of an unknown version, or without a shape. Its deleter was called.
    ///
    /// # Safety
    /// The pointer is null, or to a managed tensor as `dlpack.h` describes it, which nobody else frees. Its deleter may
    /// be called on any thread.
    pub unsafe fn from_raw(managed: *mut DLManagedTensorVersioned) -> Result<Self> {
        let managed = NonNull::new(managed).ok_or(Error::Dlpack(DlpackProblem::Null))?;
        // Owns it from here on, so that errors call the deleter.
        let owner = Self { managed: Managed::Versioned(managed) };
        // SAFETY: by the caller; the version is at the same place in all versions.
        let version = unsafe { (*managed.as_ptr()).version };
        if version.major != DLPACK_MAJOR_VERSION {
            let (major, minor) = (version.major, version.minor);
            return Err(Error::Dlpack(DlpackProblem::Version { major, minor }));
        }
        owner.checked()
    }

    /// Takes a managed tensor as before DLPack 1: what a Python capsule named `dltensor` contains.
    ///
    /// # Errors
    /// As for [`from_raw`](Self::from_raw).
    ///
    /// # Safety
    /// As for [`from_raw`](Self::from_raw).
    pub unsafe fn from_raw_unversioned(managed: *mut DLManagedTensor) -> Result<Self> {
        let managed = NonNull::new(managed).ok_or(Error::Dlpack(DlpackProblem::Null))?;
        Self { managed: Managed::Unversioned(managed) }.checked()
    }

    fn checked(self) -> Result<Self> {
        let DLTensor { ndim, shape, .. } = *self.tensor();
        if ndim < 0 || (ndim > 0 && shape.is_null()) {
            return Err(Error::Dlpack(DlpackProblem::NoShape { ndim }));
        }
        Ok(self)
    }

    fn tensor(&self) -> &DLTensor {
        // SAFETY: by the contract of `from_raw`, valid until the deleter is called.
        unsafe {
            match self.managed {
                Managed::Versioned(managed) => &(*managed.as_ptr()).dl_tensor,
                Managed::Unversioned(managed) => &(*managed.as_ptr()).dl_tensor,
            }
        }
    }

    /// The device that has the memory.
    #[must_use]
    pub fn device(&self) -> DLDevice {
        self.tensor().device
    }

    /// The type of the elements.
    #[must_use]
    pub fn data_type(&self) -> DLDataType {
        self.tensor().dtype
    }

    /// The extents, outermost first.
    #[must_use]
    pub fn shape(&self) -> &[i64] {
        self.numbers(self.tensor().shape).unwrap_or_default()
    }

    /// The distances between neighbours in elements. `None` means row-major order without gaps.
    #[must_use]
    pub fn strides(&self) -> Option<&[i64]> {
        self.numbers(self.tensor().strides)
    }

    /// Whether the elements must not be written. Managed tensors without a version cannot tell.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        match self.managed {
            // SAFETY: as in `tensor`.
            Managed::Versioned(managed) => unsafe {
                (*managed.as_ptr()).flags & DLPACK_FLAG_BITMASK_READ_ONLY != 0
            },
            Managed::Unversioned(_) => false,
        }
    }

    /// The address of the first element. `None` where it is not an address.
    pub(super) fn address(&self) -> Option<u64> {
        let DLTensor { data, byte_offset, .. } = *self.tensor();
        (data.addr() as u64).checked_add(byte_offset)
    }

    fn numbers(&self, first: *const i64) -> Option<&[i64]> {
        let len = usize::try_from(self.tensor().ndim).unwrap_or(0);
        // SAFETY: by the contract of `from_raw`, there are `ndim` numbers where the pointer is not null.
        (!first.is_null()).then(|| unsafe { slice::from_raw_parts(first, len) })
    }
}

impl Drop for ManagedTensor {
    fn drop(&mut self) {
        // SAFETY: by the contract of `from_raw`; owned, so that nobody else calls the deleter.
        unsafe {
            match self.managed {
                Managed::Versioned(managed) => {
                    if let Some(delete) = (*managed.as_ptr()).deleter {
                        delete(managed.as_ptr());
                    }
                }
                Managed::Unversioned(managed) => {
                    if let Some(delete) = (*managed.as_ptr()).deleter {
                        delete(managed.as_ptr());
                    }
                }
            }
        }
    }
}

impl fmt::Debug for ManagedTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManagedTensor")
            .field("device", &self.device())
            .field("data_type", &self.data_type())
            .field("shape", &self.shape())
            .field("strides", &self.strides())
            .finish_non_exhaustive()
    }
}
