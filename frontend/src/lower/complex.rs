//! Operators of complex numbers, in the order of operations of the operators that `#[device(complex)]` emits, so that
//! both give the same bits.

use quadrants_ir::{BinaryOp, ExprId};

use super::{Lowerer, Result, scope::Value};
use crate::syntax::Span;

impl Lowerer {
    /// Emits `lhs op rhs` if one side is a complex number and the other one is of the same type or a number of the type
    /// of its parts; `None` for other operands.
    pub(super) fn complex_binary(
        &mut self,
        op: BinaryOp,
        lhs: &Value,
        rhs: &Value,
        span: Span,
    ) -> Result<Option<Value>> {
        use BinaryOp::{Add, Div, Mul, Sub};
        let (left, right) = (lhs.ty.complex(), rhs.ty.complex());
        let (a, b) = (self.reuse_all(&lhs.leaves), self.reuse_all(&rhs.leaves));
        let leaves = match (op, left, right) {
            (Add | Sub, Some(_), Some(_)) if lhs.ty == rhs.ty => {
                [self.part(op, a[0], b[0], span)?, self.part(op, a[1], b[1], span)?]
            }
            (Mul, Some(_), Some(_)) if lhs.ty == rhs.ty => [
                self.two_products(Sub, [a[0], b[0]], [a[1], b[1]], span)?,
                self.two_products(Add, [a[0], b[1]], [a[1], b[0]], span)?,
            ],
            (Div, Some(_), Some(_)) if lhs.ty == rhs.ty => {
                let norm = self.two_products(Add, [b[0], b[0]], [b[1], b[1]], span)?;
                let norm = self.emit.reuse(norm);
                let real = self.two_products(Add, [a[0], b[0]], [a[1], b[1]], span)?;
                let imaginary = self.two_products(Sub, [a[1], b[0]], [a[0], b[1]], span)?;
                [self.part(Div, real, norm, span)?, self.part(Div, imaginary, norm, span)?]
            }
            (Mul | Div, Some(part), None) if rhs.ty.scalar() == Some(part) => {
                [self.part(op, a[0], b[0], span)?, self.part(op, a[1], b[0], span)?]
            }
            (Mul, None, Some(part)) if lhs.ty.scalar() == Some(part) => {
                [self.part(op, a[0], b[0], span)?, self.part(op, a[0], b[1], span)?]
            }
            _ => return Ok(None),
        };
        let ty = if left.is_some() { lhs.ty } else { rhs.ty };
        Ok(Some(Value { ty, leaves: leaves.to_vec() }))
    }

    fn part(&mut self, op: BinaryOp, a: ExprId, b: ExprId, span: Span) -> Result<ExprId> {
        let (a, b) = (self.emit.copy(a), self.emit.copy(b));
        self.binary(op, a, b, span)
    }

    /// `a * b op c * d`
    fn two_products(
        &mut self,
        op: BinaryOp,
        [a, b]: [ExprId; 2],
        [c, d]: [ExprId; 2],
        span: Span,
    ) -> Result<ExprId> {
        let (first, second) =
            (self.part(BinaryOp::Mul, a, b, span)?, self.part(BinaryOp::Mul, c, d, span)?);
        self.binary(op, first, second, span)
    }
}
