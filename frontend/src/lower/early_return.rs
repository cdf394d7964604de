//! Funcs that return before their end. A func is inlined, so a `return` stores the func's value and leaves an IR loop
//! that runs once, around all that could follow it. Behind each loop of the func's own that it is in, a flag says
//! whether to go on leaving.
//!
//! Code outside every loop of a func with such returns is in *tail position*: nothing of the func is run behind it.
//! There, two forms need no loop, and keep conditions where proofs use them: `return v;` ends the code, and what
//! follows `if c { …; return v; }` is its `else`. Neither `c` nor `v` has a `return` in it then. Any other statement
//! with a `return` begins the loop, which the rest of the code is in too.

use quadrants_ir::{ScalarType, Stmt as Ir, types::Type};

use super::{
    Lowerer, Result,
    scope::{Exit, Loop},
};
use crate::{
    syntax::{Block, Expr, ExprKind, Span, Stmt, StmtKind},
    visit::{Node, any_in_block, any_in_expr, any_in_stmt},
};

impl Lowerer {
    /// Prepares for early returns of a value of type `result`.
    pub(super) fn exit(&mut self, result: Option<Type>) -> Exit {
        let none = self.emit.constant(false);
        let returned = self.emit.define("returned", none, true);
        let value = result.map(|ty| (ty, self.zeros("result", ty).into()));
        let exit = Exit { returned, value };
        self.frame.exit = Some(exit.clone());
        exit
    }

    /// Whether nothing of the func is run behind the code being lowered, which may have early returns.
    pub(super) fn is_tail(&self) -> bool {
        self.frame.exit.is_some() && self.frame.loops.is_empty()
    }

    /// Statements in the current IR block, and `last` after them unless one of them is a `return` of all ways here.
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
                    return self.leave(value.as_ref(), stmt.span);
                }
                _ if plain => self.stmt(stmt)?,
                _ => {
                    let Some((cond, then)) = guard(stmt) else {
                        return self.once(|this| this.stmts(&stmts[at..], last));
                    };
                    let cond = self.want(cond, ScalarType::Bool)?;
                    self.emit.open();
                    self.block(then)?;
                    let then = self.emit.close_block();
                    self.emit.open();
                    self.stmts(&stmts[at + 1..], last)?;
                    let otherwise = self.emit.close_block();
                    self.emit.stmt(Ir::If { cond, then, otherwise });
                    return Ok(());
                }
            }
        }
        last(self)
    }

    /// Code in tail position in a loop that runs once, which a `return` in it leaves.
    pub(super) fn once(&mut self, code: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.emit.open();
        self.frame.loops.push(Loop::new(None));
        code(self)?;
        self.frame.loops.pop();
        self.emit.stmt(Ir::Break);
        let body = self.emit.close_block();
        self.emit.stmt(Ir::Loop { body });
        Ok(())
    }

    /// What a func's loop does behind an inner one that may have returned.
    pub(super) fn break_if_returned(&mut self, exit: &Exit) {
        let cond = self.emit.read(exit.returned);
        self.emit.stmt_if(cond, Ir::Break);
    }

    /// A `return`: in tail position, or in a loop that it leaves.
    pub(super) fn leave(&mut self, value: Option<&Expr>, span: Span) -> Result<()> {
        let Some(exit) = self.frame.exit.clone() else {
            return Err(self.type_error(span, "this statement has no place in a kernel"));
        };
        match (&exit.value, value) {
            (Some((ty, locals)), Some(value)) => {
                let value = self.want_parts(value, *ty)?;
                self.assign_all(locals, &value);
            }
            (None, None) => {}
            (None, Some(value)) => self.discard(value)?,
            (Some(_), None) => return Err(self.type_error(span, "the func has a value")),
        }
        let value = self.emit.constant(true);
        self.emit.assign(exit.returned, value);
        if !self.frame.loops.is_empty() {
            self.emit.stmt(Ir::Break);
        }
        Ok(())
    }
}

/// Whether a statement may return.
pub(super) fn returns(stmt: &Stmt) -> bool {
    any_in_stmt(stmt, &mut is_return)
}

/// Whether an expression may return.
pub(super) fn expr_returns(expr: &Expr) -> bool {
    any_in_expr(expr, &mut is_return)
}

/// Whether anything in a block may return.
pub(super) fn block_returns(block: &Block) -> bool {
    any_in_block(block, &mut is_return)
}

/// Whether a block ends by returning.
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

/// Whether an expression for its effects has returns in blocks only that are in tail position where it is.
pub(super) fn keeps_tail(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::If { cond, .. } => !expr_returns(cond),
        ExprKind::Block(_) | ExprKind::Unsafe(_) => true,
        _ => !expr_returns(expr),
    }
}

/// Condition and block of `if c { …; return v; }`: what follows is its `else`.
fn guard(stmt: &Stmt) -> Option<(&Expr, &Block)> {
    match &stmt.kind {
        StmtKind::Expr(Expr { kind: ExprKind::If { cond, then, otherwise: None }, .. })
            if ends_in_return(then) && !expr_returns(cond) =>
        {
            Some((cond, then))
        }
        _ => None,
    }
}
