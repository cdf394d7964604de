//! Common subexpression elimination and constant folding: rebuilds the expressions of a kernel. Each pure expression
//! exists once, expressions of constants are folded, and algebraic identities are applied.

use std::collections::HashMap;

use crate::{
    Arena, BinaryOp, Const, Element, Expr, ExprId, ExprKind, LocalId, MathFn, ScalarType, UnaryOp,
    interp::fold,
};

/// The rebuilt expressions.
pub(super) struct Exprs<'k> {
    old: &'k Arena<Expr>,
    new: Arena<Expr>,
    /// The new id of each old expression.
    rewritten: Vec<Option<ExprId>>,
    unique_exprs: HashMap<Expr, ExprId>,
    /// The values of locals that are constants.
    constants: Vec<Option<Const>>,
}

impl<'k> Exprs<'k> {
    pub(super) fn new(old: &'k Arena<Expr>, locals: usize) -> Self {
        let (rewritten, constants) = (vec![None; old.len()], vec![None; locals]);
        Self { old, new: Arena::new(), rewritten, unique_exprs: HashMap::new(), constants }
    }

    pub(super) fn finish(self) -> Arena<Expr> {
        self.new
    }

    /// Records the value of an immutable local.
    pub(super) fn define(&mut self, local: LocalId, value: ExprId) {
        // Float constants keep their names from the source.
        let constant = self.constant(value).filter(|value| !value.ty().is_float());
        self.constants[local.index()] = constant;
    }

    pub(super) fn constant(&self, id: ExprId) -> Option<Const> {
        match self.new[id].kind {
            ExprKind::Const(value) => Some(value),
            _ => None,
        }
    }

    pub(super) fn is_local(&self, id: ExprId, local: LocalId) -> bool {
        matches!(self.new[id].kind, ExprKind::Local(read) if read == local)
    }

    pub(super) fn is_effect(&self, id: ExprId) -> bool {
        self.new[id].kind.is_effect()
    }

    /// The new expression for an old one. It does not depend on the statement, because locals are defined before use.
    pub(super) fn rewrite(&mut self, id: ExprId) -> ExprId {
        if let Some(rewritten) = self.rewritten[id.index()] {
            return rewritten;
        }
        let Expr { ty, mut kind, exact } = self.old[id].clone();
        kind.operands_mut(|operand| *operand = self.rewrite(*operand));
        if let ExprKind::Local(local) = kind
            && let Some(value) = self.constants[local.index()]
        {
            kind = ExprKind::Const(value);
        }
        let rewritten = self.simplify(Expr { ty, kind, exact });
        self.rewritten[id.index()] = Some(rewritten);
        rewritten
    }

    /// Copies an old expression without simplification.
    pub(super) fn copy(&mut self, id: ExprId) -> ExprId {
        let Expr { ty, mut kind, exact } = self.old[id].clone();
        kind.operands_mut(|operand| *operand = self.copy(*operand));
        self.unique(Expr { ty, kind, exact })
    }

    fn simplify(&mut self, expr: Expr) -> ExprId {
        let folded = fold(expr.ty, &expr.kind, |id| self.constant(id));
        if let Some(value) = folded.or_else(|| self.comparison_with_zero(&expr.kind)) {
            return self.unique(Expr::new(expr.ty, ExprKind::Const(value)));
        }
        match self.identity(expr.ty, &expr.kind) {
            Some(same) => same,
            None => self.unique(expr),
        }
    }

    fn unique(&mut self, expr: Expr) -> ExprId {
        if expr.kind.is_effect() {
            return self.new.push(expr);
        }
        if let Some(id) = self.unique_exprs.get(&expr) {
            return *id;
        }
        let id = self.new.push(expr.clone());
        self.unique_exprs.insert(expr, id);
        id
    }

