//! [`BodyLaunch`]: the data that all loops of a launch of a CPU body share.

use super::{failure::Errors, println::PrinterGuard, run::Run};
use crate::dsl::LoopInt;

/// What a launch of a CPU body checks and prints, and where its errors go.
pub(super) struct BodyLaunch<'a> {
    /// The words of the loops' interiors, if the launch checks anything.
    pub(super) interiors: &'a [u64],
    pub(super) run: Run,
    pub(super) errors: Errors,
}

/// The position of a loop among those of the kernel.
#[derive(Clone, Copy, Debug)]
pub struct LoopAt {
    /// The loop's number.
    pub(super) number: usize,
    /// Where its interior begins among the words of all interiors; none for a loop over thread blocks.
    pub(super) interior: Option<usize>,
}

impl LoopAt {
    /// The loop with this number, and where the words of its interior begin.
    #[inline(always)]
    #[must_use]
    pub const fn range(number: usize, interior: usize) -> Self {
        Self { number, interior: Some(interior) }
    }

    /// The loop over thread blocks with this number.
    #[inline(always)]
    #[must_use]
    pub const fn blocks(number: usize) -> Self {
        Self { number, interior: None }
    }
}

/// The iterations of a loop that a launch has proven.
#[derive(Clone, Copy)]
pub(super) enum Proven<I, const N: usize> {
    All,
    Within {
        /// The proven iterations: a box.
        interior: [(I, I); N],
        /// Whether the others are inspected before they run.
        inspects: bool,
    },
}

impl BodyLaunch<'_> {
    /// Makes this thread ready to print outside of iterations, where the kernel prints.
    pub(super) fn printer(&self) -> Option<PrinterGuard> {
        self.run.prints.then(|| self.errors.printer().enter())
    }

    /// The iterations of a loop that are proven.
    pub(super) fn proven<I: LoopInt, const N: usize>(&self, at: LoopAt) -> Proven<I, N> {
        if !self.run.checked.has_loop(at.number) {
            return Proven::All;
        }
        let words = at.interior.and_then(|at| self.interiors.get(at..at + 2 * N));
        let interior = std::array::from_fn(|k| match words {
            Some(words) => (I::from_bits64(words[2 * k]), I::from_bits64(words[2 * k + 1])),
            None => (I::ZERO, I::ZERO),
        });
        Proven::Within { interior, inspects: self.run.checked.inspects(at.number) }
    }
}
