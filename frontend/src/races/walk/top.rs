//! The top level of a kernel: its tasks, in branches and `stream_parallel` blocks.

use super::{SampleWalk, SampledRegionBlock, SampledTask};
use crate::{
    races::loops::assigned,
    syntax::{Block, Expr, ExprKind, Stmt, StmtKind, StreamParallelArgument},
    visit::expr_has_parallel,
};

impl SampleWalk<'_> {
    pub(super) fn top_stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::For(each) if !each.options.serial => {
                self.end_serial();
                self.parallel_loop(each);
                self.forget_combined(&each.body);
            }
            StmtKind::Expr(expr) => self.top_expr(expr),
            _ => self.stmt(stmt),
        }
    }

    pub(super) fn top_expr(&mut self, expr: &Expr) {
        let body = match &expr.kind {
            ExprKind::StreamParallel(StreamParallelArgument::Closure { body, .. }) => body,
            ExprKind::BlockFor(each) => return self.block_for(each),
            ExprKind::If { .. } | ExprKind::Block(_) | ExprKind::Unsafe(_)
                if expr_has_parallel(expr) =>
            {
                return self.branches(expr);
            }
            _ => {
                self.eval(expr);
                return;
            }
        };
        self.end_serial();
        self.region_blocks.push(SampledRegionBlock { tasks: Vec::new(), span: expr.span });
        let mark = self.names.mark();
        self.in_region = true;
        self.top_block(body);
        self.in_region = false;
        self.end_serial();
        self.names.leave(mark);
    }

    fn top_block(&mut self, block: &Block) {
        let mark = self.names.mark();
        for stmt in &block.stmts {
            self.top_stmt(stmt);
        }
        if let Some(value) = &block.value {
            self.top_expr(value);
        }
        self.names.leave(mark);
    }

    /// Evaluates branches with parallel loops: all of them, so that all samples have the same tasks.
    fn branches(&mut self, expr: &Expr) {
        let (cond, then, otherwise) = match &expr.kind {
            ExprKind::If { cond, then, otherwise } => (cond, then, otherwise.as_ref()),
            ExprKind::Block(block) => return self.top_block(block),
            ExprKind::Unsafe(block) => {
                self.unsafe_depth += 1;
                self.top_block(block);
                self.unsafe_depth -= 1;
                return;
            }
            _ => return,
        };
        self.eval(cond);
        let changed = assigned(&[Some(then), otherwise]);
        let before = self.locals(&changed);
        self.top_block(then);
        self.set_locals(&changed, before);
        otherwise.into_iter().for_each(|block| self.top_block(block));
        // Which of the branches runs is not followed.
        let after = changed.iter().map(|_| Some(self.new_fixed())).collect();
        self.set_locals(&changed, after);
    }

    /// Ends the current piece of serial code.
    pub(super) fn end_serial(&mut self) {
        if self.task.accesses.is_empty() {
            self.task = SampledTask::new();
        } else {
            self.end_task();
        }
    }

    pub(super) fn end_task(&mut self) {
        let task = std::mem::replace(&mut self.task, SampledTask::new());
        if let Some(region_block) = self.region_blocks.last_mut() {
            region_block.tasks.push(task);
        }
    }
}
