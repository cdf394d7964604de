//! [`OperationTensors`]: the tensors of an operation on a stream that is not a launch of a kernel.

use smallvec::SmallVec;

use super::{TensorArg, TensorMemory};
use crate::{
    launcher::{
        kernel_context::TensorParamUse,
        operation_names::{OperationNames, OperationUse},
    },
    state::device_tensor::DeviceTensor,
};

/// The tensors of an operation: an entry for each component.
#[derive(Debug, Default)]
pub(crate) struct OperationTensors<'a> {
    pub(crate) tensors: SmallVec<[TensorArg<'a>; 4]>,
    pub(crate) uses: SmallVec<[OperationUse; 4]>,
    /// As launches have them, without their numbers.
    pub(crate) unnamed: SmallVec<[TensorParamUse; 4]>,
}

impl OperationTensors<'_> {
    pub(crate) fn tensors(&self) -> &[TensorArg<'_>] {
        &self.tensors
    }

    /// Whether each of them is written.
    pub(crate) fn writes(&self) -> impl Iterator<Item = bool> + '_ {
        self.uses.iter().map(|of| of.writes)
    }

    /// The number of the operation `name`, and those of its tensors.
    pub(crate) fn named(
        &self,
        name: &'static str,
        names: &OperationNames,
    ) -> (u32, SmallVec<[TensorParamUse; 4]>) {
        (names.id(name), names.params(self.uses.iter().copied()))
    }
}

impl<'a> OperationTensors<'a> {
    /// Adds a tensor with this shape, or one with these numbers of elements.
    #[inline]
    pub(crate) fn push(
        &mut self,
        device_tensor: &'a DeviceTensor,
        shape: &'a [usize],
        of: OperationUse,
    ) {
        let memory = TensorMemory::Device(device_tensor);
        for component in &device_tensor.storage.components {
            self.tensors.push(TensorArg { memory, shape, component: Some(component) });
            self.uses.push(of);
            self.unnamed.push(of.param(0));
        }
    }
}
