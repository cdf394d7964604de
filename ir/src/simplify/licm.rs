//! Parts of indices that a serial loop would compute anew in each round: computed once, before it.
//!
//! Only of accesses that each round has. What stands behind a condition may owe the proof of its index to that, and
//! is not wanted where the condition never holds.

use std::collections::HashMap;

use crate::{Block, BlockId, Expr, ExprId, ExprKind, Local, LocalId, Offloaded, ScalarType, Stmt};

/// Takes what does not change out of the loops of a task.
pub(super) fn hoist(kernel: &mut Offloaded, task: usize) {
    let body = kernel.tasks[task].body;
    block(kernel, body);
}

fn block(kernel: &mut Offloaded, id: BlockId) {
    let stmts = std::mem::take(&mut kernel.blocks[id].stmts);
    let mut out = Vec::with_capacity(stmts.len());
    for stmt in stmts {
        if let Stmt::For { body, .. } | Stmt::Loop { body } = stmt {
            let mut changing = vec![false; kernel.locals.len()];
            note(kernel, &stmt, &mut changing);
            let mut around = Loop { kernel, changing, known: HashMap::new(), before: Vec::new() };
            around.rounds(body);
            out.append(&mut around.before);
        }
        for inner in stmt.blocks() {
            block(kernel, inner);
        }
        out.push(stmt);
    }
    kernel.blocks[id].stmts = out;
}

/// Notes the locals that a statement defines or assigns, those in it among them.
fn note(kernel: &Offloaded, stmt: &Stmt, changing: &mut [bool]) {
    match *stmt {
        Stmt::Let { local, .. } | Stmt::Assign { local, .. } | Stmt::For { var: local, .. } => {
            changing[local.index()] = true;
        }
        Stmt::Each { var, exchange, .. } => {
            changing[var.index()] = true;
            if let Some(made) = exchange {
                changing[made.local.index()] = true;
            }
        }
        _ => {}
    }
    for inner in stmt.blocks() {
        kernel.blocks[inner].stmts.iter().for_each(|stmt| note(kernel, stmt, changing));
    }
}

/// A loop, and what is computed before it.
struct Loop<'k> {
    kernel: &'k mut Offloaded,
    /// Of each local from outside the pass: whether the loop changes it.
    changing: Vec<bool>,
    /// What became of expressions.
    known: HashMap<ExprId, ExprId>,
    before: Vec<Stmt>,
}

impl Loop<'_> {
    /// The statements that each round of the loop runs, or of a loop in it.
    fn rounds(&mut self, id: BlockId) {
        let mut stmts = std::mem::take(&mut self.kernel.blocks[id].stmts);
        for stmt in &mut stmts {
            match stmt {
                Stmt::Let { value, .. } | Stmt::Eval { value } => *value = self.effect(*value),
                Stmt::Store { tensor, index, .. } => {
                    let name = self.kernel.params[tensor.index()].name.clone();
                    index.iter_mut().for_each(|at| *at = self.part(*at, &name));
                }
                Stmt::SharedStore { array, index, .. } => {
                    let name = self.kernel.locals[*array].name.clone();
                    index.iter_mut().for_each(|at| *at = self.part(*at, &name));
                }
                Stmt::For { body, .. } | Stmt::Loop { body } => self.rounds(*body),
                // What follows may not be run, or be proven by the condition alone.
                Stmt::If { .. } | Stmt::Assert { .. } | Stmt::Break | Stmt::Continue => break,
                _ => {}
            }
        }
        self.kernel.blocks[id] = Block { stmts };
    }

    fn effect(&mut self, value: ExprId) -> ExprId {
        let Expr { ty, mut kind } = self.kernel.exprs[value].clone();
        match &mut kind {
            ExprKind::Load { tensor, index, .. } | ExprKind::Atomic { tensor, index, .. } => {
                let name = self.kernel.params[tensor.index()].name.clone();
                index.iter_mut().for_each(|at| *at = self.part(*at, &name));
            }
            ExprKind::SharedLoad { array, index, .. }
            | ExprKind::SharedAtomic { array, index, .. } => {
                let name = self.kernel.locals[*array].name.clone();
                index.iter_mut().for_each(|at| *at = self.part(*at, &name));
            }
            _ => return value,
        }
        if kind == self.kernel.exprs[value].kind {
            return value;
        }
        self.kernel.exprs.push(Expr { ty, kind })
    }

    /// An index with locals in the place of its parts that do not change.
    fn part(&mut self, value: ExprId, of: &str) -> ExprId {
        if let Some(known) = self.known.get(&value) {
            return *known;
        }
        let made = if self.changes(value) {
            self.around(value, of)
        } else if self.is_worth_a_local(value) {
            self.keep(value, of)
        } else {
            value
        };
        self.known.insert(value, made);
        made
    }

    /// Looks for parts in the operands of sums, products and conversions.
    fn around(&mut self, value: ExprId, of: &str) -> ExprId {
        let Expr { ty, kind } = self.kernel.exprs[value].clone();
        let new = match kind {
            ExprKind::Binary { op, lhs, rhs } => {
                ExprKind::Binary { op, lhs: self.part(lhs, of), rhs: self.part(rhs, of) }
            }
            ExprKind::Cast { value } => ExprKind::Cast { value: self.part(value, of) },
            _ => return value,
        };
        if new == kind {
            return value;
        }
        self.kernel.exprs.push(Expr { ty, kind: new })
    }

    fn keep(&mut self, value: ExprId, of: &str) -> ExprId {
        let ty = self.kernel.exprs[value].ty;
        // Of a component, or of a struct's tensor, the name is a path.
        let of = of.replace("[]", "").replace('.', "_");
        let local = Local { name: format!("{of}_at"), ty, mutable: false };
        let local: LocalId = self.kernel.locals.push(local);
        self.before.push(Stmt::Let { local, value });
        self.kernel.exprs.push(Expr { ty, kind: ExprKind::Local(local) })
    }

    /// Whether a value may be another one in another round.
    fn changes(&self, value: ExprId) -> bool {
        match &self.kernel.exprs[value].kind {
            // One that is not there was made here.
            ExprKind::Local(local) => self.changing.get(local.index()).is_some_and(|is| *is),
            kind => kind.operands().any(|operand| self.changes(operand)),
        }
    }

    /// Whether a value is an integer that takes an operation to compute.
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
