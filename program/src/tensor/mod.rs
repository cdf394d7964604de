//! Tensors: dense row-major arrays in device memory, of scalars or of structs and arrays of scalars.

pub(crate) mod element;
pub(crate) mod host_array;
mod kernel_param;
pub(crate) mod layout;
pub(crate) mod slice;

pub(crate) use layout::count;

use std::{fmt, marker::PhantomData, panic::Location, ptr, sync::Arc};

use quadrants_rhi::DevicePtr;
use quadrants_runtime::{Buffer, Completed, StridedRange};

use crate::{
    Error, KernelValue, Result, capture,
    hazards::wait_for_stamps,
    program::ProgramInner,
    tensor::{
        host_array::HostArray,
        layout::{ComponentLayout, Layout, StorageLayout},
    },
};

/// A dense row-major array of `N` dimensions in the memory of a program's device.
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
    elements: Elements<T>,
    shape: [usize; N],
    element: PhantomData<fn() -> T>,
}

/// The memory of a tensor's elements.
pub(crate) enum Elements<T> {
    Device(DeviceTensor),
    Host(HostArray<T>),
}

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
        let storage = storage::<T>(&shape, layout)?;
        let buffer = Buffer::zeroed(&program.shared.context, storage.bytes)?;
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
            Elements::Host(array) => Ok(array.elements().to_vec()),
        }
    }

    /// Overwrites all elements, in row-major order, after every launch that uses the tensor. Waits only for those
    /// launches.
    ///
    /// # Errors
    /// [`Error::Shape`] where the number of elements is not that of the tensor, or an error of the device.
    #[track_caller]
    pub fn copy_from(&mut self, elements: &[T]) -> Result<()> {
        self.check_address()?;
        check_count(&self.shape, self.len(), elements.len())?;
        match &mut self.elements {
            Elements::Device(device_tensor) => device_tensor.write(elements),
            Elements::Host(array) => {
                array.elements_mut().copy_from_slice(elements);
                Ok(())
            }
        }
    }

    /// Sets all elements to `value`, after every launch that uses the tensor. Waits only for those launches.
    ///
    /// # Errors
    /// Errors of the device.
    #[track_caller]
    pub fn fill(&mut self, value: T) -> Result<()> {
        self.copy_from(&vec![value; self.len()])
    }
}

impl<T, const N: usize> Tensor<T, N> {
    fn new(device_tensor: DeviceTensor, shape: [usize; N]) -> Self {
        Self { elements: Elements::Device(device_tensor), shape, element: PhantomData }
    }

    /// The tensor of this shape that starts at element `first` of this one. It must be inside.
    pub(crate) fn sub_tensor<const M: usize>(
        &self,
        first: usize,
        shape: [usize; M],
    ) -> Tensor<T, M> {
        let elements = match &self.elements {
            Elements::Device(device_tensor) => Elements::Device(device_tensor.sub_tensor(first)),
            Elements::Host(array) => Elements::Host(array.sub_array(first, count(&shape))),
        };
        Tensor { elements, shape, element: PhantomData }
    }

    /// Makes the tensor's current address the only one at which it can be used.
    pub(crate) fn require_this_address(&mut self) {
        let required_address = match &mut self.elements {
            Elements::Device(device_tensor) => &mut device_tensor.required_address,
            Elements::Host(array) => &mut array.required_address,
        };
        required_address.require_this_address();
    }

    /// Whether the tensor has a required address and is there.
    pub(crate) fn is_at_required_address(&self) -> bool {
        self.required_address().is_here()
    }

    /// # Errors
    /// [`Error::MovedSlice`] where the tensor cannot be used at its current address.
    pub(crate) fn check_address(&self) -> Result<()> {
        self.required_address().check()
    }

