//! Arguments that a launch works on as copies: host arrays, and on the CPU tensors that are not contiguous. A launch
//! copies them into device memory of its own, and copies back what it may have written.
//!
//! A CPU body is compiled once, for contiguous tensors. It runs on the thread that launches it, so the copies exist
//! only during the launch, and nothing uses the elements meanwhile that could not race with the launch itself. Only the
//! elements of the tensor itself are copied back: those between them may be used by other launches.

use std::{ptr, sync::Arc};

use quadrants_rhi::ImageKind;
use quadrants_runtime::{self as rt, Buffer};
use smallvec::SmallVec;

use crate::{
    Error, Result,
    arguments::{ArgKind, ArgList, TensorArg, TensorMemory, any_shared},
    state::{
        ProgramInner, ProgramShared,
        device_tensor::{DeviceTensor, HostElements},
    },
    value::{
        layout::{CopyRange, count},
        strided::Runs,
    },
};

/// Whether launches of a program work on copies of tensors that are not contiguous.
pub(super) fn copies_strided(shared: &ProgramShared) -> bool {
    shared.loader.image_kind() == ImageKind::Native
}

/// What a copy was made of.
#[derive(Clone, Copy)]
enum CopySource<'a> {
    Host(&'a dyn HostElements),
    Device(&'a DeviceTensor),
}

impl<'a> CopySource<'a> {
    /// What must be copied for an argument, where it must be.
    fn of(tensor: &TensorArg<'a>, program: &ProgramShared) -> Option<Self> {
        match tensor.memory {
            TensorMemory::Host(array) => Some(Self::Host(array)),
            TensorMemory::Device(of) if of.needs_strides() && copies_strided(program) => {
                Some(Self::Device(of))
            }
            TensorMemory::Device(_) => None,
        }
    }

    fn is(self, other: Self) -> bool {
        match (self, other) {
            (Self::Host(a), Self::Host(b)) => ptr::addr_eq(a, b),
            (Self::Device(a), Self::Device(b)) => ptr::eq(a, b),
            _ => false,
        }
    }
}

/// Calls `launch` with copies in place of the arguments that must be copied, and copies back those that may be written.
pub(super) fn launch_with_copies<R>(
    program: &Arc<ProgramInner>,
    args: &ArgList<'_>,
    stream: &rt::Stream,
    launch: impl FnOnce(&mut ArgList<'_>) -> Result<R>,
) -> Result<R> {
    let shared = &*program.shared;
    // Until copies are written back, so that no graph uses the elements meanwhile.
    let copies_tensors = |tensor: &TensorArg<'_>| {
        matches!(CopySource::of(tensor, shared), Some(CopySource::Device(_)))
    };
    let uses_shared = || args.tensors.iter().any(copies_tensors) && any_shared(&args.tensors);
    let _exclusion = shared.host_exclusion.lock(uses_shared);
    // One copy per tensor: the components of a tensor of structs follow each other.
    let mut copies: SmallVec<[(CopySource<'_>, bool, DeviceTensor); 4]> = SmallVec::new();
    let mut copy_indices: SmallVec<[Option<usize>; 8]> = SmallVec::new();
    for arg in args.iter() {
        let ArgKind::Tensor(code, tensor) = arg else { continue };
        let Some(original) = CopySource::of(&tensor, shared) else {
            copy_indices.push(None);
            continue;
        };
        if !copies.last().is_some_and(|(last, ..)| last.is(original)) {
            let copy = match original {
                CopySource::Host(array) => {
                    array.check_address()?;
                    array.to_device(program, stream)?
                }
                CopySource::Device(of) => of.to_contiguous(count(tensor.shape), stream)?,
            };
            copies.push((original, code.is_writable(), copy));
        }
        copy_indices.push(Some(copies.len() - 1));
    }
    let mut on_device = ArgList::new();
    let mut next = copy_indices.iter();
    for mut arg in args.iter() {
        if let ArgKind::Tensor(_, tensor) = &mut arg
            && let Some((original, _, copy)) = next.next().and_then(|at| copies.get((*at)?))
        {
            tensor.memory = TensorMemory::Device(copy);
            // A copy of a host array has the array's layout.
            if let (CopySource::Device(of), Some(component)) = (original, tensor.component) {
                let at = of.storage.components.iter().position(|one| ptr::eq(one, component));
                tensor.component = at.and_then(|at| copy.storage.components.get(at));
            }
        }
        on_device.push(arg);
    }
    // Checks and stamps are for the tensors themselves. The argument block has the addresses of the copies.
    for ((tensor, own), copied) in
        on_device.tensors.iter_mut().zip(&*args.tensors).zip(&copy_indices)
    {
        if copied.is_some() && own.device_tensor().is_some() {
            *tensor = *own;
        }
    }
    let result = launch(&mut on_device);
    let ran = matches!(&result, Ok(_) | Err(Error::Kernel(_)));
    let mut copied_back = Ok(());
    for (original, writable, copy) in &copies {
        let copied = match original {
            // SAFETY: a writable argument is borrowed by `&mut`.
            CopySource::Host(array) if *writable && result.is_ok() => unsafe {
                array.copy_back(copy)
            },
            // As for a tensor that the kernel wrote itself, what it wrote before an error stays.
            CopySource::Device(of) if *writable && ran => of.copy_contiguous(copy, stream),
            _ => Ok(()),
        };
        // The others are copied back all the same.
        copied_back = copied_back.and(copied);
    }
    result.and_then(|result| copied_back.map(|()| result))
}

impl DeviceTensor {
    /// A contiguous copy in the order of `stream`, on which alone it is used. This has `count` elements.
    fn to_contiguous(&self, count: usize, stream: &rt::Stream) -> Result<Self> {
        let storage = self.storage.resized(count);
        let buffer =
            Buffer::zeroed_async(&self.program.shared.context, storage.bytes, Some(stream))?;
        let copy = Self::new(buffer, storage, &self.program);
        copy.order_fill_before(stream)?;
        copy.copy_runs(self, count, stream)?;
        Ok(copy)
    }

    /// Overwrites the elements by those of a [copy](Self::to_contiguous), in the order of `stream`.
    fn copy_contiguous(&self, copy: &Self, stream: &rt::Stream) -> Result<()> {
        self.copy_runs(copy, copy.storage.count(), stream)
    }

    fn copy_runs(&self, from: &Self, count: usize, stream: &rt::Stream) -> Result<()> {
        let (runs, from_runs): (Runs, Runs) = (self.runs(count), from.runs(count));
        let spans = self.storage.copies(&runs, &from.storage, &from_runs);
        let context = &self.program.shared.context;
        let (dst, src) = (self.buffer.address(), from.buffer.address());
        let spans = spans.unwrap_or_default();
        let ranges = spans.iter().map(CopyRange::within_device);
        // SAFETY: both buffers have the bytes, and one of them belongs to the launch alone. The elements of the other
        // are borrowed by the launch: by `&mut` where they are written; and no two elements of a tensor are one.
        Ok(unsafe { context.copy_ranges(dst, src, ranges, stream.handle()) }?)
    }
}
