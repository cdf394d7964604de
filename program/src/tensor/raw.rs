//! Tensors in memory of other code, and the addresses of tensors for other code.

use std::any::TypeId;

use quadrants_ir::ScalarType;
use quadrants_rhi::{DevicePtr, ImageKind, ManagedMemory, MemoryAt};
use quadrants_runtime::Buffer;
use smallvec::SmallVec;

use super::{Elements, Layout, Tensor, storage};
use crate::{
    Error, ForeignMemoryProblem, KernelValue, Program, Result, state::device_tensor::DeviceTensor,
    thread_state::capture, value::layout::ComponentLayout,
};

/// GPUs have no atomics on single bytes, so that kernels access the whole word around a small scalar.
const WORD: usize = 4;

/// Where a tensor is in device memory, for other code.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RawTensor {
    /// The address of the first element. On the CPU, it is an address of this process.
    pub address: DevicePtr,
    /// The size in bytes from the address to the end of the last element.
    pub bytes: usize,
    /// The backend: `cuda`, `amdgpu` or `cpu`.
    pub backend: &'static str,
    /// The ordinal of the device.
    pub ordinal: usize,
    /// The memory layout.
    pub layout: Layout,
    shape: SmallVec<[usize; 4]>,
    components: SmallVec<[RawComponent; 1]>,
    element: TypeId,
}

/// Where the scalars of one component of a tensor are. A tensor of scalars has one component.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RawComponent {
    /// The type of the scalars.
    pub scalar: ScalarType,
    /// The number of scalars that an element has.
    pub scalars: usize,
    /// The address of the first scalar of the first element.
    pub address: DevicePtr,
    /// The distance between elements in bytes.
    pub element_stride: usize,
    /// The distance between the scalars of an element in bytes.
    pub scalar_stride: usize,
}

impl RawTensor {
    /// The extents, outermost first. The elements are in row-major order.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The components: one for each field of a struct that is a number, a bool, or an array of them.
    #[must_use]
    pub fn components(&self) -> &[RawComponent] {
        &self.components
    }

    /// Whether the elements are values of the type `T`: other types may have the same scalars, and fewer valid values.
    ///
    /// # Examples
    /// ```
    /// # fn main() -> quadrants_program::Result<()> {
    /// # let device = quadrants_rhi_cpu::driver()?.open(0)?;
    /// # let opened = quadrants_program::Opened { device, compiler: None };
    /// # let prog = quadrants_program::Program::open(opened)?;
    /// let raw = prog.zeros::<bool, 1>([4])?.raw()?;
    /// assert!(raw.is_of::<bool>() && !raw.is_of::<u8>());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn is_of<T: KernelValue>(&self) -> bool {
        self.element == TypeId::of::<T>()
    }

    pub(crate) fn of(device_tensor: &DeviceTensor, shape: &[usize], element: TypeId) -> Self {
        let DeviceTensor { storage, program, .. } = device_tensor;
        let info = program.shared.context.device().info();
        let count = super::count(shape);
        let address = device_tensor.address();
        let mut bytes = 0;
        let mut component = |of: &ComponentLayout| {
            let (size, at) = (of.ty.size(), device_tensor.address_of(of));
            let (element_stride, scalar_stride) = (of.step * size, of.plane * size);
            if count > 0 {
                let inner = of.scalars.saturating_sub(1) * scalar_stride + size;
                let end = at.raw() + ((count - 1) * element_stride + inner) as u64;
                bytes = bytes.max(end.saturating_sub(address.raw()) as usize);
            }
            let (scalar, scalars) = (of.ty, of.scalars);
            RawComponent { scalar, scalars, address: at, element_stride, scalar_stride }
        };
        let components = match &storage.components[..] {
            // Faster than an iterator, for foreign operations.
            [one] => SmallVec::from_buf([component(one)]),
            several => several.iter().map(component).collect(),
        };
        Self {
            address,
            bytes,
            backend: info.backend,
            ordinal: info.ordinal,
            layout: storage.layout(),
            shape: SmallVec::from_slice(shape),
            components,
            element,
        }
    }
}

impl<T: KernelValue, const N: usize> Tensor<T, N> {
    /// Where the tensor is in device memory, for other code. Waits for its first fill, or the last
    /// write by the host, and for the work that these are ordered after.
    ///
    /// From now on, other code may write the tensor, so the program remembers nothing about its elements: a check by
    /// the facade's `distinct` is made each time. What other code does with the address has no stamps and is invisible
    /// to [`Hazards`](crate::Hazards). It is up to the caller to order it with the program's work, and to keep the
    /// tensor until it is complete. [`Program::foreign`] does both.
    ///
    /// # Errors
    /// [`Error::HostArray`]; [`Error::View`] where the tensor is not [contiguous](Self::is_contiguous);
    /// [`Error::Capture`], or an error of the device.
    pub fn raw(&self) -> Result<RawTensor> {
        self.check_address()?;
        let Elements::Device(device_tensor) = &self.elements else {
            return Err(Error::HostArray { what: "`raw`" });
        };
        device_tensor.check_contiguous("`raw`")?;
        capture::refuse(&device_tensor.program.shared, "an address for other code")?;
        device_tensor.finish_fill()?;
        device_tensor.buffer.expose();
        Ok(RawTensor::of(device_tensor, &self.shape(), TypeId::of::<T>()))
    }
}

