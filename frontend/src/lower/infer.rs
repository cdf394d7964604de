//! What type an expression has by itself, before the place that it stands in is asked.

use quadrants_ir::{BinaryOp, ParamKind, ScalarType};

use super::{
    Lowerer,
    literal::{default_type, scalar_suffix},
    method,
    scope::{Binding, Scalar},
};
use crate::syntax::{Block, Expr, ExprKind, LiteralKind, StmtKind};

/// Names that the blocks around an expression will declare, while it is only looked at.
type Ahead<'a> = Vec<(&'a str, ScalarType)>;

impl Lowerer {
    /// The type of `expr`; none where it is made of literals without a suffix alone.
    pub(super) fn infer(&self, expr: &Expr) -> Option<ScalarType> {
        self.infer_ahead(expr, &mut Vec::new())
    }

    /// The type that `expr` has where its place wants none: a literal's default.
    pub(super) fn default_type(&self, expr: &Expr) -> ScalarType {
        match &expr.kind {
            ExprKind::Literal { kind, .. } => default_type(*kind),
            ExprKind::Unary { value, .. } => self.default_type(value),
            ExprKind::Binary { lhs, .. } => self.default_type(lhs),
            ExprKind::Method { receiver, name, .. } => {
                method::result_of(name, self.default_type(receiver))
            }
            ExprKind::If { then: block, .. } | ExprKind::Block(block) | ExprKind::Unsafe(block) => {
                block.value.as_deref().map_or(ScalarType::I32, |value| self.default_type(value))
            }
            _ => ScalarType::I32,
        }
    }

    pub(super) fn element(&self, binding: Binding) -> Option<ScalarType> {
        match binding {
            Binding::Shape(_) => Some(ScalarType::U64),
            Binding::Tensor { param, .. } => match self.params.get(param.index())? {
                ParamKind::Tensor { elem, .. } => Some(*elem),
                ParamKind::Scalar(_) => None,
            },
            Binding::Scalar(_) | Binding::Local(_) => None,
        }
    }

    fn infer_ahead<'a>(&self, expr: &'a Expr, ahead: &mut Ahead<'a>) -> Option<ScalarType> {
        match &expr.kind {
            ExprKind::Literal { suffix: Some(suffix), .. } => scalar_suffix(suffix),
            ExprKind::Literal { kind: LiteralKind::Bool, .. } => Some(ScalarType::Bool),
            ExprKind::Literal { .. } => None,
            ExprKind::Name(name) => {
                if let Some((_, ty)) = ahead.iter().rev().find(|(n, _)| n == name) {
                    return Some(*ty);
                }
                match self.frame.lookup(name)? {
                    Binding::Scalar(Scalar::Param(_, ty)) => Some(ty),
                    Binding::Scalar(Scalar::Const(value)) => Some(value.ty()),
                    Binding::Local(local) => Some(self.emit.locals[local].ty),
                    Binding::Tensor { .. } | Binding::Shape(_) => None,
                }
            }
            ExprKind::Const(ix) => self.frame.unit.consts.get(*ix as usize).map(|c| c.ty()),
            ExprKind::Unary { value, .. } => self.infer_ahead(value, ahead),
            ExprKind::Binary { op, .. } if op.is_comparison() => Some(ScalarType::Bool),
            ExprKind::Binary { op: BinaryOp::Shl | BinaryOp::Shr, lhs, .. } => {
                self.infer_ahead(lhs, ahead)
            }
            ExprKind::Binary { lhs, rhs, .. } => {
                self.infer_ahead(lhs, ahead).or_else(|| self.infer_ahead(rhs, ahead))
            }
            ExprKind::Logic { .. } => Some(ScalarType::Bool),
            ExprKind::Cast { ty, .. } => self.frame.unit.types.get(*ty as usize).copied(),
            ExprKind::If { then, otherwise, .. } => self
                .infer_block(then, ahead)
                .or_else(|| self.infer_block(otherwise.as_ref()?, ahead)),
            ExprKind::Block(block) | ExprKind::Unsafe(block) => self.infer_block(block, ahead),
            ExprKind::Len { .. } | ExprKind::Extent { .. } => Some(ScalarType::U64),
            ExprKind::Method { receiver, name, .. } => {
                self.infer_ahead(receiver, ahead).map(|ty| method::result_of(name, ty))
            }
            ExprKind::Call { func, .. } => {
                let unit = self.frame.callees.get(*func as usize)?;
                unit.types.get(unit.function.result? as usize).copied()
            }
            ExprKind::Index { base, .. } | ExprKind::Atomic { base, .. } => {
                self.element(self.frame.lookup(base)?)
            }
            ExprKind::StreamParallel(_) | ExprKind::Unsupported(_) => None,
        }
    }

    fn infer_block<'a>(&self, block: &'a Block, ahead: &mut Ahead<'a>) -> Option<ScalarType> {
        let mark = ahead.len();
        for stmt in &block.stmts {
            match &stmt.kind {
                StmtKind::Let { name, ty, .. } => {
                    if let Some(ty) = self.frame.unit.types.get(*ty as usize) {
                        ahead.push((name, *ty));
                    }
                }
                StmtKind::LetExtents { names, .. } => {
                    ahead.extend(names.iter().flatten().map(|n| (n.as_str(), ScalarType::U64)));
                }
                _ => {}
            }
        }
        let ty = block.value.as_ref().and_then(|value| self.infer_ahead(value, ahead));
        ahead.truncate(mark);
        ty
    }
}
