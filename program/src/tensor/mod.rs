//! Tensors: arrays in device memory, of scalars or of structs and arrays of scalars.

mod as_argument;
mod axes;
mod debug;
mod distinct;
pub(crate) mod host_array;
pub(crate) mod kernel_param;
mod peer;
pub(crate) mod raw;
pub(crate) mod slice;
pub(crate) mod transfer;

use std::{marker::PhantomData, sync::Arc};

pub use distinct::{Distinct, Scratch};
use quadrants_runtime::Buffer;

use self::host_array::HostArray;
use crate::{
    Error, KernelValue, Result, ViewProblem,
    state::{
        ProgramInner,
        device_tensor::{DeviceTensor, Usability},
    },
    thread_state::current_stream::with_likely,
    value::{
        layout::{Layout, StorageLayout, count},
        strided::{Strided, row_major},
    },
};

/// An array of `N` dimensions in the memory of a program's device. Its elements are in row-major order without gaps,
/// unless it is the tensor of a slice along another axis than the first ([`slice_axis`](Self::slice_axis)).
///
/// Its elements are of any [`KernelValue`] type. How values of several scalars are laid out in memory is chosen when
/// the tensor is made; kernels do not depend on it.
///
/// Dropping it frees the memory after all work that uses it, without making the host or a stream wait.
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
    pub(crate) elements: Elements<T>,
    shape: [usize; N],
    element: PhantomData<fn() -> T>,
}

pub(crate) enum Elements<T> {
    Device(DeviceTensor),
    Host(HostArray<T>),
}

impl<T: KernelValue, const N: usize> Tensor<T, N> {
    pub(crate) fn zeros(
        program: &Arc<ProgramInner>,
        shape: [usize; N],
        layout: Layout,
    ) -> Result<Self> {
        let storage = storage::<T>(&shape, layout)?;
        let buffer = with_likely(program, |stream| {
            Buffer::zeroed_async(&program.shared.context, storage.bytes, stream)
        })?;
        Ok(Self::new(DeviceTensor::new(buffer, storage, program), shape))
    }

    pub(crate) fn from_slice(
        program: &Arc<ProgramInner>,
        elements: &[T],
        shape: [usize; N],
        layout: Layout,
    ) -> Result<Self> {
        let storage = storage::<T>(&shape, layout)?;
        check_count(&shape, count(&shape), elements.len())?;
        Ok(Self::new(DeviceTensor::with_elements(program, elements, storage)?, shape))
    }

    /// A tensor that borrows a host array.
    ///
    /// # Safety
    /// The array is valid for reads as long as the tensor is used, and where the tensor is used by `&mut`, for writes
    /// that nobody else can see.
    pub(crate) unsafe fn of_host(first: *mut T, len: usize, shape: [usize; N]) -> Result<Self> {
        let storage = storage::<T>(&shape, Layout::default())?;
        check_count(&shape, count(&shape), len)?;
        // SAFETY: by the caller.
        let array = unsafe { HostArray::new(first, len, storage) };
        Ok(Self { elements: Elements::Host(array), shape, element: PhantomData })
    }

    /// A tensor that borrows elements of a host array: `first`, and others at the distances that the strides give. None
    /// where two indices may have one element.
    ///
    /// # Safety
    /// As for [`of_host`](Self::of_host), for these elements, which are all in one array.
    #[cfg(feature = "ndarray")]
    pub(crate) unsafe fn of_host_strided(
        first: *mut T,
        shape: [usize; N],
        strides: [usize; N],
    ) -> Option<Result<Self>> {
        let reach = crate::value::strided::reach_of(&shape, &strides)?;
        // SAFETY: elements between those of the tensor are never used.
        let all = unsafe { Tensor::<T, 1>::of_host(first, reach, [reach]) };
        Some(all.map(|all| all.part(0, shape, strides)))
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

    /// Copies the elements to the host, in row-major order, after every launch that wrote the tensor. Waits only for
    /// those launches.
    ///
    /// # Errors
    /// [`Error::Kernel`] where one of those launches reported an error that was not returned yet, or an error of the
    /// device.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.check_address()?;
        match &self.elements {
            Elements::Device(device_tensor) => device_tensor.read(self.len()),
            Elements::Host(array) => Ok(array.gather().into_owned()),
        }
    }

