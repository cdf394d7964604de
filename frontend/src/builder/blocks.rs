//! Blocks of threads: their phases, the arrays that they share, and what they exchange.

use quadrants_ir::{CollectiveOp, ReduceOp, ScalarType};

use super::{
    misuse::Misuse,
    state::{Atom, KernelBuilder, Value, here, literal, pair_ix, type_ix},
    tensor::{Indices, TensorParam},
    value::Operand,
};
use crate::syntax::{BlockFor, Each, Expr, ExprKind, LetExchange, Shuffle, StmtKind};

/// One of the blocks of threads that [`KernelBuilder::block_for`] runs.
#[derive(Clone, Copy, Debug)]
pub struct Threads<'b> {
    builder: &'b KernelBuilder,
    number: u32,
}

/// What each thread of a block has a value of.
#[derive(Clone, Copy, Debug)]
pub struct PerThread<'b> {
    builder: &'b KernelBuilder,
    number: u32,
    ty: ScalarType,
}

impl KernelBuilder {
    /// So many blocks of so many threads each, at the top level of the kernel or of a `stream_parallel` block:
    /// what `block_for` is to a kernel in the source. Blocks are counted by one number, or by an array of up to three
    /// for a grid of them, outermost dimension first. `body` says what a block does.
    #[track_caller]
    pub fn block_for<'b, R>(
        &'b self,
        blocks: impl Indices<'b>,
        threads: u32,
        body: impl FnOnce(Threads<'b>) -> R,
    ) -> R {
        let blocks = blocks.values(self);
        let blocks = blocks.into_iter().map(|count| self.operand(count, ScalarType::U64)).collect();
        let number = self.state.borrow_mut().made_up("block");
        let (body, result) = self.block(|| body(Threads { builder: self, number }));
        let (name, threads) = (self.name_of(number), literal(threads));
        let kind = ExprKind::BlockFor(Box::new(BlockFor { blocks, threads, name, body }));
        self.stmt(StmtKind::Expr(Expr { kind, span: here() }));
        result
    }
}

