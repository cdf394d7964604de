//! Full unrolling of serial loops with few constant iterations, where the body of the parallel loop becomes straight
//! code that several iterations of a thread can execute together: then they share loads and wait for memory once. The
//! device compiler unrolls such loops too, but after coarsening it is too late.

use super::{coarsen, substitute::Substitution};
use crate::{
    Const, Element, ExprId, ExprKind, LocalId, Offloaded, Stmt, TaskId,
    abi::{Form, Forms},
    simplify,
};

/// The maximum number of statements of an unrolled body.
const MAX_UNROLLED_STATEMENTS: usize = 256;

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
        let mut unroller = Unroller { copies: Substitution::new(unrolled), stmts: Vec::new() };
        let done = unroller.block(&kernel.blocks[task.body].stmts);
        let stmts = std::mem::take(&mut unroller.stmts);
        let body = unrolled.tasks[at].body;
        if done.is_none() {
            continue;
        }
        let before = std::mem::replace(&mut unrolled.blocks[body].stmts, stmts);
        if coarsen::coarsening_factor(unrolled, &unrolled.tasks[at]).0 == 1 {
            unrolled.blocks[body].stmts = before;
        }
    }
    out.filter(|unrolled| unrolled.blocks != kernel.blocks).map(|unrolled| simplify(&unrolled))
}

struct Unroller<'k> {
    /// With the values of loop variables and of immutable integers that were defined in an unrolled loop, and the new
    /// expressions of its other locals.
    copies: Substitution<'k>,
    /// The statements so far.
    stmts: Vec<Stmt>,
}

impl Unroller<'_> {
    /// Appends the statements of a block. None if the result would be too long or not straight.
    fn block(&mut self, stmts: &[Stmt]) -> Option<()> {
        for stmt in stmts {
            self.stmt(stmt)?;
            if self.stmts.len() > MAX_UNROLLED_STATEMENTS {
                return None;
            }
        }
        Some(())
    }

    fn stmt(&mut self, stmt: &Stmt) -> Option<()> {
        let new = match *stmt {
            Stmt::For { var, begin, end, body, unroll: None | Some(0), down } => {
                return self.unrolled(
                    var,
                    [begin, end],
                    &self.copies.kernel.blocks[body].stmts.clone(),
                    down,
                );
            }
            Stmt::Let { local, value } => {
                let value = self.copies.value(value);
                let defined = self.copies.kernel.locals[local].clone();
                let inlined = !defined.mutable
                    && defined.ty.is_int()
                    && self.copies.kernel.is_invariant(value);
                if inlined && !self.copies.values.is_empty() {
                    self.copies.values.insert(local, value);
                    return Some(());
                }
                if self.copies.values.is_empty() {
                    Stmt::Let { local, value }
                } else {
                    Stmt::Let { local: self.copies.copied(local), value }
                }
            }
            Stmt::Assign { local, value } => {
                let value = self.copies.value(value);
                Stmt::Assign { local: self.copies.local(local), value }
            }
            Stmt::Eval { value } => Stmt::Eval { value: self.copies.value(value) },
            Stmt::Store { ref element, value } => {
                let index = element.index.iter().map(|at| self.copies.value(*at)).collect();
                let element = Element { index, ..element.clone() };
                Stmt::Store { element, value: self.copies.value(value) }
            }
            Stmt::ReduceTemp { temp, op, value } => {
                Stmt::ReduceTemp { temp, op, value: self.copies.value(value) }
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
        let [begin, end] = bounds.map(|bound| {
            let bound = self.copies.value(bound);
            self.copies.constant(bound).and_then(Const::as_int)
        });
        let (begin, end) = (begin?, end?);
        if end - begin > MAX_UNROLLED_STATEMENTS as i128 {
            return None;
        }
        let ty = self.copies.kernel.locals[var].ty;
        let values: Vec<i128> = match down {
            true => (begin..end).rev().collect(),
            false => (begin..end).collect(),
        };
        for value in values {
            let constant = ExprKind::Const(Const::from_bits(ty, value as u64));
            let constant = self.copies.push(ty, constant);
            let outer = self.copies.values.clone();
            self.copies.values.insert(var, constant);
            self.block(body)?;
            self.copies.values = outer;
        }
        Some(())
    }
}
