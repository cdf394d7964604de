//! What a condition says of the values that it compares.
//!
//! A condition is taken apart into comparisons, its [`Fact`]s. Each narrows both its sides, and what a
//! side is computed from as far as an operator lets it be solved for its operands. All of it holds in
//! the region only that the condition stands before.

use super::{
    Node, Slot, Step,
    build::{Builder, PENDING},
};
use crate::{
    BinaryOp, ExprId, ExprKind, LocalId, ScalarType, UnaryOp,
    launch_analysis::interval::Interval,
    visit::{Nodes, Reach},
};

/// A comparison, and whether it is true.
pub(super) type Fact = (ExprId, bool);

/// What follows from a bool: where it is false, and where it is true.
pub(super) type Truth = [Vec<Fact>; 2];

/// So deep a comparison is solved. Each operator has two operands, which may be the same ones.
const DEPTH: u32 = 4;

/// How an operand follows from an operator's result and, where there is one, the other operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Solve {
    /// `a` of `a + other`
    Addend,
    /// `a` of `a - other`
    Minuend,
    /// `a` of `other - a`
    Subtrahend,
    /// `a` of `a * other`
    Factor,
    /// `a` of a conversion of `a` to the type; `other` is what is known of it.
    Converted,
}

impl Solve {
    /// The operand, which is `known` so far, where the result is now known to be `within`. `ty` is the result's
    /// type.
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
        // What may have wrapped says nothing of the numbers that it comes from. The result itself does not tell: an
        // earlier comparison has narrowed it, and a sum that has wrapped compares like any other number.
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

impl Builder<'_> {
    /// The comparisons that hold where `cond` is `is`.
    pub(super) fn facts(&self, cond: ExprId, is: bool) -> Vec<Fact> {
        match self.nodes.exprs[cond].kind {
            ExprKind::Unary { op: UnaryOp::Not, value } => self.facts(value, !is),
            ExprKind::Binary { op, lhs, rhs }
                if (op == BinaryOp::And && is) || (op == BinaryOp::Or && !is) =>
            {
                let mut facts = self.facts(lhs, is);
                facts.extend(self.facts(rhs, is));
                facts
            }
            ExprKind::Binary { op, lhs, .. }
                if op.is_comparison() && self.nodes.exprs[lhs].ty.is_int() =>
            {
                vec![(cond, is)]
            }
            ExprKind::Local(local) => self
                .truths
                .get(&local)
                .map(|truth| truth[usize::from(is)].clone())
                .unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    /// Notes what follows from a local that now has this value.
    pub(super) fn learn(&mut self, local: LocalId, value: ExprId) {
        if self.nodes.exprs[value].ty == ScalarType::Bool {
            let truth = [false, true].map(|is| {
                let mut facts = self.facts(value, is);
                facts.retain(|(fact, _)| is_stable(self.nodes, *fact));
                facts
            });
            self.truths.insert(local, truth);
        }
    }

    /// Makes the region that has begun one in which `facts` hold.
    pub(super) fn assume(&mut self, facts: &[Fact]) {
        for &(fact, is) in facts {
            let ExprKind::Binary { op, lhs, rhs } = self.nodes.exprs[fact].kind else { continue };
            let op = if is { op } else { negated(op) };
            let (left, right) = (self.value(lhs), self.value(rhs));
            for (side, from, op, by) in [(lhs, left, op, right), (rhs, right, mirrored(op), left)] {
                if !matches!(self.nodes.exprs[side].kind, ExprKind::Const(_)) {
                    let ty = self.nodes.exprs[side].ty;
                    let slot = self.narrowed(from, ty, Some(op), by);
                    self.constrain(side, slot, DEPTH);
                }
            }
        }
    }

    /// Narrows what a value is computed from, and then the value, to what is in the slot `within`.
    fn constrain(&mut self, value: ExprId, within: Slot, depth: u32) {
        let nodes = self.nodes;
        let expr = &nodes.exprs[value];
        let ty = expr.ty;
        match expr.kind {
            ExprKind::Local(local) => {
                if let Some(from) = self.locals[local.index()] {
                    let slot = self.narrowed(from, ty, None, within);
                    self.set(local, slot);
                }
                return;
            }
            ExprKind::Binary { op: BinaryOp::Add, lhs, rhs } => {
                self.solve(depth, Solve::Addend, within, lhs, rhs, ty);
                self.solve(depth, Solve::Addend, within, rhs, lhs, ty);
            }
            ExprKind::Binary { op: BinaryOp::Sub, lhs, rhs } => {
                self.solve(depth, Solve::Minuend, within, lhs, rhs, ty);
                self.solve(depth, Solve::Subtrahend, within, rhs, lhs, ty);
            }
            ExprKind::Binary { op: BinaryOp::Mul, lhs, rhs } => {
                self.solve(depth, Solve::Factor, within, lhs, rhs, ty);
                self.solve(depth, Solve::Factor, within, rhs, lhs, ty);
            }
            ExprKind::Cast { value: inner } if nodes.exprs[inner].ty.is_int() => {
                self.solve(depth, Solve::Converted, within, inner, inner, ty);
            }
            _ => return,
        }
        let slot = self.value(value);
        if let Some(node) = self.made.get(&slot).copied() {
            let narrowed = self.narrowed(slot, ty, None, within);
            self.replace(node, narrowed);
        }
    }

    fn solve(
        &mut self,
        depth: u32,
        solve: Solve,
        within: Slot,
        operand: ExprId,
        other: ExprId,
        ty: ScalarType,
    ) {
        if depth == 0 || matches!(self.nodes.exprs[operand].kind, ExprKind::Const(_)) {
            return;
        }
        let (known, other) = (self.value(operand), self.value(other));
        let within = self.compute(Node::Solve(solve, ty, [known, within, other]));
        self.constrain(operand, within, depth - 1);
    }

    fn narrowed(&mut self, from: Slot, ty: ScalarType, op: Option<BinaryOp>, by: Slot) -> Slot {
        let slot = self.slot();
        self.push(Step::Narrow { slot, from, ty, op, by, over: PENDING });
        slot
    }
}

/// Whether a value is the same wherever its locals are in scope.
pub(super) fn is_stable(nodes: Nodes<'_>, value: ExprId) -> bool {
    let mut reach = Reach::new(nodes);
    nodes.reach_expr(value, &mut reach);
    let mut used = reach.locals.iter().enumerate().filter(|(_, used)| **used);
    used.all(|(at, _)| !nodes.locals[LocalId::new(at as u32)].mutable)
}

const fn negated(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Lt => BinaryOp::Ge,
        BinaryOp::Le => BinaryOp::Gt,
        BinaryOp::Gt => BinaryOp::Le,
        BinaryOp::Ge => BinaryOp::Lt,
        BinaryOp::Eq => BinaryOp::Ne,
        BinaryOp::Ne => BinaryOp::Eq,
        other => other,
    }
}

/// The comparison of `b` with `a` that `op` is of `a` with `b`.
const fn mirrored(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Lt => BinaryOp::Gt,
        BinaryOp::Le => BinaryOp::Ge,
        BinaryOp::Gt => BinaryOp::Lt,
        BinaryOp::Ge => BinaryOp::Le,
        other => other,
    }
}
