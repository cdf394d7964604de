//! Expressions: their effects as statements, their value as a pure expression.

use quadrants_ir::{
    BinaryOp, Const, DivRemOp, ExprId, ExprKind as Ir, MathFn, ParamId, ParamKind, ScalarType,
    SiteKind, Stmt, UnaryOp,
};

use super::{
    Lowerer, Result, WRAPPING, literal,
    scope::{Binding, Scalar},
};
use crate::{
    syntax::{Block, Expr, ExprKind, LogicOp, Span},
    visit::assigns,
};

impl Lowerer {
    /// The value of `expr`, which must be of type `ty`.
    pub(super) fn want(&mut self, expr: &Expr, ty: ScalarType) -> Result<ExprId> {
        let value = self.value(expr, Some(ty))?;
        let found = self.emit.ty(value);
        if found == ty {
            Ok(value)
        } else {
            Err(self.type_error(expr.span, format!("expected {ty}, found {found}")))
        }
    }

    /// The values of expressions that Rust evaluates in this order, each of its type.
    pub(super) fn list(&mut self, list: &[(&Expr, ScalarType)]) -> Result<Vec<ExprId>> {
        let mut values = Vec::with_capacity(list.len());
        for (at, (expr, ty)) in list.iter().enumerate() {
            let value = self.want(expr, *ty)?;
            let overtaken = list[at + 1..].iter().any(|(later, _)| assigns(later));
            values.push(if overtaken { self.emit.hold(value) } else { value });
        }
        Ok(values)
    }

