//! Tensors: dense row-major arrays in device memory, of numbers or of what is made of numbers.

use std::{fmt, marker::PhantomData, ops::Range, ptr, sync::Arc};

use quadrants_rhi::DevicePtr;
use quadrants_runtime::Buffer;

use crate::{
    Device, Error, Result,
    hazards::{Tracker, waiting},
    layout::{ComponentAt, Layout, Stored},
    program::ProgramInner,
};

/// A dense row-major array of `N` dimensions in the memory of a program's device.
///
/// Its elements are numbers, bools, or any other [`Device`] type; how the latter lie in memory is chosen where the
/// tensor is made, and kernels are the same whatever was chosen.
///
/// Dropping it frees the memory behind all work that uses it; neither the host nor any stream waits.
///
/// # Examples
/// ```
/// # fn main() -> quadrants_program::Result<()> {
/// # let device = quadrants_rhi_cpu::driver()?.open(0)?;
/// # let opened = quadrants_program::Opened { device, compiler: None };
/// # let prog = quadrants_program::Program::open(opened)?;
/// let mut a = prog.tensor_from(&[1.0f32, 2.0, 3.0, 4.0], [2, 2])?;
/// assert_eq!(a.shape(), [2, 2]);
/// a.fill(0.5)?;
/// assert_eq!(a.to_vec()?, [0.5; 4]);
/// # Ok(())
/// # }
/// ```
pub struct Tensor<T, const N: usize> {
    core: TensorCore,
    shape: [usize; N],
    element: PhantomData<fn() -> T>,
}

/// What a tensor of any type and shape is.
#[derive(Debug)]
pub(crate) struct TensorCore {
    // Before the program, so that the memory goes while the context lives.
    pub(crate) buffer: Arc<Buffer>,
    pub(crate) program: Arc<ProgramInner>,
    /// How the elements of the whole buffer lie in it.
    pub(crate) stored: Arc<Stored>,
    /// The number of its first element among those.
    pub(crate) first: usize,
    /// Where its first component's first scalar is in the buffer, in bytes.
    offset: usize,
    /// Of a writable part of another tensor, the address at which alone this stands for it; else 0.
    home: usize,
}

impl<T, const N: usize> fmt::Debug for Tensor<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tensor")
            .field("element", &std::any::type_name::<T>())
            .field("shape", &self.shape)
            .field("address", &self.core.address())
            .finish_non_exhaustive()
    }
}

impl<T: Device, const N: usize> Tensor<T, N> {
    pub(crate) fn zeros(
        program: &Arc<ProgramInner>,
        shape: [usize; N],
        layout: Layout,
    ) -> Result<Self> {
        let stored = stored::<T>(&shape, layout)?;
        let buffer = Buffer::zeroed(&program.shared.context, stored.bytes)?;
        Ok(Self::new(buffer, stored, program, shape))
    }

    pub(crate) fn from_slice(
        program: &Arc<ProgramInner>,
        elements: &[T],
        shape: [usize; N],
        layout: Layout,
    ) -> Result<Self> {
        let stored = stored::<T>(&shape, layout)?;
        check_count(&shape, count(&shape), elements.len())?;
        let context = &program.shared.context;
        let buffer = match T::bytes(elements) {
            Some(bytes) => Buffer::from_bytes(context, bytes)?,
            None => {
                let mut memory = words(&stored);
                stored.write(&mut memory, elements.iter().copied());
                Buffer::from_bytes(context, &as_bytes(&memory)[..stored.bytes])?
            }
        };
        Ok(Self::new(buffer, stored, program, shape))
    }

    /// The extents, outermost first.
    #[must_use]
    pub fn shape(&self) -> [usize; N] {
        self.shape
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        count(&self.shape)
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies the elements out, in row-major order, behind every launch that wrote the tensor. Waits
    /// for those alone.
    ///
    /// # Errors
    /// [`Error::Kernel`] where one of those launches reported an error that was not yet returned, or
    /// what the device returns.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.core.check_place()?;
        let part = self.core.stored.resized(self.len());
        let mut memory = words(&part);
        let (core, buffer) = (&self.core, &self.core.buffer);
        let up_to = |tracker: &Tracker| tracker.behind(&core.program.shared, buffer.writers());
        waiting(&core.program.shared, up_to, || {
            for span in core.stored.spans(core.first, &part) {
                let host = &mut as_bytes_mut(&mut memory)[span.host..][..span.bytes];
                buffer.read(span.device, host)?;
            }
            Ok(())
        })?;
        for stamp in self.core.buffer.writers() {
            if let Some(stream) = self.core.program.shared.manager.find(stamp) {
                stream.check()?;
            }
        }
        Ok(part.read(&memory))
    }

