//! The proof that a task's accesses stay inside their tensors: a small program over intervals, made
//! once per task, evaluated per launch.
//!
//! Only what indices, the bounds of inner loops and the conditions of branches depend on is
//! computed. Locals stand for their values, those that change in a loop and elements for anything of
//! their type. Within a branch, and behind one that is left early, its condition narrows what it
//! compares ([`guard`]). A branch that the launch decides, and a loop that it makes empty, are skipped:
//! what does not run needs no proof.

mod build;
mod guard;

use smallvec::SmallVec;

use super::{Extents, interval::Interval};
use crate::{
    BinaryOp, Const, DivRemOp, MathFn, Offloaded, ScalarType, Task,
    abi::{ArgLayout, MAX_BOUND},
};

use build::Builder;
use guard::Solve;

type Slot = u32;

/// The program.
#[derive(Debug)]
pub(super) struct Proof {
    /// What the slots hold at the start: the constants.
    start: Vec<Interval>,
    /// What is known at the start of a launch.
    leaves: Vec<(Slot, Leaf)>,
    steps: Vec<Step>,
    requires: bool,
    /// Whether an index is anything of its type, so that no numbers prove it.
    is_open: bool,
}

/// What is known of bounds that the device computes.
#[derive(Debug)]
pub(super) struct Hull {
    values: Proof,
    /// Begin and end of each dimension.
    dims: Vec<(Slot, Slot, ScalarType)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Leaf {
    Argument { word: usize, ty: ScalarType },
    Dimension(usize),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Node {
    Neg(ScalarType, Slot),
    Not(ScalarType, Slot),
    Abs(ScalarType, Slot),
    Cast(ScalarType, Slot),
    Binary(BinaryOp, ScalarType, Slot, Slot),
    Limit(MathFn, Slot, Slot),
    DivRem(DivRemOp, ScalarType, Slot, Slot),
    Select(Slot, Slot, Slot),
    /// What an operand is, where an operator's result is known to be within an interval.
    Solve(Solve, ScalarType, [Slot; 3]),
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Compute(Slot, Node),
    /// A loop's variable, and where the loop ends.
    Enter {
        var: Slot,
        begin: Slot,
        end: Slot,
        over: usize,
    },
    /// Skips a branch that is not taken.
    When {
        cond: Slot,
        is: bool,
        over: usize,
    },
    /// What is left of a value that compares as `op` says, or without one is within `by`. Where
    /// nothing is left, what follows does not run.
    Narrow {
        slot: Slot,
        from: Slot,
        ty: ScalarType,
        op: Option<BinaryOp>,
        by: Slot,
        over: usize,
    },
    /// An index, and what it must be below.
    Require {
        index: Slot,
        below: Below,
    },
}

/// What an index must be below.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Below {
    /// An extent, in this word of the argument block.
    Word(usize),
    /// The length of a shared array.
    Number(u32),
}

impl Proof {
    pub(super) fn new(kernel: &Offloaded, layout: &ArgLayout, task: &Task) -> Self {
        let mut builder = Builder::new(kernel, layout, build::relevant(kernel.into(), task));
        builder.threads = task.kind.threads().unwrap_or(1);
        builder.block(task.prelude);
        for (at, dim) in task.kind.dims().into_iter().flatten().enumerate() {
            let slot = builder.leaf(Leaf::Dimension(at));
            builder.set(dim.var, slot);
        }
        builder.block(task.body);
        builder.finish()
    }

    /// The words of the argument block that the proof looks at, but for extents that indices must be below.
    pub(super) fn inputs(&self) -> impl Iterator<Item = usize> {
        self.leaves.iter().filter_map(|(_, leaf)| match leaf {
            Leaf::Argument { word, .. } => Some(*word),
            Leaf::Dimension(_) => None,
        })
    }

    /// Whether there is nothing to prove.
    pub(super) fn is_trivial(&self) -> bool {
        !self.requires
    }

    /// Whether there are numbers for which it holds.
    pub(super) fn may_hold(&self) -> bool {
        !self.is_open
    }

    /// The extents that indices must be below.
    pub(super) fn extents<'a>(&'a self, args: &'a [u64]) -> impl Iterator<Item = u64> + 'a {
        self.steps.iter().filter_map(|step| match step {
            Step::Require { below: Below::Word(word), .. } => Some(args[*word]),
            _ => None,
        })
    }

    /// Whether the proof holds for a launch; the loop is not empty and the block has all arguments.
    pub(super) fn holds(&self, args: &[u64], extents: &Extents) -> bool {
        self.run(args, extents).is_some()
    }

