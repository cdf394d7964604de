//! Loop-invariant code motion (LICM), for parts of indices only: an invariant part of an index in a serial loop is
//! computed once, before the loop.
//!
//! Only accesses that every iteration executes are considered. An index under a condition may be provable only under
//! it, and its computation would be wasted if the condition is never true.

use std::collections::HashMap;

use crate::{
    Array, Block, BlockId, Element, Expr, ExprId, ExprKind, Local, LocalId, Offloaded, ScalarType,
    Stmt,
};

/// Moves invariant parts of indices out of the loops of a task.
pub(super) fn run(kernel: &mut Offloaded, task: usize) {
    let body = kernel.tasks[task].body;
    block(kernel, body);
}

fn block(kernel: &mut Offloaded, id: BlockId) {
    let stmts = std::mem::take(&mut kernel.blocks[id].stmts);
    let mut out = Vec::with_capacity(stmts.len());
    for stmt in stmts {
        if let Stmt::For { body, .. } | Stmt::Loop { body } = stmt {
            let mut changed = vec![false; kernel.locals.len()];
            mark_changed(kernel, &stmt, &mut changed);
            let (replacements, inexact, hoisted) = (HashMap::new(), HashMap::new(), Vec::new());
            let mut hoister = InvariantHoister { kernel, changed, replacements, inexact, hoisted };
            hoister.loop_body(body);
            out.append(&mut hoister.hoisted);
        }
        for inner in stmt.blocks() {
            block(kernel, inner);
        }
        out.push(stmt);
    }
    kernel.blocks[id].stmts = out;
}

/// Marks the locals that a statement, including nested ones, defines or assigns.
fn mark_changed(kernel: &Offloaded, stmt: &Stmt, changed: &mut [bool]) {
    match *stmt {
        Stmt::Let { local, .. } | Stmt::Assign { local, .. } | Stmt::For { var: local, .. } => {
            changed[local.index()] = true;
        }
        Stmt::Phase { var, collective, .. } => {
            changed[var.index()] = true;
            if let Some(collective) = collective {
                changed[collective.local.index()] = true;
            }
        }
        _ => {}
    }
    for inner in stmt.blocks() {
        kernel.blocks[inner].stmts.iter().for_each(|stmt| mark_changed(kernel, stmt, changed));
    }
}

/// A loop, and the definitions to insert before it.
struct InvariantHoister<'k> {
    kernel: &'k mut Offloaded,
    /// Whether the loop changes each local that existed before the pass.
    changed: Vec<bool>,
    /// The replacement of each visited expression.
    replacements: HashMap<ExprId, ExprId>,
    /// The results of [`drop_exact_flags`](Self::drop_exact_flags).
    inexact: HashMap<ExprId, ExprId>,
    hoisted: Vec<Stmt>,
}

