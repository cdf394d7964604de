//! The accesses of a sample launch, by task and `stream_parallel` block.

use std::collections::HashMap;

use quadrants_ir::races::{AffineForm, Space, Var, VarKind};

use super::value::Value;
use crate::syntax::Span;

/// A `stream_parallel` block, or the whole kernel if it has none.
pub(super) struct Part {
    pub(super) tasks: Vec<Task>,
    pub(super) span: Span,
}

/// A parallel loop, or serial code.
pub(super) struct Task {
    pub(super) space: Space,
    /// The first and last value of each parallel loop variable; empty for serial code.
    pub(super) dims: Vec<(i128, i128)>,
    /// The first and last value of each inner loop variable.
    pub(super) inner: Vec<(i128, i128)>,
    /// The names of the loop variables.
    pub(super) names: Vec<String>,
    pub(super) accesses: Vec<Access>,
    /// The variables of `space` for unknown values that are the same in all iterations.
    fixed: HashMap<u32, usize>,
    /// The variables of `space` that have the same value in all threads of a block.
    pub(super) block_vars: Vec<usize>,
}

/// An access to a tensor or a shared array.
pub(super) struct Access {
    pub(super) tensor: String,
    /// The path of fields from the element to the accessed part.
    pub(super) fields: Vec<String>,
    pub(super) kind: AccessKind,
    /// The element's indices, then those inside the element.
    pub(super) index: Vec<Value>,
    /// The affine forms of the indices, where they have one.
    pub(super) forms: Vec<Option<AffineForm>>,
    pub(super) span: Span,
    pub(super) text: String,
    /// Whether it is inside `unsafe`, which asserts that it does not race.
    pub(super) asserted: bool,
    /// The *pins*: loop variables that an enclosing `if` compares equal to a constant, as variables of the space, and
    /// the constants.
    pub(super) pins: Vec<(usize, i128)>,
    /// For a shared array: the phase of the access. Barriers separate phases.
    pub(super) phase: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum AccessKind {
    Read,
    Write,
    Atomic,
    /// An atomic addition of one.
    Count,
}

impl AccessKind {
    pub(super) const fn is_write(self) -> bool {
        !matches!(self, Self::Read)
    }

    pub(super) const fn is_atomic(self) -> bool {
        matches!(self, Self::Atomic | Self::Count)
    }

    /// Whether two accesses of these kinds to the same element do not conflict.
    pub(super) const fn may_overlap(self, other: Self) -> bool {
        !self.is_write() && !other.is_write() || self.is_atomic() && other.is_atomic()
    }

    pub(super) const fn verb(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Atomic | Self::Count => "atomically combine into",
        }
    }

    pub(super) const fn verb_of_one(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::Write => "writes",
            Self::Atomic | Self::Count => "atomically combines into",
        }
    }
}

impl Access {
    /// The forms of two accesses of one loop. A variable that both accesses pin to the same constant counts as an
    /// additional index.
    pub(super) fn forms_in_loop(pair: [&Self; 2]) -> [Vec<Option<AffineForm>>; 2] {
        let common = |pin: &&(usize, i128)| pair[1].pins.contains(pin);
        let pinned: Vec<_> = pair[0].pins.iter().filter(common).collect();
        pair.map(|access| {
            let additional = pinned.iter().map(|(at, _)| Some(AffineForm::var(*at)));
            access.forms.iter().copied().chain(additional).collect()
        })
    }

    pub(super) fn conflicts(&self, other: &Self) -> bool {
        let same = same_tensor(&self.tensor, &other.tensor)
            && overlap(&self.fields, &other.fields)
            && self.phase == other.phase
            && !self.asserted
            && !other.asserted;
        same && !self.kind.may_overlap(other.kind)
    }

    /// Whether an index is known only at launch.
    pub(super) fn depends_on_launch(&self) -> bool {
        self.index.contains(&Value::AtLaunch)
    }
}

impl Task {
    pub(super) fn new() -> Self {
        Self {
            space: Space::new(),
            dims: Vec::new(),
            inner: Vec::new(),
            names: Vec::new(),
            accesses: Vec::new(),
            fixed: HashMap::new(),
            block_vars: Vec::new(),
        }
    }

    pub(super) fn loops(&self) -> impl Iterator<Item = &(i128, i128)> {
        self.dims.iter().chain(&self.inner)
    }

    /// The form of an unknown value that is the same in all iterations.
    pub(super) fn fixed(&mut self, number: u32) -> Option<AffineForm> {
        let var = match self.fixed.get(&number) {
            Some(var) => *var,
            None => {
                let var = self.space.push(Var::new(VarKind::Fixed, 0, (1 << 64) - 1))?;
                self.fixed.insert(number, var);
                var
            }
        };
        Some(AffineForm::var(var))
    }
}

/// Whether two tensors are the same, or one is a struct of tensors that contains the other.
pub(super) fn same_tensor(a: &str, b: &str) -> bool {
    let contains = |group: &str, tensor: &str| {
        tensor.strip_prefix(group).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    contains(a, b) || contains(b, a)
}

/// Whether one of two parts of an element, given by their field paths, contains the other.
pub(super) fn overlap(a: &[String], b: &[String]) -> bool {
    a.iter().zip(b).all(|(a, b)| a == b)
}