    /// Overwrites all elements, in row-major order, behind every launch that uses the tensor. Waits
    /// for those alone.
    ///
    /// # Errors
    /// [`Error::Shape`] where their number is not the tensor's, or what the device returns.
    pub fn copy_from(&mut self, elements: &[T]) -> Result<()> {
        self.core.check_place()?;
        check_count(&self.shape, self.len(), elements.len())?;
        let part = self.core.stored.resized(self.len());
        if let Some(bytes) = T::bytes(elements) {
            return self.put(&part, bytes);
        }
        let mut memory = words(&part);
        part.write(&mut memory, elements.iter().copied());
        self.put(&part, as_bytes(&memory))
    }

    /// Sets all elements to `value`, behind every launch that uses the tensor. Waits for those alone.
    ///
    /// # Errors
    /// What the device returns.
    pub fn fill(&mut self, value: T) -> Result<()> {
        self.copy_from(&vec![value; self.len()])
    }

    fn put(&self, part: &Stored, bytes: &[u8]) -> Result<()> {
        let (core, buffer) = (&self.core, &self.core.buffer);
        let up_to = |tracker: &Tracker| tracker.behind(&core.program.shared, buffer.users());
        waiting(&core.program.shared, up_to, || {
            for span in core.stored.spans(core.first, part) {
                buffer.write(span.device, &bytes[span.host..][..span.bytes])?;
            }
            Ok(())
        })
    }
}

impl<T, const N: usize> Tensor<T, N> {
    fn new(buffer: Buffer, stored: Stored, program: &Arc<ProgramInner>, shape: [usize; N]) -> Self {
        let (buffer, program, stored) = (Arc::new(buffer), program.clone(), Arc::new(stored));
        let core = TensorCore { buffer, program, stored, first: 0, offset: 0, home: 0 };
        Self { core, shape, element: PhantomData }
    }

    /// The part of this shape whose first element is number `first` of this tensor's; both lie in it.
    pub(crate) fn part<const M: usize>(&self, first: usize, shape: [usize; M]) -> Tensor<T, M> {
        let TensorCore { buffer, program, stored, .. } = &self.core;
        let first = self.core.first + first;
        let core = TensorCore {
            buffer: buffer.clone(),
            program: program.clone(),
            stored: stored.clone(),
            first,
            offset: stored.components.first().map_or(0, |component| component.at(first)),
            home: 0,
        };
        Tensor { core, shape, element: PhantomData }
    }

    /// Makes the place that it has now the only one in which it can be used.
    pub(crate) fn settle(&mut self) {
        self.core.home = ptr::from_ref(&self.core).addr();
    }

    #[inline]
    pub(crate) fn core(&self) -> (&TensorCore, &[usize]) {
        (&self.core, &self.shape)
    }
}

impl TensorCore {
    #[inline]
    pub(crate) fn address(&self) -> DevicePtr {
        self.buffer.address().offset(self.offset)
    }

    /// Where it is in the buffer, from its first element to its last, in bytes; of a component, as far as
    /// that reaches.
    pub(crate) fn range(&self, component: Option<&ComponentAt>, elements: usize) -> Range<usize> {
        let whole = self.stored.components.first().filter(|_| elements > 0);
        component.or(whole).map_or(0..0, |component| component.range(self.first, elements))
    }

    /// Where a component other than the first begins.
    pub(crate) fn address_of(&self, component: &ComponentAt) -> DevicePtr {
        self.buffer.address().offset(component.at(self.first))
    }

    /// Whether it is settled, and in its place.
    pub(crate) fn is_home(&self) -> bool {
        self.home == ptr::from_ref(self).addr()
    }

    /// # Errors
    /// [`Error::MovedSlice`] where it cannot be used where it is.
    #[inline]
    pub(crate) fn check_place(&self) -> Result<()> {
        if self.home == 0 || self.is_home() { Ok(()) } else { Err(Error::MovedSlice) }
    }
}

fn stored<T: Device>(shape: &[usize], layout: Layout) -> Result<Stored> {
    let count = match shape.contains(&0) {
        true => Some(0),
        false => shape.iter().try_fold(1usize, |count, extent| count.checked_mul(*extent)),
    };
    count
        .and_then(|count| Stored::new(T::LAYOUT, layout, count))
        .ok_or_else(|| Error::TooLarge { shape: shape.to_vec() })
}

/// The number of elements. Only of a tensor without any the other extents may be more than can be
/// multiplied, and then it is zero all the same.
pub(crate) fn count(shape: &[usize]) -> usize {
    shape.iter().fold(1, |count: usize, extent| count.wrapping_mul(*extent))
}

fn check_count(shape: &[usize], expected: usize, given: usize) -> Result<()> {
    if expected == given {
        Ok(())
    } else {
        Err(Error::Shape { shape: shape.to_vec(), expected, given })
    }
}

/// Memory for elements, aligned for all scalars.
fn words(stored: &Stored) -> Vec<u64> {
    vec![0; stored.bytes.div_ceil(8)]
}

fn as_bytes(words: &[u64]) -> &[u8] {
    // SAFETY: words have no padding, and bytes no alignment.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

fn as_bytes_mut(words: &mut [u64]) -> &mut [u8] {
    // SAFETY: as above, and any bytes make words.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
}
