//! Lowering of a kernel's top level: serial code, parallel loops, `stream_parallel` blocks, the result.

use std::collections::HashSet;

use quadrants_ir::{LoopDim, ParallelFor, RegionBlockId, TopStmt, types::Type};

use super::{
    Lowerer, Result,
    conditional::{self, PathCondition},
    early_return,
    scope::{LoopFrame, Value},
};
use crate::{
    function_unit::FunctionUnit,
    syntax::{Block, Expr, ExprKind, For, Function, Span, Stmt, StmtKind, StreamParallelArgument},
    visit::{any_in_block, any_in_stmt, collect_name, each_binding},
};

impl Lowerer {
    pub(super) fn kernel_body(
        &mut self,
        unit: &FunctionUnit,
        result: Option<Type>,
    ) -> Result<Vec<TopStmt>> {
        let body = &unit.function.body;
        let mut top = Vec::new();
        if has_blocks(&unit.function) {
            self.stream_parallel_blocks(body, &mut top)?;
            return Ok(top);
        }
        if conditional::is_conditional(body) {
            return self.conditional_body(body, result);
        }
        for (at, stmt) in body.stmts.iter().enumerate() {
            if early_return::returns(stmt) {
                return self.returning(&body.stmts[at..], body, result, top);
            }
            self.top_stmt(stmt, &mut top)?;
        }
        match (body.value.as_deref(), result) {
            (Some(value), _) if early_return::expr_returns(value) => {
                return self.returning(&[], body, result, top);
            }
            (Some(value), None) => self.discard(value)?,
            (Some(value), Some(ty)) => {
                let value = self.value_as(value, ty)?;
                self.flush(&mut top);
                return_value(value, &mut top);
            }
            (None, Some(_)) => {
                return Err(self.inconsistent(unit.function.span, "the kernel must return a value"));
            }
            (None, None) => {}
        }
        self.flush(&mut top);
        Ok(top)
    }

    /// Lowers the rest of a kernel, from the first statement with a `return` on, as the code of a func is lowered. It
    /// is serial: the rules allow no parallel loop in it.
    fn returning(
        &mut self,
        stmts: &[Stmt],
        body: &Block,
        result: Option<Type>,
        mut top: Vec<TopStmt>,
    ) -> Result<Vec<TopStmt>> {
        let value = self.early_body(stmts, body.value.as_deref(), result)?;
        self.flush(&mut top);
        if let Some(value) = value {
            return_value(value, &mut top);
        }
        Ok(top)
    }

    /// Lowers the `stream_parallel` blocks of a kernel. The `let`s that a block uses, and the `return`s before it, are
    /// lowered into the block: each block evaluates them itself. What no block uses may still be an error, such as a
    /// division by zero, so each `let` is in one block at least.
    fn stream_parallel_blocks(&mut self, body: &Block, top: &mut Vec<TopStmt>) -> Result<()> {
        let block_of = |stmt| as_expr(stmt).and_then(as_stream_parallel);
        let value = body.value.as_deref().and_then(as_stream_parallel);
        let last = body.stmts.iter().rposition(|stmt| block_of(stmt).is_some());
        let last = last.filter(|_| value.is_none());
        let mut lets = TopLevelLets::default();
        for (at, stmt) in body.stmts.iter().enumerate() {
            let Some(block) = block_of(stmt) else {
                lets.before.push(stmt);
                continue;
            };
            if last == Some(at) {
                lets.after.extend(&body.stmts[at + 1..]);
                return self.region_block(&lets, block, top);
            }
            self.region_block(&lets, block, top)?;
            lets.lowered = lets.before.len();
        }
        value.map_or(Ok(()), |block| self.region_block(&lets, block, top))
    }

    fn region_block(
        &mut self,
        lets: &TopLevelLets<'_>,
        block: &Block,
        top: &mut Vec<TopStmt>,
    ) -> Result<()> {
        let scope = self.frame.names.mark();
        let mut body = Vec::new();
        let messages = self.emit.messages();
        for stmt in lets.needed(block) {
            self.outer_let(stmt, &mut body)?;
        }
        let inner = self.frame.names.mark();
        let own_messages = self.emit.messages();
        for stmt in &block.stmts {
            self.top_stmt(stmt, &mut body)?;
        }
        if let Some(value) = &block.value {
            self.top_value(value, None, &mut body)?;
        }
        self.frame.names.leave(inner);
        let own_messages = self.emit.messages() - own_messages;
        for stmt in &lets.after {
            self.outer_let(stmt, &mut body)?;
        }
        if self.emit.messages() != messages + own_messages {
            let what = "a func that prints is called outside of the `stream_parallel` blocks, \
                        where each block that uses its value would print; help: call it inside the blocks";
            return Err(self.type_error(self.frame.unit.function.span, what));
        }
        self.flush(&mut body);
        self.path = PathCondition::default();
        self.frame.names.leave(scope);
        let region_block = RegionBlockId::new(top.len() as u32 + 1);
        top.push(TopStmt::RegionBlock { region_block, body });
        Ok(())
    }

