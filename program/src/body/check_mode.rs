//! [`CheckMode`]: whether the indices of tensors are checked.

use std::{panic::Location, ptr::NonNull};

use super::{
    failure::Errors,
    index::{along_axes, is_inside, outside},
};

/// How the current statements or iterations access tensors.
#[derive(Clone, Copy, Debug)]
pub enum CheckMode {
    /// Every index is known to be in range: nothing is checked.
    Unchecked,
    /// Every index is checked. If it is out of range, a read returns zero, a write does nothing, and both record an
    /// error.
    Checked,
    /// The indices are computed and checked, and nothing is written: see [`Inspection`].
    Inspect(Inspection),
    /// As [`Inspect`](Self::Inspect), where every index is known to be in range.
    Inspected,
}

/// Whether an inspection has found an index that is out of range.
///
/// An inspection runs iterations for their indices only: reads of elements return their values, writes and atomic
/// operations do nothing, and errors are not recorded. LLVM removes what the indices do not depend on. If an inspection
/// finds nothing, the same iterations can run unchecked, provided that they do not write what their indices depend on.
#[derive(Clone, Copy, Debug)]
pub struct Inspection(NonNull<i64>);

impl CheckMode {
    /// [`Checked`](Self::Checked), unless the accesses are proven.
    #[inline(always)]
    pub(super) fn checked_unless(proven: bool) -> Self {
        if proven { Self::Unchecked } else { Self::Checked }
    }

    /// Whether nothing is checked.
    #[inline(always)]
    #[must_use]
    pub fn is_unchecked(self) -> bool {
        matches!(self, Self::Unchecked)
    }

    /// Whether this is an inspection.
    #[inline(always)]
    pub(super) fn is_inspection(self) -> bool {
        matches!(self, Self::Inspect(_) | Self::Inspected)
    }

    /// Whether an element with this index is accessed. Where an index that is out of range is an error, records it.
    #[inline(always)]
    pub(super) fn allows<const N: usize>(
        self,
        index: &[usize; N],
        shape: &[usize; N],
        errors: Errors,
        caller: &Location<'_>,
    ) -> bool {
        match self {
            Self::Unchecked | Self::Inspected => {
                debug_assert!(is_inside(index, shape), "a proven index is within the extents");
                true
            }
            Self::Checked => {
                let inside = is_inside(index, shape);
                if !inside {
                    errors.report_index(index, shape, caller);
                }
                inside
            }
            Self::Inspect(inspection) => {
                let mut wrong = 0;
                along_axes::<N>(|axis| wrong |= outside(index[axis], shape[axis]));
                inspection.record(wrong);
                wrong >= 0
            }
        }
    }
}

impl Inspection {
    /// Runs `inspect` with a new inspection, and returns whether all indices were in range.
    #[inline(always)]
    pub(super) fn run(inspect: impl FnOnce(Self)) -> bool {
        let mut found = 0;
        inspect(Self(NonNull::from(&mut found)));
        found >= 0
    }

    #[inline(always)]
    pub(super) fn record(self, wrong: i64) {
        // SAFETY: `run` keeps the variable until the iterations, which run on its thread, have ended.
        unsafe { *self.0.as_ptr() |= wrong }
    }
}
