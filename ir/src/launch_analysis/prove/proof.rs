//! Bounds proofs: instructions that compute the intervals of indices, and their evaluation in a launch.

use std::collections::HashMap;

use smallvec::SmallVec;

use crate::{
    BinaryOp, DivRemOp, ExprId, MathFn, ScalarType, SiteId, extents::Extents,
    launch_analysis::interval::Interval,
};

/// A value that instructions compute, by its index.
pub(super) type Register = u32;

/// The jump target of an instruction whose region is not complete.
pub(super) const PENDING: usize = usize::MAX;

#[derive(Debug)]
pub(crate) struct Proof {
    /// The initial values of the registers: the constants.
    pub(super) start: Vec<Interval>,
    /// The registers that are set at the start of each evaluation.
    pub(super) leaves: Vec<(Register, ProofInput)>,
    pub(super) instructions: Vec<Instruction>,
    pub(crate) has_requirements: bool,
    /// Whether an index may be any value of its type, so that no arguments can prove it.
    pub(super) is_unprovable: bool,
    /// The 64-bit values that were [examined](Instruction::Fit), by whether they may fit into 32 bits.
    pub(super) examined: HashMap<ExprId, bool>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum ProofInput {
    Argument { word: usize, ty: ScalarType },
    Dimension(usize),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum IntervalOp {
    Neg(ScalarType, Register),
    Not(ScalarType, Register),
    Abs(ScalarType, Register),
    Cast(ScalarType, Register),
    Binary(BinaryOp, ScalarType, Register, Register),
    Limit(MathFn, Register, Register),
    DivRem(DivRemOp, ScalarType, Register, Register),
    Select(Register, Register, Register),
    /// Narrows an operand from the known range of an operator's result.
    InverseOperation(InverseOperation, ScalarType, [Register; 3]),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Instruction {
    Compute(Register, IntervalOp),
    /// Sets a loop variable. If the loop is empty, skips it.
    EnterLoop {
        var: Register,
        begin: Register,
        end: Register,
        skip_to: usize,
    },
    /// Skips a branch that is not taken.
    EnterBranch {
        cond: Register,
        is: bool,
        skip_to: usize,
    },
    /// Narrows a value by a comparison `op` with `by`, or without an `op` to the interval of `by`. If the result is
    /// empty, skips the code that follows.
    Narrow {
        register: Register,
        from: Register,
        ty: ScalarType,
        op: Option<BinaryOp>,
        by: Register,
        skip_to: usize,
    },
    /// Begins a value that depends on the branch that is taken: it is nothing yet. It is wrapped if the condition is.
    Clear {
        register: Register,
        cond: Register,
    },
    /// Adds a branch's value to it.
    Join {
        register: Register,
        value: Register,
    },
    Require {
        index: Register,
        below: IndexLimit,
        site: SiteId,
        axis: u8,
    },
    /// Examines whether a value of type `ty`, which has 64 bits, fits into 32 bits.
    Fit {
        register: Register,
        ty: ScalarType,
    },
}

/// What the bounds proof of a task gives in a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ProofOutcome {
    /// Whether all indices are in range.
    pub(crate) in_bounds: bool,
    /// Whether all examined values fit into 32 bits.
    pub(crate) fits: bool,
}

/// An index that a launch could not prove in range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnprovenIndex {
    /// The site of the access.
    pub site: SiteId,
    /// Which of its indices.
    pub axis: u8,
    /// The smallest and the largest value that the index may have; none if it may have any, or may have wrapped.
    pub values: Option<(i128, i128)>,
    /// The exclusive upper bound: the extent.
    pub extent: i128,
}

/// The exclusive upper bound of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum IndexLimit {
    /// An extent, in this word of the argument block.
    Word(usize),
    /// A constant extent of a shared array.
    Number(u32),
    /// Another extent of a shared array.
    Register(Register),
}

/// How to compute an operand of an operator from the result and the other operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum InverseOperation {
    /// `a` of `a + other`
    Addend,
    /// `a` of `a - other`
    Minuend,
    /// `a` of `other - a`
    Subtrahend,
    /// `a` of `a * other`
    Factor,
    /// `a` of `a as ty`
    Converted,
}

