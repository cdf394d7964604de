//! Loops, branches, assertions and `stream_parallel` blocks.

use quadrants_ir::ScalarType;

use super::{
    misuse::Misuse,
    state::{Atom, KernelBuilder, Value, here, type_ix},
    value::Operand,
};
use crate::syntax::{
    Block, Dim, Expr, ExprKind, For, LoopOptions, Order, RegionArgument, StmtKind,
};

impl KernelBuilder {
    /// A loop over `begin <= i < end`: parallel at the top level of the kernel and of a
    /// `stream_parallel` block, serial inside anything else.
    #[track_caller]
    pub fn range_for<'b, R>(
        &'b self,
        begin: impl Operand<'b>,
        end: impl Operand<'b>,
        body: impl FnOnce(Value<'b>) -> R,
    ) -> R {
        let begin = begin.into_value(self);
        self.each([(begin, end.into_value(self))], |[i]| body(i))
    }

    /// A loop from 0 to each of `ends`, the last index the fastest; parallel as [`range_for`](Self::range_for) is.
    #[track_caller]
    pub fn ndrange<'b, const N: usize, R>(
        &'b self,
        ends: [Value<'b>; N],
        body: impl FnOnce([Value<'b>; N]) -> R,
    ) -> R {
        let zero = |end: Value<'b>| self.constant(quadrants_ir::Const::from_bits(end.ty(), 0));
        self.each(ends.map(|end| (zero(end), end)), body)
    }

    /// A block that runs beside the kernel's other `stream_parallel` blocks.
    ///
    /// The block ends when `body` returns, whatever it returns. Where `body` panics, what it had written
    /// of the block is dropped, and what follows is outside it.
    #[track_caller]
    pub fn stream_parallel<R>(&self, body: impl FnOnce() -> R) -> R {
        let (body, result) = self.block(body);
        let kind = ExprKind::StreamParallel(RegionArgument::Closure { params: 0, body });
        self.stmt(StmtKind::Expr(Expr { kind, span: here() }));
        result
    }

    /// Runs `then` where `cond` holds.
    #[track_caller]
    pub fn if_<'b, R>(&'b self, cond: impl Operand<'b>, then: impl FnOnce() -> R) -> R {
        let cond = Box::new(self.operand(cond, ScalarType::Bool));
        let (then, result) = self.block(then);
        let kind = ExprKind::If { cond, then, otherwise: None };
        self.stmt(StmtKind::Expr(Expr { kind, span: here() }));
        result
    }

    /// Runs `then` where `cond` holds, else `otherwise`.
    #[track_caller]
    pub fn if_else<'b, R, S>(
        &'b self,
        cond: impl Operand<'b>,
        then: impl FnOnce() -> R,
        otherwise: impl FnOnce() -> S,
    ) -> (R, S) {
        let cond = Box::new(self.operand(cond, ScalarType::Bool));
        let (then, first) = self.block(then);
        let (otherwise, second) = self.block(otherwise);
        let kind = ExprKind::If { cond, then, otherwise: Some(otherwise) };
        self.stmt(StmtKind::Expr(Expr { kind, span: here() }));
        (first, second)
    }

    /// Runs `body` as long as what `cond` computes holds.
    #[track_caller]
    pub fn while_<'b, R>(
        &'b self,
        cond: impl FnOnce() -> Value<'b>,
        body: impl FnOnce() -> R,
    ) -> R {
        let open = self.enter();
        let cond = cond();
        let cond = self.operand(cond, ScalarType::Bool);
        let mut test = open.end();
        test.value = Some(Box::new(cond));
        let cond = Expr { kind: ExprKind::Block(test), span: here() };
        let (body, result) = self.block(body);
        self.stmt(StmtKind::While { cond, body, label: None });
        result
    }

    /// Leaves the innermost serial loop.
    #[track_caller]
    pub fn break_(&self) {
        self.stmt(StmtKind::Break { label: None, value: None });
    }

    /// Goes on with the next round of the innermost loop.
    #[track_caller]
    pub fn continue_(&self) {
        self.stmt(StmtKind::Continue { label: None });
    }

    /// Asserts that what `body` reads and writes races with nothing: what `unsafe { … }` is to a kernel in
    /// the source. Neither the rules nor launches ask about accesses in it. A kernel is data as long as it is
    /// not launched; so `unsafe` is asked for there: `Kernel::asserting` of the crate `quadrants` takes such a
    /// kernel, and `Kernel::new` refuses it.
    #[track_caller]
    pub fn race_free<R>(&self, body: impl FnOnce() -> R) -> R {
        let (body, result) = self.block(body);
        self.stmt(StmtKind::Expr(Expr { kind: ExprKind::Unsafe(body), span: here() }));
        result
    }

    /// A device error with `message` where `cond` does not hold.
    #[track_caller]
    pub fn assert_<'b>(&'b self, cond: impl Operand<'b>, message: &str) {
        let cond = self.operand(cond, ScalarType::Bool);
        self.stmt(StmtKind::Assert { cond, message: message.to_owned() });
    }

    #[track_caller]
    fn each<'b, const N: usize, R>(
        &'b self,
        ranges: [(Value<'b>, Value<'b>); N],
        body: impl FnOnce([Value<'b>; N]) -> R,
    ) -> R {
        let numbers = ranges.map(|_| self.state.borrow_mut().made_up("i"));
        let mut dims = Vec::with_capacity(N);
        for (number, (begin, end)) in numbers.into_iter().zip(ranges) {
            if !begin.ty().is_int() {
                self.misuse(Misuse::Undefined { operation: "for", ty: begin.ty() });
            }
            dims.push(Dim {
                name: self.name_of(number),
                mutable: false,
                ty: type_ix(begin.ty()),
                begin: Some(self.use_of(begin)),
                end: self.operand(end, begin.ty()),
                inclusive: false,
                step: None,
                order: Order::Up,
            });
        }
        let (body, result) = self.block(|| {
            let mut at = 0;
            let vars = numbers.map(|number| {
                at += 1;
                self.handle(Atom::Name(number), ranges[at - 1].0.ty())
            });
            body(vars)
        });
        self.stmt(StmtKind::For(For { dims, body, label: None, options: LoopOptions::default() }));
        result
    }

    /// What `body` writes, as a block; on every way out of it the block is no longer open.
    pub(super) fn block<R>(&self, body: impl FnOnce() -> R) -> (Block, R) {
        let open = self.enter();
        let result = body();
        (open.end(), result)
    }

    pub(super) fn enter(&self) -> Open<'_> {
        Open { builder: self, depth: self.state.borrow_mut().open() }
    }
}

/// A block that is being written.
pub(super) struct Open<'b> {
    builder: &'b KernelBuilder,
    /// How many blocks are around this one.
    depth: usize,
}

impl Open<'_> {
    pub(super) fn end(self) -> Block {
        let mut state = self.builder.state.borrow_mut();
        let block = state.blocks.drain(self.depth..).next();
        Block { stmts: block.map(|block| block.stmts).unwrap_or_default(), value: None }
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.builder.state.borrow_mut().blocks.truncate(self.depth);
    }
}