impl InvariantHoister<'_> {
    /// Rewrites the statements that every iteration of the loop, or of a nested loop, executes.
    fn loop_body(&mut self, id: BlockId) {
        let mut stmts = std::mem::take(&mut self.kernel.blocks[id].stmts);
        for stmt in &mut stmts {
            match stmt {
                Stmt::Let { value, .. } | Stmt::Eval { value } => *value = self.effect(*value),
                Stmt::Store { element, .. } => self.element(element),
                Stmt::For { body, .. } | Stmt::Loop { body } => self.loop_body(*body),
                // Later statements may not be executed, or be provable only under this condition.
                Stmt::If { .. } | Stmt::Assert { .. } | Stmt::Break | Stmt::Continue => break,
                _ => {}
            }
        }
        self.kernel.blocks[id] = Block { stmts };
    }

    fn effect(&mut self, value: ExprId) -> ExprId {
        let Expr { ty, mut kind, .. } = self.kernel.exprs[value].clone();
        match &mut kind {
            ExprKind::Load(element) | ExprKind::Atomic { element, .. } => self.element(element),
            _ => return value,
        }
        if kind == self.kernel.exprs[value].kind {
            return value;
        }
        self.kernel.exprs.push(Expr::new(ty, kind))
    }

    fn element(&mut self, element: &mut Element) {
        let name = match element.array {
            Array::Tensor(tensor) => self.kernel.params[tensor.index()].name.clone(),
            Array::Shared(array) | Array::Local(array) => self.kernel.locals[array].name.clone(),
        };
        element.index.iter_mut().for_each(|at| *at = self.hoist_parts(*at, &name));
    }

    /// An index with its invariant parts replaced by locals.
    fn hoist_parts(&mut self, value: ExprId, of: &str) -> ExprId {
        if let Some(replacement) = self.replacements.get(&value) {
            return *replacement;
        }
        let replacement = if self.is_variant(value) {
            self.hoist_operands(value, of)
        } else if self.is_worth_a_local(value) {
            self.hoist(value, of)
        } else {
            value
        };
        self.replacements.insert(value, replacement);
        replacement
    }

    /// Visits the operands of binary operators and conversions.
    fn hoist_operands(&mut self, value: ExprId, of: &str) -> ExprId {
        let Expr { ty, kind, exact } = self.kernel.exprs[value].clone();
        let new = match kind {
            ExprKind::Binary { op, lhs, rhs } => ExprKind::Binary {
                op,
                lhs: self.hoist_parts(lhs, of),
                rhs: self.hoist_parts(rhs, of),
            },
            ExprKind::Cast { value } => ExprKind::Cast { value: self.hoist_parts(value, of) },
            _ => return value,
        };
        if new == kind {
            return value;
        }
        self.kernel.exprs.push(Expr { ty, kind: new, exact })
    }

    fn hoist(&mut self, value: ExprId, of: &str) -> ExprId {
        let value = self.drop_exact_flags(value);
        let ty = self.kernel.exprs[value].ty;
        // The name of a component, or of a tensor in a struct, is a path.
        let of = of.replace("[]", "").replace('.', "_");
        let local = Local { name: format!("{of}_at"), ty, mutable: false };
        let local: LocalId = self.kernel.locals.push(local);
        self.hoisted.push(Stmt::Let { local, value });
        self.kernel.exprs.push(Expr::new(ty, ExprKind::Local(local)))
    }

    /// A value without the flags [`Expr::exact`]: before the loop it is also computed where the loop has no iterations,
    /// and there may be no proof that it does not overflow.
    fn drop_exact_flags(&mut self, value: ExprId) -> ExprId {
        if let Some(known) = self.inexact.get(&value) {
            return *known;
        }
        let Expr { ty, mut kind, exact } = self.kernel.exprs[value].clone();
        kind.operands_mut(|operand| *operand = self.drop_exact_flags(*operand));
        let new = match exact || kind != self.kernel.exprs[value].kind {
            true => self.kernel.exprs.push(Expr::new(ty, kind)),
            false => value,
        };
        self.inexact.insert(value, new);
        new
    }

    /// Whether a value may differ between iterations.
    fn is_variant(&self, value: ExprId) -> bool {
        match &self.kernel.exprs[value].kind {
            // Locals beyond the list were added by this pass, and are invariant.
            ExprKind::Local(local) => self.changed.get(local.index()).is_some_and(|is| *is),
            kind => kind.operands().any(|operand| self.is_variant(operand)),
        }
    }

    /// Whether a value is an integer that needs an operation to compute.
    fn is_worth_a_local(&self, value: ExprId) -> bool {
        let expr = &self.kernel.exprs[value];
        match expr.kind {
            _ if !expr.ty.is_int() || expr.ty == ScalarType::Bool => false,
            ExprKind::Binary { .. } | ExprKind::Math { .. } | ExprKind::Select { .. } => true,
            ExprKind::Cast { value } => self.is_worth_a_local(value),
            _ => false,
        }
    }
}
