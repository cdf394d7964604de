//! Lowering of code at the top level that runs under a condition: parallel loops in `if`, `match` and braces, and what
//! follows a `return`.
//!
//! The IR's top level has no branches. A local that serial code sets, the *guard*, says whether the current code runs:
//! serial code is put into an `if` of the guard, and the range of a parallel loop is empty where the guard is false.
//! What serial code defines in the `if` stays visible behind it, because loops use it: a value that has no effect is
//! computed in any case, and another one is assigned in the `if`. A guard that is computed from launch arguments is
//! computed from them in each task, so that the host knows the range.

use std::rc::Rc;

use quadrants_ir::{BinaryOp, LocalId, LoopDim, ScalarType, TopStmt, UnaryOp, types::Type};

use super::{
    Lowerer, Result,
    early_return::{expr_returns, returns},
    kernel_body::return_value,
    scope::EarlyReturn,
};
use crate::{
    syntax::{Block, Expr, ExprKind, LogicOp, Stmt, StmtKind},
    visit::{expr_has_parallel, stmt_has_parallel},
};

/// The type and the locals of a value that branches assign.
pub(super) type BranchResult = (Type, Rc<[LocalId]>);

/// Under which condition the current code at the top level runs.
#[derive(Clone, Debug, Default)]
pub(super) struct PathCondition {
    /// The guard; none if the code always runs.
    guard: Option<LocalId>,
    /// The conditions that all hold if the guard does, outermost first. The host may know one that does not hold.
    conditions: Vec<LocalId>,
    /// Whether the code never runs, because the code before always returns.
    never: bool,
}

/// Whether a kernel has a parallel loop under a condition, or after a `return`.
pub(super) fn is_conditional(body: &Block) -> bool {
    let mut returned = false;
    let in_stmts = body.stmts.iter().any(|stmt| {
        let is_parallel = stmt_has_parallel(stmt);
        let under_condition = matches!(&stmt.kind, StmtKind::Expr(expr) if is_transparent(expr));
        let found = is_parallel && (returned || under_condition);
        returned |= returns(stmt);
        found
    });
    in_stmts
        || body
            .value
            .as_deref()
            .is_some_and(|value| expr_has_parallel(value) && (returned || is_transparent(value)))
}

/// Whether the loops in an expression at the top level are at the top level as well.
fn is_transparent(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::If { .. } | ExprKind::Block(_) | ExprKind::Unsafe(_))
}

/// Whether an expression is lowered branch by branch: its branches have parallel loops or `return`s. A condition that
/// returns has no parallel loops after it.
fn has_branches(expr: &Expr) -> bool {
    let jumps = matches!(&expr.kind, ExprKind::If { cond, .. } if expr_returns(cond));
    is_transparent(expr) && !jumps && (expr_has_parallel(expr) || expr_returns(expr))
}

/// The most conditions that a loop tests one by one: the IR bounds the depth of expressions.
const MAX_CONDITIONS: usize = 16;

impl Lowerer {
    /// Lowers the body of a kernel that [is conditional](is_conditional).
    pub(super) fn conditional_body(
        &mut self,
        body: &Block,
        result: Option<Type>,
    ) -> Result<Vec<TopStmt>> {
        let mut top = Vec::new();
        self.result = result.map(|ty| (ty, self.zeroed_locals("result", ty).into()));
        self.top_block(body, self.result.clone().as_ref(), &mut top)?;
        let result = self.result.take().map(|(ty, locals)| self.read_locals(ty, &locals));
        self.flush(&mut top);
        if let Some(value) = result {
            return_value(value, &mut top);
        }
        Ok(top)
    }

    /// Lowers a block at the top level, whose value is assigned to locals if they are given.
    fn top_block(
        &mut self,
        block: &Block,
        into: Option<&BranchResult>,
        top: &mut Vec<TopStmt>,
    ) -> Result<()> {
        let scope = self.frame.names.mark();
        for stmt in &block.stmts {
            self.top_stmt(stmt, top)?;
        }
        if let Some(value) = &block.value {
            self.top_value(value, into, top)?;
        }
        self.frame.names.leave(scope);
        Ok(())
    }

