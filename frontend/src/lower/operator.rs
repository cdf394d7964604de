//! Operators, casts, and branches with a value.

use quadrants_ir::{
    BinaryOp, Const, DivRemOp, ExprId, ExprKind as Ir, MathFn, ScalarType, SiteKind, Stmt, UnaryOp,
    types::Type,
};

use super::{Lowerer, Result, scope::Value};
use crate::{
    literal,
    syntax::{Block, Expr, LogicOp, Span, TypeIx},
    visit::assigns,
};

impl Lowerer {
    /// Emits `lhs op rhs`; checks the operand types.
    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        lhs: ExprId,
        rhs: ExprId,
        span: Span,
    ) -> Result<ExprId> {
        use BinaryOp::{Add, And, Div, Mul, Or, Rem, Shl, Shr, Sub, Xor};
        let ty = self.emit.ty(lhs);
        let right = self.emit.ty(rhs);
        if ty.is_narrow() || right.is_narrow() {
            return self.narrow_binary(op, lhs, rhs, span);
        }
        let fits = match op {
            Shl | Shr => ty.is_int() && right.is_int(),
            _ if ty != right => false,
            Add | Sub | Mul | Div | Rem => ty != ScalarType::Bool,
            And | Or | Xor => !ty.is_float(),
            _ => true,
        };
        if !fits {
            let what = format!("this operation is not defined for {ty} and {right}");
            return Err(self.inconsistent(span, what));
        }
        if ty.is_int() && matches!(op, Div | Rem) {
            let (op, name) = match op {
                Div => (DivRemOp::Div, "quotient"),
                _ => (DivRemOp::Rem, "remainder"),
            };
            let site = self.add_site(SiteKind::DivideByZero, span);
            let below =
                self.constant(rhs).filter(|_| op == DivRemOp::Rem && !ty.is_wide_signed_int());
            let value = self.emit.effect(name, ty, Ir::DivRem { op, lhs, rhs, site });
            if let (Some(end @ 1..), Ir::Local(rest)) = (below, self.emit.kind(value)) {
                self.ranges.insert(*rest, (0, end));
            }
            return Ok(value);
        }
        Ok(self.emit.binary(op, lhs, rhs))
    }

    /// Emits an operation in the wide types of its operands, wrapped to the narrow type.
    fn narrow_binary(
        &mut self,
        op: BinaryOp,
        lhs: ExprId,
        rhs: ExprId,
        span: Span,
    ) -> Result<ExprId> {
        let (ty, right) = (self.emit.ty(lhs), self.emit.ty(rhs));
        let shift = matches!(op, BinaryOp::Shl | BinaryOp::Shr);
        if ty != right && !shift {
            let what = format!("this operation is not defined for {ty} and {right}");
            return Err(self.inconsistent(span, what));
        }
        let (lhs, mut rhs) = (self.emit.widen(lhs), self.emit.widen(rhs));
        if shift && ty.is_narrow() {
            // Shift counts are masked to the narrow type's width.
            let mask = Const::from_bits(self.emit.ty(rhs), 8 * ty.size() as u64 - 1);
            let mask = self.emit.constant(mask);
            rhs = self.binary(BinaryOp::And, rhs, mask, span)?;
        }
        let value = self.binary(op, lhs, rhs, span)?;
        Ok(if op.is_comparison() { value } else { self.emit.as_type(value, ty) })
    }

    pub(super) fn cast(&mut self, value: &Expr, ty: TypeIx, span: Span) -> Result<ExprId> {
        let ty = self.type_at(ty, span)?;
        let Some(ty) = ty.scalar() else {
            return Err(self.inconsistent(span, format!("cannot cast to {ty}")));
        };
        let value = match self.infer_type(value) {
            Some(of) if of.discriminant().is_some() => self.value_as(value, of)?.leaves[0],
            of => {
                let hint = literal::takes_cast_type(value, ty).then_some(ty);
                self.scalar(value, of.and_then(Type::scalar).or(hint))?
            }
        };
        let value = self.emit.limit_depth(value);
        let from = self.emit.ty(value);
        if from == ty {
            Ok(value)
        } else if ty == ScalarType::Bool || from == ScalarType::Bool && ty.is_float() {
            Err(self.inconsistent(span, format!("{from} cannot be cast to {ty}")))
        } else if (from, ty) == (ScalarType::F64, ScalarType::F16) {
            // A conversion through f32 would round twice.
            Err(self.type_error(
                span,
                "in kernels, an f16 is converted only from f32; help: cast to f32 first",
            ))
        } else {
            Ok(self.convert(value, ty))
        }
    }

    /// `value as ty`; narrow types are converted through their wide types.
    fn convert(&mut self, value: ExprId, ty: ScalarType) -> ExprId {
        let mut value = self.emit.widen(value);
        if ty.is_narrow() && self.emit.ty(value).is_float() {
            // Casts from floats saturate.
            value = self.emit.as_type(value, ty.wide());
            if let Some((low, high)) = ty.int_range() {
                for (function, limit) in [(MathFn::Max, low), (MathFn::Min, high)] {
                    let limit = self.emit.constant(Const::from_bits(ty.wide(), limit as u64));
                    value = self.emit.math(function, &[value, limit]);
                }
            }
        }
        let value = self.emit.as_type(value, ty.wide());
        self.emit.as_type(value, ty)
    }

    pub(super) fn unary(
        &mut self,
        op: UnaryOp,
        value: &Expr,
        expected: Option<ScalarType>,
        span: Span,
    ) -> Result<ExprId> {
        let value = self.scalar(value, expected)?;
        let value = self.emit.limit_depth(value);
        let narrow = self.emit.ty(value);
        let value = self.emit.widen(value);
        let ty = self.emit.ty(value);
        let fits = match op {
            UnaryOp::Neg => ty.is_float() || ty.is_wide_signed_int(),
            UnaryOp::Not => !ty.is_float(),
            UnaryOp::CountOnes
            | UnaryOp::LeadingZeros
            | UnaryOp::TrailingZeros
            | UnaryOp::ReverseBits => ty.is_int(),
        };
        if fits {
            let value = self.emit.unary(op, value);
            Ok(self.emit.as_type(value, narrow))
        } else {
            Err(self.inconsistent(span, format!("this operation is not defined for {ty}")))
        }
    }

    pub(super) fn binary_expr(
        &mut self,
        op: BinaryOp,
        lhs: &Expr,
        rhs: &Expr,
        expected: Option<ScalarType>,
        span: Span,
    ) -> Result<ExprId> {
        let shift = matches!(op, BinaryOp::Shl | BinaryOp::Shr);
        let expected = expected.filter(|_| !op.is_comparison());
        let mut left = self.infer(lhs);
        if !shift {
            left = left.or_else(|| self.infer(rhs));
        }
        let left = left.or(expected).unwrap_or_else(|| self.default_type(lhs));
        let right = if shift { self.infer(rhs).unwrap_or(ScalarType::I32) } else { left };
        match self.scalars(&[(lhs, left), (rhs, right)])?[..] {
            [lhs, rhs] => self.binary(op, lhs, rhs, span),
            _ => Err(self.inconsistent(span, "an operand is missing")),
        }
    }

    pub(super) fn logic(&mut self, op: LogicOp, lhs: &Expr, rhs: &Expr) -> Result<ExprId> {
        let mut left = self.scalar_as(lhs, ScalarType::Bool)?;
        if assigns(rhs) {
            left = self.emit.snapshot(left);
        }
        self.emit.open();
        let right = self.scalar_as(rhs, ScalarType::Bool);
        let mut stmts = self.emit.close();
        let right = right?;
        let combined = match op {
            LogicOp::And => BinaryOp::And,
            LogicOp::Or => BinaryOp::Or,
        };
        if stmts.is_empty() && self.emit.is_cheap(right) {
            return Ok(self.emit.binary(combined, left, right));
        }
        let both = self.emit.define("both", left, true);
        let cond = self.emit.read(both);
        stmts.push(Stmt::Assign { local: both, value: right });
        let more = self.emit.block(stmts);
        let nothing = self.emit.block(Vec::new());
        let (then, otherwise) = match op {
            LogicOp::And => (more, nothing),
            LogicOp::Or => (nothing, more),
        };
        self.emit.stmt(Stmt::If { cond, then, otherwise });
        Ok(self.emit.read(both))
    }

    pub(super) fn if_value(
        &mut self,
        cond: &Expr,
        then: &Block,
        otherwise: &Block,
        ty: Type,
    ) -> Result<Value> {
        let span = cond.span;
        let cond = self.scalar_as(cond, ScalarType::Bool)?;
        let mut arm = |block| {
            self.emit.open();
            let value = self.block_value(block, Some(ty), span);
            let stmts = self.emit.close();
            let value = value?;
            self.check_same_type(value.ty, ty, span)?;
            let is_pure = stmts.is_empty() && value.leaves.iter().all(|l| self.emit.is_cheap(*l));
            Ok((value, stmts, is_pure))
        };
        let (then, then_stmts, then_pure) = arm(then)?;
        let (otherwise, otherwise_stmts, otherwise_pure) = arm(otherwise)?;
        if then_pure && otherwise_pure {
            let many = then.leaves.len() > 1;
            let cond = if many { self.emit.reuse(cond) } else { cond };
            let both = then.leaves.into_iter().zip(otherwise.leaves);
            let leaves = both.map(|(then, otherwise)| {
                let cond = if many { self.emit.copy(cond) } else { cond };
                self.emit.select(cond, then, otherwise)
            });
            return Ok(Value { ty, leaves: leaves.collect() });
        }
        let locals = self.zeroed_locals("chosen", ty);
        let blocks =
            [(then, then_stmts), (otherwise, otherwise_stmts)].map(|(value, mut stmts)| {
                for (local, value) in locals.iter().zip(value.leaves) {
                    stmts.push(Stmt::Assign { local: *local, value });
                }
                self.emit.block(stmts)
            });
        self.emit.stmt(Stmt::If { cond, then: blocks[0], otherwise: blocks[1] });
        Ok(self.read_locals(ty, &locals))
    }
}
