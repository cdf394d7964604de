//! Tensors in device memory, and host arrays, without their Rust types.

use std::{fmt, ptr, sync::Arc};

use quadrants_rhi::DevicePtr;
use quadrants_runtime::{Buffer, StridedRange};

use crate::{
    Error, Result,
    state::ProgramInner,
    tensor::layout::{ComponentLayout, StorageLayout},
};

/// A tensor in device memory, without its Rust type and shape.
#[derive(Debug)]
pub(crate) struct DeviceTensor {
    // Before the program, so that the memory is freed while the context is alive.
    pub(crate) buffer: Arc<Buffer>,
    pub(crate) program: Arc<ProgramInner>,
    /// The layout of the elements of the whole buffer.
    pub(crate) storage: Arc<StorageLayout>,
    /// The index of its first element among those.
    pub(crate) first: usize,
    /// The offset in the buffer of the first scalar of its first component, in bytes.
    offset: usize,
    pub(crate) required_address: RequiredAddress,
}

/// The only address at which a tensor that borrows mutably can be used; 0 for other tensors, which can be used
/// anywhere. `slice.rs` says why.
#[derive(Debug, Default)]
pub(crate) struct RequiredAddress(usize);

/// A host array without its element type.
pub(crate) trait HostElements: fmt::Debug {
    /// The layout of its elements in device memory.
    fn storage(&self) -> &StorageLayout;

    /// # Errors
    /// [`Error::MovedSlice`](crate::Error::MovedSlice) where it cannot be used at its current address.
    fn check_address(&self) -> Result<()>;

    /// Copies the array into new device memory.
    fn to_device(&self, program: &Arc<ProgramInner>) -> Result<DeviceTensor>;

    /// Copies the device memory back, after the work that writes it.
    ///
    /// # Safety
    /// The array is borrowed by `&mut`.
    unsafe fn copy_back(&self, copy: &DeviceTensor) -> Result<()>;
}

impl RequiredAddress {
    pub(super) fn require_this_address(&mut self) {
        self.0 = ptr::from_ref(self).addr();
    }

    #[inline]
    pub(super) fn is_here(&self) -> bool {
        self.0 == ptr::from_ref(self).addr()
    }

    /// Whether the tensor can be used at its current address.
    #[inline]
    pub(crate) fn is_usable(&self) -> bool {
        self.0 == 0 || self.is_here()
    }

    /// # Errors
    /// [`Error::MovedSlice`] where it cannot be used at its current address.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_usable() { Ok(()) } else { Err(Error::MovedSlice) }
    }
}

impl DeviceTensor {
    pub(super) fn new(
        buffer: Buffer,
        storage: impl Into<Arc<StorageLayout>>,
        program: &Arc<ProgramInner>,
    ) -> Self {
        let (buffer, program, storage) = (Arc::new(buffer), program.clone(), storage.into());
        Self {
            buffer,
            program,
            storage,
            first: 0,
            offset: 0,
            required_address: RequiredAddress::default(),
        }
    }

    /// The tensor that starts at element `first`, in the same memory.
    pub(crate) fn sub_tensor(&self, first: usize) -> Self {
        let Self { buffer, program, storage, .. } = self;
        let first = self.first + first;
        Self {
            buffer: buffer.clone(),
            program: program.clone(),
            storage: storage.clone(),
            first,
            offset: storage.components.first().map_or(0, |component| component.at(first)),
            required_address: RequiredAddress::default(),
        }
    }

    /// Checks that it can be an argument in a program.
    pub(crate) fn check_argument_of(&self, program: &Arc<ProgramInner>) -> Result<()> {
        program.check_same(&self.program, "a tensor argument")?;
        self.required_address.check()
    }

    #[inline]
    pub(crate) fn address(&self) -> DevicePtr {
        self.buffer.address().offset(self.offset)
    }

    /// The bytes of the buffer that the first `elements` elements have, or a component of them.
    pub(crate) fn byte_ranges(
        &self,
        component: Option<&ComponentLayout>,
        elements: usize,
    ) -> StridedRange {
        let whole = self.storage.components.first().filter(|_| elements > 0);
        component.or(whole).map_or(StridedRange::from(0..0), |component| {
            component.byte_ranges(self.first, elements)
        })
    }

    pub(crate) fn address_of(&self, component: &ComponentLayout) -> DevicePtr {
        self.buffer.address().offset(component.at(self.first))
    }
}
