//! Blocks of threads: `block_for`, its phases, and the arrays that the threads of a block share.

use quadrants_ir::{
    AtomicOp, BinaryOp, BlockFor as IrBlockFor, Const, ExprId, ExprKind as Ir, LocalId, LoopDim,
    ScalarType, SiteKind, Stmt as IrStmt, TopStmt,
    types::{Constant, Type},
};

use super::{Lowerer, Result, literal, scope::Binding};
use crate::syntax::{BlockFor, Each, Expr, ExprKind, Span, TypeIx};

/// A shared array: itself and the type of its elements.
pub(super) type Shared = (LocalId, ScalarType);

impl Lowerer {
    pub(super) fn block_for(
        &mut self,
        each: &BlockFor,
        span: Span,
        top: &mut Vec<TopStmt>,
    ) -> Result<()> {
        let end = self.want(&each.blocks, ScalarType::U64)?;
        let threads = self.number(&each.threads, "the number of threads")?;
        self.flush(top);
        let scope = self.frame.enter();
        self.emit.open();
        let begin = self.emit.constant(0u64);
        let var = self.emit.local(&each.name, ScalarType::U64, false);
        self.frame.bind(&each.name, Binding::Block { index: var, threads });
        self.block(&each.body)?;
        let body = self.emit.close_block();
        self.frame.leave(scope);
        let dims = vec![LoopDim { var, begin, end }];
        top.push(TopStmt::BlockFor(IrBlockFor { dims, threads, body, line: span.line }));
        Ok(())
    }

    pub(super) fn phase(&mut self, each: &Each) -> Result<()> {
        let scope = self.frame.enter();
        self.emit.open();
        let var = self.emit.local(&each.name, ScalarType::U64, false);
        self.frame.bind(&each.name, Binding::Local(var));
        self.block(&each.body)?;
        let body = self.emit.close_block();
        self.frame.leave(scope);
        self.emit.stmt(IrStmt::Each { var, body });
        Ok(())
    }

    pub(super) fn bind_shared(
        &mut self,
        name: &str,
        ty: TypeIx,
        len: &Expr,
        span: Span,
    ) -> Result<()> {
        let ty = match self.type_at(ty, span)? {
            Type::Scalar(ty) if ty.is_narrow() => {
                let what = format!("a shared array cannot be of {ty}; use {}", ty.wide());
                return Err(self.type_error(span, what));
            }
            Type::Scalar(ty) => ty,
            _ => return Err(self.type_error(span, "a shared array is of numbers or bools")),
        };
        let len = self.number(len, "the length of a shared array")?;
        let array = self.emit.local(name, ty, false);
        self.emit.stmt(IrStmt::Shared { array, len });
        self.frame.bind(name, Binding::Shared { array, len });
        Ok(())
    }

    /// The shared array of a name.
    pub(super) fn shared(&self, name: &str) -> Option<Shared> {
        match self.frame.lookup(name)? {
            Binding::Shared { array, .. } => Some((array, self.emit.locals[array].ty)),
            _ => None,
        }
    }

    /// The block that an expression names.
    pub(super) fn block_of(&self, expr: &Expr) -> Option<(LocalId, u32)> {
        match &expr.kind {
            ExprKind::Name(name) => match self.frame.lookup(name)? {
                Binding::Block { index, threads } => Some((index, threads)),
                _ => None,
            },
            _ => None,
        }
    }

    /// What a method of a block gives.
    pub(super) fn of_block(&mut self, block: &Expr, name: &str, span: Span) -> Result<ExprId> {
        match (self.block_of(block), name) {
            (Some((index, _)), "index") => Ok(self.emit.read(index)),
            (Some((_, threads)), "threads") => Ok(self.emit.constant(u64::from(threads))),
            _ => Err(self.unknown(format!("a method `{name}` of a block"), span)),
        }
    }

    pub(super) fn shared_load(
        &mut self,
        (array, ty): Shared,
        index: &[Expr],
        span: Span,
    ) -> Result<ExprId> {
        let index = self.index(index)?;
        let index = self.single(&index, span)?;
        let site = self.site(SiteKind::SharedIndex(array), span);
        Ok(self.emit.effect("element", ty, Ir::SharedLoad { array, index, site }))
    }

    pub(super) fn shared_atomic(
        &mut self,
        op: AtomicOp,
        (array, ty): Shared,
        index: &[Expr],
        value: &Expr,
        span: Span,
    ) -> Result<(ScalarType, Ir)> {
        let mut list: Vec<_> = index.iter().map(|e| (e, ScalarType::U64)).collect();
        list.push((value, ty));
        let list = self.list(&list)?;
        let (value, index) = match list.as_slice() {
            [index, value] => (*value, *index),
            _ => return Err(self.type_error(span, "a shared array has one dimension")),
        };
        let site = self.site(SiteKind::SharedIndex(array), span);
        Ok((ty, Ir::SharedAtomic { op, array, index, value, site }))
    }

    pub(super) fn shared_assign(
        &mut self,
        base: &str,
        index: &[Expr],
        op: Option<BinaryOp>,
        value: &Expr,
        span: Span,
    ) -> Result<()> {
        let Some((array, ty)) = self.shared(base) else {
            return Err(self.unknown(format!("a shared array `{base}`"), span));
        };
        // As of tensors, Rust evaluates the right side first.
        let mut list = vec![(value, self.operand(op, value, ty))];
        list.extend(index.iter().map(|e| (e, ScalarType::U64)));
        let mut list = self.list(&list)?;
        let mut value = list.remove(0);
        let mut index = self.single(&list, span)?;
        if let Some(op) = op {
            index = self.emit.fix(index);
            let site = self.site(SiteKind::SharedIndex(array), span);
            let read = Ir::SharedLoad { array, index: self.emit.again(index), site };
            let lhs = self.emit.effect("element", ty, read);
            value = self.binary(op, lhs, value, span)?;
        }
        let site = self.site(SiteKind::SharedIndex(array), span);
        self.emit.stmt(IrStmt::SharedStore { array, index, value, site });
        Ok(())
    }

    fn single(&self, index: &[ExprId], span: Span) -> Result<ExprId> {
        match index {
            [index] => Ok(*index),
            _ => Err(self.type_error(span, "a shared array has one dimension")),
        }
    }

    /// A number that the rules let consist of literals and constants alone.
    fn number(&self, expr: &Expr, what: &str) -> Result<u32> {
        let number = self.constant_of(expr).and_then(|value| u32::try_from(value).ok());
        number.ok_or_else(|| self.type_error(expr.span, format!("{what} is no constant")))
    }

    fn constant_of(&self, expr: &Expr) -> Option<u64> {
        match &expr.kind {
            ExprKind::Literal { kind, text, .. } => {
                literal::parse(*kind, text, ScalarType::U64).map(Const::bits)
            }
            ExprKind::Const(ix) => {
                let value = self.frame.unit.consts.get(*ix as usize).and_then(Constant::scalar);
                value.map(Const::bits)
            }
            ExprKind::Binary { op, lhs, rhs } => {
                let (lhs, rhs) = (self.constant_of(lhs)?, self.constant_of(rhs)?);
                match op {
                    BinaryOp::Add => lhs.checked_add(rhs),
                    BinaryOp::Sub => lhs.checked_sub(rhs),
                    BinaryOp::Mul => lhs.checked_mul(rhs),
                    BinaryOp::Div => lhs.checked_div(rhs),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}
