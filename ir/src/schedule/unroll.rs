//! Full unrolling of serial loops with few constant iterations, where the body of the parallel loop becomes straight
//! code that several iterations of a thread can execute together: then they share loads and wait for memory once. The
//! device compiler unrolls such loops too, but after coarsening it is too late.

use std::collections::HashMap;

use super::coarsen;
use crate::{
    Const, Element, Expr, ExprId, ExprKind, LocalId, Offloaded, ScalarType, Stmt, TaskId,
    abi::{Form, Forms},
    simplify,
};

/// The maximum number of statements of an unrolled body.
const MAX_STATEMENTS: usize = 256;

/// The kernel with the loops of such proven tasks unrolled, simplified again. None if there is no such task.
pub(super) fn run(kernel: &Offloaded, forms: Forms) -> Option<Offloaded> {
    let mut out = None;
    for at in 0..kernel.tasks.len() {
        let task = &kernel.tasks[at];
        let has_loop = kernel.blocks[task.body].stmts.iter().any(|s| matches!(s, Stmt::For { .. }));
        let proven = forms.of(TaskId::new(at as u32)) == Form::Proven;
        if !proven || !has_loop || !task.kind.is_range_for() {
            continue;
        }
        let unrolled = out.get_or_insert_with(|| kernel.clone());
        let mut unroller = Unroller {
            kernel: unrolled,
            stmts: Vec::new(),
            values: HashMap::new(),
            pure: HashMap::new(),
        };
        let done = unroller.block(&kernel.blocks[task.body].stmts);
        let stmts = std::mem::take(&mut unroller.stmts);
        let body = unrolled.tasks[at].body;
        if done.is_none() {
            continue;
        }
        let before = std::mem::replace(&mut unrolled.blocks[body].stmts, stmts);
        if coarsen::factor(unrolled, &unrolled.tasks[at]).0 == 1 {
            unrolled.blocks[body].stmts = before;
        }
    }
    out.filter(|unrolled| unrolled.blocks != kernel.blocks).map(|unrolled| simplify(&unrolled))
}

struct Unroller<'k> {
    kernel: &'k mut Offloaded,
    /// The statements so far.
    stmts: Vec<Stmt>,
    /// The values of loop variables and of immutable integers that were defined in an unrolled loop, and the new
    /// expressions of its other locals.
    values: HashMap<LocalId, ExprId>,
    /// The new pure expressions; each exists once.
    pure: HashMap<Expr, ExprId>,
}

impl Unroller<'_> {
    /// Appends the statements of a block. None if the result would be too long or not straight.
    fn block(&mut self, stmts: &[Stmt]) -> Option<()> {
        for stmt in stmts {
            self.stmt(stmt)?;
            if self.stmts.len() > MAX_STATEMENTS {
                return None;
            }
        }
        Some(())
    }

    fn stmt(&mut self, stmt: &Stmt) -> Option<()> {
        let mut known = HashMap::new();
        let new = match *stmt {
            Stmt::For { var, begin, end, body, unroll: None | Some(0), down } => {
                return self.unrolled(
                    var,
                    [begin, end],
                    &self.kernel.blocks[body].stmts.clone(),
                    down,
                );
            }
            Stmt::Let { local, value } => {
                let value = self.value(value, &mut known);
                let defined = self.kernel.locals[local].clone();
                let inlined = !defined.mutable && defined.ty.is_int() && self.is_stable(value);
                if inlined && !self.values.is_empty() {
                    self.values.insert(local, value);
                    return Some(());
                }
                if self.values.is_empty() {
                    Stmt::Let { local, value }
                } else {
                    let ty = defined.ty;
                    let copy = self.kernel.locals.push(defined);
                    let read = self.push(ty, ExprKind::Local(copy));
                    self.values.insert(local, read);
                    Stmt::Let { local: copy, value }
                }
            }
            Stmt::Assign { local, value } => {
                let value = self.value(value, &mut known);
                let to = self.values.get(&local).map(|read| self.kernel.exprs[*read].kind.clone());
                let local = match to {
                    Some(ExprKind::Local(copy)) => copy,
                    _ => local,
                };
                Stmt::Assign { local, value }
            }
            Stmt::Eval { value } => Stmt::Eval { value: self.value(value, &mut known) },
            Stmt::Store { ref element, value } => {
                let index = element.index.iter().map(|at| self.value(*at, &mut known)).collect();
                let element = Element { index, ..element.clone() };
                Stmt::Store { element, value: self.value(value, &mut known) }
            }
            Stmt::ReduceTemp { temp, op, value } => {
                Stmt::ReduceTemp { temp, op, value: self.value(value, &mut known) }
            }
            _ => return None,
        };
        self.stmts.push(new);
        Some(())
    }

    fn unrolled(
        &mut self,
        var: LocalId,
        bounds: [ExprId; 2],
        body: &[Stmt],
        down: bool,
    ) -> Option<()> {
        let mut known = HashMap::new();
        let [begin, end] = bounds.map(|bound| {
            let bound = self.value(bound, &mut known);
            match self.kernel.exprs[bound].kind {
                ExprKind::Const(value) => value.as_int(),
                _ => None,
            }
        });
        let (begin, end) = (begin?, end?);
        if end - begin > MAX_STATEMENTS as i128 {
            return None;
        }
        let ty = self.kernel.locals[var].ty;
        let values: Vec<i128> = match down {
            true => (begin..end).rev().collect(),
            false => (begin..end).collect(),
        };
        for value in values {
            let constant = ExprKind::Const(Const::from_bits(ty, value as u64));
            let constant = self.push(ty, constant);
            let outer = self.values.clone();
            self.values.insert(var, constant);
            self.block(body)?;
            self.values = outer;
        }
        Some(())
    }

    /// The expression with the values of locals put in.
    fn value(&mut self, id: ExprId, known: &mut HashMap<ExprId, ExprId>) -> ExprId {
        if let Some(new) = known.get(&id) {
            return *new;
        }
        let Expr { ty, mut kind } = self.kernel.exprs[id].clone();
        let new = match kind {
            ExprKind::Local(local) => self.values.get(&local).copied().unwrap_or(id),
            _ => {
                kind.operands_mut(|operand| *operand = self.value(*operand, known));
                if kind == self.kernel.exprs[id].kind && !kind.is_effect() {
                    id
                } else {
                    self.push(ty, kind)
                }
            }
        };
        known.insert(id, new);
        new
    }

    /// Whether a pure value depends on no local that is assigned.
    fn is_stable(&self, value: ExprId) -> bool {
        match &self.kernel.exprs[value].kind {
            ExprKind::Local(local) => !self.kernel.locals[*local].mutable,
            kind => !kind.is_effect() && kind.operands().all(|value| self.is_stable(value)),
        }
    }

    fn push(&mut self, ty: ScalarType, kind: ExprKind) -> ExprId {
        let expr = Expr { ty, kind };
        if expr.kind.is_effect() {
            return self.kernel.exprs.push(expr);
        }
        *self.pure.entry(expr).or_insert_with_key(|expr| self.kernel.exprs.push(expr.clone()))
    }
}
