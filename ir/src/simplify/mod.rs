//! Makes an offloaded kernel smaller, so that its text is shorter to read and to compile.
//!
//! * Operations on constants are computed, by the interpreter's machine; what an identity makes superfluous goes.
//! * Equal pure expressions become one.
//! * Branches that are never taken, loops that never run and what nobody reads go.
//! * A local that only hands its value on to another is that one.
//! * Parts of indices that do not change in a serial loop are computed before it.
//!
//! Every access to memory stays where it is, with its site, its checks and its report, and so does every division
//! that can fail. Locals keep their names. What a GPU may compute to other last bits is left to it.

mod dce;
mod exprs;
mod licm;

use crate::{
    BlockId, Const, ExprId, ExprKind, LocalId, LoopDim, Offloaded, Stmt, TaskKind, UnaryOp,
    visit::{Nodes, Reach},
};

use exprs::Exprs;

/// The same kernel, smaller. It has the same tasks, sites and temporaries.
#[must_use]
pub fn simplify(kernel: &Offloaded) -> Offloaded {
    let exprs = Exprs::new(&kernel.exprs, kernel.locals.len());
    let mut simplifier = Simplifier { old: kernel, out: kernel.clone(), exprs };
    // What nothing leads to any more would refer to the old expressions.
    for at in 0..kernel.blocks.len() {
        simplifier.out.blocks[BlockId::new(at as u32)].stmts.clear();
    }
    for at in 0..kernel.tasks.len() {
        simplifier.task(at);
    }
    let Simplifier { mut out, exprs, .. } = simplifier;
    out.exprs = exprs.finish();
    for at in 0..out.tasks.len() {
        dce::eliminate(&mut out, at);
        licm::hoist(&mut out, at);
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
        // Bounds that only the device knows stay so: a part of them that is a constant is not for the host.
        let on_host = task.kind.on_device().is_none();
        if let TaskKind::RangeFor { dims, .. } | TaskKind::BlockFor { dims, .. } =
            &mut self.out.tasks[at].kind
        {
            for LoopDim { begin, end, .. } in dims {
                for bound in [begin, end] {
                    *bound = if on_host { self.exprs.of(*bound) } else { self.exprs.copy(*bound) };
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

    /// Appends the statements of a block.
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
                let value = exprs.of(value);
                if !self.old.locals[local].mutable {
                    exprs.define(local, value);
                }
                Stmt::Let { local, value }
            }
            Stmt::Assign { local, value } => Stmt::Assign { local, value: exprs.of(value) },
            Stmt::Eval { value } => {
                let value = exprs.of(value);
                if !exprs.is_effect(value) {
                    return;
                }
                Stmt::Eval { value }
            }
            Stmt::Store { tensor, ref index, value, site } => {
                let index = index.iter().map(|index| exprs.of(*index)).collect();
                Stmt::Store { tensor, index, value: exprs.of(value), site }
            }
            Stmt::SharedStore { array, ref index, value, site } => {
                let index = index.iter().map(|index| exprs.of(*index)).collect();
                Stmt::SharedStore { array, index, value: exprs.of(value), site }
            }
            Stmt::If { cond, then, otherwise } => {
                let cond = exprs.of(cond);
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
                let (begin, end) = (exprs.of(begin), exprs.of(end));
                let int = |id| exprs.constant(id).and_then(Const::as_int);
                if let (Some(begin), Some(end)) = (int(begin), int(end))
                    && begin >= end
                {
                    return;
                }
                self.block(body);
                Stmt::For { var, begin, end, body, unroll, down }
            }
            Stmt::Loop { body } | Stmt::Each { body, .. } => {
                self.block(body);
                stmt.clone()
            }
            Stmt::Assert { cond, site } => {
                let cond = exprs.of(cond);
                if exprs.constant(cond).is_some_and(|cond| cond.bits() != 0) {
                    return;
                }
                Stmt::Assert { cond, site }
            }
            Stmt::Give { value, from } => {
                Stmt::Give { value: exprs.of(value), from: from.map(|from| exprs.of(from)) }
            }
            Stmt::SetTemp { temp, value } => Stmt::SetTemp { temp, value: exprs.of(value) },
            Stmt::SetResult { value } => Stmt::SetResult { value: exprs.of(value) },
            Stmt::Break | Stmt::Continue | Stmt::Shared { .. } => stmt.clone(),
        };
        out.push(new);
    }
}

/// Whether a value reads nothing that changes: it may be computed later instead.
fn is_stable(nodes: Nodes<'_>, value: ExprId) -> bool {
    let mut reach = Reach::new(nodes);
    nodes.reach_expr(value, &mut reach);
    let mut locals = reach.locals.iter().enumerate();
    !nodes.exprs[value].kind.is_effect()
        && !reach.temps
        && locals.all(|(at, used)| !used || !nodes.locals[LocalId::new(at as u32)].mutable)
}

/// The negation of a condition, where that is shorter.
fn negation(cond: &ExprKind) -> Option<ExprId> {
    match cond {
        ExprKind::Unary { op: UnaryOp::Not, value } => Some(*value),
        _ => None,
    }
}
