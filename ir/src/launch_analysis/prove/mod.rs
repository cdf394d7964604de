//! The bounds proof: whether all accesses of a task are inside their tensors. It is a small program over intervals,
//! built once per task and evaluated in each launch.
//!
//! The program computes only what indices, bounds of inner loops and branch conditions depend on. A local stands for
//! the interval of its value; a local that changes in a loop, and a loaded element, for all values of its type. Inside
//! a branch, and after a branch that ends early, the condition narrows the compared values ([`guard`]). Branches that
//! the launch never takes and loops that it makes empty are skipped: they need no proof.

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

/// The program of a bounds proof.
#[derive(Debug)]
pub(super) struct Proof {
    /// The initial values of the slots: the constants.
    start: Vec<Interval>,
    /// The slots that are set at the start of each evaluation.
    leaves: Vec<(Slot, Leaf)>,
    steps: Vec<Step>,
    has_requirements: bool,
    /// Whether an index may be any value of its type, so that no arguments can prove it.
    is_unprovable: bool,
}

/// Conservative bounds of a loop whose bounds the device computes.
#[derive(Debug)]
pub(super) struct ConservativeBounds {
    values: Proof,
    /// The begin and end of each dimension.
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
    /// Narrows an operand from the known range of an operator's result.
    Solve(Solve, ScalarType, [Slot; 3]),
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Compute(Slot, Node),
    /// Sets a loop variable. If the loop is empty, skips it.
    EnterLoop {
        var: Slot,
        begin: Slot,
        end: Slot,
        skip_to: usize,
    },
    /// Skips a branch that is not taken.
    EnterBranch {
        cond: Slot,
        is: bool,
        skip_to: usize,
    },
    /// Narrows a value by a comparison `op` with `by`, or without an `op` to the interval of `by`. If the result is
    /// empty, skips the code that follows.
    Narrow {
        slot: Slot,
        from: Slot,
        ty: ScalarType,
        op: Option<BinaryOp>,
        by: Slot,
        skip_to: usize,
    },
    /// Requires an index to be in bounds.
    Require {
        index: Slot,
        below: Below,
    },
}

/// The exclusive upper bound of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Below {
    /// An extent, in this word of the argument block.
    Word(usize),
    /// An extent of a shared array.
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

    /// The words of the argument block that the proof depends on, except the extents that indices are compared with.
    pub(super) fn inputs(&self) -> impl Iterator<Item = usize> {
        self.leaves.iter().filter_map(|(_, leaf)| match leaf {
            Leaf::Argument { word, .. } => Some(*word),
            Leaf::Dimension(_) => None,
        })
    }

    /// Whether there is nothing to prove.
    pub(super) fn is_trivial(&self) -> bool {
        !self.has_requirements
    }

    /// Whether the proof holds for some arguments.
    pub(super) fn may_hold(&self) -> bool {
        !self.is_unprovable
    }

    /// The extents that indices are compared with.
    pub(super) fn extents<'a>(&'a self, args: &'a [u64]) -> impl Iterator<Item = u64> + 'a {
        self.steps.iter().filter_map(|step| match step {
            Step::Require { below: Below::Word(word), .. } => Some(args[*word]),
            _ => None,
        })
    }

    /// Whether the proof holds for these arguments and iterations. The loop must not be empty, and the argument block
    /// must be complete.
    pub(super) fn holds(&self, args: &[u64], extents: &Extents) -> bool {
        self.run(args, extents).is_some()
    }

    /// Evaluates the program. Returns the final values of the slots, or none if an index may be out of range.
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
                Step::EnterLoop { var, begin, end, skip_to } => {
                    let (begin, end) = (slots[begin as usize], slots[end as usize]);
                    let is_bounded = !begin.is_wrapped() && !end.is_wrapped();
                    if is_bounded && begin.lo >= end.hi {
                        at = skip_to;
                    }
                    let inside = Interval { lo: begin.lo, hi: end.hi - 1 };
                    slots[var as usize] = if is_bounded { inside } else { Interval::WRAPPED };
                }
                Step::EnterBranch { cond, is, skip_to } => {
                    let cond = slots[cond as usize];
                    if cond.value() == Some(i128::from(!is)) {
                        at = skip_to;
                    }
                }
                Step::Narrow { slot, from, ty, op, by, skip_to } => {
                    let of = |slot: Slot| match slots[slot as usize] {
                        // A wrapped value is still a value of its type.
                        value if value.is_wrapped() => Interval::of(ty),
                        value => value,
                    };
                    let narrowed = of(from).narrow(op, of(by));
                    if narrowed.is_wrapped() {
                        at = skip_to;
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

impl ConservativeBounds {
    /// `needed` are the prelude locals that the bounds depend on.
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

    /// The words of the argument block that the bounds depend on.
    pub(super) fn inputs(&self) -> impl Iterator<Item = usize> {
        self.values.inputs()
    }

    /// Conservative bounds of the iterations that run. A bound that may have wrapped is still a value of its type, and
    /// nothing runs beyond [`MAX_BOUND`].
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
    /// Sets the jump target of the step, unless it is already set.
    fn end_at(&mut self, end: usize) {
        if let Self::EnterLoop { skip_to, .. }
        | Self::EnterBranch { skip_to, .. }
        | Self::Narrow { skip_to, .. } = self
            && *skip_to == build::PENDING
        {
            *skip_to = end;
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
