//! Lowering of `block_for`: phases, shared arrays and collectives.

use quadrants_ir::{
    BinaryOp, BlockCollective, BlockFor as IrBlockFor, CollectiveOp, Const, ExprId,
    ExprKind as IrExprKind, LocalId, LoopDim, ScalarType, SharedExtent, Stmt as IrStmt, TopStmt,
    abi::MAX_SHARED_BYTES,
    collective::WARP,
    types::{Constant, Type},
};

use super::{Lowerer, Result, scope::Binding};
use crate::{
    literal,
    syntax::{
        Block, BlockFor, Expr, ExprKind, LetCollective, Phase, Shuffle, Span, Stmt, StmtKind,
        TypeIx,
    },
    visit::{Node, any_in_block},
};

/// The name of a shared array, its place, and its extents.
pub(super) type SharedArrayExtents = (String, Span, Vec<SharedExtent>);

impl Lowerer {
    pub(super) fn block_for(
        &mut self,
        each: &BlockFor,
        span: Span,
        top: &mut Vec<TopStmt>,
    ) -> Result<()> {
        let counts: Vec<_> = each.blocks.iter().map(|count| (count, ScalarType::U64)).collect();
        let ends = self.guarded(|this| this.scalars(&counts))?;
        let threads = self.constant_u32(&each.threads, "the number of threads")?;
        self.extents = self.guarded(|this| this.shared_extents(&each.body))?;
        self.flush(top);
        let scope = self.frame.names.mark();
        self.emit.open();
        let mut dims: Vec<_> = ends
            .into_iter()
            .map(|end| {
                let begin = self.emit.constant(0u64);
                LoopDim { var: self.emit.local(&each.name, ScalarType::U64, false), begin, end }
            })
            .collect();
        let mut index = [None; 3];
        index.iter_mut().zip(&dims).for_each(|(index, dim)| *index = Some(dim.var));
        self.frame.bind(&each.name, Binding::Block { index, threads });
        self.iteration = dims.iter().map(|dim| dim.var).collect();
        self.block(&each.body)?;
        self.iteration.clear();
        let body = self.emit.close_block();
        self.end_task();
        self.frame.names.leave(scope);
        self.guard_loop(&mut dims);
        top.push(TopStmt::BlockFor(IrBlockFor { dims, threads, body, line: span.line }));
        Ok(())
    }

    pub(super) fn phase(&mut self, phase: &Phase) -> Result<()> {
        let scope = self.frame.names.mark();
        self.emit.open();
        let var = self.emit.local(&phase.name, ScalarType::U64, false);
        self.frame.bind(&phase.name, Binding::Local(var));
        self.block(&phase.body)?;
        let body = self.emit.close_block();
        self.frame.names.leave(scope);
        self.emit.stmt(IrStmt::Phase { var, body, collective: None });
        Ok(())
    }

    pub(super) fn collective(&mut self, call: &LetCollective, span: Span) -> Result<()> {
        let ty = match self.type_at(call.ty, span)? {
            Type::Scalar(ty) if !ty.is_narrow() => ty,
            ty => {
                let what = format!("a collective needs numbers or bools, found {ty}");
                return Err(self.inconsistent(span, what));
            }
        };
        let by = match &call.by {
            Some((shuffle, by)) => {
                let by = self.scalar_as(by, ScalarType::U64)?;
                Some((*shuffle, self.emit.reuse(by)))
            }
            None => None,
        };
        let scope = self.frame.names.mark();
        self.emit.open();
        let var = self.emit.local(&call.thread, ScalarType::U64, false);
        self.frame.bind(&call.thread, Binding::Local(var));
        let input = if call.op == CollectiveOp::Ballot { ScalarType::Bool } else { ty };
        let (value, from) = match by {
            Some((shuffle, by)) => {
                let value = self.scalar_as(&call.value, input)?;
                (value, Some(self.source_lane(shuffle, var, by)))
            }
            None if call.op == CollectiveOp::Shuffle => {
                let pair = self.value(&call.value, None)?;
                match pair.leaves[..] {
                    [value, from] => (value, Some(from)),
                    _ => {
                        return Err(self.inconsistent(
                            span,
                            "the closure of `shuffle` must return a pair `(value, lane)`",
                        ));
                    }
                }
            }
            None => (self.scalar_as(&call.value, input)?, None),
        };
        self.emit.stmt(IrStmt::CollectiveInput { value, from });
        let body = self.emit.close_block();
        self.frame.names.leave(scope);
        let local = self.emit.local(&call.name, ty, false);
        let collective = Some(BlockCollective { op: call.op, local });
        self.emit.stmt(IrStmt::Phase { var, body, collective });
        let uniform = call.op.is_uniform();
        let binding = if uniform { Binding::Local(local) } else { Binding::PerThread(local) };
        self.frame.bind(&call.name, binding);
        Ok(())
    }

    fn source_lane(&mut self, shuffle: Shuffle, var: LocalId, by: ExprId) -> ExprId {
        let lane = |this: &mut Self| {
            let (thread, mask) = (this.emit.read(var), this.emit.constant(WARP as u64 - 1));
            this.emit.binary(BinaryOp::And, thread, mask)
        };
        let own = lane(self);
        let (op, within) = match shuffle {
            Shuffle::Xor => return self.emit.binary(BinaryOp::Xor, own, by),
            Shuffle::Up => {
                let by = self.emit.copy(by);
                (BinaryOp::Sub, self.emit.binary(BinaryOp::Le, by, own))
            }
            Shuffle::Down => {
                let (by, warp) = (self.emit.copy(by), self.emit.constant(WARP as u64));
                (BinaryOp::Add, self.emit.binary(BinaryOp::Lt, by, warp))
            }
        };
        // The sum or difference may wrap; it is used only if it does not.
        let other = lane(self);
        let then = self.emit.binary(op, other, by);
        let otherwise = lane(self);
        self.emit.select(within, then, otherwise)
    }