    /// What the slots hold at the end; none where an index may be out of range.
    fn run(&self, args: &[u64], extents: &Extents) -> Option<SmallVec<[Interval; 24]>> {
        let mut slots: SmallVec<[Interval; 24]> = SmallVec::from_slice(&self.start);
        for &(slot, leaf) in &self.leaves {
            slots[slot as usize] = match leaf {
                Leaf::Argument { word, ty } => argument(args[word], ty),
                Leaf::Dimension(at) => match extents.dims().get(at) {
                    Some(&(begin, end)) => Interval { lo: begin, hi: end - 1 },
                    None => Interval::WRAPPED,
                },
            };
        }
        let mut at = 0;
        while let Some(&step) = self.steps.get(at) {
            at += 1;
            match step {
                Step::Compute(slot, node) => slots[slot as usize] = node.evaluate(&slots),
                Step::Enter { var, begin, end, over } => {
                    let (begin, end) = (slots[begin as usize], slots[end as usize]);
                    let known = !begin.is_wrapped() && !end.is_wrapped();
                    if known && begin.lo >= end.hi {
                        at = over;
                    }
                    let inside = Interval { lo: begin.lo, hi: end.hi - 1 };
                    slots[var as usize] = if known { inside } else { Interval::WRAPPED };
                }
                Step::When { cond, is, over } => {
                    let cond = slots[cond as usize];
                    if cond.value() == Some(i128::from(!is)) {
                        at = over;
                    }
                }
                Step::Narrow { slot, from, ty, op, by, over } => {
                    let of = |slot: Slot| match slots[slot as usize] {
                        // Whatever it wraps to is a value of the type.
                        value if value.is_wrapped() => Interval::of(ty),
                        value => value,
                    };
                    let narrowed = of(from).narrow(op, of(by));
                    if narrowed.is_wrapped() {
                        at = over;
                    }
                    slots[slot as usize] = narrowed;
                }
                Step::Require { index, below } => {
                    let index = slots[index as usize];
                    let below = match below {
                        Below::Word(word) => i128::from(args[word]),
                        Below::Number(number) => i128::from(number),
                    };
                    let inside = index.lo >= 0 && index.hi < below;
                    if index.is_wrapped() || !inside {
                        return None;
                    }
                }
            }
        }
        Some(slots)
    }
}

impl Hull {
    /// `needed` says which prelude locals the bounds depend on.
    pub(super) fn new(
        kernel: &Offloaded,
        layout: &ArgLayout,
        task: &Task,
        needed: Vec<bool>,
    ) -> Self {
        let mut builder = Builder::new(kernel, layout, needed);
        builder.block(task.prelude);
        let mut dims = Vec::new();
        for dim in task.kind.dims().into_iter().flatten() {
            let ty = kernel.locals[dim.var].ty;
            dims.push((builder.value(dim.begin), builder.value(dim.end), ty));
        }
        Self { values: builder.finish(), dims }
    }

    /// The words of the argument block that are looked at.
    pub(super) fn inputs(&self) -> impl Iterator<Item = usize> {
        self.values.inputs()
    }

    /// Bounds around those of all iterations that run. An end that may have wrapped is still a value of
    /// its type, and beyond [`MAX_BOUND`] nothing runs.
    pub(super) fn extents(&self, args: &[u64]) -> Extents {
        let mut extents = Extents::default();
        let Some(slots) = self.values.run(args, &extents) else { return extents };
        for &(begin, end, ty) in &self.dims {
            let of = |slot: Slot| match slots[slot as usize] {
                value if value.is_wrapped() => Interval::of(ty),
                value => value,
            };
            extents.push(of(begin).lo.max(-MAX_BOUND), of(end).hi.min(MAX_BOUND));
        }
        extents
    }
}

impl Step {
    /// Sets where the step jumps to, unless it knows.
    fn end_at(&mut self, end: usize) {
        if let Self::Enter { over, .. } | Self::When { over, .. } | Self::Narrow { over, .. } = self
            && *over == build::PENDING
        {
            *over = end;
        }
    }
}

impl Node {
    fn evaluate(self, slots: &[Interval]) -> Interval {
        let get = |slot: Slot| slots[slot as usize];
        if let Self::Solve(solve, ty, [known, within, other]) = self {
            return solve.evaluate(ty, get(known), get(within), get(other));
        }
        let (a, b, c) = match self {
            Self::Neg(_, a) | Self::Not(_, a) | Self::Abs(_, a) | Self::Cast(_, a) => (a, a, a),
            Self::Binary(_, _, a, b) | Self::Limit(_, a, b) | Self::DivRem(_, _, a, b) => (a, b, b),
            Self::Select(a, b, c) | Self::Solve(_, _, [a, b, c]) => (a, b, c),
        };
        let (a, b, c) = (get(a), get(b), get(c));
        if a.is_wrapped() || b.is_wrapped() || c.is_wrapped() {
            return Interval::WRAPPED;
        }
        match self {
            Self::Neg(ty, _) => a.neg(ty),
            Self::Not(ty, _) => a.not(ty),
            Self::Abs(ty, _) => a.abs(ty),
            Self::Cast(ty, _) => a.cast(ty),
            Self::Binary(op, ty, ..) => Interval::binary(op, ty, a, b),
            Self::Limit(function, ..) => Interval::limit(function, a, b),
            Self::DivRem(DivRemOp::Div, ty, ..) => Interval::div(ty, a, b),
            Self::DivRem(DivRemOp::Rem, ty, ..) => Interval::rem(ty, a, b),
            Self::Select(..) => a.select(b, c),
            Self::Solve(..) => Interval::WRAPPED,
        }
    }
}

pub(super) fn argument(word: u64, ty: ScalarType) -> Interval {
    match Const::from_bits(ty, word).as_int() {
        Some(value) => Interval::point(value),
        None => Interval::of(ty),
    }
}