impl InverseOperation {
    /// The narrowed range of an operand with the range `known`, if the result is in `within`. `ty` is the type of the
    /// result.
    pub(super) fn evaluate(
        self,
        ty: ScalarType,
        known: Interval,
        within: Interval,
        other: Interval,
    ) -> Interval {
        if known.is_wrapped() || within.is_wrapped() || other.is_wrapped() {
            return Interval::ALL;
        }
        // If the operation may wrap, the result does not determine the operand. This must be recomputed here: `within`
        // was narrowed by a comparison, and a wrapped result compares like any other number.
        let result = match self {
            Self::Addend => Interval::binary(BinaryOp::Add, ty, known, other),
            Self::Minuend => Interval::binary(BinaryOp::Sub, ty, known, other),
            Self::Subtrahend => Interval::binary(BinaryOp::Sub, ty, other, known),
            Self::Factor => Interval::binary(BinaryOp::Mul, ty, known, other),
            Self::Converted => within,
        };
        if result.is_wrapped() {
            return Interval::ALL;
        }
        match self {
            Self::Addend => Interval { lo: within.lo - other.hi, hi: within.hi - other.lo },
            Self::Minuend => Interval { lo: within.lo + other.lo, hi: within.hi + other.hi },
            Self::Subtrahend => Interval { lo: other.lo - within.hi, hi: other.hi - within.lo },
            Self::Factor => match other.value() {
                Some(by) if by > 0 => {
                    Interval { lo: -(-within.lo).div_euclid(by), hi: within.hi.div_euclid(by) }
                }
                _ => Interval::ALL,
            },
            Self::Converted if other.cast(ty) == other => within,
            Self::Converted => Interval::ALL,
        }
    }
}

impl Proof {
    /// The words of the argument block that the proof depends on, except the extents that indices are compared with.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = usize> {
        self.leaves.iter().filter_map(|(_, leaf)| match leaf {
            ProofInput::Argument { word, .. } => Some(*word),
            ProofInput::Dimension(_) => None,
        })
    }

    /// Whether the proof holds for some arguments.
    pub(crate) fn may_hold(&self) -> bool {
        !self.is_unprovable
    }

    /// The extents that indices are compared with.
    pub(crate) fn extents<'a>(&'a self, args: &'a [u64]) -> impl Iterator<Item = u64> + 'a {
        self.instructions.iter().filter_map(|instruction| match instruction {
            Instruction::Require { below: IndexLimit::Word(word), .. } => Some(args[*word]),
            _ => None,
        })
    }

    /// Whether the proof holds for these arguments and iterations. The loop must not be empty, and the argument block
    /// must be complete.
    pub(crate) fn holds(&self, args: &[u64], extents: &Extents) -> bool {
        self.run(args, extents).is_some()
    }

    /// As [`holds`](Self::holds), and whether the values fit into 32 bits. With `all`, an index out of range does not
    /// end the evaluation.
    pub(crate) fn outcome(&self, args: &[u64], extents: &Extents, all: bool) -> ProofOutcome {
        let (mut in_bounds, mut fits) = (true, true);
        let unproven = |_| {
            in_bounds = false;
            all
        };
        self.run_with(args, extents, unproven, |register, ty| fits &= register.fits(ty));
        ProofOutcome { in_bounds, fits }
    }

    /// Whether a value may fit into 32 bits, so that launches [find out](Self::outcome) whether it does.
    pub(crate) fn may_fit(&self, value: ExprId) -> bool {
        self.examined.get(&value) == Some(&true)
    }

    /// The indices that may be out of range.
    pub(crate) fn unproven(&self, args: &[u64], extents: &Extents) -> Vec<UnprovenIndex> {
        let mut found = Vec::new();
        let unproven = |index| {
            found.push(index);
            true
        };
        self.run_with(args, extents, unproven, |_, _| ());
        found
    }

    /// Evaluates the instructions. Returns the final values of the registers, or none if an index may be out of range.
    pub(super) fn run(&self, args: &[u64], extents: &Extents) -> Option<SmallVec<[Interval; 24]>> {
        self.run_with(args, extents, |_| false, |_, _| ())
    }

    /// Evaluates the instructions. Where an index may be out of range, it goes on if `unproven` returns true. `fit`
    /// receives the values that are [examined](Instruction::Fit).
    #[inline(always)]
    fn run_with(
        &self,
        args: &[u64],
        extents: &Extents,
        mut unproven: impl FnMut(UnprovenIndex) -> bool,
        mut fit: impl FnMut(Interval, ScalarType),
    ) -> Option<SmallVec<[Interval; 24]>> {
        let mut registers: SmallVec<[Interval; 24]> = SmallVec::from_slice(&self.start);
        for &(register, leaf) in &self.leaves {
            registers[register as usize] = match leaf {
                ProofInput::Argument { word, ty } => Interval::of_argument(args[word], ty),
                ProofInput::Dimension(at) => match extents.dims().get(at) {
                    Some(&(begin, end)) => Interval { lo: begin, hi: end - 1 },
                    None => Interval::WRAPPED,
                },
            };
        }
        let mut at = 0;
        while let Some(&instruction) = self.instructions.get(at) {
            at += 1;
            match instruction {
                Instruction::Compute(register, op) => {
                    registers[register as usize] = op.evaluate(&registers)
                }
                Instruction::EnterLoop { var, begin, end, skip_to } => {
                    let (begin, end) = (registers[begin as usize], registers[end as usize]);
                    let is_bounded = !begin.is_wrapped() && !end.is_wrapped();
                    if is_bounded && begin.lo >= end.hi {
                        at = skip_to;
                    }
                    let inside = Interval { lo: begin.lo, hi: end.hi - 1 };
                    registers[var as usize] = if is_bounded { inside } else { Interval::WRAPPED };
                }
                Instruction::EnterBranch { cond, is, skip_to } => {
                    let cond = registers[cond as usize];
                    if cond.value() == Some(i128::from(!is)) {
                        at = skip_to;
                    }
                }
                Instruction::Narrow { register, from, ty, op, by, skip_to } => {
                    let of = |register: Register| match registers[register as usize] {
                        // A wrapped value is still a value of its type.
                        value if value.is_wrapped() => Interval::of(ty),
                        value => value,
                    };
                    let narrowed = of(from).narrow(op, of(by));
                    if narrowed.is_wrapped() {
                        at = skip_to;
                    }
                    registers[register as usize] = narrowed;
                }
                Instruction::Clear { register, cond } => {
                    let is_known = !registers[cond as usize].is_wrapped();
                    registers[register as usize] =
                        if is_known { Interval::NOTHING } else { Interval::WRAPPED };
                }
                Instruction::Join { register, value } => {
                    let (known, value) = (registers[register as usize], registers[value as usize]);
                    registers[register as usize] = match known {
                        Interval::NOTHING => value,
                        _ if known.is_wrapped() || value.is_wrapped() => Interval::WRAPPED,
                        _ => known.join(value),
                    };
                }
                Instruction::Fit { register, ty } => fit(registers[register as usize], ty),
                Instruction::Require { index, below, site, axis } => {
                    let index = registers[index as usize];
                    let below = match below {
                        IndexLimit::Word(word) => i128::from(args[word]),
                        IndexLimit::Number(number) => i128::from(number),
                        // An extent that may have wrapped bounds nothing.
                        IndexLimit::Register(register) => match registers[register as usize] {
                            extent if extent.is_wrapped() => 0,
                            extent => extent.lo,
                        },
                    };
                    let inside = index.lo >= 0 && index.hi < below;
                    if index.is_wrapped() || !inside {
                        let is_any = index.is_wrapped() || index == Interval::of(ScalarType::U64);
                        let values = (!is_any).then_some((index.lo, index.hi));
                        if !unproven(UnprovenIndex { site, axis, values, extent: below }) {
                            return None;
                        }
                    }
                }
            }
        }
        Some(registers)
    }
}