    pub(super) fn bind_shared(
        &mut self,
        name: &str,
        ty: TypeIx,
        dims: &[Expr],
        span: Span,
    ) -> Result<()> {
        let elem = self.type_at(ty, span)?;
        let components = elem.components();
        if elem.has_enum() {
            let what = format!(
                "a shared array is zero at the start, which may be no value of {elem}; help: use elements for which zero is a value, such as numbers"
            );
            return Err(self.type_error(span, what));
        }
        if components.is_empty() {
            let what = format!(
                "a shared array of {elem} would have no components; help: use elements with at least one field"
            );
            return Err(self.type_error(span, what));
        }
        if let Some(ty) = components.iter().map(|part| part.ty).find(|ty| ty.is_narrow()) {
            let what =
                format!("the elements of a shared array cannot be {ty}; help: use {}", ty.wide());
            return Err(self.type_error(span, what));
        }
        let rank = dims.len();
        let known = self.extents.iter().find(|(of, at, _)| of == name && *at == span);
        let Some((.., dims)) = known.cloned() else {
            return Err(self.unknown(format!("the length of `{name}`"), span));
        };
        let arrays: Vec<LocalId> =
            components.iter().map(|part| self.emit.local(name, part.ty, false)).collect();
        for (array, part) in arrays.iter().zip(&components) {
            let scalars = u32::try_from(part.scalars).unwrap_or(u32::MAX);
            let scalars = elem.scalar().is_none().then_some(scalars);
            self.emit.stmt(IrStmt::Shared { array: *array, dims: dims.clone(), scalars });
        }
        let [rows, columns] = [0, 1].map(|at| dims.get(at).copied());
        let dims = [rows, columns].map(|dim| dim.unwrap_or(SharedExtent::Constant(1)));
        self.frame.bind(name, Binding::Shared { array: arrays[0], elem, dims, rank });
        Ok(())
    }

    /// The extents of all shared arrays in a `block_for`, evaluated before it.
    fn shared_extents(&mut self, body: &Block) -> Result<Vec<SharedArrayExtents>> {
        let mut found = Vec::new();
        any_in_block(body, &mut |node| {
            if let Node::Stmt(Stmt { kind: StmtKind::LetShared { name, dims, .. }, span }) = node {
                found.push((name, dims, *span));
            }
            false
        });
        let mut extents = Vec::new();
        for (name, dims, span) in found {
            let dims = dims.iter().map(|dim| self.shared_extent(name, dim));
            extents.push((name.clone(), span, dims.collect::<Result<_>>()?));
        }
        Ok(extents)
    }

    fn shared_extent(&mut self, array: &str, extent: &Expr) -> Result<SharedExtent> {
        if let Some(number) = self.constant_of(extent) {
            let number = u32::try_from(number).map_err(|_| {
                self.type_error(
                    extent.span,
                    format!(
                        "a shared array cannot have {number} elements; help: use less than 2^32, and at most {} KiB for all shared arrays of constant length of a block",
                        MAX_SHARED_BYTES >> 10
                    ),
                )
            })?;
            return Ok(SharedExtent::Constant(number));
        }
        let value = self.scalar_as(extent, ScalarType::U64)?;
        let value = self.emit.limit_depth(value);
        if let IrExprKind::Local(local) = *self.emit.kind(value)
            && !self.emit.locals[local].mutable
        {
            return Ok(SharedExtent::Local(local));
        }
        Ok(SharedExtent::Local(self.emit.define(&format!("{array}_len"), value, false)))
    }

    /// The value of an extent.
    pub(super) fn extent_value(&mut self, extent: SharedExtent) -> ExprId {
        match extent {
            SharedExtent::Constant(number) => self.emit.constant(u64::from(number)),
            SharedExtent::Local(local) => self.emit.read(local),
        }
    }

    fn block_named(&self, expr: &Expr) -> Option<([Option<LocalId>; 3], u32)> {
        match &expr.kind {
            ExprKind::Name(name) => match self.frame.lookup(name)? {
                Binding::Block { index, threads } => Some((index, threads)),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn is_block(&self, expr: &Expr) -> bool {
        self.block_named(expr).is_some()
    }

    /// Lowers a method of a block: `index`, of the dimension in the argument, or `threads`.
    pub(super) fn block_method(
        &mut self,
        block: &Expr,
        name: &str,
        args: &[Expr],
        span: Span,
    ) -> Result<ExprId> {
        let axis = match args {
            [Expr { kind: ExprKind::Literal { text, .. }, .. }] => text.parse().unwrap_or(3),
            _ => 0,
        };
        let Some((index, threads)) = self.block_named(block) else {
            return Err(self.unknown(format!("a method `{name}` of a block"), span));
        };
        match (name, index.get(axis)) {
            ("index", Some(Some(index))) => Ok(self.emit.read(*index)),
            ("threads", _) => Ok(self.emit.constant(u64::from(threads))),
            _ => Err(self.unknown(format!("a method `{name}` of this block"), span)),
        }
    }

    /// Evaluates a compile-time constant.
    fn constant_u32(&self, expr: &Expr, what: &str) -> Result<u32> {
        let number = self.constant_of(expr).and_then(|value| u32::try_from(value).ok());
        number.ok_or_else(|| {
            self.type_error(
                expr.span,
                format!("{what} must be a compile-time constant; help: use literals and constants"),
            )
        })
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
