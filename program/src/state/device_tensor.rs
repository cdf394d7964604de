//! Tensors in device memory, and host arrays, without their Rust types.

use std::{
    fmt, ptr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use quadrants_ir::element_alignment;
use quadrants_rhi::{DevicePtr, ImageKind};
use quadrants_runtime::{self as rt, Buffer, StridedRange};
use smallvec::SmallVec;

use super::ProgramInner;
use crate::{
    Error, Result, ViewProblem,
    value::{
        layout::{ComponentLayout, CopyRange, StorageLayout},
        strided::{Axes, Runs, Strided, one_run, row_major_axes},
    },
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
    /// The order of its elements; none where they are contiguous from the first on. Where it is set, the elements are
    /// not those that follow the address, which each user of the address must consider. The usability says so too.
    pub(crate) strided: Option<Box<Strided>>,
    pub(crate) usability: Usability,
}

/// What must hold or happen before a launch uses a tensor. One word, so that a launch makes one comparison:
///
/// - the only address at which a tensor that borrows mutably can be used; 0 for other tensors, which can be used
///   anywhere (`tensor/slice.rs` says why);
/// - in the lowest bit, whether the first fill of its memory, or a write by the host, may be incomplete. Set when the
///   tensor is made and by writes, which need it mutably borrowed;
/// - in the next bit, whether it is not contiguous, or not aligned as kernels expect, so that a launch needs another
///   variant of the kernel, which takes its strides, or a copy.
#[derive(Debug, Default)]
pub(crate) struct Usability(AtomicUsize);

const FILL_PENDING: usize = 1;
const NEEDS_STRIDES: usize = 2;

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
    fn of(buffer: &Buffer, needs_strides: bool) -> Self {
        let fill = if buffer.is_fill_pending() { FILL_PENDING } else { 0 };
        Self(AtomicUsize::new(fill | if needs_strides { NEEDS_STRIDES } else { 0 }))
    }

    pub(crate) fn require_this_address(&mut self) {
        let address = ptr::from_ref(self).addr();
        *self.0.get_mut() |= address;
    }

    #[inline]
    fn required_address(&self) -> usize {
        self.0.load(Relaxed) & !(FILL_PENDING | NEEDS_STRIDES)
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

    fn needs_strides(&self) -> bool {
        self.0.load(Relaxed) & NEEDS_STRIDES != 0
    }

    fn is_fill_pending(&self) -> bool {
        self.0.load(Relaxed) & FILL_PENDING != 0
    }

    /// Records a write by the host that may be incomplete.
    pub(crate) fn set_fill_pending(&self) {
        self.0.fetch_or(FILL_PENDING, Relaxed);
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
        let (program, storage) = (program.clone(), storage.into());
        let usability = Usability::of(&buffer, !is_aligned(&program, &buffer, &storage, 0));
        let (buffer, strided) = (Arc::new(buffer), None);
        Self { buffer, program, storage, first: 0, offset: 0, strided, usability }
    }

    /// The same tensor once more.
    pub(crate) fn again(&self) -> Self {
        self.part(0, self.strided.as_deref().cloned())
    }

    /// The tensor in the same memory whose first element is `first` elements after that of this one, with this order of
    /// its elements. They are elements of this one.
    pub(crate) fn part(&self, first: usize, strided: Option<Strided>) -> Self {
        let Self { buffer, program, storage, .. } = self;
        let first = self.first + first;
        let needs_strides = strided.is_some() || !is_aligned(program, buffer, storage, first);
        Self {
            buffer: buffer.clone(),
            program: program.clone(),
            storage: storage.clone(),
            first,
            offset: storage.components.first().map_or(0, |component| component.at(first)),
            usability: Usability::of(buffer, needs_strides),
            strided: strided.map(Box::new),
        }
    }

    pub(crate) fn is_strided(&self) -> bool {
        self.strided.is_some()
    }

    /// Whether a launch needs the variant of a kernel that takes the strides of the tensor, or a copy.
    pub(crate) fn needs_strides(&self) -> bool {
        self.usability.needs_strides()
    }

    /// The distances between its neighbours along each axis, for that variant; `shape` is its shape.
    pub(crate) fn strides(&self, shape: &[usize]) -> Axes {
        match &self.strided {
            Some(view) => view.strides.clone(),
            None => row_major_axes(shape),
        }
    }

    /// # Errors
    /// [`ViewProblem::NotContiguous`], for the operation `what`.
    pub(crate) fn check_contiguous(&self, what: &'static str) -> Result<()> {
        match &self.strided {
            None => Ok(()),
            Some(view) => Err(ViewProblem::not_contiguous(what, view)),
        }
    }

    /// The runs of its first `count` elements among those of the buffer.
    pub(crate) fn runs(&self, count: usize) -> Runs {
        let Some(view) = &self.strided else {
            return one_run(self.first, count);
        };
        let mut left = count;
        let runs = view.runs().map_while(|run| {
            let (start, len) = (self.first + run.start, run.len().min(left));
            left -= len;
            (len > 0).then_some(start..start + len)
        });
        runs.collect()
    }

    /// The ranges to copy between its first elements and host memory with the layout `part`.
    pub(crate) fn spans(&self, part: &StorageLayout) -> SmallVec<[CopyRange; 1]> {
        self.storage.spans(&self.runs(part.count()), part)
    }

    /// Orders later work of a stream after the first fill of the memory, or the last write by the host.
    pub(crate) fn order_fill_before(&self, stream: &rt::Stream) -> Result<()> {
        if self.usability.is_fill_pending() && self.buffer.order_fill_before(stream)? {
            self.usability.set_filled();
        }
        Ok(())
    }

    /// Waits for the first fill of the memory, or the last write by the host: for users whose stream is not known yet.
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

    /// The address of its first element.
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
        component.or(whole).map_or(StridedRange::from(0..0), |component| match &self.strided {
            None => component.byte_ranges(self.first, elements),
            Some(view) => component.byte_ranges_of(self.first, view),
        })
    }

    pub(crate) fn address_of(&self, component: &ComponentLayout) -> DevicePtr {
        self.buffer.address().offset(component.at(self.first))
    }
}

/// Whether the element `first` of a buffer has the address that kernels expect. Memory of other code need not. The
/// bodies of kernels on the CPU expect no more than aligned scalars.
fn is_aligned(
    program: &ProgramInner,
    buffer: &Buffer,
    storage: &StorageLayout,
    first: usize,
) -> bool {
    let Some(element) = storage.interleaved_size() else { return true };
    let address = buffer.address().raw() as usize + first * element;
    address.is_multiple_of(element_alignment(element))
        || program.shared.loader.image_kind() == ImageKind::Native
}