    /// The value of `expr`; `expected` is what its place wants, for literals.
    pub(super) fn value(&mut self, expr: &Expr, expected: Option<ScalarType>) -> Result<ExprId> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Literal { kind, text, suffix } => {
                let ty = match suffix {
                    Some(suffix) => literal::scalar_suffix(suffix),
                    None => expected,
                };
                let ty = ty.unwrap_or_else(|| literal::default_type(*kind));
                match literal::parse(*kind, text, ty) {
                    Some(value) => Ok(self.emit.constant(value)),
                    None => Err(self.type_error(span, format!("`{text}` is no {ty}"))),
                }
            }
            ExprKind::Name(name) => match self.frame.lookup(name) {
                Some(Binding::Scalar(Scalar::Param(param, ty))) => Ok(self.emit.param(param, ty)),
                Some(Binding::Scalar(Scalar::Const(value))) => Ok(self.emit.constant(value)),
                Some(Binding::Local(local)) => Ok(self.emit.read(local)),
                Some(Binding::Tensor { .. } | Binding::Shape(_)) => {
                    Err(self.type_error(span, format!("`{name}` is no scalar")))
                }
                None => Err(self.unknown(format!("`{name}`"), span)),
            },
            ExprKind::Const(ix) => match self.frame.unit.consts.get(*ix as usize).copied() {
                Some(value) => Ok(self.emit.constant(value)),
                None => Err(self.unknown("a constant", span)),
            },
            ExprKind::Unary { op, value } => {
                let value = self.value(value, expected)?;
                self.unary(*op, value, span)
            }
            ExprKind::Binary { op, lhs, rhs } => self.binary_of(*op, lhs, rhs, expected, span),
            ExprKind::Logic { op, lhs, rhs } => self.logic(*op, lhs, rhs),
            ExprKind::Cast { value, ty } => {
                let ty = self.type_at(*ty, span)?;
                let hint = literal::takes_cast_type(value, ty).then_some(ty);
                let hint = self.infer(value).or(hint);
                let value = self.value(value, hint)?;
                let from = self.emit.ty(value);
                if from == ty {
                    Ok(value)
                } else if ty == ScalarType::Bool || from == ScalarType::Bool && ty.is_float() {
                    Err(self.type_error(span, format!("{from} cannot be cast to {ty}")))
                } else {
                    Ok(self.emit.expr(ty, Ir::Cast { value }))
                }
            }
            ExprKind::If { cond, then, otherwise } => {
                let ty = self.infer(expr).or(expected);
                let ty = ty.unwrap_or_else(|| self.default_type(expr));
                match otherwise {
                    Some(otherwise) => self.choose(cond, then, otherwise, ty),
                    None => Err(self.type_error(span, "an `if` with a value needs an `else`")),
                }
            }
            ExprKind::Block(block) => self.block_value(block, expected, span),
            ExprKind::Index { base, index } => match self.frame.lookup(base) {
                Some(Binding::Shape(tensor)) => match index.first() {
                    Some(axis) => self.extent(tensor, axis, span),
                    None => Err(self.type_error(span, "an index is missing")),
                },
                _ => {
                    let (tensor, elem) = self.tensor(base, index.len(), span)?;
                    let index = self.index(index)?;
                    Ok(self.load(tensor, elem, index, span))
                }
            },
            ExprKind::Len { base } => {
                let (tensor, rank) = match self.frame.lookup(base) {
                    Some(Binding::Tensor { param, .. }) => (param, self.rank(param)),
                    Some(Binding::Shape(param)) => {
                        return Ok(self.emit.constant(u64::from(self.rank(param))));
                    }
                    _ => return Err(self.unknown(format!("tensor `{base}`"), span)),
                };
                let mut len = self.dim(tensor, 0);
                for axis in 1..rank {
                    let rhs = self.dim(tensor, axis);
                    let kind = Ir::Binary { op: BinaryOp::Mul, lhs: len, rhs };
                    len = self.emit.expr(ScalarType::U64, kind);
                }
                Ok(len)
            }
            ExprKind::Extent { base, axis } => match self.frame.lookup(base) {
                Some(Binding::Tensor { param, .. } | Binding::Shape(param)) => {
                    self.extent(param, axis, span)
                }
                _ => Err(self.unknown(format!("tensor `{base}`"), span)),
            },
            ExprKind::Method { receiver, name, args } => {
                self.method(receiver, name, args, expected, span)
            }
            ExprKind::Call { func, args } => match self.call(*func, args, span)? {
                Some(value) => Ok(value),
                None => Err(self.type_error(span, "this func has no value")),
            },
            ExprKind::Atomic { base, .. } => {
                let (ty, kind) = self.atomic(expr)?;
                Ok(self.emit.effect(&format!("{base}_old"), ty, kind))
            }
            ExprKind::StreamParallel(_) | ExprKind::Unsupported(_) => {
                Err(self.type_error(span, "this expression has no value in a kernel"))
            }
        }
    }

    /// The value of a block whose statements go into the current one.
    pub(super) fn block_value(
        &mut self,
        block: &Block,
        expected: Option<ScalarType>,
        span: Span,
    ) -> Result<ExprId> {
        let scope = self.frame.enter();
        for stmt in &block.stmts {
            self.stmt(stmt)?;
        }
        let value = match &block.value {
            Some(value) => self.value(value, expected),
            None => Err(self.type_error(span, "this block has no value")),
        };
        self.frame.leave(scope);
        value
    }

    /// `lhs op rhs` for operands of fitting types.
    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        lhs: ExprId,
        rhs: ExprId,
        span: Span,
    ) -> Result<ExprId> {
        use BinaryOp::{Add, And, Div, Eq, Mul, Ne, Or, Rem, Shl, Shr, Sub, Xor};
        let ty = self.emit.ty(lhs);
        let right = self.emit.ty(rhs);
        let fits = match op {
            Shl | Shr => ty.is_int() && right.is_int(),
            _ if ty != right => false,
            Add | Sub | Mul | Div | Rem => ty != ScalarType::Bool,
            And | Or | Xor => !ty.is_float(),
            Eq | Ne => true,
            _ => true,
        };
        if !fits {
            let what = format!("this operation is not defined for {ty} and {right}");
            return Err(self.type_error(span, what));
        }
        if ty.is_int() && matches!(op, Div | Rem) {
            let (op, name) = match op {
                Div => (DivRemOp::Div, "quotient"),
                _ => (DivRemOp::Rem, "remainder"),
            };
            let site = self.emit.site(SiteKind::DivideByZero, self.place(span));
            return Ok(self.emit.effect(name, ty, Ir::DivRem { op, lhs, rhs, site }));
        }
        let result = if op.is_comparison() { ScalarType::Bool } else { ty };
        Ok(self.emit.expr(result, Ir::Binary { op, lhs, rhs }))
    }

    /// The tensor that `base` names, indexed with `rank` indices, and the type of its elements.
    pub(super) fn tensor(
        &self,
        base: &str,
        rank: usize,
        span: Span,
    ) -> Result<(ParamId, ScalarType)> {
        match self.frame.lookup(base) {
            Some(binding @ Binding::Tensor { param, .. }) => {
                let elem = self.element(binding);
                let dims = self.rank(param);
                match elem {
                    Some(elem) if usize::from(dims) == rank => Ok((param, elem)),
                    _ => {
                        let what = format!("`{base}` has {dims} dimensions, not {rank}");
                        Err(self.type_error(span, what))
                    }
                }
            }
            _ => Err(self.unknown(format!("tensor `{base}`"), span)),
        }
    }

    pub(super) fn index(&mut self, index: &[Expr]) -> Result<Vec<ExprId>> {
        let list: Vec<_> = index.iter().map(|e| (e, ScalarType::U64)).collect();
        self.list(&list)
    }

    pub(super) fn load(
        &mut self,
        tensor: ParamId,
        elem: ScalarType,
        index: Vec<ExprId>,
        span: Span,
    ) -> ExprId {
        let site = self.emit.site(SiteKind::Index(tensor), self.place(span));
        self.emit.effect("element", elem, Ir::Load { tensor, index, site })
    }

    /// An atomic's effect, not yet emitted.
    pub(super) fn atomic(&mut self, expr: &Expr) -> Result<(ScalarType, Ir)> {
        let ExprKind::Atomic { op, base, index, value } = &expr.kind else {
            return Err(self.type_error(expr.span, "this is no atomic"));
        };
        let (tensor, elem) = self.tensor(base, index.len(), expr.span)?;
        let mut list: Vec<_> = index.iter().map(|e| (e, ScalarType::U64)).collect();
        list.push((value, elem));
        let mut index = self.list(&list)?;
        let Some(value) = index.pop() else {
            return Err(self.type_error(expr.span, "an atomic needs a value"));
        };
        let site = self.emit.site(SiteKind::Index(tensor), self.place(expr.span));
        Ok((elem, Ir::Atomic { op: *op, tensor, index, value, site }))
    }

    pub(super) fn dim(&mut self, tensor: ParamId, axis: u8) -> ExprId {
        self.emit.expr(ScalarType::U64, Ir::Dim { tensor, axis })
    }

    pub(super) fn rank(&self, tensor: ParamId) -> u8 {
        match self.params.get(tensor.index()) {
            Some(ParamKind::Tensor { rank, .. }) => *rank,
            _ => 0,
        }
    }

    fn extent(&mut self, tensor: ParamId, axis: &Expr, span: Span) -> Result<ExprId> {
        let axis = match &axis.kind {
            ExprKind::Literal { kind, text, .. } => literal::parse(*kind, text, ScalarType::U64),
            ExprKind::Const(ix) => self.frame.unit.consts.get(*ix as usize).copied(),
            _ => None,
        };
        let axis = axis.and_then(Const::as_int).and_then(|axis| u8::try_from(axis).ok());
        match axis {
            Some(axis) if axis < self.rank(tensor) => Ok(self.dim(tensor, axis)),
            _ => Err(self.type_error(span, "the tensor has no such axis")),
        }
    }

    fn unary(&mut self, op: UnaryOp, value: ExprId, span: Span) -> Result<ExprId> {
        let ty = self.emit.ty(value);
        let fits = match op {
            UnaryOp::Neg => ty.is_float() || ty.is_signed_int(),
            UnaryOp::Not => !ty.is_float(),
        };
        if fits {
            Ok(self.emit.expr(ty, Ir::Unary { op, value }))
        } else {
            Err(self.type_error(span, format!("this operation is not defined for {ty}")))
        }
    }

    fn binary_of(
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
        match self.list(&[(lhs, left), (rhs, right)])?[..] {
            [lhs, rhs] => self.binary(op, lhs, rhs, span),
            _ => Err(self.type_error(span, "an operand is missing")),
        }
    }

    fn logic(&mut self, op: LogicOp, lhs: &Expr, rhs: &Expr) -> Result<ExprId> {
        let mut left = self.want(lhs, ScalarType::Bool)?;
        if assigns(rhs) {
            left = self.emit.hold(left);
        }
        self.emit.open();
        let right = self.want(rhs, ScalarType::Bool);
        let mut stmts = self.emit.close();
        let right = right?;
        let combined = match op {
            LogicOp::And => BinaryOp::And,
            LogicOp::Or => BinaryOp::Or,
        };
        if stmts.is_empty() && self.emit.is_cheap(right) {
            let kind = Ir::Binary { op: combined, lhs: left, rhs: right };
            return Ok(self.emit.expr(ScalarType::Bool, kind));
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

    fn choose(
        &mut self,
        cond: &Expr,
        then: &Block,
        otherwise: &Block,
        ty: ScalarType,
    ) -> Result<ExprId> {
        let span = cond.span;
        let cond = self.want(cond, ScalarType::Bool)?;
        let mut arms = Vec::with_capacity(2);
        for block in [then, otherwise] {
            self.emit.open();
            let value = self.block_value(block, Some(ty), span);
            let stmts = self.emit.close();
            let value = value?;
            let found = self.emit.ty(value);
            if found != ty {
                return Err(self.type_error(span, format!("expected {ty}, found {found}")));
            }
            arms.push((value, stmts));
        }
        let pure = arms.iter().all(|(value, stmts)| stmts.is_empty() && self.emit.is_cheap(*value));
        let mut arms = arms.into_iter();
        let (Some((then, then_stmts)), Some((otherwise, otherwise_stmts))) =
            (arms.next(), arms.next())
        else {
            return Err(self.type_error(span, "an arm is missing"));
        };
        if pure {
            return Ok(self.emit.expr(ty, Ir::Select { cond, then, otherwise }));
        }
        let zero = self.emit.constant(Const::from_bits(ty, 0));
        // The condition may read what an arm assigns, but it is evaluated before.
        let chosen = self.emit.local("chosen", ty, true);
        self.emit.stmt(Stmt::Let { local: chosen, value: zero });
        let blocks =
            [(then, then_stmts), (otherwise, otherwise_stmts)].map(|(value, mut stmts)| {
                stmts.push(Stmt::Assign { local: chosen, value });
                self.emit.block(stmts)
            });
        self.emit.stmt(Stmt::If { cond, then: blocks[0], otherwise: blocks[1] });
        Ok(self.emit.read(chosen))
    }

    fn method(
        &mut self,
        receiver: &Expr,
        name: &str,
        args: &[Expr],
        expected: Option<ScalarType>,
        span: Span,
    ) -> Result<ExprId> {
        let ty = self.infer(receiver).or(expected);
        let ty = ty.unwrap_or_else(|| self.default_type(receiver));
        if let Some((_, op)) = WRAPPING.iter().find(|(wrapping, _)| *wrapping == name)
            && let [arg] = args
            && ty.is_int()
        {
            let [lhs, rhs] = self.list(&[(receiver, ty), (arg, ty)])?[..] else {
                return Err(self.type_error(span, "an operand is missing"));
            };
            return self.binary(*op, lhs, rhs, span);
        }
        let fits = |function: &MathFn| match function {
            MathFn::Abs => ty.is_float() || ty.is_signed_int(),
            MathFn::Min | MathFn::Max => ty != ScalarType::Bool,
            _ => ty.is_float(),
        } && args.len() + 1 == function.arity();
        let Some(function) = MathFn::from_name(name).filter(fits) else {
            return Err(self.type_error(span, format!("{ty} has no such method `{name}`")));
        };
        let arg = if function == MathFn::Powi { ScalarType::I32 } else { ty };
        let mut list = vec![(receiver, ty)];
        list.extend(args.iter().map(|e| (e, arg)));
        let args = self.list(&list)?;
        Ok(self.emit.expr(ty, Ir::Math { function, args }))
    }
}
