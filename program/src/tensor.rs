//! Tensors: dense row-major arrays in device memory.

use std::{fmt, marker::PhantomData, ptr, sync::Arc};

use quadrants_rhi::DevicePtr;
use quadrants_runtime::Buffer;

use crate::{
    Element, Error, Result,
    hazards::{Tracker, waiting},
    program::ProgramInner,
};

/// A dense row-major array of `N` dimensions in the memory of a program's device.
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
    /// Where its elements begin in the buffer, in bytes.
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

impl<T: Element, const N: usize> Tensor<T, N> {
    pub(crate) fn zeros(program: &Arc<ProgramInner>, shape: [usize; N]) -> Result<Self> {
        let bytes = bytes_of::<T>(&shape)?;
        let buffer = Buffer::zeroed(&program.shared.context, bytes)?;
        Ok(Self::new(buffer, program, shape))
    }

    pub(crate) fn from_slice(
        program: &Arc<ProgramInner>,
        elements: &[T],
        shape: [usize; N],
    ) -> Result<Self> {
        let bytes = bytes_of::<T>(&shape)?;
        check_count(&shape, bytes / size_of::<T>(), elements.len())?;
        let buffer = Buffer::from_bytes(&program.shared.context, as_bytes(elements))?;
        Ok(Self::new(buffer, program, shape))
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
        let mut bytes = vec![0u8; self.len() * size_of::<T>()];
        let (core, buffer) = (&self.core, &self.core.buffer);
        let up_to = |tracker: &Tracker| tracker.behind(&core.program.shared, buffer.writers());
        waiting(&core.program.shared, up_to, || Ok(buffer.read(core.offset, &mut bytes)?))?;
        for stamp in self.core.buffer.writers() {
            if let Some(stream) = self.core.program.shared.manager.find(stamp) {
                stream.check()?;
            }
        }
        Ok(bytes.chunks_exact(size_of::<T>()).map(from_le_bytes).collect())
    }

    /// Overwrites all elements, in row-major order, behind every launch that uses the tensor. Waits
    /// for those alone.
    ///
    /// # Errors
    /// [`Error::Shape`] where their number is not the tensor's, or what the device returns.
    pub fn copy_from(&mut self, elements: &[T]) -> Result<()> {
        self.core.check_place()?;
        check_count(&self.shape, self.len(), elements.len())?;
        let (core, buffer) = (&self.core, &self.core.buffer);
        let up_to = |tracker: &Tracker| tracker.behind(&core.program.shared, buffer.users());
        let write = || Ok(buffer.write(core.offset, as_bytes(elements))?);
        waiting(&core.program.shared, up_to, write)
    }

    /// Sets all elements to `value`, behind every launch that uses the tensor. Waits for those alone.
    ///
    /// # Errors
    /// What the device returns.
    pub fn fill(&mut self, value: T) -> Result<()> {
        self.copy_from(&vec![value; self.len()])
    }
}

impl<T, const N: usize> Tensor<T, N> {
    fn new(buffer: Buffer, program: &Arc<ProgramInner>, shape: [usize; N]) -> Self {
        let (buffer, program) = (Arc::new(buffer), program.clone());
        let core = TensorCore { buffer, program, offset: 0, home: 0 };
        Self { core, shape, element: PhantomData }
    }

    /// The part of this shape whose first element is number `first` of this tensor's; both lie in it.
    pub(crate) fn part<const M: usize>(&self, first: usize, shape: [usize; M]) -> Tensor<T, M> {
        let TensorCore { buffer, program, offset, .. } = &self.core;
        let core = TensorCore {
            buffer: buffer.clone(),
            program: program.clone(),
            offset: offset + first * size_of::<T>(),
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

    /// Where its elements begin in the buffer, in bytes.
    pub(crate) fn offset(&self) -> usize {
        self.offset
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

fn bytes_of<T>(shape: &[usize]) -> Result<usize> {
    if shape.contains(&0) {
        return Ok(0);
    }
    shape
        .iter()
        .try_fold(size_of::<T>(), |bytes, extent| bytes.checked_mul(*extent))
        .filter(|bytes| isize::try_from(*bytes).is_ok())
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

fn as_bytes<T: Element>(elements: &[T]) -> &[u8] {
    // SAFETY: elements are plain scalars without padding, by the sealed trait.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

fn from_le_bytes<T: Element>(bytes: &[u8]) -> T {
    let mut word = [0u8; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    T::from_bits64(u64::from_le_bytes(word))
}
