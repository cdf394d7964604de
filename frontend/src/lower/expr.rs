//! Lowering of expressions that have one scalar. Effects become statements, the value a pure expression.

use quadrants_ir::{
    BinaryOp, Const, ExprId, ExprKind as Ir, ParamId, ScalarType,
    types::{Constant, Type},
};

use super::{
    Lowerer, Result,
    scope::{Binding, Scalar, Value},
};
use crate::{
    literal,
    syntax::{Block, Expr, ExprKind, LiteralKind, Span},
    visit::{assigns, base_name},
};

impl Lowerer {
    /// Lowers `expr`, which must be of type `ty`.
    pub(super) fn scalar_as(&mut self, expr: &Expr, ty: ScalarType) -> Result<ExprId> {
        let value = self.scalar(expr, Some(ty))?;
        let found = self.emit.ty(value);
        if found == ty {
            Ok(value)
        } else {
            Err(self.inconsistent(expr.span, format!("expected {ty}, found {found}")))
        }
    }

    /// Lowers expressions in Rust's evaluation order, each with its type.
    pub(super) fn scalars(&mut self, list: &[(&Expr, ScalarType)]) -> Result<Vec<ExprId>> {
        let mut values = Vec::with_capacity(list.len());
        for (at, (expr, ty)) in list.iter().enumerate() {
            let value = self.scalar_as(expr, *ty)?;
            let value = self.emit.limit_depth(value);
            let assigned_later = list[at + 1..].iter().any(|(later, _)| assigns(later));
            values.push(if assigned_later { self.emit.snapshot(value) } else { value });
        }
        Ok(values)
    }

