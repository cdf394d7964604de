//! Exports tensors as managed tensors of DLPack.

use std::ptr;

use quadrants_rhi::DeviceInfo;
use smallvec::SmallVec;

use super::{data_type, import::scalars_of};
use crate::{
    DlpackProblem, Error, KernelValue, Result, Tensor,
    dlpack_abi::{
        DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPACK_MAJOR_VERSION,
        DLPACK_MINOR_VERSION, DLPackVersion, DLTensor,
    },
    tensor::Elements,
    thread_state::capture,
};

/// A tensor that was given out. Owned by the consumer of one of its managed tensors, and freed by their deleters.
struct Export<T, const N: usize> {
    versioned: DLManagedTensorVersioned,
    unversioned: DLManagedTensor,
    shape: SmallVec<[i64; 6]>,
    strides: SmallVec<[i64; 6]>,
    /// Keeps the memory alive.
    _memory: Tensor<T, N>,
}

impl<T: KernelValue, const N: usize> Tensor<T, N> {
    /// A managed tensor of DLPack 1 with the memory of this tensor: for a Python capsule named `dltensor_versioned`. It
    /// keeps the memory until its deleter is called, on whichever thread that is. Without a call, the memory leaks.
    ///
    /// The scalars of vectors, arrays and matrices are its last dimension. Waits for the first fill of the tensor, and
    /// for no other work: the protocol wants the consumer's stream to come after earlier work, which
    /// [`order_before`](Self::order_before) is for. As for [`raw`](Self::raw), the program remembers nothing about the
    /// elements from now on, and what other code does is up to the caller to order with the program's work.
    ///
    /// # Errors
    /// [`Error::Dlpack`] where the elements are structs, or the backend is none that DLPack has a name for;
    /// [`Error::HostArray`], [`Error::Capture`], or an error of the device.
    pub fn to_dlpack(&self) -> Result<*mut DLManagedTensorVersioned> {
        let export = self.export()?;
        // SAFETY: made by `export`, and given out here only.
        Ok(unsafe { &raw mut (*export).versioned })
    }

    /// As [`to_dlpack`](Self::to_dlpack), for consumers of the time before DLPack 1: for a Python capsule named
    /// `dltensor`.
    ///
    /// # Errors
    /// As for [`to_dlpack`](Self::to_dlpack).
    pub fn to_dlpack_unversioned(&self) -> Result<*mut DLManagedTensor> {
        let export = self.export()?;
        // SAFETY: as above.
        Ok(unsafe { &raw mut (*export).unversioned })
    }

    fn export(&self) -> Result<*mut Export<T, N>> {
        self.check_address()?;
        let Elements::Device(memory) = &self.elements else {
            return Err(Error::HostArray { what: "DLPack" });
        };
        capture::refuse(&memory.program.shared, "a tensor for other code")?;
        let info = memory.program.shared.context.device().info();
        let device = device_of(info)?;
        let (scalar, inner) = scalars_of::<T>(&memory.storage).map_err(Error::Dlpack)?;
        let Some(component) = memory.storage.components.first() else {
            return Err(Error::Dlpack(DlpackProblem::Struct));
        };
        let shape = self.shape();
        // A component's distance is between neighbouring elements.
        let of_elements = self.strides().into_iter();
        let mut strides: SmallVec<[i64; 6]> =
            of_elements.map(|stride| stride.saturating_mul(component.step) as i64).collect();
        strides.extend(inner.map(|_| component.plane as i64));
        let shape_of_elements = shape;
        let shape: SmallVec<[i64; 6]> =
            shape.into_iter().chain(inner).map(|extent| extent as i64).collect();
        memory.finish_fill()?;
        memory.buffer.expose();
        let tensor = DLTensor {
            data: memory.address_of(component).as_ptr(),
            device,
            ndim: shape.len() as i32,
            dtype: data_type(scalar),
            shape: ptr::null_mut(),
            strides: ptr::null_mut(),
            byte_offset: 0,
        };
        let export = Box::into_raw(Box::new(Export {
            versioned: DLManagedTensorVersioned {
                version: DLPackVersion { major: DLPACK_MAJOR_VERSION, minor: DLPACK_MINOR_VERSION },
                manager_ctx: ptr::null_mut(),
                deleter: Some(delete::<T, N, DLManagedTensorVersioned>),
                flags: 0,
                dl_tensor: tensor,
            },
            unversioned: DLManagedTensor {
                dl_tensor: tensor,
                manager_ctx: ptr::null_mut(),
                deleter: Some(delete::<T, N, DLManagedTensor>),
            },
            shape,
            strides,
            _memory: self.part(0, shape_of_elements, self.strides()),
        }));
        // SAFETY: just made. The lists are not changed any more, so that the pointers into them stay valid.
        unsafe {
            let (shape, strides) = ((*export).shape.as_mut_ptr(), (*export).strides.as_mut_ptr());
            (*export).versioned.manager_ctx = export.cast();
            (*export).unversioned.manager_ctx = export.cast();
            for tensor in [&mut (*export).versioned.dl_tensor, &mut (*export).unversioned.dl_tensor]
            {
                (tensor.shape, tensor.strides) = (shape, strides);
            }
        }
        Ok(export)
    }
}

fn device_of(info: &DeviceInfo) -> Result<DLDevice> {
    let names =
        info.dlpack.ok_or(Error::Dlpack(DlpackProblem::Backend { backend: info.backend }))?;
    Ok(DLDevice { device_type: names.device_type, device_id: info.ordinal as i32 })
}

/// A managed tensor of an [`Export`].
trait OfExport {
    fn export(&self) -> *mut std::ffi::c_void;
}

impl OfExport for DLManagedTensorVersioned {
    fn export(&self) -> *mut std::ffi::c_void {
        self.manager_ctx
    }
}

impl OfExport for DLManagedTensor {
    fn export(&self) -> *mut std::ffi::c_void {
        self.manager_ctx
    }
}

/// The deleter of a tensor that was given out.
///
/// # Safety
/// As the protocol says: called once, with the managed tensor of an [`Export`].
unsafe extern "C" fn delete<T, const N: usize, M: OfExport>(managed: *mut M) {
    if managed.is_null() {
        return;
    }
    // SAFETY: by the caller; `export` made the box.
    drop(unsafe { Box::from_raw((*managed).export().cast::<Export<T, N>>()) });
}
