//! Type inference of expressions from their parts, without their context.

use quadrants_ir::{ScalarType, types::Type};

use super::{
    Lowerer, linalg, method,
    scope::{Binding, Scalar},
};
use crate::{
    builtins::FILLED,
    literal::{default_type, scalar_suffix},
    syntax::{Block, Expr, ExprKind, LiteralKind, StmtKind},
    visit::each_binding,
};

/// Names that enclosing blocks inside the inferred expression declare.
type Locals<'a> = Vec<(&'a str, Type)>;

impl Lowerer {
    /// The scalar type of `expr`; `None` if it consists only of literals without suffixes.
    pub(super) fn infer(&self, expr: &Expr) -> Option<ScalarType> {
        self.infer_type(expr)?.scalar()
    }

    /// The type of `expr`; `None` if it consists only of literals without suffixes.
    pub(super) fn infer_type(&self, expr: &Expr) -> Option<Type> {
        self.infer_with(expr, &mut Vec::new())
    }

    /// The default type of `expr`, if its context expects no type.
    pub(super) fn default_type(&self, expr: &Expr) -> ScalarType {
        match &expr.kind {
            ExprKind::Literal { kind, .. } => default_type(*kind),
            ExprKind::Unary { value, .. } => self.default_type(value),
            ExprKind::Binary { lhs, .. } => self.default_type(lhs),
            ExprKind::Method { receiver, name, .. } => {
                method::result_type(name, self.default_type(receiver))
            }
            ExprKind::If { then, otherwise, .. } => {
                // A branch that ends in a jump has no value.
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

    fn element_type(&self, binding: Binding) -> Option<Type> {
        match binding {
            Binding::Shape(_) => Some(Type::Scalar(ScalarType::U64)),
            Binding::Tensor { elem, .. } => Some(elem),
            Binding::Shared { elem, .. } => Some(elem),
            Binding::PerThread(local) => Some(Type::Scalar(self.emit.locals[local].ty)),
            Binding::Scalar(_) | Binding::Local(_) | Binding::Value(_) | Binding::Block { .. } => {
                None
            }
        }
    }

    fn infer_with<'a>(&self, expr: &'a Expr, locals: &mut Locals<'a>) -> Option<Type> {
        let table = |ix: &u32| self.frame.unit.types.get(*ix as usize).copied();
        match &expr.kind {
            ExprKind::Literal { suffix: Some(suffix), .. } => {
                scalar_suffix(suffix).map(Type::Scalar)
            }
            ExprKind::Literal { kind: LiteralKind::Bool, .. } => {
                Some(Type::Scalar(ScalarType::Bool))
            }
            ExprKind::Literal { .. } => None,
            ExprKind::Name(name) => self.infer_name(name, locals),
            ExprKind::Const(ix) => self.frame.unit.consts.get(*ix as usize).map(|value| value.ty),
            ExprKind::Unary { value, .. } => self.infer_with(value, locals),
            ExprKind::Binary { op, lhs, rhs } => {
                let (lhs, rhs) = (self.infer_with(lhs, locals), self.infer_with(rhs, locals));
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
                .infer_block(then, locals)
                .or_else(|| self.infer_block(otherwise.as_ref()?, locals)),
            ExprKind::Block(block) | ExprKind::Unsafe(block) => self.infer_block(block, locals),
            ExprKind::Len { .. } | ExprKind::Extent { .. } => Some(Type::Scalar(ScalarType::U64)),
            ExprKind::Method { receiver, .. } if self.is_block(receiver) => {
                Some(Type::Scalar(ScalarType::U64))
            }
            ExprKind::Method { receiver, name, args, .. } => {
                match self.infer_with(receiver, locals)? {
                    ty if name == FILLED => {
                        linalg::filled_type(ty, self.infer_with(args.first()?, locals)?, None)
                    }
                    Type::Scalar(ty) => method::composite_type(name, ty)
                        .or_else(|| Some(Type::Scalar(method::result_type(name, ty)))),
                    ty => linalg::method_type(name, ty),
                }
            }
            ExprKind::Call { func, .. } => {
                let unit = self.frame.callees.get(*func as usize)?.as_ref()?;
                unit.types.get(unit.function.result? as usize).copied()
            }
            ExprKind::Field { value, name } => {
                let (ty, _) = self.infer_with(value, locals)?.field(name)?;
                Some(ty)
            }
            ExprKind::Element { value, index } => {
                let (ty, _) = self.infer_with(value, locals)?.element(index.len())?;
                Some(ty)
            }
            ExprKind::Index { base, index } => match self.infer_name(base, locals) {
                Some(ty) => ty.element(index.len()).map(|(ty, _)| ty),
                None => self.element_type(self.frame.lookup(base)?),
            },
            ExprKind::Atomic { place, .. } => self.infer_with(place, locals),
            ExprKind::StreamParallel(_)
            | ExprKind::BlockFor(_)
            | ExprKind::Phase(_)
            | ExprKind::Unsupported(_) => None,
        }
    }

    fn infer_name(&self, name: &str, locals: &Locals<'_>) -> Option<Type> {
        if let Some((_, ty)) = locals.iter().rev().find(|(n, _)| *n == name) {
            return Some(*ty);
        }
        match self.frame.lookup(name)? {
            Binding::Scalar(Scalar::Param(_, ty)) => Some(Type::Scalar(ty)),
            Binding::Scalar(Scalar::Const(value)) => Some(Type::Scalar(value.ty())),
            Binding::Local(local) => Some(Type::Scalar(self.emit.locals[local].ty)),
            Binding::Value(value) => Some(self.named_values[value].ty),
            Binding::Tensor { .. }
            | Binding::Shape(_)
            | Binding::Block { .. }
            | Binding::Shared { .. }
            | Binding::PerThread(_) => None,
        }
    }

    fn infer_block<'a>(&self, block: &'a Block, locals: &mut Locals<'a>) -> Option<Type> {
        let mark = locals.len();
        for stmt in &block.stmts {
            match &stmt.kind {
                StmtKind::Let { name, ty, .. } => {
                    locals.extend(self.frame.unit.types.get(*ty as usize).map(|ty| (&**name, *ty)));
                }
                StmtKind::LetExtents { names, .. } => {
                    let extent = Type::Scalar(ScalarType::U64);
                    locals.extend(names.iter().flatten().map(|n| (n.as_str(), extent)));
                }
                StmtKind::LetPattern { pattern, .. } => {
                    each_binding(pattern, &mut |name, _, ty| {
                        locals.extend(self.frame.unit.types.get(ty as usize).map(|ty| (name, *ty)));
                    })
                }
                _ => {}
            }
        }
        let ty = block.value.as_ref().and_then(|value| self.infer_with(value, locals));
        locals.truncate(mark);
        ty
    }
}