    /// Lowers the value of a block at the top level.
    pub(super) fn top_value(
        &mut self,
        value: &Expr,
        into: Option<&BranchResult>,
        top: &mut Vec<TopStmt>,
    ) -> Result<()> {
        if has_branches(value) {
            return self.branches(value, into, top);
        }
        self.leaving(expr_returns(value), |this| match into {
            Some((ty, locals)) => {
                let value = this.value_as(value, *ty)?;
                this.assign_locals(locals, &value);
                Ok(())
            }
            None => this.discard(value),
        })
    }

    /// Lowers a statement at the top level.
    pub(super) fn top_stmt(&mut self, stmt: &Stmt, top: &mut Vec<TopStmt>) -> Result<()> {
        match &stmt.kind {
            StmtKind::For(each) if !each.options.serial => self.parallel(each, stmt.span, top),
            StmtKind::Expr(Expr { kind: ExprKind::BlockFor(each), span }) => {
                self.block_for(each, *span, top)
            }
            StmtKind::Expr(expr) if has_branches(expr) => self.branches(expr, None, top),
            StmtKind::Let { name, mutable, ty, value }
                if has_branches(value) && !expr_has_parallel(value) =>
            {
                let ty = self.type_at(*ty, stmt.span)?;
                self.check_size(ty, stmt.span)?;
                let target = (ty, self.zeroed_locals(name, ty).into());
                self.branches(value, Some(&target), top)?;
                self.guarded(|this| {
                    let value = this.read_locals(ty, &target.1);
                    let binding = this.name_value(name, value, *mutable);
                    this.frame.bind(name, binding);
                    Ok(())
                })
            }
            StmtKind::Return { value } if !value.as_ref().is_some_and(expr_returns) => {
                self.guarded(|this| {
                    let result = this.result.clone();
                    match (&result, value) {
                        (Some((ty, locals)), Some(value)) => {
                            let value = this.value_as(value, *ty)?;
                            this.assign_locals(locals, &value);
                            Ok(())
                        }
                        (None, Some(value)) => this.discard(value),
                        (_, None) => Ok(()),
                    }
                })?;
                let never = self.emit.constant(false);
                let never = self.emit.define("guard", never, false);
                self.path = PathCondition { never: true, ..self.under(&self.path.clone(), never) };
                Ok(())
            }
            _ => self.leaving(returns(stmt), |this| this.stmt(stmt)),
        }
    }

    /// Lowers serial code that may return from the kernel.
    fn leaving(
        &mut self,
        may_return: bool,
        code: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        if !may_return {
            return self.guarded(code);
        }
        let none = self.emit.constant(false);
        let returned = self.emit.define("returned", none, true);
        self.frame.early_return = Some(EarlyReturn { returned, value: self.result.clone() });
        self.guarded(|this| {
            this.emit.open();
            this.one_pass(code)?;
            // The code is in a loop that runs once, and what it defines is used after the loop.
            let stmts = this.emit.close();
            this.emit.defined_outside(stmts);
            Ok(())
        })?;
        self.frame.early_return = None;
        let cond = self.emit.read(returned);
        let cond = self.emit.unary(UnaryOp::Not, cond);
        let continues = self.emit.define("continues", cond, false);
        self.path = self.under(&self.path.clone(), continues);
        Ok(())
    }

