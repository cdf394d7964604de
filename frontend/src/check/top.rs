//! The top level of a kernel: parallel loops, branches around them, `stream_parallel` blocks and `return`s.

use super::{Checker, MAX_DEPTH, ScopeKind};
use crate::{
    language_rule::LanguageRule,
    syntax::{Block, Expr, ExprKind, FunctionKind, Span, Stmt, StmtKind, StreamParallelArgument},
};

impl<'a> Checker<'a> {
    /// A statement at the top level of a kernel or of a `stream_parallel` block.
    pub(super) fn top_stmt(&mut self, stmt: &'a Stmt) {
        match &stmt.kind {
            StmtKind::For(each) if !each.options.serial => {
                self.parallel = Some(each);
                self.outside.clear();
                self.for_loop(each, stmt.span, ScopeKind::ParallelLoop);
                self.check_no_return(stmt.span);
            }
            StmtKind::For(each) => self.serial_loop(each, stmt.span),
            StmtKind::Expr(Expr { kind: ExprKind::StreamParallel(argument), span })
                if self.scopes.is_empty() =>
            {
                self.stream_parallel(argument, *span);
            }
            StmtKind::Expr(expr) => self.top_expr(expr),
            _ => self.stmt(stmt),
        }
    }

    /// A block at the top level of a kernel or of a `stream_parallel` block.
    fn top_block(&mut self, scope: ScopeKind, block: &'a Block) {
        self.enter(scope, |this| {
            block.stmts.iter().for_each(|stmt| this.top_stmt(stmt));
            if let Some(value) = block.value.as_deref() {
                this.top_expr(value);
            }
        });
    }

    /// A statement, or the value of a block, at the top level. Branches there have parallel loops.
    pub(super) fn top_expr(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::BlockFor(each) => {
                self.check_no_return(expr.span);
                self.block_for(each, expr.span);
            }
            ExprKind::If { cond, then, otherwise } if self.depth < MAX_DEPTH => {
                self.misplaced_returns(|this| this.expr(cond));
                self.depth += 1;
                self.top_block(ScopeKind::Branch, then);
                if let Some(block) = otherwise {
                    self.top_block(ScopeKind::Branch, block);
                }
                self.depth -= 1;
            }
            ExprKind::Block(body) | ExprKind::Unsafe(body) if self.depth < MAX_DEPTH => {
                self.depth += 1;
                self.top_block(ScopeKind::Braces, body);
                self.depth -= 1;
            }
            _ => self.expr(expr),
        }
    }

    /// Checks code from which a `return` cannot skip a parallel loop.
    fn misplaced_returns(&mut self, check: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.returns_are_misplaced, true);
        check(self);
        self.returns_are_misplaced = outer;
    }

    pub(super) fn kernel_return(&mut self, span: Span) {
        if self.scopes.contains(&ScopeKind::Blocks) {
            self.reject(span, LanguageRule::ReturnInBlocks);
        } else if self.scopes.contains(&ScopeKind::ParallelLoop) {
            self.reject(span, LanguageRule::ReturnInLoop);
        } else if self.scopes.contains(&ScopeKind::StreamParallel) {
            self.reject(span, LanguageRule::ReturnInRegionBlock);
        } else if self.after_streams {
            self.reject(span, LanguageRule::ReturnAfterRegionBlock);
        } else if self.returns_are_misplaced {
            self.first_return.get_or_insert(span);
        }
    }

    /// Rejects a `return` in a condition before a parallel loop or grid of blocks, or in the bounds of one.
    pub(super) fn check_no_return(&mut self, span: Span) {
        if let Some(at) = self.first_return.take() {
            self.reject(at, LanguageRule::ReturnBeforeLoop(span.line));
        }
    }

    pub(super) fn misplaced_call(&mut self, argument: &'a StreamParallelArgument, span: Span) {
        let innermost = self.scopes.last().copied();
        let rule = if self.kind == FunctionKind::Func {
            LanguageRule::RegionBlockInFunc
        } else if self.scopes.contains(&ScopeKind::StreamParallel) {
            LanguageRule::RegionBlockNested
        } else {
            match innermost {
                None => LanguageRule::StreamParallelValue,
                Some(ScopeKind::Branch) => LanguageRule::RegionBlockInBranch,
                Some(ScopeKind::Braces) => LanguageRule::RegionBlockInBraces,
                Some(_) => LanguageRule::RegionBlockInLoop,
            }
        };
        self.reject(span, rule);
        self.stream_parallel(argument, span);
    }
}
