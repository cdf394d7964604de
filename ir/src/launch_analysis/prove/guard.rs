//! Range narrowing by conditions.
//!
//! A condition is split into comparisons, called [`Fact`]s. Each fact narrows both of its sides, and by solving
//! operators also the values that a side is computed from. Facts hold only in the region that the condition dominates.

use super::{
    builder::{Fact, ProofBuilder, uses_only_immutable},
    proof::{Instruction, IntervalOp, InverseOperation, PENDING, Register},
};
use crate::{BinaryOp, ExprId, ExprKind, LocalId, ScalarType, UnaryOp};

/// The maximum depth to which a comparison is solved. It bounds the work, since each operator has two operands.
const DEPTH: u32 = 4;

impl ProofBuilder<'_> {
    /// The facts that hold if `cond` has the value `is`.
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
                .implications
                .get(&local)
                .map(|truth| truth[usize::from(is)].clone())
                .unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    /// Records the facts that a new value of a local implies.
    pub(super) fn record_implications(&mut self, local: LocalId, value: ExprId) {
        if self.nodes.exprs[value].ty == ScalarType::Bool {
            let truth = [false, true].map(|is| {
                let mut facts = self.facts(value, is);
                facts.retain(|(fact, _)| uses_only_immutable(self.nodes, *fact));
                facts
            });
            self.implications.insert(local, truth);
        }
    }

    /// Narrows values by `facts` for the rest of the current region.
    pub(super) fn assume(&mut self, facts: &[Fact]) {
        for &(fact, is) in facts {
            let ExprKind::Binary { op, lhs, rhs } = self.nodes.exprs[fact].kind else { continue };
            let op = if is { op } else { negated(op) };
            let (left, right) = (self.value(lhs), self.value(rhs));
            for (side, from, op, by) in [(lhs, left, op, right), (rhs, right, mirrored(op), left)] {
                if !matches!(self.nodes.exprs[side].kind, ExprKind::Const(_)) {
                    let ty = self.nodes.exprs[side].ty;
                    let register = self.narrowed(from, ty, Some(op), by);
                    self.constrain(side, register, DEPTH);
                }
            }
        }
    }

    /// Narrows a value, and the values that it is computed from, to the interval in the register `within`.
    fn constrain(&mut self, value: ExprId, within: Register, depth: u32) {
        let nodes = self.nodes;
        let expr = &nodes.exprs[value];
        let ty = expr.ty;
        match expr.kind {
            ExprKind::Local(local) => {
                if let Some(from) = self.locals[local.index()] {
                    let register = self.narrowed(from, ty, None, within);
                    self.set(local, register);
                }
                if depth > 0
                    && let Some(definition) = self.definitions.get(&local)
                {
                    self.constrain(*definition, within, depth - 1);
                }
                return;
            }
            ExprKind::Binary { op: BinaryOp::Add, lhs, rhs } => {
                self.solve(depth, InverseOperation::Addend, within, lhs, rhs, ty);
                self.solve(depth, InverseOperation::Addend, within, rhs, lhs, ty);
            }
            ExprKind::Binary { op: BinaryOp::Sub, lhs, rhs } => {
                self.solve(depth, InverseOperation::Minuend, within, lhs, rhs, ty);
                self.solve(depth, InverseOperation::Subtrahend, within, rhs, lhs, ty);
            }
            ExprKind::Binary { op: BinaryOp::Mul, lhs, rhs } => {
                self.solve(depth, InverseOperation::Factor, within, lhs, rhs, ty);
                self.solve(depth, InverseOperation::Factor, within, rhs, lhs, ty);
            }
            ExprKind::Cast { value: inner } if nodes.exprs[inner].ty.is_int() => {
                self.solve(depth, InverseOperation::Converted, within, inner, inner, ty);
            }
            _ => return,
        }
        let register = self.value(value);
        if let Some(op) = self.op_of_register.get(&register).copied() {
            let narrowed = self.narrowed(register, ty, None, within);
            self.replace(op, narrowed);
        }
    }

    fn solve(
        &mut self,
        depth: u32,
        solve: InverseOperation,
        within: Register,
        operand: ExprId,
        other: ExprId,
        ty: ScalarType,
    ) {
        if depth == 0 || matches!(self.nodes.exprs[operand].kind, ExprKind::Const(_)) {
            return;
        }
        let (known, other) = (self.value(operand), self.value(other));
        let within = self.compute(IntervalOp::InverseOperation(solve, ty, [known, within, other]));
        self.constrain(operand, within, depth - 1);
    }

    fn narrowed(
        &mut self,
        from: Register,
        ty: ScalarType,
        op: Option<BinaryOp>,
        by: Register,
    ) -> Register {
        let register = self.new_register();
        self.push(Instruction::Narrow { register, from, ty, op, by, skip_to: PENDING });
        let is_bounded = match op {
            Some(op) => !matches!(op, BinaryOp::Gt | BinaryOp::Ge | BinaryOp::Ne),
            None => !self.is_unbounded(by),
        };
        if !is_bounded {
            self.keep_unbounded(from, register);
        }
        register
    }
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

/// The comparison with the operands swapped.
const fn mirrored(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Lt => BinaryOp::Gt,
        BinaryOp::Le => BinaryOp::Ge,
        BinaryOp::Gt => BinaryOp::Lt,
        BinaryOp::Ge => BinaryOp::Le,
        other => other,
    }
}
