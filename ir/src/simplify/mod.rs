//! Simplification of offloaded kernels, so that the generated code is shorter and compiles faster.
//!
//! * Constant folding, by the interpreter's machine, and algebraic identities.
//! * Common subexpression elimination of pure expressions.
//! * Removal of branches that are never taken, loops that never run, and dead code ([`dce`]).
//! * Removal of locals that are only copied to another local.
//! * Loop-invariant code motion of parts of indices ([`licm`]).
//!
//! Requires a kernel that passes [`verify_offloaded`](crate::verify_offloaded). Every memory access and every division
//! that can fail stays in place, with its site and its checks. Locals keep their names. Operations whose last bits may
//! differ between devices are not folded.

mod dce;
mod exprs;
mod licm;

use crate::{
    BlockId, Const, Element, LoopDim, Offloaded, Stmt, TaskKind,
    visit::{Nodes, Reach},
};

use exprs::Exprs;

/// Simplifies a kernel. Tasks, sites and temporaries stay the same.
#[must_use]
pub fn simplify(kernel: &Offloaded) -> Offloaded {
    let exprs = Exprs::new(&kernel.exprs, kernel.locals.len());
    let mut simplifier = Simplifier { old: kernel, out: kernel.clone(), exprs };
    // Unreachable blocks would refer to old expressions.
    for at in 0..kernel.blocks.len() {
        simplifier.out.blocks[BlockId::new(at as u32)].stmts.clear();
    }
    for at in 0..kernel.tasks.len() {
        simplifier.task(at);
    }
    let Simplifier { mut out, exprs, .. } = simplifier;
    out.exprs = exprs.finish();
    for at in 0..out.tasks.len() {
        dce::run(&mut out, at);
        licm::run(&mut out, at);
        let mut reach = Reach::new(Nodes::from(&out));
        Nodes::from(&out).reach_block(out.tasks[at].body, &mut reach);
        out.tasks[at].accesses = reach.accesses();
    }
    out
}

struct Simplifier<'k> {
    old: &'k Offloaded,
    out: Offloaded,
    exprs: Exprs<'k>,
}

impl Simplifier<'_> {
    fn task(&mut self, at: usize) {
        let task = &self.old.tasks[at];
        self.block(task.prelude);
        // Bounds computed on the device are copied unchanged: folding could turn one into a constant that the host
        // evaluates.
        let on_host = task.kind.bounds_site().is_none();
        if let TaskKind::RangeFor { dims, .. } | TaskKind::BlockFor { dims, .. } =
            &mut self.out.tasks[at].kind
        {
            for LoopDim { begin, end, .. } in dims {
                for bound in [begin, end] {
                    *bound =
                        if on_host { self.exprs.rewrite(*bound) } else { self.exprs.copy(*bound) };
                }
            }
        }
        self.block(task.body);
    }

    fn block(&mut self, block: BlockId) {
        let mut stmts = Vec::new();
        self.stmts(block, &mut stmts);
        self.out.blocks[block].stmts = stmts;
    }

    /// Appends the simplified statements of a block to `out`.
    fn stmts(&mut self, block: BlockId, out: &mut Vec<Stmt>) {
        let old = self.old;
        for stmt in &old.blocks[block].stmts {
            self.stmt(stmt, out);
            if matches!(out.last(), Some(Stmt::Break | Stmt::Continue)) {
                return;
            }
        }
    }

    fn stmt(&mut self, stmt: &Stmt, out: &mut Vec<Stmt>) {
        let exprs = &mut self.exprs;
        let new = match *stmt {
            Stmt::Let { local, value } => {
                let value = exprs.rewrite(value);
                if !self.old.locals[local].mutable {
                    exprs.define(local, value);
                }
                Stmt::Let { local, value }
            }
            Stmt::Assign { local, value } => {
                let value = exprs.rewrite(value);
                if exprs.is_local(value, local) {
                    return;
                }
                Stmt::Assign { local, value }
            }
            Stmt::Eval { value } => {
                let value = exprs.rewrite(value);
                if !exprs.is_effect(value) {
                    return;
                }
                Stmt::Eval { value }
            }
            Stmt::Store { element: Element { array, ref index, site }, value } => {
                let index = index.iter().map(|index| exprs.rewrite(*index)).collect();
                Stmt::Store { element: Element { array, index, site }, value: exprs.rewrite(value) }
            }
            Stmt::If { cond, then, otherwise } => {
                let cond = exprs.rewrite(cond);
                match exprs.constant(cond) {
                    Some(cond) => {
                        let taken = if cond.bits() != 0 { then } else { otherwise };
                        return self.stmts(taken, out);
                    }
                    None => {
                        self.block(then);
                        self.block(otherwise);
                        Stmt::If { cond, then, otherwise }
                    }
                }
            }
            Stmt::For { var, begin, end, body, unroll, down } => {
                let (begin, end) = (exprs.rewrite(begin), exprs.rewrite(end));
                let int = |id| exprs.constant(id).and_then(Const::as_int);
                if let (Some(begin), Some(end)) = (int(begin), int(end))
                    && begin >= end
                {
                    return;
                }
                self.block(body);
                Stmt::For { var, begin, end, body, unroll, down }
            }
            Stmt::Loop { body } | Stmt::Phase { body, .. } => {
                self.block(body);
                stmt.clone()
            }
            Stmt::Assert { cond, site, ref values } => {
                let cond = exprs.rewrite(cond);
                if exprs.constant(cond).is_some_and(|cond| cond.bits() != 0) {
                    return;
                }
                let values = values.iter().map(|value| exprs.rewrite(*value)).collect();
                Stmt::Assert { cond, site, values }
            }
            Stmt::Print { site, ref values } => {
                let values = values.iter().map(|value| exprs.rewrite(*value)).collect();
                Stmt::Print { site, values }
            }
            Stmt::CollectiveInput { value, from } => Stmt::CollectiveInput {
                value: exprs.rewrite(value),
                from: from.map(|from| exprs.rewrite(from)),
            },
            Stmt::Reduce { local, op, value } => {
                Stmt::Reduce { local, op, value: exprs.rewrite(value) }
            }
            Stmt::ReduceTemp { temp, op, value } => {
                Stmt::ReduceTemp { temp, op, value: exprs.rewrite(value) }
            }
            Stmt::SetTemp { temp, value } => Stmt::SetTemp { temp, value: exprs.rewrite(value) },
            Stmt::SetResult { at, value } => Stmt::SetResult { at, value: exprs.rewrite(value) },
            Stmt::Break | Stmt::Continue | Stmt::Shared { .. } | Stmt::Array { .. } => stmt.clone(),
        };
        out.push(new);
    }
}
