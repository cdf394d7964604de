//! What one sampled launch touches: its parts, their tasks, and the accesses of these.

use std::collections::HashMap;

use quadrants_ir::races::{AffineForm, Space, Var, VarKind};

use super::value::Value;
use crate::syntax::Span;

/// A `stream_parallel` block, or all of a kernel that has none.
pub(super) struct Part {
    pub(super) tasks: Vec<Task>,
    /// The block's place.
    pub(super) span: Span,
}

/// A parallel loop, or a serial piece.
pub(super) struct Task {
    pub(super) space: Space,
    /// The first and the last value of each loop variable; none of a serial piece.
    pub(super) dims: Vec<(i128, i128)>,
    /// The same of the loops in it.
    pub(super) inner: Vec<(i128, i128)>,
    /// The names of the loop variables.
    pub(super) names: Vec<String>,
    pub(super) accesses: Vec<Access>,
    /// The places in `space` of what is unknown and the same in all iterations.
    fixed: HashMap<u32, usize>,
    /// The places in `space` of what all threads of a block have the same values of.
    pub(super) of_block: Vec<usize>,
}

/// An access to a tensor.
pub(super) struct Access {
    pub(super) tensor: String,
    /// The fields from the element to the part of it that is touched.
    pub(super) fields: Vec<String>,
    pub(super) kind: AccessKind,
    /// The element's indices, then those on the way to the part.
    pub(super) index: Vec<Value>,
    /// The indices that have forms.
    pub(super) forms: Vec<Option<AffineForm>>,
    pub(super) span: Span,
    /// As its author wrote it.
    pub(super) text: String,
    /// Whether `unsafe` asserts that it races with nothing.
    pub(super) asserted: bool,
    /// The loop variables that a condition compares equal with a number, by their places in the space, and the number.
    pub(super) pins: Vec<(usize, i128)>,
    /// Of a shared array: the phase that it stands in, which a barrier separates from others.
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

    /// Whether two accesses of these kinds may touch one element at a time.
    pub(super) const fn may_meet(self, other: Self) -> bool {
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
    pub(super) fn forms(&self) -> &[Option<AffineForm>] {
        &self.forms
    }

    /// The forms of two accesses of one loop. A variable that conditions pin to one number in both is as
    /// good as a further index.
    pub(super) fn forms_in_loop(pair: [&Self; 2]) -> [Vec<Option<AffineForm>>; 2] {
        let common = |pin: &&(usize, i128)| pair[1].pins.contains(pin);
        let pinned: Vec<_> = pair[0].pins.iter().filter(common).collect();
        pair.map(|access| {
            let further = pinned.iter().map(|(at, _)| Some(AffineForm::var(*at)));
            access.forms.iter().copied().chain(further).collect()
        })
    }

    pub(super) fn conflicts(&self, other: &Self) -> bool {
        let same = is_or_has(&self.tensor, &other.tensor)
            && overlap(&self.fields, &other.fields)
            && self.phase == other.phase
            && !self.asserted
            && !other.asserted;
        same && !self.kind.may_meet(other.kind)
    }

    /// Whether only a launch knows what it is about.
    pub(super) fn waits(&self) -> bool {
        self.index.contains(&Value::Later)
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
            of_block: Vec::new(),
        }
    }

    /// The ranges of all its loops.
    pub(super) fn loops(&self) -> impl Iterator<Item = &(i128, i128)> {
        self.dims.iter().chain(&self.inner)
    }

    /// The form of a value that is unknown and the same in all iterations.
    pub(super) fn fixed(&mut self, number: u32) -> Option<AffineForm> {
        let at = match self.fixed.get(&number) {
            Some(at) => *at,
            None => {
                let at = self.space.push(Var::new(VarKind::Fixed, 0, (1 << 64) - 1))?;
                self.fixed.insert(number, at);
                at
            }
        };
        Some(AffineForm::var(at))
    }
}

/// Whether two tensors are the same, or one of them is a struct of tensors that has the other.
pub(super) fn is_or_has(a: &str, b: &str) -> bool {
    let has = |group: &str, tensor: &str| {
        tensor.strip_prefix(group).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    has(a, b) || has(b, a)
}

/// Whether one of two parts of an element, each given by its fields, is within the other.
pub(super) fn overlap(a: &[String], b: &[String]) -> bool {
    a.iter().zip(b).all(|(a, b)| a == b)
}
