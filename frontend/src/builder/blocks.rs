//! `block_for` of the builder: phases, shared arrays and collectives.

use quadrants_ir::{CollectiveOp, ReduceOp, ScalarType};

use super::{
    state::{Atom, KernelBuilder, Value, caller, literal, pair_ix, type_ix},
    tensor::{Indices, TensorParam},
    value::Operand,
};
use crate::misuse::Misuse;
use crate::syntax::{BlockFor, Expr, ExprKind, LetCollective, Phase, Shuffle, StmtKind};

/// A block of threads in [`KernelBuilder::block_for`].
#[derive(Clone, Copy, Debug)]
pub struct Threads<'b> {
    builder: &'b KernelBuilder,
    number: u32,
}

/// A value per thread of a block.
#[derive(Clone, Copy, Debug)]
pub struct PerThread<'b> {
    builder: &'b KernelBuilder,
    number: u32,
    ty: ScalarType,
}

impl KernelBuilder {
    /// Runs `blocks` blocks of `threads` threads each, as `block_for` of a kernel in source. Allowed at the top level
    /// of the kernel and of a `stream_parallel` block. `blocks` is one number, or an array of up to three for a grid,
    /// outermost dimension first.
    #[track_caller]
    pub fn block_for<'b, R>(
        &'b self,
        blocks: impl Indices<'b>,
        threads: u32,
        body: impl FnOnce(Threads<'b>) -> R,
    ) -> R {
        let blocks = blocks.values(self);
        let blocks = blocks.into_iter().map(|count| self.operand(count, ScalarType::U64)).collect();
        let number = self.state.borrow_mut().generated_name("block");
        let (body, result) = self.block(|| body(Threads { builder: self, number }));
        let (name, threads) = (self.name_of(number), literal(threads));
        let kind = ExprKind::BlockFor(Box::new(BlockFor { blocks, threads, name, body }));
        self.stmt(StmtKind::Expr(Expr { kind, span: caller() }));
        result
    }
}