    /// Lowers `if`s and braces that contain parallel loops or `return`s.
    fn branches(
        &mut self,
        expr: &Expr,
        into: Option<&BranchResult>,
        top: &mut Vec<TopStmt>,
    ) -> Result<()> {
        let (cond, then, otherwise) = match &expr.kind {
            ExprKind::If { cond, then, otherwise } => (cond, then, otherwise),
            ExprKind::Block(block) => return self.top_block(block, into, top),
            ExprKind::Unsafe(block) => {
                return self.in_unsafe(|this| this.top_block(block, into, top));
            }
            _ => return Err(self.inconsistent(expr.span, "this has no branches")),
        };
        let before = self.path.clone();
        let holds = self.condition(cond)?;
        let needs_other = otherwise.is_some() || expr_returns(expr);
        let other = needs_other.then(|| {
            let cond = self.emit.read(holds);
            let cond = self.emit.unary(UnaryOp::Not, cond);
            let fails = self.emit.define("fails", cond, false);
            self.under(&before, fails)
        });
        self.top_block(then, into, top)?;
        let after_then = std::mem::replace(&mut self.path, other.unwrap_or_else(|| before.clone()));
        if let Some(otherwise) = otherwise {
            self.top_block(otherwise, into, top)?;
        }
        if !expr_returns(expr) {
            self.path = before;
        } else if self.path.never {
            self.path = after_then;
        } else if !after_then.never
            && let (Some(a), Some(b)) = (after_then.guard, self.path.guard)
        {
            let (a, b) = (self.emit.read(a), self.emit.read(b));
            let either = self.emit.binary(BinaryOp::Or, a, b);
            let guard = self.emit.define("guard", either, false);
            self.path = PathCondition { guard: Some(guard), ..before };
            self.path.conditions.push(guard);
        }
        Ok(())
    }

    /// Evaluates a condition, and makes the path that of the code that it guards. Returns whether it holds. The second
    /// operand of `&&` is evaluated under the first.
    fn condition(&mut self, cond: &Expr) -> Result<LocalId> {
        if let ExprKind::Logic { op: LogicOp::And, lhs, rhs } = &cond.kind {
            let (first, second) = (self.condition(lhs)?, self.condition(rhs)?);
            let (first, second) = (self.emit.read(first), self.emit.read(second));
            let both = self.emit.binary(BinaryOp::And, first, second);
            return Ok(self.emit.define("holds", both, false));
        }
        let value = self.guarded(|this| this.scalar_as(cond, ScalarType::Bool))?;
        let holds = self.emit.define("holds", value, false);
        self.path = self.under(&self.path.clone(), holds);
        Ok(holds)
    }

    /// The path of code that runs if the code of another one does and a condition holds.
    fn under(&mut self, outer: &PathCondition, cond: LocalId) -> PathCondition {
        let guard = match outer.guard {
            Some(guard) => {
                let (guard, cond) = (self.emit.read(guard), self.emit.read(cond));
                let both = self.emit.binary(BinaryOp::And, guard, cond);
                self.emit.define("guard", both, false)
            }
            None => cond,
        };
        let mut conditions = outer.conditions.clone();
        if conditions.len() < MAX_CONDITIONS {
            conditions.push(cond);
        } else {
            conditions = vec![guard];
        }
        PathCondition { guard: Some(guard), conditions, never: outer.never }
    }

    /// Lowers serial code at the top level, which runs if the guard holds.
    pub(super) fn guarded<T>(&mut self, code: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let Some(guard) = self.path.guard else { return code(self) };
        self.emit.open();
        let value = code(self)?;
        let stmts = self.emit.close();
        self.emit.stmts_if(guard, stmts);
        Ok(value)
    }

    /// Whether the current code at the top level runs under a condition.
    pub(super) const fn is_guarded(&self) -> bool {
        self.path.guard.is_some()
    }

    /// Makes a parallel loop empty where the guard does not hold. `begin` can be copied.
    pub(super) fn guard_loop(&mut self, dims: &mut [LoopDim]) {
        let Some(dim) = dims.first_mut() else { return };
        for cond in self.path.conditions.clone().into_iter().rev() {
            let cond = self.emit.read(cond);
            let begin = self.emit.copy(dim.begin);
            dim.end = self.emit.select(cond, dim.end, begin);
        }
    }
}
