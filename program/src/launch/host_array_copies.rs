//! Host arrays as arguments: a launch copies them into device memory of its own, and copies back what it may have
//! written.

use std::sync::Arc;

use quadrants_runtime as rt;
use smallvec::SmallVec;

use crate::{
    Result,
    arguments::{ArgKind, ArgList, TensorArg, TensorMemory},
    state::{
        ProgramInner,
        device_tensor::{DeviceTensor, HostElements},
    },
};

/// Calls `launch` with device copies of the host arrays among the arguments, and copies back those that may be written.
pub(crate) fn launch_with_copies<R>(
    program: &Arc<ProgramInner>,
    args: &ArgList<'_>,
    stream: &rt::Stream,
    launch: impl FnOnce(&mut ArgList<'_>) -> Result<R>,
) -> Result<R> {
    // One copy per array: the components of a tensor of structs follow each other.
    let mut copies: SmallVec<[(&dyn HostElements, bool, DeviceTensor); 4]> = SmallVec::new();
    let mut copy_indices: SmallVec<[usize; 8]> = SmallVec::new();
    for arg in args.iter() {
        if let ArgKind::Tensor(code, TensorArg { memory: TensorMemory::Host(array), .. }) = arg {
            if !copies.last().is_some_and(|(last, ..)| std::ptr::addr_eq(*last, array)) {
                array.check_address()?;
                copies.push((array, code.is_writable(), array.to_device(program, stream)?));
            }
            copy_indices.push(copies.len() - 1);
        }
    }
    let mut copy_indices = copy_indices.into_iter();
    let mut on_device = ArgList::new();
    for mut arg in args.iter() {
        if let ArgKind::Tensor(_, TensorArg { memory: memory @ TensorMemory::Host(_), .. }) =
            &mut arg
        {
            *memory = TensorMemory::Device(&copies[copy_indices.next().unwrap_or_default()].2);
        }
        on_device.push(arg);
    }
    let result = launch(&mut on_device)?;
    for (array, writable, copy) in &copies {
        if *writable {
            // SAFETY: a writable argument is borrowed by `&mut`.
            unsafe { array.copy_back(copy)? };
        }
    }
    Ok(result)
}