impl Program {
    /// A tensor in memory of other code, without a copy. The elements are in row-major order; values of several scalars
    /// have the layout [`Layout::ArrayOfStructs`].
    ///
    /// `owner` keeps the memory valid, and is dropped after the last use of the memory on every stream, and not before:
    /// at once, if all uses are known to be complete when the tensor and the graphs that use it are dropped; else by a
    /// later call on some thread, such as an allocation or a wait, or at the end of the program. The host never waits
    /// for that, except at the end, with the last handle of the program. So it may own tensors of the program, but
    /// should not own a handle.
    ///
    /// On GPUs, kernels use vector loads and stores for values of several scalars where the address of the memory is a
    /// multiple of the largest power of two that divides their size, at most 16 bytes. Memory at another address is
    /// passed to a variant of the kernel, as tensors that are not contiguous are.
    ///
    /// Nothing is remembered about the elements, which other code may change: a check by the facade's `distinct` is
    /// made each time, and a graph cannot rely on it. The memory is never used for other tensors.
    ///
    /// # Errors
    /// [`Error::ForeignMemory`] where the driver can tell that the memory is not of the program's device and context or
    /// is too small, or where it is not aligned: to the scalars, and on GPUs to at least 4 bytes.
    /// [`Error::TooLarge`], or an error of the device. The owner is then dropped.
    ///
    /// # Safety
    /// - Until `owner` is dropped, the program's device can access the memory from `pointer` on, for all elements. On
    ///   GPUs, also the whole 4-byte word of the last element.
    /// - All elements are initialized, or are written by a launch before anything reads them.
    /// - Other code accesses the memory only before or after the program's work that uses the tensor, or both only
    ///   read. That is: other code waits for that work, on the device or the host, and the program's streams wait for
    ///   the other code. It does not write the memory while a borrow as a [`Distinct`](crate::Distinct) exists.
    /// - No other tensor of the program has the same memory, unless both are only read.
    /// - If kernels of an AMD GPU add floats atomically to it, it is coarse-grained memory, as `hipMalloc` gives, and
    ///   no host or managed memory: the chip's float additions to fine-grained memory may be lost.
    pub unsafe fn tensor_from_raw<T: KernelValue, const N: usize>(
        &self,
        pointer: DevicePtr,
        shape: [usize; N],
        owner: impl Send + 'static,
    ) -> Result<Tensor<T, N>> {
        let storage = storage::<T>(&shape, Layout::default())?;
        let alignment = storage.components.iter().map(|of| of.ty.size()).max().unwrap_or(1);
        self.check_foreign(pointer, storage.bytes, alignment).map_err(|problem| match problem {
            Ok(problem) => {
                let (address, shape) = (pointer.raw(), shape.to_vec());
                Error::ForeignMemory { address, shape, problem }
            }
            Err(error) => error,
        })?;
        let (context, bytes) = (&self.shared().context, storage.bytes);
        // SAFETY: by the caller.
        let buffer = unsafe { Buffer::foreign(context, pointer, bytes, Box::new(owner))? };
        Ok(Tensor::new(DeviceTensor::new(buffer, storage, self.inner()), shape))
    }

    fn check_foreign(
        &self,
        pointer: DevicePtr,
        bytes: usize,
        alignment: usize,
    ) -> Result<(), Result<ForeignMemoryProblem, Error>> {
        let refused = |problem| Err(Ok(problem));
        let words = self.capabilities().image != ImageKind::Native;
        let alignment = if words { alignment.max(WORD) } else { alignment };
        let needed = if words { bytes.next_multiple_of(WORD) } else { bytes };
        if bytes == 0 {
            return Ok(());
        }
        if pointer == DevicePtr::NULL {
            return refused(ForeignMemoryProblem::Null);
        }
        if !pointer.raw().is_multiple_of(alignment as u64) {
            return refused(ForeignMemoryProblem::Misaligned { alignment });
        }
        let context = &self.shared().context;
        let info = context.device().info();
        let (backend, expected) = (info.backend, info.ordinal);
        let at = context.observe(context.device().memory_at(pointer)).map_err(|e| Err(e.into()))?;
        let ManagedMemory { ordinal, in_context, allocation } = match at {
            MemoryAt::Managed(memory) => memory,
            MemoryAt::Nothing => return refused(ForeignMemoryProblem::NotOfDriver { backend }),
            // Nobody can tell whether the rest of the last word is there.
            _ if needed > bytes => {
                return refused(ForeignMemoryProblem::TooSmall { needed, available: bytes });
            }
            _ => return Ok(()),
        };
        if let Some(found) = ordinal.filter(|found| *found != expected) {
            return refused(ForeignMemoryProblem::OtherDevice { backend, found, expected });
        }
        if !in_context {
            return refused(ForeignMemoryProblem::OtherContext);
        }
        let available = allocation.map_or(bytes, |(start, size)| {
            let before = pointer.raw().saturating_sub(start.raw()) as usize;
            size.saturating_sub(before)
        });
        if needed > available {
            return refused(ForeignMemoryProblem::TooSmall { needed, available });
        }
        Ok(())
    }
}
