//! Lowering of `break`, `continue` and `loop`. The IR can only jump to the innermost loop. A jump to an outer loop
//! sets a flag and breaks; each loop between tests the flag after the nested loop.

use std::rc::Rc;

use quadrants_ir::{LocalId, ScalarType, Stmt as Ir, UnaryOp, types::Type};

use super::{
    Lowerer, Result,
    early_return::{block_returns, is_loop},
    scope::{LoopFrame, OuterJump, Value},
};
use crate::{
    syntax::{Block, Expr, ExprKind, Span, Stmt, StmtKind, TypeIx},
    visit::{Node, any_in_block, any_in_expr, any_in_stmt},
};

impl Lowerer {
    /// Lowers a `loop`, or a `while` with its condition.
    pub(super) fn infinite(
        &mut self,
        this: LoopFrame,
        cond: Option<&Expr>,
        body: &Block,
    ) -> Result<()> {
        self.emit.open();
        let outer_jumps = self.loop_body(this, cond, body)?;
        let body = self.emit.close_block();
        self.emit.stmt(Ir::Loop { body });
        outer_jumps.iter().for_each(|jump| self.forward_jump(jump, false));
        Ok(())
    }

    /// Lowers a loop body, which breaks if `cond` is false. Returns the jumps in it to outer loops.
    pub(super) fn loop_body(
        &mut self,
        mut this: LoopFrame,
        cond: Option<&Expr>,
        body: &Block,
    ) -> Result<Vec<OuterJump>> {
        if let Some(label) = this.label.as_deref() {
            let mut flag = |name: &str, jumps: &dyn Fn(&StmtKind) -> bool| {
                has_nested_jump(cond, body, jumps).then(|| {
                    let none = self.emit.constant(false);
                    self.emit.define(&format!("{name}_{label}"), none, true)
                })
            };
            let is_label = |name: &Option<String>| name.as_deref() == Some(label);
            let left = flag(
                "leave",
                &|stmt| matches!(stmt, StmtKind::Break { label, .. } if is_label(label)),
            );
            let next = flag(
                "next",
                &|stmt| matches!(stmt, StmtKind::Continue { label } if is_label(label)),
            );
            (this.break_flag, this.continue_flag) = (left, next);
        }
        self.frame.loops.push(this);
        if let Some(cond) = cond {
            let cond = self.scalar_as(cond, ScalarType::Bool)?;
            let cond = self.emit.unary(UnaryOp::Not, cond);
            self.emit.stmt_if(cond, Ir::Break);
        }
        self.block(body)?;
        Ok(self.frame.loops.pop().map(|inner| inner.outer_jumps).unwrap_or_default())
    }

    /// Lowers a `loop` with a value, which its `break`s assign.
    pub(super) fn loop_value(
        &mut self,
        ty: TypeIx,
        body: &Block,
        label: Option<&str>,
        span: Span,
    ) -> Result<Value> {
        let ty = self.type_at(ty, span)?;
        self.check_size(ty, span)?;
        let locals: Rc<[LocalId]> = self.zeroed_locals("found", ty).into();
        let this = LoopFrame { value: Some((ty, locals.clone())), ..LoopFrame::new(label) };
        self.infinite(this, None, body)?;
        if let Some(early_return) = self.frame.early_return.clone().filter(|_| block_returns(body))
        {
            self.break_if_returned(&early_return);
        }
        Ok(self.read_locals(ty, &locals))
    }

    pub(super) fn break_loop(
        &mut self,
        label: Option<&str>,
        value: Option<&Expr>,
        span: Span,
    ) -> Result<()> {
        if let Some(value) = value {
            let target = self.find_loop(label, span)?;
            let Some((ty, locals)) = self.frame.loops[target].value.clone() else {
                return Err(self.inconsistent(span, "this loop has no value"));
            };
            let value = self.value_as(value, ty)?;
            self.assign_locals(&locals, &value);
        }
        self.jump(label, Ir::Break, span)
    }

    /// Lowers `break` or `continue` of the loop with a label, or of the innermost loop.
    pub(super) fn jump(&mut self, label: Option<&str>, jump: Ir, span: Span) -> Result<()> {
        let is_break = matches!(jump, Ir::Break);
        // Outside all loops of the function, `continue` ends an iteration or a phase.
        let target = label.map(|_| self.find_loop(label, span)).transpose()?;
        let Some(target) = target.filter(|target| target + 1 < self.frame.loops.len()) else {
            self.emit.stmt(jump);
            return Ok(());
        };
        let outer = &self.frame.loops[target];
        let Some(flag) = (if is_break { outer.break_flag } else { outer.continue_flag }) else {
            return Err(self.inconsistent(span, "no enclosing loop has this label"));
        };
        let value = self.emit.constant(true);
        self.emit.assign(flag, value);
        self.emit.stmt(Ir::Break);
        let outer_jump = OuterJump { target, flag, jump };
        for crossed in &mut self.frame.loops[target + 1..] {
            if !crossed.outer_jumps.contains(&outer_jump) {
                crossed.outer_jumps.push(outer_jump.clone());
            }
        }
        Ok(())
    }

    /// Continues a jump after a loop that it has left, or after an inner dimension of the loop if `within`.
    pub(super) fn forward_jump(&mut self, outer: &OuterJump, within: bool) {
        let is_target = !within && outer.target + 1 == self.frame.loops.len();
        let cond = self.emit.read(outer.flag);
        self.emit.stmt_if(cond, if is_target { outer.jump.clone() } else { Ir::Break });
    }

    /// The value of a block without one, which must end in a jump: zeros, which are never used.
    pub(super) fn diverging_value(
        &mut self,
        block: &Block,
        expected: Option<Type>,
        span: Span,
    ) -> Result<Value> {
        // A `loop` without `break` also never reaches the end of the block.
        let jumps = any_in_block(block, &mut |node| {
            use StmtKind::{Break, Continue, Loop, Return, Unreachable};
            let Node::Stmt(Stmt { kind, .. }) = node else { return false };
            matches!(
                kind,
                Break { .. } | Continue { .. } | Return { .. } | Loop { .. } | Unreachable
            )
        });
        let Some(ty) = expected.filter(|_| jumps) else {
            return Err(self.inconsistent(span, "this block has no value"));
        };
        Ok(self.zeros(ty))
    }

    fn find_loop(&self, label: Option<&str>, span: Span) -> Result<usize> {
        let loops = &self.frame.loops;
        let index = match label {
            Some(label) => loops.iter().rposition(|inner| inner.label.as_deref() == Some(label)),
            None => loops.len().checked_sub(1),
        };
        index.ok_or_else(|| self.inconsistent(span, "there is no such enclosing loop"))
    }
}

/// Whether a loop nested in a condition or body contains a jump that `jumps` accepts.
fn has_nested_jump(cond: Option<&Expr>, body: &Block, jumps: &dyn Fn(&StmtKind) -> bool) -> bool {
    let mut jump = |node: Node<'_>| matches!(node, Node::Stmt(stmt) if jumps(&stmt.kind));
    let mut inner = |node: Node<'_>| match node {
        Node::Stmt(stmt) => is_loop(stmt) && any_in_stmt(stmt, &mut jump),
        Node::Expr(expr) => {
            matches!(expr.kind, ExprKind::Loop { .. }) && any_in_expr(expr, &mut jump)
        }
    };
    cond.is_some_and(|cond| any_in_expr(cond, &mut inner)) || any_in_block(body, &mut inner)
}
