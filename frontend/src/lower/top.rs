//! A kernel's top level: serial pieces, parallel loops, `stream_parallel` blocks, the value.

use quadrants_ir::{GroupId, LoopDim, ParallelFor, ScalarType, TopStmt};

use super::{Lowerer, Result, Unit};
use crate::syntax::{Expr, ExprKind, For, RegionArgument, Span, Stmt, StmtKind};

impl Lowerer {
    pub(super) fn kernel_body(
        &mut self,
        unit: &Unit,
        result: Option<ScalarType>,
    ) -> Result<Vec<TopStmt>> {
        let body = &unit.function.body;
        let mut top = Vec::new();
        let mut groups = 0;
        for stmt in &body.stmts {
            match &stmt.kind {
                StmtKind::Expr(Expr { kind: ExprKind::StreamParallel(argument), .. }) => {
                    self.group(argument, &mut groups, &mut top, stmt.span)?;
                }
                _ => self.top_stmt(stmt, &mut top)?,
            }
        }
        match (body.value.as_deref(), result) {
            (Some(Expr { kind: ExprKind::StreamParallel(argument), span }), None) => {
                self.group(argument, &mut groups, &mut top, *span)?;
            }
            (Some(value), None) => self.discard(value)?,
            (Some(value), Some(ty)) => {
                let value = self.want(value, ty)?;
                self.flush(&mut top);
                top.push(TopStmt::Return(value));
            }
            (None, Some(_)) => {
                return Err(self.type_error(unit.function.span, "the kernel has no value"));
            }
            (None, None) => {}
        }
        self.flush(&mut top);
        Ok(top)
    }

    fn group(
        &mut self,
        argument: &RegionArgument,
        groups: &mut u32,
        top: &mut Vec<TopStmt>,
        span: Span,
    ) -> Result<()> {
        let RegionArgument::Closure { body: block, .. } = argument else {
            return Err(self.type_error(span, "expected a closure"));
        };
        self.flush(top);
        *groups += 1;
        let group = GroupId::new(*groups);
        let scope = self.frame.enter();
        let mut body = Vec::new();
        for stmt in &block.stmts {
            self.top_stmt(stmt, &mut body)?;
        }
        if let Some(value) = &block.value {
            self.discard(value)?;
        }
        self.flush(&mut body);
        self.frame.leave(scope);
        top.push(TopStmt::Group { group, body });
        Ok(())
    }

    fn top_stmt(&mut self, stmt: &Stmt, top: &mut Vec<TopStmt>) -> Result<()> {
        match &stmt.kind {
            StmtKind::For(each) => self.parallel(each, stmt.span, top),
            _ => self.stmt(stmt),
        }
    }

    fn parallel(&mut self, each: &For, span: Span, top: &mut Vec<TopStmt>) -> Result<()> {
        let bounds = self.bounds(&each.dims, span)?;
        self.flush(top);
        let scope = self.frame.enter();
        self.emit.open();
        let mut dims = Vec::with_capacity(each.dims.len());
        for (dim, [begin, end]) in each.dims.iter().zip(bounds) {
            let ty = self.emit.ty(begin);
            dims.push(LoopDim { var: self.loop_variable(dim, ty), begin, end });
        }
        self.block(&each.body)?;
        let body = self.emit.close_block();
        self.frame.leave(scope);
        top.push(TopStmt::ParallelFor(ParallelFor { dims, body, line: span.line }));
        Ok(())
    }

    /// Ends the serial piece under way.
    fn flush(&mut self, top: &mut Vec<TopStmt>) {
        let stmts = self.emit.take();
        if !stmts.is_empty() {
            let block = self.emit.block(stmts);
            top.push(TopStmt::Serial(block));
        }
    }
}