    /// Lowers `expr`, a scalar. `expected` is the type of its context; it types literals.
    pub(super) fn scalar(&mut self, expr: &Expr, expected: Option<ScalarType>) -> Result<ExprId> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Literal { kind, text, suffix } => {
                self.literal(*kind, text, suffix.as_deref(), expected, span)
            }
            ExprKind::Name(name) => self.scalar_named(name, span),
            ExprKind::Const(_) => self.as_scalar(expr, expected),
            ExprKind::Unary { op, value } => self.unary(*op, value, expected, span),
            ExprKind::Binary { lhs, rhs, .. }
                if self.is_aggregate(lhs) || self.is_aggregate(rhs) =>
            {
                self.as_scalar(expr, expected)
            }
            ExprKind::Binary { op, lhs, rhs } => self.binary_expr(*op, lhs, rhs, expected, span),
            ExprKind::Logic { op, lhs, rhs } => self.logic(*op, lhs, rhs),
            ExprKind::Cast { value, ty, .. } => self.cast(value, *ty, span),
            ExprKind::If { .. }
            | ExprKind::Block(_)
            | ExprKind::Unsafe(_)
            | ExprKind::Loop { .. }
            | ExprKind::Call { .. }
            | ExprKind::Aggregate { .. }
            | ExprKind::Struct { .. }
            | ExprKind::Repeat { .. }
            | ExprKind::Associated { .. }
            | ExprKind::Field { .. }
            | ExprKind::Element { .. } => self.as_scalar(expr, expected),
            ExprKind::Index { base, .. } if self.names_aggregate(base) => {
                self.as_scalar(expr, expected)
            }
            ExprKind::Index { base, index } => self.scalar_indexed(base, index, span),
            ExprKind::Len { base } => self.len(base, span),
            ExprKind::Extent { base, axis } => match self.shape(base, span)? {
                Binding::Shape(tensor) => self.extent(tensor, axis, span),
                _ => Err(self.unknown(format!("tensor `{base}`"), span)),
            },
            ExprKind::Method { receiver, name, args, .. } if self.is_block(receiver) => {
                self.block_method(receiver, name, args, span)
            }
            ExprKind::Method { receiver, .. } if self.is_aggregate(receiver) => {
                self.as_scalar(expr, expected)
            }
            ExprKind::Method { receiver, name, args, .. } => {
                self.method(receiver, name, args, expected, span)
            }
            ExprKind::Atomic { place, .. } => {
                let (ty, kind) = self.atomic(expr)?;
                let base = base_name(place).unwrap_or("element");
                Ok(self.emit.effect(&format!("{base}_old"), ty, kind))
            }
            ExprKind::StreamParallel(_)
            | ExprKind::BlockFor(_)
            | ExprKind::Phase(_)
            | ExprKind::Unsupported(_) => {
                Err(self.inconsistent(span, "this expression has no value in a kernel"))
            }
        }
    }

    /// Lowers an expression of a kind that may have an aggregate value; it must be a scalar.
    fn as_scalar(&mut self, expr: &Expr, expected: Option<ScalarType>) -> Result<ExprId> {
        let value = self.value(expr, expected.map(Type::Scalar))?;
        self.single_scalar(&value, expr.span)
    }

    /// Lowers a block into the current IR block; returns its value.
    pub(super) fn block_value(
        &mut self,
        block: &Block,
        expected: Option<Type>,
        span: Span,
    ) -> Result<Value> {
        let scope = self.frame.names.mark();
        block.stmts.iter().try_for_each(|stmt| self.stmt(stmt))?;
        let value = match &block.value {
            Some(value) => self.value(value, expected),
            None => self.diverging_value(block, expected, span),
        };
        self.frame.names.leave(scope);
        value
    }

    pub(super) fn dim(&mut self, tensor: ParamId, axis: u8) -> ExprId {
        self.emit.expr(ScalarType::U64, Ir::Dim { tensor, axis })
    }

    pub(super) fn rank(&self, tensor: ParamId) -> u8 {
        self.params.get(tensor.index()).map_or(0, |kind| kind.rank())
    }

    fn literal(
        &mut self,
        kind: LiteralKind,
        text: &str,
        suffix: Option<&str>,
        expected: Option<ScalarType>,
        span: Span,
    ) -> Result<ExprId> {
        let ty = match suffix {
            Some(suffix) => literal::scalar_suffix(suffix),
            None => expected,
        };
        let ty = ty.unwrap_or_else(|| literal::default_type(kind));
        match literal::parse(kind, text, ty) {
            Some(value) => Ok(self.emit.constant(value)),
            None => Err(self.type_error(
                span,
                format!(
                    "`{text}` is not a value of {ty}; help: write a literal that fits the type"
                ),
            )),
        }
    }

    fn scalar_named(&mut self, name: &str, span: Span) -> Result<ExprId> {
        match self.frame.lookup(name) {
            Some(Binding::Scalar(Scalar::Param(param, ty))) => Ok(self.emit.param(param, ty)),
            Some(Binding::Scalar(Scalar::Const(value))) => Ok(self.emit.constant(value)),
            Some(Binding::Local(local)) => Ok(self.emit.read(local)),
            Some(_) => Err(self.inconsistent(span, format!("`{name}` is not a scalar"))),
            None => Err(self.unknown(format!("`{name}`"), span)),
        }
    }

    pub(super) fn table_constant(&mut self, ix: u32, span: Span) -> Result<Value> {
        match self.frame.unit.consts.get(ix as usize).cloned() {
            Some(Constant { ty, scalars }) => {
                self.check_size(ty, span)?;
                let leaves = scalars.into_iter().map(|value| self.emit.constant(value));
                Ok(Value { ty, leaves: leaves.collect() })
            }
            None => Err(self.unknown("a constant", span)),
        }
    }

    fn scalar_indexed(&mut self, base: &str, index: &[Expr], span: Span) -> Result<ExprId> {
        if let Some(Binding::Shape(tensor)) = self.frame.lookup(base) {
            return match index.first() {
                Some(axis) => self.extent(tensor, axis, span),
                None => Err(self.inconsistent(span, "an index is missing")),
            };
        }
        if let Some(Binding::PerThread(local)) = self.frame.lookup(base) {
            return Ok(self.emit.read(local));
        }
        let (array, elem) = self.array(base, self.index_count(index), span)?;
        let index = self.index(index)?;
        Ok(self.load(array, elem, index, span))
    }

    fn len(&mut self, base: &str, span: Span) -> Result<ExprId> {
        let tensor = match self.frame.lookup(base) {
            Some(Binding::Tensor { param, .. }) => param,
            Some(Binding::Shared { dims, rank, .. }) => {
                let [rows, columns] = dims.map(|dim| self.extent_value(dim));
                return Ok(match rank {
                    1 => rows,
                    _ => self.emit.binary(BinaryOp::Mul, rows, columns),
                });
            }
            Some(Binding::Shape(param)) => {
                return Ok(self.emit.constant(u64::from(self.rank(param))));
            }
            Some(Binding::Value(value)) => {
                let Type::Array(_, len) = self.named_values[value].ty else {
                    return Err(
                        self.inconsistent(span, format!("`{base}` has no length in kernels"))
                    );
                };
                return Ok(self.emit.constant(len as u64));
            }
            _ => return Err(self.unknown(format!("tensor `{base}`"), span)),
        };
        if self.rank(tensor) == 0 {
            return Ok(self.emit.constant(1u64));
        }
        let mut len = self.dim(tensor, 0);
        for axis in 1..self.rank(tensor) {
            let rhs = self.dim(tensor, axis);
            let kind = Ir::Binary { op: BinaryOp::Mul, lhs: len, rhs };
            len = self.emit.expr(ScalarType::U64, kind);
        }
        Ok(len)
    }

    fn extent(&mut self, tensor: ParamId, axis: &Expr, span: Span) -> Result<ExprId> {
        let axis = match &axis.kind {
            ExprKind::Literal { kind, text, .. } => literal::parse(*kind, text, ScalarType::U64),
            ExprKind::Const(ix) => {
                self.frame.unit.consts.get(*ix as usize).and_then(Constant::scalar)
            }
            _ => None,
        };
        let axis = axis.and_then(Const::as_int).and_then(|axis| u8::try_from(axis).ok());
        match axis {
            Some(axis) if axis < self.rank(tensor) => Ok(self.dim(tensor, axis)),
            _ => Err(self.inconsistent(span, "the tensor has no such axis")),
        }
    }
}