    /// As [`to_vec`](Self::to_vec), into existing memory.
    ///
    /// # Errors
    /// [`Error::Shape`] where the number of elements is not that of the tensor, and those of [`to_vec`](Self::to_vec).
    pub fn read_into(&self, out: &mut [T]) -> Result<()> {
        self.check_address()?;
        check_count(&self.shape, self.len(), out.len())?;
        match &self.elements {
            Elements::Device(device_tensor) => device_tensor.read_into(out),
            Elements::Host(array) => {
                out.copy_from_slice(&array.gather());
                Ok(())
            }
        }
    }

    /// Copies one element to the host, as [`to_vec`](Self::to_vec) does. Each call waits: read many elements at once.
    ///
    /// # Errors
    /// [`Error::Index`] where the index is not inside the tensor, and those of [`to_vec`](Self::to_vec).
    ///
    /// # Examples
    /// ```
    /// # fn main() -> quadrants_program::Result<()> {
    /// # let device = quadrants_rhi_cpu::driver()?.open(0)?;
    /// # let opened = quadrants_program::Opened { device, compiler: None };
    /// # let prog = quadrants_program::Program::open(opened)?;
    /// let mut t = prog.tensor_from(&[1, 2, 3, 4, 5, 6], [2, 3])?;
    /// t.set([1, 0], 7)?;
    /// assert_eq!((t.get([1, 0])?, t.get([1, 2])?), (7, 6));
    /// # Ok(())
    /// # }
    /// ```
    pub fn get(&self, index: [usize; N]) -> Result<T> {
        let mut element = self.element(index)?.to_vec()?;
        element.pop().ok_or_else(|| self.not_inside(index))
    }

    /// Overwrites one element, as [`write`](Self::write) does.
    ///
    /// # Errors
    /// [`Error::Index`] where the index is not inside the tensor, and those of [`write`](Self::write).
    #[track_caller]
    pub fn set(&mut self, index: [usize; N], value: T) -> Result<()> {
        self.element(index)?.write(&[value])
    }

    /// The tensor of one element.
    fn element(&self, index: [usize; N]) -> Result<Tensor<T, 0>> {
        self.check_address()?;
        let inside = index.iter().zip(&self.shape).all(|(at, extent)| at < extent);
        if !inside {
            return Err(self.not_inside(index));
        }
        let first = index.iter().zip(self.strides()).map(|(at, stride)| at * stride).sum();
        Ok(self.part(first, [], []))
    }

    fn not_inside(&self, index: [usize; N]) -> Error {
        Error::Index { index: index.to_vec(), shape: self.shape.to_vec() }
    }