    fn required_address(&self) -> &RequiredAddress {
        match &self.elements {
            Elements::Device(device_tensor) => &device_tensor.required_address,
            Elements::Host(array) => &array.required_address,
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

impl RequiredAddress {
    fn require_this_address(&mut self) {
        self.0 = ptr::from_ref(self).addr();
    }

    #[inline]
    fn is_here(&self) -> bool {
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
    fn new(
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

    /// A tensor in new memory with these elements, as many as `storage` has.
    pub(crate) fn with_elements<T: KernelValue>(
        program: &Arc<ProgramInner>,
        elements: &[T],
        storage: impl Into<Arc<StorageLayout>>,
    ) -> Result<Self> {
        let (context, storage) = (&program.shared.context, storage.into());
        let buffer = match T::bytes(elements) {
            Some(bytes) => Buffer::from_bytes(context, bytes)?,
            None => {
                let mut memory = words(&storage);
                storage.write(&mut memory, elements.iter().copied());
                Buffer::from_bytes(context, &as_bytes(&memory)[..storage.bytes])?
            }
        };
        Ok(Self::new(buffer, storage, program))
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

    /// Copies the first `count` elements to the host, after the launches that wrote them, and returns the errors of
    /// those.
    pub(crate) fn read<T: KernelValue>(&self, count: usize) -> Result<Vec<T>> {
        let (shared, buffer) = (&self.program.shared, &self.buffer);
        capture::refuse(shared, "reading a tensor")?;
        let exclusion = shared.host_exclusion.lock_for_copy(buffer);
        let host_storage = self.storage.resized(count);
        let mut memory = words(&host_storage);
        wait_for_stamps(shared, buffer.writers(), || {
            let mut completed = Completed::new();
            for span in self.storage.spans(self.first, &host_storage) {
                let host = &mut as_bytes_mut(&mut memory)[span.host..][..span.bytes];
                completed.extend(buffer.read_completing(span.device, host)?);
            }
            Ok(completed)
        })?;
        drop(exclusion);
        // The writers after the wait: it covered also those that came since its start.
        for stamp in buffer.writers() {
            if let Some(stream) = shared.manager.find(stamp) {
                stream.check()?;
            }
        }
        Ok(host_storage.read(&memory))
    }

    #[track_caller]
    fn write<T: KernelValue>(&self, elements: &[T]) -> Result<()> {
        let host_storage = self.storage.resized(elements.len());
        if let Some(bytes) = T::bytes(elements) {
            return self.write_bytes(&host_storage, bytes);
        }
        let mut memory = words(&host_storage);
        host_storage.write(&mut memory, elements.iter().copied());
        self.write_bytes(&host_storage, as_bytes(&memory))
    }

    #[track_caller]
    fn write_bytes(&self, host_storage: &StorageLayout, bytes: &[u8]) -> Result<()> {
        let (shared, buffer) = (&self.program.shared, &self.buffer);
        if capture::is_active() {
            let spans = self.storage.spans(self.first, host_storage);
            let (elements, at) = (host_storage.count(), Location::caller());
            let captured = capture::copy(self, elements, bytes, &spans, at);
            if let Some(captured) = captured {
                return captured;
            }
        }
        let _exclusion = shared.host_exclusion.lock_for_copy(buffer);
        wait_for_stamps(shared, buffer.users(), || {
            let mut completed = Completed::new();
            for span in self.storage.spans(self.first, host_storage) {
                completed.extend(
                    buffer.write_completing(span.device, &bytes[span.host..][..span.bytes])?,
                );
            }
            Ok(completed)
        })
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

    /// The address of a component.
    pub(crate) fn address_of(&self, component: &ComponentLayout) -> DevicePtr {
        self.buffer.address().offset(component.at(self.first))
    }
}

fn storage<T: KernelValue>(shape: &[usize], layout: Layout) -> Result<StorageLayout> {
    let count = match shape.contains(&0) {
        true => Some(0),
        false => shape.iter().try_fold(1usize, |count, extent| count.checked_mul(*extent)),
    };
    count
        .and_then(|count| StorageLayout::new(T::LAYOUT, layout, count))
        .ok_or_else(|| Error::TooLarge { shape: shape.to_vec() })
}

fn check_count(shape: &[usize], expected: usize, given: usize) -> Result<()> {
    if expected == given {
        Ok(())
    } else {
        Err(Error::Shape { shape: shape.to_vec(), expected, given })
    }
}

/// Zeroed memory for elements, aligned for all scalars.
fn words(storage: &StorageLayout) -> Vec<u64> {
    vec![0; storage.bytes.div_ceil(8)]
}

fn as_bytes(words: &[u64]) -> &[u8] {
    // SAFETY: words have no padding, and bytes no alignment.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

fn as_bytes_mut(words: &mut [u64]) -> &mut [u8] {
    // SAFETY: as above, and any bytes make words.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
}
