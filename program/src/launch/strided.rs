//! Launches with tensors that are not contiguous, on devices that compile kernels: a kernel has a variant for each set
//! of parameters that get such tensors, which takes their strides in its argument block.

use crate::{Result, arguments::ArgList, kernel::kernel_def::KernelDef};

/// The variant of a kernel for these arguments, and the arguments with the strides of those tensors.
pub(super) fn with_strides<'a, 'k>(
    def: &'k KernelDef,
    args: &ArgList<'a>,
) -> Result<(&'k KernelDef, ArgList<'a>)> {
    let mut with_strides = ArgList::new();
    args.iter().for_each(|arg| with_strides.push(arg));
    let strided: Vec<bool> = with_strides.codes.iter().map(|code| code.is_strided()).collect();
    let def = if strided.contains(&true) { def.strided(&strided)? } else { def };
    Ok((def, with_strides))
}