    /// Copies the elements of another tensor of the same shape. In device memory, the copy is work of this thread's
    /// current stream, like a launch: the host does not wait, and [`Hazards`](crate::Hazards) sees it. Where one of the
    /// two is a host array, this is [`write`](Self::write) or [`read_into`](Self::read_into).
    ///
    /// # Tensors of other programs
    /// The other tensor may be of another program, on the same or another device, also of another backend. The copy
    /// then is work of this thread's current streams of both programs: it comes after the earlier work of both, and
    /// before the later work of both. It also comes after all other work that writes the copied tensor or uses this
    /// one. On devices of one driver, the host does not wait. Between backends, the elements go through pinned memory,
    /// and the host waits for the copy; after an error, the elements of this tensor are undefined.
    ///
    /// # Errors
    /// [`Error::CopyShape`]; [`Error::CopyLayout`] where both are tensors of structs in different layouts;
    /// [`Error::Capture`] where the two programs differ and one of them is being captured; and those of
    /// [`Launch::launch`](crate::Launch::launch).
    ///
    /// # Examples
    /// ```
    /// # fn main() -> quadrants_program::Result<()> {
    /// # let device = quadrants_rhi_cpu::driver()?.open(0)?;
    /// # let opened = quadrants_program::Opened { device, compiler: None };
    /// # let prog = quadrants_program::Program::open(opened)?;
    /// let (a, mut b) = (prog.tensor_from(&[1, 2, 3, 4], [4])?, prog.zeros([2, 2])?);
    /// b.flat_mut()?.copy_from(&a)?;
    /// assert_eq!(b.try_clone()?.to_vec()?, [1, 2, 3, 4]);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn copy_from(&mut self, from: &Self) -> Result<()> {
        self.check_address()?;
        from.check_address()?;
        if self.shape != from.shape {
            return Err(Error::CopyShape { from: from.shape.to_vec(), to: self.shape.to_vec() });
        }
        match (&mut self.elements, &from.elements) {
            (Elements::Device(to), Elements::Device(from)) => {
                to.copy_from(from, count(&self.shape))
            }
            (Elements::Device(to), Elements::Host(from)) => to.write(&from.gather()),
            (Elements::Host(to), _) => match to.contiguous_mut() {
                Some(elements) => from.read_into(elements),
                None => {
                    to.scatter(&from.to_vec()?);
                    Ok(())
                }
            },
        }
    }

    /// Copies the elements to another tensor of the same shape: [`copy_from`](Self::copy_from) of that tensor.
    ///
    /// # Errors
    /// As for [`copy_from`](Self::copy_from).
    ///
    /// # Examples
    /// ```
    /// # fn main() -> quadrants_program::Result<()> {
    /// # let open = || -> quadrants_program::Result<_> {
    /// #     let device = quadrants_rhi_cpu::driver()?.open(0)?;
    /// #     quadrants_program::Program::open(quadrants_program::Opened { device, compiler: None })
    /// # };
    /// let (here, there) = (open()?, open()?);
    /// let (a, mut b) = (here.tensor_from(&[1, 2, 3], [3])?, there.zeros([3])?);
    /// a.copy_to(&mut b)?;
    /// assert_eq!(b.to_vec()?, [1, 2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn copy_to(&self, to: &mut Self) -> Result<()> {
        to.copy_from(self)
    }

    /// A new tensor with the same elements, shape and layout, copied as by [`copy_from`](Self::copy_from).
    ///
    /// # Errors
    /// [`Error::HostArray`] where this is a host array, out of memory, and those of [`copy_from`](Self::copy_from).
    #[track_caller]
    pub fn try_clone(&self) -> Result<Self> {
        self.check_address()?;
        let Elements::Device(device_tensor) = &self.elements else {
            return Err(Error::HostArray { what: "`try_clone`" });
        };
        let layout = device_tensor.storage.layout();
        let mut clone = Self::zeros(&device_tensor.program, self.shape, layout)?;
        clone.copy_from(self)?;
        Ok(clone)
    }

    /// Overwrites all elements, in row-major order, after every launch that uses the tensor. Does not wait for them
    /// in general; elements of more than 16 KiB wait for launches on other streams than the current one, and all for
    /// those of graphs and foreign code that use the tensor.
    ///
    /// # Errors
    /// [`Error::Shape`] where the number of elements is not that of the tensor, or an error of the device.
    #[track_caller]
    pub fn write(&mut self, elements: &[T]) -> Result<()> {
        self.check_address()?;
        check_count(&self.shape, self.len(), elements.len())?;
        match &mut self.elements {
            Elements::Device(device_tensor) => device_tensor.write(elements),
            Elements::Host(array) => {
                array.scatter(elements);
                Ok(())
            }
        }
    }

    /// Sets all elements to `value`, as [`write`](Self::write) does.
    ///
    /// # Errors
    /// Errors of the device.
    #[track_caller]
    pub fn fill(&mut self, value: T) -> Result<()> {
        self.write(&vec![value; self.len()])
    }
}

