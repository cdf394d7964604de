//! Funcs that return before their end. A func is inlined, so a `return` is no jump: it sets the func's
//! value and a flag, leaves the loops around it, and what would follow is guarded by the flag.

use std::rc::Rc;

use quadrants_ir::{LocalId, ScalarType, Stmt as Ir, types::Type};

use super::{Lowerer, Result};
use crate::{
    syntax::{Block, Expr, ExprKind, Span, Stmt, StmtKind},
    visit::{Node, any_in_block, any_in_expr, any_in_stmt},
};

/// How a func with early returns is left.
#[derive(Clone)]
pub(super) struct Exit {
    returned: LocalId,
    /// The type of its value, and the locals that hold it.
    pub(super) value: Option<(Type, Rc<[LocalId]>)>,
}

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

    /// Statements in the current IR block, and `last` after them unless one of them has returned.
    pub(super) fn stmts(
        &mut self,
        stmts: &[Stmt],
        last: &mut dyn FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let Some(exit) = self.frame.exit.clone() else {
            stmts.iter().try_for_each(|stmt| self.stmt(stmt))?;
            return last(self);
        };
        for (at, stmt) in stmts.iter().enumerate() {
            let rest = &stmts[at + 1..];
            if let StmtKind::Return { value } = &stmt.kind {
                return self.leave(&exit, value.as_ref(), stmt.span);
            }
            if !returns(stmt) {
                self.stmt(stmt)?;
            } else if !self.frame.loops.is_empty() {
                self.stmt(stmt)?;
                if is_loop(stmt) {
                    self.break_if_returned(&exit);
                }
            } else if let Some((cond, then)) = guard(stmt) {
                let cond = self.want(cond, ScalarType::Bool)?;
                self.emit.open();
                self.block(then)?;
                let then = self.emit.close_block();
                self.emit.open();
                self.stmts(rest, last)?;
                let otherwise = self.emit.close_block();
                self.emit.stmt(Ir::If { cond, then, otherwise });
                return Ok(());
            } else {
                self.stmt(stmt)?;
                self.emit.open();
                self.stmts(rest, last)?;
                let otherwise = self.emit.close_block();
                let cond = self.emit.read(exit.returned);
                let then = self.emit.block(Vec::new());
                self.emit.stmt(Ir::If { cond, then, otherwise });
                return Ok(());
            }
        }
        last(self)
    }

    /// What a func's loop does behind an inner one that may have returned.
    pub(super) fn break_if_returned(&mut self, exit: &Exit) {
        let cond = self.emit.read(exit.returned);
        self.jump_if(cond, Ir::Break);
    }

    fn leave(&mut self, exit: &Exit, value: Option<&Expr>, span: Span) -> Result<()> {
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
        self.emit.stmt(Ir::Assign { local: exit.returned, value });
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
pub(super) fn ends_in_return(block: &Block) -> bool {
    block.value.is_none()
        && matches!(block.stmts.last(), Some(Stmt { kind: StmtKind::Return { .. }, .. }))
}

fn is_return(node: Node<'_>) -> bool {
    matches!(node, Node::Stmt(Stmt { kind: StmtKind::Return { .. }, .. }))
}

pub(super) fn is_loop(stmt: &Stmt) -> bool {
    matches!(stmt.kind, StmtKind::For(_) | StmtKind::While { .. } | StmtKind::Loop { .. })
}

/// Condition and block of `if c { …; return v; }`: what follows is its `else`.
fn guard(stmt: &Stmt) -> Option<(&Expr, &Block)> {
    match &stmt.kind {
        StmtKind::Expr(Expr { kind: ExprKind::If { cond, then, otherwise: None }, .. })
            if ends_in_return(then) =>
        {
            Some((cond, then))
        }
        _ => None,
    }
}
