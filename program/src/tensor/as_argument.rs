//! Tensors and slices as kernel arguments.

use quadrants_ir::ParamKind;

use super::Elements;
use crate::{
    Distinct, Int, KernelValue, Slice, SliceMut, Tensor,
    arguments::{Arg, ArgList, TensorArg, TensorMemory},
    launcher::param_code::ParamCode,
    state::device_tensor::HostElements,
    value::layout::StorageLayout,
};

impl<'a, T: KernelValue, const N: usize> Arg<'a> for &'a Tensor<T, N> {
    #[inline(always)]
    fn push_to(self, args: &mut ArgList<'a>) {
        push_tensor(self, ArgumentAccess::Read, args);
    }
}

impl<'a, T: KernelValue, const N: usize> Arg<'a> for &'a mut Tensor<T, N> {
    #[inline(always)]
    fn push_to(self, args: &mut ArgList<'a>) {
        push_tensor(self, ArgumentAccess::Write, args);
    }
}

impl<'a, T: KernelValue, const N: usize> Arg<'a> for &'a Slice<'_, T, N> {
    #[inline(always)]
    fn push_to(self, args: &mut ArgList<'a>) {
        push_tensor(self, ArgumentAccess::Read, args);
    }
}

impl<'a, T: KernelValue, const N: usize> Arg<'a> for &'a mut SliceMut<'_, T, N> {
    #[inline(always)]
    fn push_to(self, args: &mut ArgList<'a>) {
        push_tensor(self, ArgumentAccess::Write, args);
    }
}

impl<'a, T: Int, const N: usize> Arg<'a> for &'a Distinct<T, N> {
    #[inline(always)]
    fn push_to(self, args: &mut ArgList<'a>) {
        push_tensor(self, ArgumentAccess::ReadDistinct, args);
    }
}

/// What is known of a tensor argument by its type.
#[derive(Clone, Copy, PartialEq)]
enum ArgumentAccess {
    Read,
    ReadDistinct,
    Write,
}

/// Appends a tensor; a tensor of structs as its components.
#[inline(always)]
fn push_tensor<'a, T: KernelValue, const N: usize>(
    tensor: &'a Tensor<T, N>,
    access: ArgumentAccess,
    args: &mut ArgList<'a>,
) {
    let (writable, distinct) =
        (access == ArgumentAccess::Write, access == ArgumentAccess::ReadDistinct);
    // Kernels have at most `MAX_RANK` dimensions, so that larger ranks may saturate.
    let rank = const { if N > u8::MAX as usize { u8::MAX } else { N as u8 } };
    let (elements, shape) = tensor.elements();
    // One push for both cases, so that the compiler keeps track of the list's length.
    let (memory, storage, address): (TensorMemory<'a>, &'a StorageLayout, u64) = match elements {
        Elements::Device(device_tensor) => {
            args.add_device_tensor(device_tensor);
            let address = device_tensor.address().raw();
            (TensorMemory::Device(device_tensor), &device_tensor.storage, address)
        }
        Elements::Host(array) => {
            args.add_host_array();
            (TensorMemory::Host(array), array.storage(), 0)
        }
    };
    match const { T::LAYOUT.scalar() } {
        Some(elem) => {
            let code = ParamCode::of(ParamKind::Tensor { elem, rank, writable, distinct });
            args.push_words(code, TensorArg { memory, shape, component: None }, address);
        }
        None => args.push_components(memory, storage, shape, rank, writable),
    }
}