impl<T, const N: usize> Tensor<T, N> {
    /// The distance between neighbours along each axis, in elements. In row-major order without gaps, that of the last
    /// axis is 1, and each other one is the number of elements of the axes after it.
    ///
    /// # Examples
    /// ```
    /// # fn main() -> quadrants_program::Result<()> {
    /// # let device = quadrants_rhi_cpu::driver()?.open(0)?;
    /// # let opened = quadrants_program::Opened { device, compiler: None };
    /// # let prog = quadrants_program::Program::open(opened)?;
    /// let t = prog.zeros::<f32, 2>([4, 5])?;
    /// let columns = t.slice_axis(1, 1..3)?;
    /// assert_eq!((columns.shape(), columns.strides()), ([4, 2], [5, 1]));
    /// assert!(t.is_contiguous() && !columns.is_contiguous());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn strides(&self) -> [usize; N] {
        strides_of(self.strided(), &self.shape)
    }

    /// Whether the elements are in row-major order without gaps. Every tensor is that a program makes, and every
    /// [`slice`](Self::slice) of one; a slice of another axis usually is not.
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        self.strided().is_none()
    }

    pub(crate) fn new(device_tensor: DeviceTensor, shape: [usize; N]) -> Self {
        Self { elements: Elements::Device(device_tensor), shape, element: PhantomData }
    }

    /// The tensor of this shape whose first element is `first` elements after that of this one, with these strides. Its
    /// elements must be elements of this one, each once.
    pub(crate) fn part<const M: usize>(
        &self,
        first: usize,
        shape: [usize; M],
        strides: [usize; M],
    ) -> Tensor<T, M> {
        let count = count(&shape);
        // The place of no elements has no meaning, and may be beyond the memory.
        let first = if count == 0 { 0 } else { first };
        let strided = Strided::new(&shape, &strides);
        let elements = match &self.elements {
            Elements::Device(device_tensor) => Elements::Device(device_tensor.part(first, strided)),
            Elements::Host(array) => Elements::Host(array.part(first, count, strided)),
        };
        Tensor { elements, shape, element: PhantomData }
    }

    /// The order of the elements; none where it is row-major order without gaps.
    fn strided(&self) -> Option<&Strided> {
        match &self.elements {
            Elements::Device(device_tensor) => device_tensor.strided.as_deref(),
            Elements::Host(array) => array.strided.as_deref(),
        }
    }

    /// # Errors
    /// [`ViewProblem::NotContiguous`], for the operation `what`.
    pub(crate) fn check_contiguous(&self, what: &'static str) -> Result<()> {
        match self.strided() {
            None => Ok(()),
            Some(view) => Err(ViewProblem::not_contiguous(what, view)),
        }
    }

    /// Makes the tensor's current address the only one at which it can be used.
    pub(crate) fn require_this_address(&mut self) {
        let usability = match &mut self.elements {
            Elements::Device(device_tensor) => &mut device_tensor.usability,
            Elements::Host(array) => &mut array.usability,
        };
        usability.require_this_address();
    }

    /// # Errors
    /// [`Error::MovedSlice`] where the tensor cannot be used at its current address.
    pub(crate) fn check_address(&self) -> Result<()> {
        self.usability().check_address()
    }

    fn usability(&self) -> &Usability {
        match &self.elements {
            Elements::Device(device_tensor) => &device_tensor.usability,
            Elements::Host(array) => &array.usability,
        }
    }

    fn address(&self) -> usize {
        match &self.elements {
            Elements::Device(device_tensor) => device_tensor.address().raw() as usize,
            Elements::Host(array) => array.address(),
        }
    }

    #[inline]
    pub(crate) fn elements(&self) -> (&Elements<T>, &[usize]) {
        (&self.elements, &self.shape)
    }
}

pub(crate) fn storage<T: KernelValue>(shape: &[usize], layout: Layout) -> Result<StorageLayout> {
    const { assert!(!T::LAYOUT.has_enum(), "{}", kernel_param::NO_ENUMS) };
    let count = match shape.contains(&0) {
        true => Some(0),
        false => shape.iter().try_fold(1usize, |count, extent| count.checked_mul(*extent)),
    };
    count
        .and_then(|count| StorageLayout::new(T::LAYOUT, layout, count))
        .ok_or_else(|| Error::TooLarge { shape: shape.to_vec() })
}

fn strides_of<const N: usize>(strided: Option<&Strided>, shape: &[usize; N]) -> [usize; N] {
    let mut strides = row_major(shape);
    if let Some(view) = strided {
        strides.iter_mut().zip(&view.strides).for_each(|(to, stride)| *to = *stride);
    }
    strides
}

pub(crate) fn check_count(shape: &[usize], expected: usize, given: usize) -> Result<()> {
    if expected == given {
        Ok(())
    } else {
        Err(Error::Shape { shape: shape.to_vec(), expected, given })
    }
}
