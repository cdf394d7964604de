//! Jumps: out of the innermost loop they are the IR's. One that a label sends further sets a flag, which the
//! loops on its way ask as soon as the one inside them has ended.

use std::rc::Rc;

use quadrants_ir::{Const, LocalId, ScalarType, Stmt as Ir, UnaryOp, types::Type};

use super::{
    Lowerer, Result,
    early_return::{block_returns, is_loop},
    scope::{Crossing, Loop, Value},
};
use crate::{
    syntax::{Block, Expr, ExprKind, Span, Stmt, StmtKind, TypeIx},
    visit::{Node, any_in_block, any_in_expr, any_in_stmt},
};

impl Lowerer {
    /// A `loop`, or a `while` with its condition.
    pub(super) fn endless(&mut self, of: Loop, cond: Option<&Expr>, body: &Block) -> Result<()> {
        self.emit.open();
        let crossing = self.round(of, cond, body)?;
        let body = self.emit.close_block();
        self.emit.stmt(Ir::Loop { body });
        crossing.iter().for_each(|jump| self.jump_on(jump, false));
        Ok(())
    }

    /// What one round of a loop does, which ends the loop where `cond` is false; gives the jumps to loops further out.
    pub(super) fn round(
        &mut self,
        mut of: Loop,
        cond: Option<&Expr>,
        body: &Block,
    ) -> Result<Vec<Crossing>> {
        if let Some(label) = of.label.as_deref() {
            let mut flag = |name: &str, jumps: &dyn Fn(&StmtKind) -> bool| {
                jumped_to(cond, body, jumps).then(|| {
                    let none = self.emit.constant(false);
                    self.emit.define(&format!("{name}_{label}"), none, true)
                })
            };
            let is_label = |of: &Option<String>| of.as_deref() == Some(label);
            let left = flag(
                "leave",
                &|stmt| matches!(stmt, StmtKind::Break { label, .. } if is_label(label)),
            );
            let next = flag(
                "next",
                &|stmt| matches!(stmt, StmtKind::Continue { label } if is_label(label)),
            );
            (of.left, of.next) = (left, next);
        }
        self.frame.loops.push(of);
        if let Some(cond) = cond {
            let cond = self.want(cond, ScalarType::Bool)?;
            let cond = self.emit.unary(UnaryOp::Not, cond);
            self.emit.stmt_if(cond, Ir::Break);
        }
        self.block(body)?;
        Ok(self.frame.loops.pop().map(|of| of.crossing).unwrap_or_default())
    }

    /// The value of a `loop`, which its `break`s give.
    pub(super) fn loop_value(
        &mut self,
        ty: TypeIx,
        body: &Block,
        label: Option<&str>,
        span: Span,
    ) -> Result<Value> {
        let ty = self.type_at(ty, span)?;
        self.check_size(ty, span)?;
        let locals: Rc<[LocalId]> = self.zeros("found", ty).into();
        let of = Loop { value: Some((ty, locals.clone())), ..Loop::new(label) };
        self.endless(of, None, body)?;
        if let Some(exit) = self.frame.exit.clone().filter(|_| block_returns(body)) {
            self.break_if_returned(&exit);
        }
        Ok(self.value_of(ty, &locals))
    }

    pub(super) fn break_loop(
        &mut self,
        label: Option<&str>,
        value: Option<&Expr>,
        span: Span,
    ) -> Result<()> {
        if let Some(value) = value {
            let target = self.target_of(label, span)?;
            let Some((ty, locals)) = self.frame.loops[target].value.clone() else {
                return Err(self.type_error(span, "this loop has no value"));
            };
            let value = self.want_parts(value, ty)?;
            self.assign_all(&locals, &value);
        }
        self.jump(label, Ir::Break, span)
    }

    /// `break` or `continue` of the loop that a label names, or of the innermost one.
    pub(super) fn jump(&mut self, label: Option<&str>, jump: Ir, span: Span) -> Result<()> {
        let is_break = matches!(jump, Ir::Break);
        // Outside every loop that the func has, `continue` ends an iteration or a phase.
        let target = label.map(|_| self.target_of(label, span)).transpose()?;
        let Some(target) = target.filter(|target| target + 1 < self.frame.loops.len()) else {
            self.emit.stmt(jump);
            return Ok(());
        };
        let of = &self.frame.loops[target];
        let Some(flag) = (if is_break { of.left } else { of.next }) else {
            return Err(self.type_error(span, "this label is of no loop around it"));
        };
        let value = self.emit.constant(true);
        self.emit.assign(flag, value);
        self.emit.stmt(Ir::Break);
        let crossing = Crossing { target, flag, jump };
        for crossed in &mut self.frame.loops[target + 1..] {
            if !crossed.crossing.contains(&crossing) {
                crossed.crossing.push(crossing.clone());
            }
        }
        Ok(())
    }

    /// Goes on with a jump behind a loop that it has left, or, `within` one of several dimensions, behind one of these.
    pub(super) fn jump_on(&mut self, crossing: &Crossing, within: bool) {
        let arrived = !within && crossing.target + 1 == self.frame.loops.len();
        let cond = self.emit.read(crossing.flag);
        self.emit.stmt_if(cond, if arrived { crossing.jump.clone() } else { Ir::Break });
    }

    /// The value of a block that has none: any, as a jump leaves it.
    pub(super) fn none(
        &mut self,
        block: &Block,
        expected: Option<Type>,
        span: Span,
    ) -> Result<Value> {
        // A `loop` without `break` is one of the ways not to come to a block's end.
        let jumps = any_in_block(block, &mut |node| {
            use StmtKind::{Break, Continue, Loop, Return};
            let Node::Stmt(Stmt { kind, .. }) = node else { return false };
            matches!(kind, Break { .. } | Continue { .. } | Return { .. } | Loop { .. })
        });
        let Some(ty) = expected.filter(|_| jumps) else {
            return Err(self.type_error(span, "this block has no value"));
        };
        let mut leaves = Vec::new();
        ty.each_leaf("none", &mut |_, ty| leaves.push(ty));
        let zero = |ty| self.emit.constant(Const::from_bits(ty, 0));
        Ok(Value { ty, leaves: leaves.into_iter().map(zero).collect() })
    }

    fn target_of(&self, label: Option<&str>, span: Span) -> Result<usize> {
        let loops = &self.frame.loops;
        let found = match label {
            Some(label) => loops.iter().rposition(|of| of.label.as_deref() == Some(label)),
            None => loops.len().checked_sub(1),
        };
        found.ok_or_else(|| self.type_error(span, "there is no such loop around this"))
    }
}

/// Whether a loop within another's condition or body has such a jump.
fn jumped_to(cond: Option<&Expr>, body: &Block, jumps: &dyn Fn(&StmtKind) -> bool) -> bool {
    let mut jump = |node: Node<'_>| matches!(node, Node::Stmt(stmt) if jumps(&stmt.kind));
    let mut inner = |node: Node<'_>| match node {
        Node::Stmt(stmt) => is_loop(stmt) && any_in_stmt(stmt, &mut jump),
        Node::Expr(expr) => {
            matches!(expr.kind, ExprKind::Loop { .. }) && any_in_expr(expr, &mut jump)
        }
    };
    cond.is_some_and(|cond| any_in_expr(cond, &mut inner)) || any_in_block(body, &mut inner)
}
