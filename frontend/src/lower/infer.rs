//! What type an expression has by itself, before the place that it stands in is asked.

use quadrants_ir::{ScalarType, types::Type};

use super::{
    Lowerer, linalg, method,
    scope::{Binding, Scalar},
};
use crate::{
    literal::{default_type, scalar_suffix},
    syntax::{Block, Expr, ExprKind, LiteralKind, StmtKind},
    visit::each_bound,
};

/// Names that the blocks around an expression will declare, while it is only looked at.
type Ahead<'a> = Vec<(&'a str, Type)>;

impl Lowerer {
    /// The type of `expr`; none where it is made of literals without a suffix alone.
    pub(super) fn infer(&self, expr: &Expr) -> Option<ScalarType> {
        self.infer_type(expr)?.scalar()
    }

    /// The type of `expr`, whatever it is.
    pub(super) fn infer_type(&self, expr: &Expr) -> Option<Type> {
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
            ExprKind::If { then, otherwise, .. } => {
                // A branch that a jump leaves has no value.
                let otherwise = otherwise.as_ref().and_then(|block| block.value.as_deref());
                let value = then.value.as_deref().or(otherwise);
                value.map_or(ScalarType::I32, |value| self.default_type(value))
            }
            ExprKind::Block(block) | ExprKind::Unsafe(block) => {
                block.value.as_deref().map_or(ScalarType::I32, |value| self.default_type(value))
            }
            _ => ScalarType::I32,
        }
    }

    fn type_of_elements(&self, binding: Binding) -> Option<Type> {
        match binding {
            Binding::Shape(_) => Some(Type::Scalar(ScalarType::U64)),
            Binding::Tensor { elem, .. } => Some(elem),
            Binding::Shared { array: local, .. } | Binding::OfThreads(local) => {
                Some(Type::Scalar(self.emit.locals[local].ty))
            }
            Binding::Scalar(_) | Binding::Local(_) | Binding::Value(_) | Binding::Block { .. } => {
                None
            }
        }
    }

    fn infer_ahead<'a>(&self, expr: &'a Expr, ahead: &mut Ahead<'a>) -> Option<Type> {
        let table = |ix: &u32| self.frame.unit.types.get(*ix as usize).copied();
        match &expr.kind {
            ExprKind::Literal { suffix: Some(suffix), .. } => {
                scalar_suffix(suffix).map(Type::Scalar)
            }
            ExprKind::Literal { kind: LiteralKind::Bool, .. } => {
                Some(Type::Scalar(ScalarType::Bool))
            }
            ExprKind::Literal { .. } => None,
            ExprKind::Name(name) => self.infer_name(name, ahead),
            ExprKind::Const(ix) => self.frame.unit.consts.get(*ix as usize).map(|value| value.ty),
            ExprKind::Unary { value, .. } => self.infer_ahead(value, ahead),
            ExprKind::Binary { op, lhs, rhs } => {
                let (lhs, rhs) = (self.infer_ahead(lhs, ahead), self.infer_ahead(rhs, ahead));
                linalg::operator_type(*op, lhs, rhs)
            }
            ExprKind::Logic { .. } => Some(Type::Scalar(ScalarType::Bool)),
            ExprKind::Cast { ty, .. }
            | ExprKind::Aggregate { ty, .. }
            | ExprKind::Struct { ty, .. }
            | ExprKind::Repeat { ty, .. }
            | ExprKind::Loop { ty, .. }
            | ExprKind::Associated { ty, .. } => table(ty),
            ExprKind::If { then, otherwise, .. } => self
                .infer_block(then, ahead)
                .or_else(|| self.infer_block(otherwise.as_ref()?, ahead)),
            ExprKind::Block(block) | ExprKind::Unsafe(block) => self.infer_block(block, ahead),
            ExprKind::Len { .. } | ExprKind::Extent { .. } => Some(Type::Scalar(ScalarType::U64)),
            ExprKind::Method { receiver, .. } if self.is_block(receiver) => {
                Some(Type::Scalar(ScalarType::U64))
            }
            ExprKind::Method { receiver, name, .. } => match self.infer_ahead(receiver, ahead)? {
                Type::Scalar(ty) => Some(Type::Scalar(method::result_of(name, ty))),
                ty => linalg::method_type(name, ty),
            },
            ExprKind::Call { func, .. } => {
                let unit = self.frame.callees.get(*func as usize)?.as_ref()?;
                unit.types.get(unit.function.result? as usize).copied()
            }
            ExprKind::Field { value, name } => {
                let (ty, _) = self.infer_ahead(value, ahead)?.field(name)?;
                Some(ty)
            }
            ExprKind::Element { value, index } => {
                let (ty, _) = self.infer_ahead(value, ahead)?.element(index.len())?;
                Some(ty)
            }
            ExprKind::Index { base, index } => match self.infer_name(base, ahead) {
                Some(ty) => ty.element(index.len()).map(|(ty, _)| ty),
                None => self.type_of_elements(self.frame.lookup(base)?),
            },
            ExprKind::Atomic { place, .. } => self.infer_ahead(place, ahead),
            ExprKind::StreamParallel(_)
            | ExprKind::BlockFor(_)
            | ExprKind::Each(_)
            | ExprKind::Unsupported(_) => None,
        }
    }

    fn infer_name(&self, name: &str, ahead: &Ahead<'_>) -> Option<Type> {
        if let Some((_, ty)) = ahead.iter().rev().find(|(n, _)| *n == name) {
            return Some(*ty);
        }
        match self.frame.lookup(name)? {
            Binding::Scalar(Scalar::Param(_, ty)) => Some(Type::Scalar(ty)),
            Binding::Scalar(Scalar::Const(value)) => Some(Type::Scalar(value.ty())),
            Binding::Local(local) => Some(Type::Scalar(self.emit.locals[local].ty)),
            Binding::Value(value) => Some(self.values[value].ty),
            Binding::Tensor { .. }
            | Binding::Shape(_)
            | Binding::Block { .. }
            | Binding::Shared { .. }
            | Binding::OfThreads(_) => None,
        }
    }

    fn infer_block<'a>(&self, block: &'a Block, ahead: &mut Ahead<'a>) -> Option<Type> {
        let mark = ahead.len();
        for stmt in &block.stmts {
            match &stmt.kind {
                StmtKind::Let { name, ty, .. } => {
                    ahead.extend(self.frame.unit.types.get(*ty as usize).map(|ty| (&**name, *ty)));
                }
                StmtKind::LetExtents { names, .. } => {
                    let extent = Type::Scalar(ScalarType::U64);
                    ahead.extend(names.iter().flatten().map(|n| (n.as_str(), extent)));
                }
                StmtKind::LetPattern { pattern, .. } => each_bound(pattern, &mut |name, _, ty| {
                    ahead.extend(self.frame.unit.types.get(ty as usize).map(|ty| (name, *ty)));
                }),
                _ => {}
            }
        }
        let ty = block.value.as_ref().and_then(|value| self.infer_ahead(value, ahead));
        ahead.truncate(mark);
        ty
    }
}
