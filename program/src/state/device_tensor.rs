//! Tensors in device memory, and host arrays, without their Rust types.

use std::{
    fmt, ptr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use quadrants_rhi::DevicePtr;
use quadrants_runtime::{self as rt, Buffer, StridedRange};

use super::ProgramInner;
use crate::{
    Error, Result,
    value::layout::{ComponentLayout, StorageLayout},
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
    pub(crate) usability: Usability,
}

/// What must hold or happen before a launch uses a tensor. One word, so that a launch makes one comparison:
///
/// - the only address at which a tensor that borrows mutably can be used; 0 for other tensors, which can be used
///   anywhere (`tensor/slice.rs` says why);
/// - in the lowest bit, whether the first fill of its memory may be incomplete. Set only when the tensor is made.
#[derive(Debug, Default)]
pub(crate) struct Usability(AtomicUsize);

const FILL_PENDING: usize = 1;

/// A host array without its element type.
pub(crate) trait HostElements: fmt::Debug {
    /// The layout of its elements in device memory.
    fn storage(&self) -> &StorageLayout;

    /// # Errors
    /// [`Error::MovedSlice`](crate::Error::MovedSlice) where it cannot be used at its current address.
    fn check_address(&self) -> Result<()>;

    /// Copies the array into new device memory in the order of `stream`, on which alone the copy is used.
    fn to_device(&self, program: &Arc<ProgramInner>, stream: &rt::Stream) -> Result<DeviceTensor>;

    /// Copies the device memory back, after the work that writes it.
    ///
    /// # Safety
    /// The array is borrowed by `&mut`.
    unsafe fn copy_back(&self, copy: &DeviceTensor) -> Result<()>;
}

impl Usability {
    /// That of a tensor in this memory, which can be used anywhere.
    fn of(buffer: &Buffer) -> Self {
        Self(AtomicUsize::new(if buffer.is_fill_pending() { FILL_PENDING } else { 0 }))
    }

    pub(crate) fn require_this_address(&mut self) {
        let address = ptr::from_ref(self).addr();
        *self.0.get_mut() |= address;
    }

    #[inline]
    fn required_address(&self) -> usize {
        self.0.load(Relaxed) & !FILL_PENDING
    }

    #[inline]
    pub(crate) fn is_here(&self) -> bool {
        self.required_address() == ptr::from_ref(self).addr()
    }

    /// Whether a launch can use the tensor as it is.
    #[inline]
    pub(crate) fn is_usable(&self) -> bool {
        let word = self.0.load(Relaxed);
        word == 0 || word == ptr::from_ref(self).addr()
    }

    fn is_fill_pending(&self) -> bool {
        self.0.load(Relaxed) & FILL_PENDING != 0
    }

    fn set_filled(&self) {
        self.0.fetch_and(!FILL_PENDING, Relaxed);
    }

    /// # Errors
    /// [`Error::MovedSlice`] where the tensor cannot be used at its current address.
    pub(crate) fn check_address(&self) -> Result<()> {
        if self.required_address() == 0 || self.is_here() { Ok(()) } else { Err(Error::MovedSlice) }
    }
}

impl DeviceTensor {
    pub(crate) fn new(
        buffer: Buffer,
        storage: impl Into<Arc<StorageLayout>>,
        program: &Arc<ProgramInner>,
    ) -> Self {
        let (program, storage, usability) =
            (program.clone(), storage.into(), Usability::of(&buffer));
        Self { buffer: Arc::new(buffer), program, storage, first: 0, offset: 0, usability }
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
            usability: Usability::of(buffer),
        }
    }

    /// Orders later work of a stream after the first fill of the memory.
    pub(crate) fn order_fill_before(&self, stream: &rt::Stream) -> Result<()> {
        if self.usability.is_fill_pending() && self.buffer.order_fill_before(stream)? {
            self.usability.set_filled();
        }
        Ok(())
    }

    /// Waits for the first fill of the memory: for users whose stream is not known yet.
    pub(crate) fn finish_fill(&self) -> Result<()> {
        if self.usability.is_fill_pending() {
            self.buffer.finish_fill()?;
            self.usability.set_filled();
        }
        Ok(())
    }

    /// Checks that it can be an argument in a program, of the kernel or operation `user`.
    pub(crate) fn check_argument_of(
        &self,
        program: &Arc<ProgramInner>,
        user: Option<&str>,
    ) -> Result<()> {
        if !Arc::ptr_eq(program, &self.program) {
            return Err(program.other_program(&self.program, "a tensor argument", user));
        }
        self.usability.check_address()
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
