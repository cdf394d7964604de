//! Control flow of the builder: loops, branches, assertions and `stream_parallel` blocks.

use quadrants_ir::{
    ScalarType,
    abi::MESSAGE_VALUES,
    format::{Format, FormatArgument, FormatPiece},
};

use super::{
    state::{Atom, KernelBuilder, Value, caller, type_ix},
    value::Operand,
};
use crate::misuse::Misuse;
use crate::syntax::{
    Block, Dim, Expr, ExprKind, For, LoopOptions, Order, StmtKind, StreamParallelArgument,
};

impl KernelBuilder {
    /// A loop over `begin <= i < end`: parallel at the top level of the kernel and of a `stream_parallel` block,
    /// serial elsewhere.
    #[track_caller]
    pub fn range_for<'b, R>(
        &'b self,
        begin: impl Operand<'b>,
        end: impl Operand<'b>,
        body: impl FnOnce(Value<'b>) -> R,
    ) -> R {
        let begin = begin.into_value(self);
        self.for_loop([(begin, end.into_value(self))], |[i]| body(i))
    }

    /// Nested loops from 0 to each of `ends`, the last index the fastest; parallel like
    /// [`range_for`](Self::range_for).
    #[track_caller]
    pub fn ndrange<'b, const N: usize, R>(
        &'b self,
        ends: [Value<'b>; N],
        body: impl FnOnce([Value<'b>; N]) -> R,
    ) -> R {
        let zero = |end: Value<'b>| self.constant(quadrants_ir::Const::from_bits(end.ty(), 0));
        self.for_loop(ends.map(|end| (zero(end), end)), body)
    }

    /// A block that runs concurrently with the kernel's other `stream_parallel` blocks.
    ///
    /// The block ends when `body` returns. If `body` panics, the block is discarded, and later calls are outside it.
    #[track_caller]
    pub fn stream_parallel<R>(&self, body: impl FnOnce() -> R) -> R {
        let (body, result) = self.block(body);
        let kind = ExprKind::StreamParallel(StreamParallelArgument::Closure { params: 0, body });
        self.stmt(StmtKind::Expr(Expr { kind, span: caller() }));
        result
    }

    /// Runs `then` if `cond` holds.
    #[track_caller]
    pub fn if_<'b, R>(&'b self, cond: impl Operand<'b>, then: impl FnOnce() -> R) -> R {
        let cond = Box::new(self.operand(cond, ScalarType::Bool));
        let (then, result) = self.block(then);
        let kind = ExprKind::If { cond, then, otherwise: None };
        self.stmt(StmtKind::Expr(Expr { kind, span: caller() }));
        result
    }

    /// Runs `then` if `cond` holds, else `otherwise`.
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
        self.stmt(StmtKind::Expr(Expr { kind, span: caller() }));
        (first, second)
    }

    /// Runs `body` while `cond`, evaluated before each iteration, holds.
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
        let cond = Expr { kind: ExprKind::Block(test), span: caller() };
        let (body, result) = self.block(body);
        self.stmt(StmtKind::While { cond, body, label: None });
        result
    }

    /// Breaks the innermost serial loop.
    #[track_caller]
    pub fn break_(&self) {
        self.stmt(StmtKind::Break { label: None, value: None });
    }

    /// Continues with the next iteration of the innermost loop.
    #[track_caller]
    pub fn continue_(&self) {
        self.stmt(StmtKind::Continue { label: None });
    }

    /// Asserts that the accesses in `body` do not race, as `unsafe { … }` of a kernel in source. Neither `build` nor
    /// launches check them. Building such a kernel is safe, launching it is not: `Kernel::new` of the crate
    /// `quadrants` rejects it, the unsafe `Kernel::asserting` accepts it.
    #[track_caller]
    pub fn race_free<R>(&self, body: impl FnOnce() -> R) -> R {
        let (body, result) = self.block(body);
        self.stmt(StmtKind::Expr(Expr { kind: ExprKind::Unsafe(body), span: caller() }));
        result
    }

    /// Raises a device error with `message` if `cond` does not hold.
    #[track_caller]
    pub fn assert_<'b>(&'b self, cond: impl Operand<'b>, message: &str) {
        let cond = self.operand(cond, ScalarType::Bool);
        self.stmt(StmtKind::Assert { cond, report: message.into() });
    }

    /// Prints a message as `println!` does: `text` with the values in it.
    #[track_caller]
    pub fn print<'b>(&'b self, text: &str, values: &[Value<'b>]) {
        let position = |argument| match argument {
            FormatArgument::Position(at) if at < values.len() => Ok(at),
            FormatArgument::Position(at) => Err(format!("the message has no value {at}")),
            FormatArgument::Name(name) => Err(format!("`{{{name}}}` must be a position")),
        };
        let suits = |format: &Format| {
            format.pieces.iter().all(|piece| match piece {
                FormatPiece::Text(_) | FormatPiece::Variant { .. } => true,
                FormatPiece::Value { at, spec } => {
                    values.get(*at as usize).is_some_and(|value| spec.supports(value.ty))
                }
            })
        };
        let most = MESSAGE_VALUES - 3;
        let format = Format::parse(text, position).and_then(|format| match values.len() > most {
            true => Err(format!("a message has at most {most} values")),
            false if suits(&format) => Ok(format),
            false => Err("a value has no such notation".to_owned()),
        });
        match format {
            Ok(format) => {
                let args = values.iter().map(|value| (self.expr(*value), type_ix(value.ty)));
                let args = args.collect();
                self.stmt(StmtKind::Print { format, args });
            }
            Err(what) => self.misuse(Misuse::Format { what }),
        }
    }

    #[track_caller]
    fn for_loop<'b, const N: usize, R>(
        &'b self,
        ranges: [(Value<'b>, Value<'b>); N],
        body: impl FnOnce([Value<'b>; N]) -> R,
    ) -> R {
        let numbers = ranges.map(|_| self.state.borrow_mut().generated_name("i"));
        let mut dims = Vec::with_capacity(N);
        for (number, (begin, end)) in numbers.into_iter().zip(ranges) {
            if !begin.ty().is_int() {
                self.misuse(Misuse::Undefined { operation: "for", ty: begin.ty() });
            }
            dims.push(Dim {
                name: self.name_of(number),
                mutable: false,
                ty: type_ix(begin.ty()),
                begin: Some(self.expr(begin)),
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

    /// Records the statements of `body` as a block. The block is closed also if `body` panics.
    pub(super) fn block<R>(&self, body: impl FnOnce() -> R) -> (Block, R) {
        let open = self.enter();
        let result = body();
        (open.end(), result)
    }

    pub(super) fn enter(&self) -> OpenScope<'_> {
        OpenScope { builder: self, depth: self.state.borrow_mut().open() }
    }
}

/// Guard of an open block; dropping it discards the block.
pub(super) struct OpenScope<'b> {
    builder: &'b KernelBuilder,
    /// The number of enclosing blocks.
    depth: usize,
}

impl OpenScope<'_> {
    pub(super) fn end(self) -> Block {
        let mut state = self.builder.state.borrow_mut();
        let block = state.blocks.drain(self.depth..).next();
        Block { stmts: block.map(|block| block.stmts).unwrap_or_default(), value: None }
    }
}

impl Drop for OpenScope<'_> {
    fn drop(&mut self) {
        self.builder.state.borrow_mut().blocks.truncate(self.depth);
    }
}
