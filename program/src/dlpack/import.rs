//! Imports managed tensors of DLPack as tensors.

use quadrants_rhi::DevicePtr;

use super::{DLDevice, ManagedTensor, data_type};
use crate::{
    DlpackProblem, Error, KernelValue, Layout, Program, Result, Slice, Tensor,
    tensor::storage,
    value::{layout::StorageLayout, strided::reach_of},
};

impl Program {
    /// A tensor in the memory of a managed tensor, without a copy. Its elements are scalars, or values of one scalar
    /// field such as vectors, whose scalars are then the last dimension of the managed tensor, without gaps. The
    /// elements may be in any order: the tensor then is not [contiguous](Tensor::is_contiguous).
    ///
    /// The deleter is called once, after the last use of the memory on every stream, as for the owner of
    /// [`tensor_from_raw`](Self::tensor_from_raw); or by this function, if it fails.
    ///
    /// # Errors
    /// [`Error::Dlpack`] where the device, the type of the elements, the number of dimensions or an extent differs from
    /// that of the tensor, where two indices may have one element or a stride is negative, or where the elements must
    /// not be written; and those of [`tensor_from_raw`](Self::tensor_from_raw).
    ///
    /// # Safety
    /// As for [`tensor_from_raw`](Self::tensor_from_raw), where the owner is dropped by the deleter. Streams need an
    /// order that the protocol makes before: pass [`Stream::dlpack_number`](crate::Stream::dlpack_number) of the stream
    /// that first uses the tensor to the producer's `__dlpack__`.
    pub unsafe fn from_dlpack<T: KernelValue, const N: usize>(
        &self,
        managed: ManagedTensor,
    ) -> Result<Tensor<T, N>> {
        if managed.is_read_only() {
            return Err(Error::Dlpack(DlpackProblem::ReadOnly));
        }
        // SAFETY: by the caller.
        unsafe { self.import(managed) }
    }

    /// As [`from_dlpack`](Self::from_dlpack), for a tensor that is only read. Several tensors of the program may have
    /// such memory.
    ///
    /// # Errors
    /// As for [`from_dlpack`](Self::from_dlpack).
    ///
    /// # Safety
    /// As for [`from_dlpack`](Self::from_dlpack).
    pub unsafe fn from_dlpack_read_only<T: KernelValue, const N: usize>(
        &self,
        managed: ManagedTensor,
    ) -> Result<Slice<'static, T, N>> {
        // SAFETY: by the caller. The tensor owns its memory, which is only read: a slice gives out no `&mut`.
        unsafe { Ok(Slice::borrowing(self.import(managed)?)) }
    }

    unsafe fn import<T: KernelValue, const N: usize>(
        &self,
        managed: ManagedTensor,
    ) -> Result<Tensor<T, N>> {
        let (shape, order) = self.importable::<T, N>(&managed).map_err(Error::Dlpack)?;
        let address = managed.address().ok_or(Error::Dlpack(DlpackProblem::Address))?;
        match order {
            // SAFETY: by the caller.
            None => unsafe { self.tensor_from_raw(DevicePtr(address), shape, managed) },
            Some(Order { strides, reach }) => {
                // SAFETY: by the caller. The elements between those of the tensor are never used.
                let all: Tensor<T, 1> =
                    unsafe { self.tensor_from_raw(DevicePtr(address), [reach], managed)? };
                Ok(all.part(0, shape, strides))
            }
        }
    }

    /// The shape of the tensor, and the order of its elements where they are not in row-major order without gaps.
    fn importable<T: KernelValue, const N: usize>(
        &self,
        managed: &ManagedTensor,
    ) -> Result<([usize; N], Option<Order<N>>), DlpackProblem> {
        self.check_device(managed.device())?;
        let element = storage::<T>(&[], Layout::default()).map_err(|_| DlpackProblem::Struct)?;
        let (scalar, inner) = scalars_of::<T>(&element)?;
        let (found, expected) = (managed.data_type(), data_type(scalar));
        if found != expected {
            return Err(DlpackProblem::DataType { found, expected });
        }
        let (extents, ndim) = (managed.shape(), N + inner.iter().len());
        if extents.len() != ndim {
            return Err(DlpackProblem::Rank { found: extents.len(), expected: ndim });
        }
        let mut shape = [0; N];
        for (axis, (to, extent)) in shape.iter_mut().zip(extents).enumerate() {
            *to = usize::try_from(*extent).map_err(|_| DlpackProblem::Extent {
                axis,
                extent: *extent,
                expected: None,
            })?;
        }
        if let (Some(inner), Some(extent)) = (inner, extents.last())
            && *extent != inner as i64
        {
            let expected = Some(inner);
            return Err(DlpackProblem::Extent { axis: N, extent: *extent, expected });
        }
        match managed.strides().filter(|strides| !is_row_major(extents, strides)) {
            Some(strides) => match order_of(&shape, strides, inner) {
                Some(order) => Ok((shape, Some(order))),
                None => {
                    let (shape, strides) = (extents.to_vec(), strides.to_vec());
                    Err(DlpackProblem::Strides { shape, strides })
                }
            },
            None => Ok((shape, None)),
        }
    }

    fn check_device(&self, found: DLDevice) -> Result<(), DlpackProblem> {
        let info = self.device_info();
        let names = info.dlpack.ok_or(DlpackProblem::Backend { backend: info.backend })?;
        let expected = DLDevice { device_type: names.device_type, device_id: info.ordinal as i32 };
        if found == expected || names.also_accessible.contains(&found.device_type) {
            return Ok(());
        }
        Err(DlpackProblem::Device { found, expected, backend: info.backend })
    }
}