    /// Lowers a `let`, or a `return`, of the statements around `stream_parallel` blocks.
    fn outer_let(&mut self, stmt: &Stmt, body: &mut Vec<TopStmt>) -> Result<()> {
        match &stmt.kind {
            _ if early_return::returns(stmt) => self.top_stmt(stmt, body),
            // No block can assign a local outside it.
            StmtKind::Let { name, mutable: true, ty, value } => {
                self.guarded(|this| this.bind(name, false, *ty, value, stmt.span))
            }
            _ => self.guarded(|this| this.stmt(stmt)),
        }
    }

    pub(super) fn parallel(
        &mut self,
        each: &For,
        span: Span,
        top: &mut Vec<TopStmt>,
    ) -> Result<()> {
        let bounds = self.guarded(|this| {
            let mut bounds = this.bounds(&each.dims, span, true)?;
            if let Some(bounds) = bounds.first_mut().filter(|_| this.is_guarded()) {
                bounds.begin = this.emit.reuse(bounds.begin);
            }
            this.open_accumulators(&each.body);
            Ok(bounds)
        })?;
        self.flush(top);
        let scope = self.frame.names.mark();
        self.emit.open();
        let mut dims = Vec::with_capacity(each.dims.len());
        for (dim, bounds) in each.dims.iter().zip(&bounds) {
            let (var, value) = self.loop_variable(dim, bounds);
            self.iteration.push(value);
            dims.push(LoopDim { var, begin: bounds.begin, end: bounds.end });
        }
        self.loop_body(LoopFrame::new(each.label.as_deref()), None, &each.body)?;
        self.iteration.clear();
        let body = self.emit.close_block();
        self.end_task();
        self.frame.names.leave(scope);
        self.guard_loop(&mut dims);
        top.push(TopStmt::ParallelFor(ParallelFor {
            dims,
            body,
            line: span.line,
            block_size: each.options.block_size,
        }));
        self.guarded(|this| {
            this.close_accumulators();
            Ok(())
        })
    }

    /// Ends the current piece of serial code.
    pub(super) fn flush(&mut self, top: &mut Vec<TopStmt>) {
        let stmts = self.emit.take();
        if !stmts.is_empty() {
            let block = self.emit.block(stmts);
            top.push(TopStmt::Serial(block));
        }
        self.end_task();
    }
}

/// The return of a value, which has at least one scalar or needs none.
pub(super) fn return_value(value: Value, top: &mut Vec<TopStmt>) {
    if !value.leaves.is_empty() {
        top.push(TopStmt::Return(value.leaves));
    }
}

pub(super) fn has_blocks(function: &Function) -> bool {
    let body = &function.body;
    let exprs = body.stmts.iter().filter_map(as_expr).chain(body.value.as_deref());
    exprs.into_iter().any(|expr| as_stream_parallel(expr).is_some())
}

/// The closure's body if `expr` is a `stream_parallel` call. The rules allow only a closure.
fn as_stream_parallel(expr: &Expr) -> Option<&Block> {
    match &expr.kind {
        ExprKind::StreamParallel(StreamParallelArgument::Closure { body, .. }) => Some(body),
        _ => None,
    }
}

fn as_expr(stmt: &Stmt) -> Option<&Expr> {
    match &stmt.kind {
        StmtKind::Expr(expr) => Some(expr),
        _ => None,
    }
}

/// The statements around `stream_parallel` blocks: `let`s, and `return`s under conditions.
#[derive(Default)]
struct TopLevelLets<'a> {
    /// Those before the block.
    before: Vec<&'a Stmt>,
    /// How many of them an earlier block has evaluated already.
    lowered: usize,
    /// Those after the last block.
    after: Vec<&'a Stmt>,
}

impl<'a> TopLevelLets<'a> {
    /// The statements before `block` that it needs, directly or through others, those that may return from the kernel,
    /// and those that no earlier block has evaluated.
    fn needed(&self, block: &'a Block) -> Vec<&'a Stmt> {
        let mut names = HashSet::new();
        any_in_block(block, &mut |node| collect_name(node, &mut names));
        for stmt in &self.after {
            any_in_stmt(stmt, &mut |node| collect_name(node, &mut names));
        }
        let mut needed = Vec::new();
        for (at, stmt) in self.before.iter().enumerate().rev() {
            let used = match &stmt.kind {
                StmtKind::Let { name, .. } | StmtKind::LetShape { name, .. } => {
                    names.contains(name.as_str())
                }
                StmtKind::LetExtents { names: extents, .. } => {
                    extents.iter().flatten().any(|name| names.contains(name.as_str()))
                }
                StmtKind::LetPattern { pattern, .. } => {
                    let mut used = false;
                    each_binding(pattern, &mut |name, _, _| used |= names.contains(name));
                    used
                }
                _ => false,
            };
            if used || at >= self.lowered || early_return::returns(stmt) {
                any_in_stmt(stmt, &mut |node| collect_name(node, &mut names));
                needed.push(*stmt);
            }
        }
        needed.reverse();
        needed
    }
}
