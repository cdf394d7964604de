//! Tensors: dense row-major arrays in device memory, of numbers or of what is made of numbers.

pub(crate) mod element;
pub(crate) mod host_array;
pub(crate) mod layout;
pub(crate) mod slice;

use std::{fmt, marker::PhantomData, panic::Location, ptr, sync::Arc};

use quadrants_rhi::DevicePtr;
use quadrants_runtime::{Buffer, Completed, StridedRange};

use crate::{
    Error, KernelValue, Result, capture,
    hazards::waiting_behind,
    program::ProgramInner,
    tensor::{
        host_array::HostArray,
        layout::{ComponentAt, Layout, Stored},
    },
};

/// A dense row-major array of `N` dimensions in the memory of a program's device.
///
/// Its elements are numbers, bools, or any other [`KernelValue`] type; how the latter lie in memory is chosen where the
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
    elements: Elements<T>,
    shape: [usize; N],
    element: PhantomData<fn() -> T>,
}

/// Where a tensor's elements are.
pub(crate) enum Elements<T> {
    Device(TensorCore),
    Host(HostArray<T>),
}

/// What a tensor of any type and shape is, in a device's memory.
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
    pub(crate) home: Home,
}

/// Of a tensor that borrows what it may write, the address at which alone it may be used; of others 0.
#[derive(Debug, Default)]
pub(crate) struct Home(usize);

impl<T, const N: usize> fmt::Debug for Tensor<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tensor")
            .field("element", &std::any::type_name::<T>())
            .field("shape", &self.shape)
            .field("address", &self.address())
            .finish_non_exhaustive()
    }
}

impl<T: KernelValue, const N: usize> Tensor<T, N> {
    pub(crate) fn zeros(
        program: &Arc<ProgramInner>,
        shape: [usize; N],
        layout: Layout,
    ) -> Result<Self> {
        let stored = stored::<T>(&shape, layout)?;
        let buffer = Buffer::zeroed(&program.shared.context, stored.bytes)?;
        Ok(Self::new(TensorCore::new(buffer, stored, program), shape))
    }

    pub(crate) fn from_slice(
        program: &Arc<ProgramInner>,
        elements: &[T],
        shape: [usize; N],
        layout: Layout,
    ) -> Result<Self> {
        let stored = stored::<T>(&shape, layout)?;
        check_count(&shape, count(&shape), elements.len())?;
        Ok(Self::new(TensorCore::holding(program, elements, stored)?, shape))
    }

    /// A tensor that borrows an array of the host.
    ///
    /// # Safety
    /// The array stays valid as long as the tensor is used: for reads, and where it is used by `&mut` for writes that
    /// nobody else can see.
    pub(crate) unsafe fn of_host(first: *mut T, len: usize, shape: [usize; N]) -> Result<Self> {
        let stored = stored::<T>(&shape, Layout::default())?;
        check_count(&shape, count(&shape), len)?;
        // SAFETY: the caller's promise.
        let array = unsafe { HostArray::new(first, len, stored) };
        Ok(Self { elements: Elements::Host(array), shape, element: PhantomData })
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
        self.check_place()?;
        match &self.elements {
            Elements::Device(core) => core.read(self.len()),
            Elements::Host(array) => Ok(array.elements().to_vec()),
        }
    }

    /// Overwrites all elements, in row-major order, behind every launch that uses the tensor. Waits
    /// for those alone.
    ///
    /// # Errors
    /// [`Error::Shape`] where their number is not the tensor's, or what the device returns.
    #[track_caller]
    pub fn copy_from(&mut self, elements: &[T]) -> Result<()> {
        self.check_place()?;
        check_count(&self.shape, self.len(), elements.len())?;
        match &mut self.elements {
            Elements::Device(core) => core.write(elements),
            Elements::Host(array) => {
                array.elements_mut().copy_from_slice(elements);
                Ok(())
            }
        }
    }

    /// Sets all elements to `value`, behind every launch that uses the tensor. Waits for those alone.
    ///
    /// # Errors
    /// What the device returns.
    #[track_caller]
    pub fn fill(&mut self, value: T) -> Result<()> {
        self.copy_from(&vec![value; self.len()])
    }
}

impl<T, const N: usize> Tensor<T, N> {
    fn new(core: TensorCore, shape: [usize; N]) -> Self {
        Self { elements: Elements::Device(core), shape, element: PhantomData }
    }

    /// The part of this shape whose first element is number `first` of this tensor's; both lie in it.
    pub(crate) fn part<const M: usize>(&self, first: usize, shape: [usize; M]) -> Tensor<T, M> {
        let elements = match &self.elements {
            Elements::Device(core) => Elements::Device(core.part(first)),
            Elements::Host(array) => Elements::Host(array.part(first, count(&shape))),
        };
        Tensor { elements, shape, element: PhantomData }
    }

    /// Makes the place that it has now the only one in which it can be used.
    pub(crate) fn settle(&mut self) {
        let home = match &mut self.elements {
            Elements::Device(core) => &mut core.home,
            Elements::Host(array) => &mut array.home,
        };
        home.settle();
    }

    /// Whether it is settled, and in its place.
    pub(crate) fn is_home(&self) -> bool {
        self.home().is_here()
    }

    /// # Errors
    /// [`Error::MovedSlice`] where it cannot be used where it is.
    pub(crate) fn check_place(&self) -> Result<()> {
        self.home().check()
    }