impl<'b> Threads<'b> {
    /// The block's index, from 0; in a grid of several dimensions, that of the outermost.
    #[must_use]
    #[track_caller]
    pub fn index(self) -> Value<'b> {
        self.index_along(0)
    }

    /// The block's index in one dimension of the grid, from 0. Dimensions are numbered from the outermost. A
    /// dimension that does not exist is an error of [`build`](KernelBuilder::build).
    #[must_use]
    #[track_caller]
    pub fn index_along(self, axis: u32) -> Value<'b> {
        self.query("index", vec![literal(axis)])
    }

    /// The number of threads per block.
    #[must_use]
    #[track_caller]
    pub fn threads(self) -> Value<'b> {
        self.query("threads", Vec::new())
    }

    /// Declares a shared array of `len` zeros, which phases use like a tensor of one dimension. The name is for
    /// messages and printed IR.
    #[must_use]
    #[track_caller]
    pub fn shared(self, name: &str, ty: ScalarType, len: u32) -> TensorParam<'b> {
        let builder = self.builder;
        builder.check_name(name);
        let number = builder.state.borrow_mut().unique_name(name);
        let (name, block, dims) = (builder.name_of(number), self.name(), vec![literal(len)]);
        builder.stmt(StmtKind::LetShared { name, block, ty: type_ix(ty), dims });
        TensorParam::new(builder, number, ty, 1)
    }

    /// Declares a shared array as [`shared`](Self::shared) does, of a length that is known before the launch: an
    /// argument, an extent of a tensor, or a value that is computed from such before [`KernelBuilder::block_for`].
    #[must_use]
    #[track_caller]
    pub fn shared_of_len(
        self,
        name: &str,
        ty: ScalarType,
        len: impl Operand<'b>,
    ) -> TensorParam<'b> {
        let builder = self.builder;
        builder.check_name(name);
        let len = builder.operand(len.into_value(builder), ScalarType::U64);
        let number = builder.state.borrow_mut().unique_name(name);
        let (name, block, dims) = (builder.name_of(number), self.name(), vec![len]);
        builder.stmt(StmtKind::LetShared { name, block, ty: type_ix(ty), dims });
        TensorParam::new(builder, number, ty, 1)
    }

    /// A phase: runs `body` for each thread number. All threads finish a phase before any starts the next.
    #[track_caller]
    pub fn each<R>(self, body: impl FnOnce(Value<'b>) -> R) -> R {
        let builder = self.builder;
        let number = builder.state.borrow_mut().generated_name("t");
        let (body, result) =
            builder.block(|| body(builder.handle(Atom::Name(number), ScalarType::U64)));
        let phase = Phase { block: self.name(), name: builder.name_of(number), body };
        builder
            .stmt(StmtKind::Expr(Expr { kind: ExprKind::Phase(Box::new(phase)), span: caller() }));
        result
    }

    /// A reduction over the values of all threads.
    #[must_use]
    #[track_caller]
    pub fn reduce(self, op: ReduceOp, body: impl FnOnce(Value<'b>) -> Value<'b>) -> Value<'b> {
        let (number, ty) = self.collective(CollectiveOp::Reduce(op), None, |t| (body(t), None));
        self.builder.handle(Atom::Name(number), ty)
    }

    /// A scan over the values of all threads, inclusive or exclusive.
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

    /// A ballot: for each thread, the bools of the 32 threads of its warp as the bits of a `u32`.
    #[must_use]
    #[track_caller]
    pub fn ballot(self, body: impl FnOnce(Value<'b>) -> Value<'b>) -> PerThread<'b> {
        self.per_thread(CollectiveOp::Ballot, None, |t| (body(t), None))
    }

    /// A shuffle: each thread passes a value and the lane to read from. A thread gets the value of that lane, or its
    /// own value if the lane does not exist.
    #[must_use]
    #[track_caller]
    pub fn shuffle(self, body: impl FnOnce(Value<'b>) -> (Value<'b>, Value<'b>)) -> PerThread<'b> {
        self.per_thread(CollectiveOp::Shuffle, None, |t| {
            let (value, from) = body(t);
            (value, Some(from))
        })
    }

    /// A shuffle by a distance or mask that is the same for all threads. A thread gets its own value if the lane does
    /// not exist.
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
        let (number, ty) = self.collective(op, by, body);
        PerThread { builder: self.builder, number, ty }
    }

    /// Adds a collective; returns the number of the result's name, and its type.
    #[track_caller]
    fn collective(
        self,
        op: CollectiveOp,
        by: Option<(Shuffle, Expr)>,
        body: impl FnOnce(Value<'b>) -> (Value<'b>, Option<Value<'b>>),
    ) -> (u32, ScalarType) {
        let builder = self.builder;
        let (thread, number) = {
            let mut state = builder.state.borrow_mut();
            (state.generated_name("t"), state.generated_name(op.name()))
        };
        let open = builder.enter();
        let (input, from) = body(builder.handle(Atom::Name(thread), ScalarType::U64));
        let mut expr = builder.expr(input);
        if let Some(from) = from {
            let parts = vec![expr, builder.operand(from, ScalarType::U64)];
            let kind = ExprKind::Aggregate { ty: pair_ix(input.ty()), parts };
            expr = Expr { kind, span: caller() };
        }
        let mut block = open.end();
        block.value = Some(Box::new(expr));
        let is_logic = matches!(op, CollectiveOp::Ballot)
            || matches!(op, CollectiveOp::Reduce(ReduceOp::And | ReduceOp::Or));
        let invalid = is_logic != (input.ty() == ScalarType::Bool) && op != CollectiveOp::Shuffle;
        if invalid || input.ty().is_narrow() {
            builder.misuse(Misuse::Undefined { operation: op.name(), ty: input.ty() });
        }
        let ty = if op == CollectiveOp::Ballot { ScalarType::U32 } else { input.ty() };
        builder.stmt(StmtKind::LetCollective(Box::new(LetCollective {
            name: builder.name_of(number),
            ty: type_ix(ty),
            block: self.name(),
            op,
            by,
            thread: builder.name_of(thread),
            value: Expr { kind: ExprKind::Block(block), span: caller() },
        })));
        (number, ty)
    }

    #[track_caller]
    fn query(self, method: &str, args: Vec<Expr>) -> Value<'b> {
        let receiver = Box::new(Expr { kind: ExprKind::Name(self.name()), span: caller() });
        let kind = ExprKind::Method { receiver, name: method.to_owned(), args, callee: None };
        self.builder.compute(method, kind, ScalarType::U64)
    }

    fn name(self) -> String {
        self.builder.name_of(self.number)
    }
}

impl<'b> PerThread<'b> {
    /// Reads the value of the phase's own thread, whose number is `thread`.
    #[must_use]
    #[track_caller]
    pub fn load(self, thread: Value<'b>) -> Value<'b> {
        let index = vec![self.builder.expr(thread)];
        let kind = ExprKind::Index { base: self.builder.name_of(self.number), index };
        self.builder.compute("own", kind, self.ty)
    }
}