    /// The result of a comparison of an unsigned integer with zero that is always true or always false.
    fn comparison_with_zero(&self, kind: &ExprKind) -> Option<Const> {
        let ExprKind::Binary { op, lhs, rhs } = *kind else { return None };
        let ty = self.new[lhs].ty;
        let zero = |id| self.constant(id).is_some_and(|constant| constant.bits() == 0);
        match op {
            _ if !ty.is_int() || ty.is_wide_signed_int() => None,
            BinaryOp::Lt if zero(rhs) => Some(Const::from_bits(ScalarType::Bool, 0)),
            BinaryOp::Ge if zero(rhs) => Some(Const::from_bits(ScalarType::Bool, 1)),
            BinaryOp::Gt if zero(lhs) => Some(Const::from_bits(ScalarType::Bool, 0)),
            BinaryOp::Le if zero(lhs) => Some(Const::from_bits(ScalarType::Bool, 1)),
            _ => None,
        }
    }

    /// The operand that equals the whole expression by an algebraic identity.
    fn identity(&self, ty: ScalarType, kind: &ExprKind) -> Option<ExprId> {
        match *kind {
            ExprKind::Binary { op, lhs, rhs } => self.binary_identity(op, ty, lhs, rhs),
            ExprKind::Unary { op: op @ (UnaryOp::Neg | UnaryOp::Not), value } => {
                match self.new[value].kind {
                    ExprKind::Unary { op: inner, value } if inner == op => Some(value),
                    _ => None,
                }
            }
            ExprKind::Cast { value } if self.new[value].ty == ty => Some(value),
            ExprKind::Select { cond, then, otherwise } => match self.constant(cond) {
                Some(cond) => Some(if cond.bits() != 0 { then } else { otherwise }),
                None => (then == otherwise).then_some(then),
            },
            ExprKind::Math { function: MathFn::Min | MathFn::Max, ref args }
                if ty.is_int() && args[0] == args[1] =>
            {
                Some(args[0])
            }
            _ => None,
        }
    }

    fn binary_identity(
        &self,
        op: BinaryOp,
        ty: ScalarType,
        lhs: ExprId,
        rhs: ExprId,
    ) -> Option<ExprId> {
        use BinaryOp::*;
        let is =
            |id, value: u64| self.constant(id).is_some_and(|constant| constant.bits() == value);
        let zero = |id| is(id, 0);
        let one = |id| match ty {
            ScalarType::F32 => is(id, u64::from(1f32.to_bits())),
            ScalarType::F64 => is(id, 1f64.to_bits()),
            _ => is(id, 1),
        };
        let bool = ty == ScalarType::Bool;
        match op {
            // Not for floats: -0 + 0 is 0.
            Add | Or | Xor if !ty.is_float() && zero(lhs) => Some(rhs),
            Add | Or | Xor if !ty.is_float() && zero(rhs) => Some(lhs),
            Sub | Shl | Shr if zero(rhs) => Some(lhs),
            Mul if one(lhs) => Some(rhs),
            Mul | Div if one(rhs) => Some(lhs),
            Mul | And if !ty.is_float() && zero(lhs) => Some(lhs),
            Mul | And if !ty.is_float() && zero(rhs) => Some(rhs),
            And if bool && one(lhs) => Some(rhs),
            And if bool && one(rhs) => Some(lhs),
            Or if bool && (one(lhs) || lhs == rhs) => Some(lhs),
            Or if bool && one(rhs) => Some(rhs),
            And if lhs == rhs => Some(lhs),
            _ => None,
        }
    }
}

impl ExprKind {
    /// Changes the direct operands, in source order.
    pub(crate) fn operands_mut(&mut self, mut change: impl FnMut(&mut ExprId)) {
        match self {
            Self::Const(_) | Self::Local(_) | Self::Param(_) | Self::Dim { .. } | Self::Temp(_) => {
            }
            Self::Unary { value, .. } | Self::Cast { value } | Self::Bits { value } => {
                change(value);
            }
            Self::Binary { lhs, rhs, .. } | Self::DivRem { lhs, rhs, .. } => {
                change(lhs);
                change(rhs);
            }
            Self::Math { args: list, .. } | Self::Load(Element { index: list, .. }) => {
                list.iter_mut().for_each(change);
            }
            Self::Select { cond, then, otherwise } => {
                change(cond);
                change(then);
                change(otherwise);
            }
            Self::Atomic { element, expected, value, .. } => {
                element.index.iter_mut().chain(expected).for_each(&mut change);
                change(value);
            }
        }
    }
}
