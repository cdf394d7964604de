//! Lowering of early returns of funcs, and of the serial code at the end of a kernel. A func is inlined, so a `return`
//! stores the result and breaks out of an IR loop that runs once and contains all code that could follow. After each
//! loop of the func that contains the `return`, a flag says whether to break further.
//!
//! Code of such a func outside all loops is in *tail position*: no code of the func runs after it. There, two forms
//! need no loop and keep conditions in a form that proofs can use: `return v;` ends the code, and the code after
//! `if c { …; return v; }` becomes the `else`. Neither `c` nor `v` may contain a `return`. Any other statement with a
//! `return` starts the loop, which also contains the rest of the code.

use quadrants_ir::{ScalarType, Stmt as Ir, types::Type};

use super::{
    Lowerer, Result,
    scope::{EarlyReturn, LoopFrame},
};
use crate::{
    syntax::{Block, Expr, ExprKind, Span, Stmt, StmtKind},
    visit::{Node, any_in_block, any_in_expr, any_in_stmt},
};

impl Lowerer {
    /// Declares the locals for early returns of a value of type `result`.
    pub(super) fn prepare_early_returns(&mut self, result: Option<Type>) -> EarlyReturn {
        let none = self.emit.constant(false);
        let returned = self.emit.define("returned", none, true);
        let value = result.map(|ty| (ty, self.zeroed_locals("result", ty).into()));
        let early_return = EarlyReturn { returned, value };
        self.frame.early_return = Some(early_return.clone());
        early_return
    }

    /// Whether the current code is in tail position of a func with early returns.
    pub(super) fn is_tail(&self) -> bool {
        self.frame.early_return.is_some() && self.frame.loops.is_empty()
    }

    /// Lowers statements into the current IR block, then `last` unless a statement always returns.
    pub(super) fn stmts(
        &mut self,
        stmts: &[Stmt],
        last: &mut dyn FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        for (at, stmt) in stmts.iter().enumerate() {
            let plain = !self.is_tail() || !returns(stmt);
            match &stmt.kind {
                StmtKind::Return { value }
                    if plain || !value.as_ref().is_some_and(expr_returns) =>
                {
                    return self.return_stmt(value.as_ref(), stmt.span);
                }
                _ if plain => self.stmt(stmt)?,
                _ => {
                    let Some((cond, then)) = as_guard(stmt) else {
                        return self.one_pass(|this| this.stmts(&stmts[at..], last));
                    };
                    let cond = self.scalar_as(cond, ScalarType::Bool)?;
                    let then = self.nested(|this| this.block(then))?;
                    let otherwise = self.nested(|this| this.stmts(&stmts[at + 1..], last))?;
                    self.emit.stmt(Ir::If { cond, then, otherwise });
                    return Ok(());
                }
            }
        }
        last(self)
    }

    /// Lowers code in tail position in a loop that runs once; a `return` breaks it.
    pub(super) fn one_pass(&mut self, code: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.emit.open();
        self.frame.loops.push(LoopFrame::new(None));
        code(self)?;
        self.frame.loops.pop();
        self.emit.stmt(Ir::Break);
        let body = self.emit.close_block();
        self.emit.stmt(Ir::Loop { body });
        Ok(())
    }

    /// Breaks the current loop if a nested one has returned.
    pub(super) fn break_if_returned(&mut self, early_return: &EarlyReturn) {
        let cond = self.emit.read(early_return.returned);
        self.emit.stmt_if(cond, Ir::Break);
    }

    /// Lowers a `return`, in tail position or in a loop that it breaks.
    pub(super) fn return_stmt(&mut self, value: Option<&Expr>, span: Span) -> Result<()> {
        let Some(early_return) = self.frame.early_return.clone() else {
            return Err(self.inconsistent(span, "this statement is not supported in kernels"));
        };
        match (&early_return.value, value) {
            (Some((ty, locals)), Some(value)) => {
                let value = self.value_as(value, *ty)?;
                self.assign_locals(locals, &value);
            }
            (None, None) => {}
            (None, Some(value)) => self.discard(value)?,
            (Some(_), None) => return Err(self.inconsistent(span, "the func must return a value")),
        }
        let value = self.emit.constant(true);
        self.emit.assign(early_return.returned, value);
        if !self.frame.loops.is_empty() {
            self.emit.stmt(Ir::Break);
        }
        Ok(())
    }
}

pub(super) fn returns(stmt: &Stmt) -> bool {
    any_in_stmt(stmt, &mut is_return)
}

pub(super) fn expr_returns(expr: &Expr) -> bool {
    any_in_expr(expr, &mut is_return)
}

pub(super) fn block_returns(block: &Block) -> bool {
    any_in_block(block, &mut is_return)
}

fn ends_in_return(block: &Block) -> bool {
    block.value.is_none()
        && matches!(block.stmts.last(), Some(Stmt { kind: StmtKind::Return { .. }, .. }))
}

fn is_return(node: Node<'_>) -> bool {
    matches!(node, Node::Stmt(Stmt { kind: StmtKind::Return { .. }, .. }))
}

pub(super) fn is_loop(stmt: &Stmt) -> bool {
    matches!(stmt.kind, StmtKind::For(_) | StmtKind::While { .. } | StmtKind::Loop { .. })
}

/// Whether all returns in an expression statement are in blocks that are in tail position if the statement is.
pub(super) fn keeps_tail(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::If { cond, .. } => !expr_returns(cond),
        ExprKind::Block(_) | ExprKind::Unsafe(_) => true,
        _ => !expr_returns(expr),
    }
}

/// The condition and the block of `if c { …; return v; }`.
fn as_guard(stmt: &Stmt) -> Option<(&Expr, &Block)> {
    match &stmt.kind {
        StmtKind::Expr(Expr { kind: ExprKind::If { cond, then, otherwise: None }, .. })
            if ends_in_return(then) && !expr_returns(cond) =>
        {
            Some((cond, then))
        }
        _ => None,
    }
}