impl Instruction {
    /// Sets the jump target of the instruction, unless it is already set.
    pub(super) fn end_at(&mut self, end: usize) {
        if let Self::EnterLoop { skip_to, .. }
        | Self::EnterBranch { skip_to, .. }
        | Self::Narrow { skip_to, .. } = self
            && *skip_to == PENDING
        {
            *skip_to = end;
        }
    }
}

impl IntervalOp {
    fn evaluate(self, registers: &[Interval]) -> Interval {
        let get = |register: Register| registers[register as usize];
        if let Self::InverseOperation(solve, ty, [known, within, other]) = self {
            return solve.evaluate(ty, get(known), get(within), get(other));
        }
        let (a, b, c) = match self {
            Self::Neg(_, a) | Self::Not(_, a) | Self::Abs(_, a) | Self::Cast(_, a) => (a, a, a),
            Self::Binary(_, _, a, b) | Self::Limit(_, a, b) | Self::DivRem(_, _, a, b) => (a, b, b),
            Self::Select(a, b, c) | Self::InverseOperation(_, _, [a, b, c]) => (a, b, c),
        };
        let (a, b, c) = (get(a), get(b), get(c));
        if a.is_wrapped() || b.is_wrapped() || c.is_wrapped() {
            return Interval::WRAPPED;
        }
        // A result that may have wrapped is still a value of its type.
        match self {
            Self::Neg(ty, _) => a.neg(ty).or_all(ty),
            Self::Not(ty, _) => a.not(ty),
            Self::Abs(ty, _) => a.abs(ty).or_all(ty),
            Self::Cast(ty, _) => a.cast(ty),
            Self::Binary(op, ty, ..) => Interval::binary(op, ty, a, b).or_all(ty),
            Self::Limit(function, ..) => Interval::limit(function, a, b),
            Self::DivRem(DivRemOp::Div, ty, ..) => Interval::div(ty, a, b),
            Self::DivRem(DivRemOp::Rem, ty, ..) => Interval::rem(ty, a, b),
            Self::Select(..) => a.select(b, c),
            Self::InverseOperation(..) => Interval::WRAPPED,
        }
    }
}