/// The scalars of elements with one component: their type, and their number where the elements are not scalars.
pub(super) fn scalars_of<T: KernelValue>(
    storage: &StorageLayout,
) -> Result<(quadrants_ir::ScalarType, Option<usize>), DlpackProblem> {
    match storage.components[..] {
        [of] => Ok((of.ty, T::LAYOUT.scalar().is_none().then_some(of.scalars))),
        _ => Err(DlpackProblem::Struct),
    }
}

/// Whether the elements are in row-major order without gaps. The stride of an axis with one element has no meaning.
fn is_row_major(shape: &[i64], strides: &[i64]) -> bool {
    let mut expected = 1_i64;
    shape.contains(&0)
        || shape.iter().zip(strides).rev().all(|(extent, stride)| {
            let fits = *extent == 1 || *stride == expected;
            expected = expected.saturating_mul(*extent);
            fits
        })
}

/// An order of elements in which no two indices have the same element.
#[derive(PartialEq, Eq, Debug)]
struct Order<const N: usize> {
    /// The distance between neighbours along each axis, in elements.
    strides: [usize; N],
    /// The number of elements of the memory from the first element to the last.
    reach: usize,
}

/// The order of elements with these strides in scalars; none where it is none that tensors have. Elements that are no
/// scalars have `inner` of them, whose stride is the last.
fn order_of<const N: usize>(
    shape: &[usize; N],
    strides: &[i64],
    inner: Option<usize>,
) -> Option<Order<N>> {
    let (of_elements, of_scalars) = strides.split_at_checked(N)?;
    let size = inner.unwrap_or(1).max(1);
    if size > 1 && of_scalars.first() != Some(&1) {
        return None;
    }
    let mut order = [1; N];
    for ((to, extent), stride) in order.iter_mut().zip(shape).zip(of_elements) {
        // The stride of an axis with one element has no meaning.
        if *extent != 1 {
            let stride = usize::try_from(*stride).ok()?;
            if stride % size != 0 {
                return None;
            }
            *to = stride / size;
        }
    }
    Some(Order { strides: order, reach: reach_of(shape, &order)? })
}

#[cfg(test)]
mod tests {
    use super::{Order, is_row_major, order_of};

    #[test]
    fn orders_in_which_no_two_indices_have_one_element() {
        fn order<const N: usize>(strides: [usize; N], reach: usize) -> Option<Order<N>> {
            Some(Order { strides, reach })
        }
        assert_eq!(order_of(&[2, 3], &[1, 2], None), order([1, 2], 6));
        assert_eq!(order_of(&[2, 3], &[4, 1], None), order([4, 1], 7));
        assert_eq!(order_of(&[2, 1, 3], &[6, -5, 2], None), order([6, 1, 2], 11));
        assert_eq!(order_of(&[2, 3], &[3, 12, 1], Some(3)), order([1, 4], 10));
        assert_eq!(order_of(&[4, 3], &[2, 1], None), None, "overlapping rows");
        assert_eq!(order_of(&[4, 3], &[-3, 1], None), None, "reversed");
        assert_eq!(order_of(&[2, 3], &[4, 12, 1], Some(3)), None, "between elements");
        assert_eq!(order_of(&[2, 3], &[3, 12, 2], Some(3)), None, "gaps in elements");
    }

    #[test]
    fn strides_of_row_major_tensors() {
        assert!(is_row_major(&[], &[]));
        assert!(is_row_major(&[2, 3, 4], &[12, 4, 1]));
        assert!(is_row_major(&[1, 3, 1], &[99, 1, -5]), "axes with one element");
        assert!(is_row_major(&[2, 0], &[7, 7]), "no elements");
        assert!(!is_row_major(&[3, 2], &[1, 3]), "column-major");
        assert!(!is_row_major(&[3, 2], &[4, 1]), "gaps");
        assert!(!is_row_major(&[3], &[-1]), "reversed");
        assert!(!is_row_major(&[3], &[0]), "broadcast");
    }
}