impl<'b> Threads<'b> {
    /// The block's number, from 0; in a grid of several dimensions, that in the outermost.
    #[must_use]
    #[track_caller]
    pub fn index(self) -> Value<'b> {
        self.index_along(0)
    }

    /// The block's number in one dimension of the grid, outermost first, from 0. A dimension that the grid has not
    /// is an error where the kernel is finished.
    #[must_use]
    #[track_caller]
    pub fn index_along(self, axis: u32) -> Value<'b> {
        self.ask("index", vec![literal(axis)])
    }

    /// How many threads each block has.
    #[must_use]
    #[track_caller]
    pub fn threads(self) -> Value<'b> {
        self.ask("threads", Vec::new())
    }

    /// An array of so many zeros that the block's threads share: in phases a tensor of one dimension. Its name is
    /// for messages and printed IR.
    #[must_use]
    #[track_caller]
    pub fn shared(self, name: &str, ty: ScalarType, len: u32) -> TensorParam<'b> {
        let builder = self.builder;
        builder.check_name(name);
        let number = builder.state.borrow_mut().unique(name);
        let (name, block, dims) = (builder.name_of(number), self.name(), vec![literal(len)]);
        builder.stmt(StmtKind::LetShared { name, block, ty: type_ix(ty), dims });
        TensorParam::new(builder, number, ty, 1)
    }

    /// A phase: what each thread does, given its number, before any goes on.
    #[track_caller]
    pub fn each<R>(self, body: impl FnOnce(Value<'b>) -> R) -> R {
        let builder = self.builder;
        let number = builder.state.borrow_mut().made_up("t");
        let (body, result) =
            builder.block(|| body(builder.handle(Atom::Name(number), ScalarType::U64)));
        let each = Each { block: self.name(), name: builder.name_of(number), body };
        builder.stmt(StmtKind::Expr(Expr { kind: ExprKind::Each(Box::new(each)), span: here() }));
        result
    }

    /// A phase whose threads each give a value: all of them combined.
    #[must_use]
    #[track_caller]
    pub fn reduce(self, op: ReduceOp, body: impl FnOnce(Value<'b>) -> Value<'b>) -> Value<'b> {
        let (number, ty) = self.exchange(CollectiveOp::Reduce(op), None, |t| (body(t), None));
        self.builder.handle(Atom::Name(number), ty)
    }

    /// A phase whose threads each give a value: for each thread, those up to it combined, or those before it.
    #[must_use]
    #[track_caller]
    pub fn scan(
        self,
        op: ReduceOp,
        exclusive: bool,
        body: impl FnOnce(Value<'b>) -> Value<'b>,
    ) -> PerThread<'b> {
        self.per_thread(CollectiveOp::Scan { op, exclusive }, None, |t| (body(t), None))
    }

    /// A phase whose threads each give a bool: for each thread, those of its warp of 32 as bits of a `u32`.
    #[must_use]
    #[track_caller]
    pub fn ballot(self, body: impl FnOnce(Value<'b>) -> Value<'b>) -> PerThread<'b> {
        self.per_thread(CollectiveOp::Ballot, None, |t| (body(t), None))
    }

    /// A phase whose threads each give a value and the number of a thread of their warp: for each thread, what that
    /// one gives; itself where there is no such thread.
    #[must_use]
    #[track_caller]
    pub fn shuffle(self, body: impl FnOnce(Value<'b>) -> (Value<'b>, Value<'b>)) -> PerThread<'b> {
        self.per_thread(CollectiveOp::Shuffle, None, |t| {
            let (value, from) = body(t);
            (value, Some(from))
        })
    }

    /// A phase whose threads each give a value: for each thread, what another of its warp gives, by a distance or
    /// mask that is the same for all; itself where there is no such thread.
    #[must_use]
    #[track_caller]
    pub fn shuffle_by(
        self,
        which: Shuffle,
        by: impl Operand<'b>,
        body: impl FnOnce(Value<'b>) -> Value<'b>,
    ) -> PerThread<'b> {
        let by = self.builder.operand(by, ScalarType::U64);
        self.per_thread(CollectiveOp::Shuffle, Some((which, by)), |t| (body(t), None))
    }

    #[track_caller]
    fn per_thread(
        self,
        op: CollectiveOp,
        by: Option<(Shuffle, Expr)>,
        body: impl FnOnce(Value<'b>) -> (Value<'b>, Option<Value<'b>>),
    ) -> PerThread<'b> {
        let (number, ty) = self.exchange(op, by, body);
        PerThread { builder: self.builder, number, ty }
    }

    /// The number of a new name for what comes of an exchange, and its type.
    #[track_caller]
    fn exchange(
        self,
        op: CollectiveOp,
        by: Option<(Shuffle, Expr)>,
        body: impl FnOnce(Value<'b>) -> (Value<'b>, Option<Value<'b>>),
    ) -> (u32, ScalarType) {
        let builder = self.builder;
        let (thread, number) = {
            let mut state = builder.state.borrow_mut();
            (state.made_up("t"), state.made_up(op.name()))
        };
        let open = builder.enter();
        let (given, from) = body(builder.handle(Atom::Name(thread), ScalarType::U64));
        let mut expr = builder.use_of(given);
        if let Some(from) = from {
            let parts = vec![expr, builder.operand(from, ScalarType::U64)];
            let kind = ExprKind::Aggregate { ty: pair_ix(given.ty()), parts };
            expr = Expr { kind, span: here() };
        }
        let mut block = open.end();
        block.value = Some(Box::new(expr));
        let logic = matches!(op, CollectiveOp::Ballot)
            || matches!(op, CollectiveOp::Reduce(ReduceOp::And | ReduceOp::Or));
        let wrong = logic != (given.ty() == ScalarType::Bool) && op != CollectiveOp::Shuffle;
        if wrong || given.ty().is_narrow() {
            builder.misuse(Misuse::Undefined { operation: op.name(), ty: given.ty() });
        }
        let ty = if op == CollectiveOp::Ballot { ScalarType::U32 } else { given.ty() };
        builder.stmt(StmtKind::LetExchange(Box::new(LetExchange {
            name: builder.name_of(number),
            ty: type_ix(ty),
            block: self.name(),
            op,
            by,
            thread: builder.name_of(thread),
            value: Expr { kind: ExprKind::Block(block), span: here() },
        })));
        (number, ty)
    }

    #[track_caller]
    fn ask(self, method: &str, args: Vec<Expr>) -> Value<'b> {
        let receiver = Box::new(Expr { kind: ExprKind::Name(self.name()), span: here() });
        let kind = ExprKind::Method { receiver, name: method.to_owned(), args, callee: None };
        self.builder.compute(method, kind, ScalarType::U64)
    }

    fn name(self) -> String {
        self.builder.name_of(self.number)
    }
}

impl<'b> PerThread<'b> {
    /// The value of a phase's own thread, whose number this takes.
    #[must_use]
    #[track_caller]
    pub fn load(self, thread: Value<'b>) -> Value<'b> {
        let index = vec![self.builder.use_of(thread)];
        let kind = ExprKind::Index { base: self.builder.name_of(self.number), index };
        self.builder.compute("own", kind, self.ty)
    }
}
