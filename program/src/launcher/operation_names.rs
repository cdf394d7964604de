//! The names of operations on a stream that are not launches of kernels, for hazards.

use parking_lot::Mutex;
use smallvec::SmallVec;

use super::kernel_context::TensorParamUse;
use crate::kernel::kernel_def::KERNEL_BITS;

/// The numbers of operations begin here, above those of kernels.
pub(crate) const FIRST_ID: u32 = 1 << KERNEL_BITS;

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

impl OperationUse {
    pub(crate) const fn reads(name: &'static str) -> Self {
        Self { name, position: None, writes: false }
    }

    pub(crate) const fn writes(name: &'static str) -> Self {
        Self { name, position: None, writes: true }
    }

    pub(crate) fn param(self, index: usize) -> TensorParamUse {
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