    fn home(&self) -> &Home {
        match &self.elements {
            Elements::Device(core) => &core.home,
            Elements::Host(array) => &array.home,
        }
    }

    fn address(&self) -> usize {
        match &self.elements {
            Elements::Device(core) => core.address().raw() as usize,
            Elements::Host(array) => array.address(),
        }
    }

    #[inline]
    pub(crate) fn elements(&self) -> (&Elements<T>, &[usize]) {
        (&self.elements, &self.shape)
    }
}

impl Home {
    fn settle(&mut self) {
        self.0 = ptr::from_ref(self).addr();
    }

    #[inline]
    fn is_here(&self) -> bool {
        self.0 == ptr::from_ref(self).addr()
    }

    /// Whether it may be used where it is.
    #[inline]
    pub(crate) fn is_usable(&self) -> bool {
        self.0 == 0 || self.is_here()
    }

    /// # Errors
    /// [`Error::MovedSlice`] where it is elsewhere.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_usable() { Ok(()) } else { Err(Error::MovedSlice) }
    }
}

impl TensorCore {
    fn new(buffer: Buffer, stored: impl Into<Arc<Stored>>, program: &Arc<ProgramInner>) -> Self {
        let (buffer, program, stored) = (Arc::new(buffer), program.clone(), stored.into());
        Self { buffer, program, stored, first: 0, offset: 0, home: Home::default() }
    }

    /// New memory with these elements, as many as are stored so.
    pub(crate) fn holding<T: KernelValue>(
        program: &Arc<ProgramInner>,
        elements: &[T],
        stored: impl Into<Arc<Stored>>,
    ) -> Result<Self> {
        let (context, stored) = (&program.shared.context, stored.into());
        let buffer = match T::bytes(elements) {
            Some(bytes) => Buffer::from_bytes(context, bytes)?,
            None => {
                let mut memory = words(&stored);
                stored.write(&mut memory, elements.iter().copied());
                Buffer::from_bytes(context, &as_bytes(&memory)[..stored.bytes])?
            }
        };
        Ok(Self::new(buffer, stored, program))
    }

    /// The elements from number `first` on, in the same memory.
    pub(crate) fn part(&self, first: usize) -> Self {
        let Self { buffer, program, stored, .. } = self;
        let first = self.first + first;
        Self {
            buffer: buffer.clone(),
            program: program.clone(),
            stored: stored.clone(),
            first,
            offset: stored.components.first().map_or(0, |component| component.at(first)),
            home: Home::default(),
        }
    }

    /// The first `count` elements, behind what wrote them; and what became of that.
    pub(crate) fn read<T: KernelValue>(&self, count: usize) -> Result<Vec<T>> {
        let (shared, buffer) = (&self.program.shared, &self.buffer);
        capture::refuse(shared, "reading a tensor")?;
        let turn = shared.host_exclusion.of_copy(buffer);
        let part = self.stored.resized(count);
        let mut memory = words(&part);
        waiting_behind(shared, buffer.writers(), || {
            let mut over = Completed::new();
            for span in self.stored.spans(self.first, &part) {
                let host = &mut as_bytes_mut(&mut memory)[span.host..][..span.bytes];
                over.extend(buffer.read_completing(span.device, host)?);
            }
            Ok(over)
        })?;
        drop(turn);
        for stamp in buffer.writers() {
            if let Some(stream) = shared.manager.find(stamp) {
                stream.check()?;
            }
        }
        Ok(part.read(&memory))
    }

    #[track_caller]
    fn write<T: KernelValue>(&self, elements: &[T]) -> Result<()> {
        let part = self.stored.resized(elements.len());
        if let Some(bytes) = T::bytes(elements) {
            return self.put(&part, bytes);
        }
        let mut memory = words(&part);
        part.write(&mut memory, elements.iter().copied());
        self.put(&part, as_bytes(&memory))
    }

    #[track_caller]
    fn put(&self, part: &Stored, bytes: &[u8]) -> Result<()> {
        let (shared, buffer) = (&self.program.shared, &self.buffer);
        if capture::is_on() {
            let spans = self.stored.spans(self.first, part);
            let captured = capture::copy(self, part.count(), bytes, &spans, Location::caller());
            if let Some(captured) = captured {
                return captured;
            }
        }
        let _turn = shared.host_exclusion.of_copy(buffer);
        waiting_behind(shared, buffer.users(), || {
            let mut over = Completed::new();
            for span in self.stored.spans(self.first, part) {
                over.extend(
                    buffer.write_completing(span.device, &bytes[span.host..][..span.bytes])?,
                );
            }
            Ok(over)
        })
    }

    #[inline]
    pub(crate) fn address(&self) -> DevicePtr {
        self.buffer.address().offset(self.offset)
    }

    /// Where its first so many elements are in the buffer; or what they have of a component.
    pub(crate) fn pieces(&self, component: Option<&ComponentAt>, elements: usize) -> StridedRange {
        let whole = self.stored.components.first().filter(|_| elements > 0);
        component
            .or(whole)
            .map_or(StridedRange::from(0..0), |component| component.pieces(self.first, elements))
    }

    /// Where a component other than the first begins.
    pub(crate) fn address_of(&self, component: &ComponentAt) -> DevicePtr {
        self.buffer.address().offset(component.at(self.first))
    }
}

fn stored<T: KernelValue>(shape: &[usize], layout: Layout) -> Result<Stored> {
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
