//! Operations on a stream that are not launches of kernels, such as copies between tensors. They are checked, ordered
//! and stamped as launches are.

use std::panic::Location;

use parking_lot::Mutex;
use smallvec::SmallVec;

use super::{
    arguments::{TensorArg, TensorMemory, any_shared},
    context::TensorParamUse,
    stamp_guard::StampGuard,
};
use crate::{
    Result,
    hazards::order::LaunchUses,
    region::active as region,
    state::ProgramShared,
    stream::{mode::is_observed, state::StreamState},
    tensor::device_tensor::DeviceTensor,
};

/// The numbers of operations begin here, above those of kernels.
const FIRST_ID: u32 = 1 << 24;

/// A tensor of an operation: how it is used, and the name that hazards give it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OperationUse {
    pub(crate) name: &'static str,
    /// Its position among those with the name; none where there is only one.
    pub(crate) position: Option<usize>,
    pub(crate) writes: bool,
}

/// The names of operations and of their tensors, by the numbers that hazards have instead.
#[derive(Debug, Default)]
pub(crate) struct OperationNames {
    operations: Mutex<Vec<&'static str>>,
    uses: Mutex<Vec<OperationUse>>,
}

/// The tensors of an operation: an entry for each component.
#[derive(Debug, Default)]
pub(crate) struct OperationTensors<'a> {
    tensors: SmallVec<[TensorArg<'a>; 4]>,
    uses: SmallVec<[OperationUse; 4]>,
    /// As launches have them, without their numbers.
    unnamed: SmallVec<[TensorParamUse; 4]>,
}

impl OperationUse {
    pub(crate) const fn reads(name: &'static str) -> Self {
        Self { name, position: None, writes: false }
    }

    pub(crate) const fn writes(name: &'static str) -> Self {
        Self { name, position: None, writes: true }
    }

    fn param(self, index: usize) -> TensorParamUse {
        TensorParamUse { index, writable: self.writes, writes: Some(self.writes) }
    }
}

impl OperationNames {
    /// The number of an operation.
    pub(crate) fn id(&self, name: &'static str) -> u32 {
        FIRST_ID + number_of(&self.operations, name) as u32
    }

    /// The numbers of parameters, as launches have them.
    pub(crate) fn params(
        &self,
        uses: impl IntoIterator<Item = OperationUse>,
    ) -> SmallVec<[TensorParamUse; 4]> {
        uses.into_iter().map(|of| of.param(number_of(&self.uses, of))).collect()
    }

    /// The names of an operation and of one of its tensors; none where the number is that of a kernel.
    pub(crate) fn names(&self, id: u32, parameter: usize) -> Option<(String, String)> {
        let operation = self.operations.lock().get(id.checked_sub(FIRST_ID)? as usize).copied()?;
        let tensor = self.uses.lock().get(parameter).copied();
        let tensor = tensor.map(|OperationUse { name, position, .. }| match position {
            Some(position) => format!("{name}[{position}]"),
            None => name.to_owned(),
        });
        Some((operation.to_owned(), tensor.unwrap_or_default()))
    }
}

/// The position of an item, which is added if it is new.
fn number_of<T: PartialEq>(known: &Mutex<Vec<T>>, item: T) -> usize {
    let mut known = known.lock();
    known.iter().position(|other| *other == item).unwrap_or_else(|| {
        known.push(item);
        known.len() - 1
    })
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

impl ProgramShared {
    /// Does what a launch does around its driver calls: returns the errors of earlier kernels of the stream, checks for
    /// hazards, calls `enqueue`, and stamps the tensors, also where `enqueue` fails or panics. The first fills of the
    /// tensors are ordered before.
    ///
    /// # Errors
    /// Those of earlier kernels, hazards, and those of `enqueue`.
    pub(crate) fn submit_operation<R>(
        &self,
        stream: &StreamState,
        name: &'static str,
        tensors: &OperationTensors<'_>,
        at: &'static Location<'static>,
        enqueue: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let OperationTensors { tensors, uses, unnamed } = tensors;
        self.context.check()?;
        stream.check()?;
        let named;
        let (kernel, params) = if self.hazards.is_some() || is_observed() {
            named = self.operation_names.params(uses.iter().copied());
            (self.operation_names.id(name), &*named)
        } else {
            // Nothing asks for names.
            (FIRST_ID, &**unnamed)
        };
        let launch = LaunchUses { kernel, params, tensors, at };
        region::check(self, &launch, stream)?;
        let tracked = self.hazards.as_ref().map(|tracker| (tracker, launch));
        if let Some((tracker, launch)) = &tracked {
            self.check_launch(tracker, launch, stream)?;
        }
        let guard = StampGuard::new(params, tensors, stream, tracked);
        let exclusion = self.host_exclusion.lock(|| any_shared(tensors));
        let enqueued = enqueue();
        drop(exclusion);
        guard.finish();
        enqueued
    }
}
