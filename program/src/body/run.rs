//! [`Run`]: how a CPU body runs, besides its arguments.

use quadrants_ir::{
    Offloaded, TaskKind,
    abi::{Form, Forms},
    schedule::can_inspect,
};

/// What a run of a body needs besides its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The word of the temporaries for the kernel's result.
    pub result_word: usize,
    /// Whether the kernel prints.
    pub prints: bool,
    /// What checks its accesses.
    pub checked: CheckedParts,
}

/// The parts of a kernel that check their accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CheckedParts {
    /// A bit per loop, by its number; all loops from number 63 on share the last bit.
    loops: u64,
    /// A bit per checked loop below number 63: whether its indices are checked some iterations at a time, before they
    /// run.
    inspected: u64,
    /// Whether the statements outside of loops do.
    pub(super) serial: bool,
}

impl CheckedParts {
    /// No part.
    pub const NONE: Self = Self { loops: 0, inspected: 0, serial: false };
    /// All parts.
    pub const ALL: Self = Self { loops: u64::MAX, inspected: 0, serial: true };

    /// The parts that consist of the tasks in the checked form. Statements outside of loops are one part.
    pub(crate) fn of(kernel: &Offloaded, forms: Forms) -> Self {
        let (mut parts, mut number) = (Self::NONE, 0);
        for (id, task) in kernel.tasks() {
            let is_checked = forms.of(id) == Form::Checked;
            match task.kind {
                TaskKind::Serial => parts.serial |= is_checked,
                TaskKind::RangeFor { .. } | TaskKind::BlockFor { .. } => {
                    parts.loops |= u64::from(is_checked) << Self::bit(number);
                    let inspects = is_checked && number < 63 && can_inspect(kernel, id);
                    parts.inspected |= u64::from(inspects) << Self::bit(number);
                    number += 1;
                }
            }
        }
        parts
    }

    fn bit(number: usize) -> usize {
        number.min(63)
    }

    #[inline(always)]
    pub(super) fn inspects(self, number: usize) -> bool {
        self.inspected >> Self::bit(number) & 1 != 0
    }

    #[inline(always)]
    pub(super) fn has_loop(self, number: usize) -> bool {
        self.loops >> Self::bit(number) & 1 != 0
    }
}
