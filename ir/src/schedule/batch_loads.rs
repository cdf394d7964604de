//! Batches of loads in serial loops: eight iterations load first and then compute. Device compilers do not move loads
//! over the sums of earlier iterations in a loop whose trip count is a 64-bit number, so each addition waits for its
//! load. Measured on an H200: sums along the columns of a matrix, with one thread per column, take 0.39 ms instead of
//! 0.87.
//!
//! Applied only to loops with a constant lower bound and few loads. Others took longer with batches: a product of
//! triangular matrices, whose lower bound varies, 1.8 times as long, and N-body, with four loads, 1.14 times.

use std::collections::{HashMap, HashSet};

use super::substitute::Substitution;
use crate::{
    Array, BinaryOp, Block, BlockId, Const, Element, ExprId, ExprKind, LocalId, Offloaded,
    ScalarType, Stmt, TaskId, visit::Nodes,
};

/// The number of iterations in a batch, as a shift.
const SHIFT: u32 = 3;

/// The maximum number of loads of an iteration: a batch keeps all of its elements in registers.
const MAX_LOADS: usize = 3;

/// The maximum number of statements of an iteration.
const MAX_BATCHED_STATEMENTS: usize = 16;

/// Batches the loads of the serial loops of a task whose accesses are not checked. Adds expressions, locals and blocks,
/// and changes none, so that a schedule of the task stays valid.
pub(super) fn run(kernel: &mut Offloaded, task: usize) {
    let body = kernel.tasks[task].body;
    block(kernel, body);
}

/// Whether a task has a loop with such a batch.
pub(super) fn applies(kernel: &Offloaded, task: TaskId) -> bool {
    let task = &kernel.tasks[task.index()];
    task.kind.is_range_for() && has_batch(kernel, task.body)
}

fn has_batch(kernel: &Offloaded, block: BlockId) -> bool {
    kernel.blocks[block].stmts.iter().any(|stmt| {
        split(kernel, stmt).is_some() || stmt.blocks().any(|inner| has_batch(kernel, inner))
    })
}

fn block(kernel: &mut Offloaded, id: BlockId) {
    let stmts = std::mem::take(&mut kernel.blocks[id].stmts);
    let mut out = Vec::with_capacity(stmts.len());
    for stmt in stmts {
        if let Some(split) = split(kernel, &stmt) {
            append(kernel, &stmt, &split, &mut out);
        } else {
            for inner in stmt.blocks().collect::<Vec<_>>() {
                block(kernel, inner);
            }
            out.push(stmt);
        }
    }
    kernel.blocks[id].stmts = out;
}

/// The statements of an iteration that can run before the other statements of earlier iterations, by their positions.
fn split(kernel: &Offloaded, stmt: &Stmt) -> Option<HashSet<usize>> {
    let Stmt::For { var, begin, end, body, unroll: None, down: false } = *stmt else { return None };
    let nodes = Nodes::from(kernel);
    let is_constant = |id: ExprId| nodes.is_constant(id);
    let unsigned = matches!(nodes.locals[var].ty, ScalarType::U32 | ScalarType::U64);
    let stmts = &nodes.blocks[body].stmts;
    if !unsigned || !is_constant(begin) || is_constant(end) || stmts.len() > MAX_BATCHED_STATEMENTS
    {
        return None;
    }
    let mut early = HashSet::new();
    let mut late_locals = HashSet::new();
    for stmt in stmts {
        if let Stmt::Assign { local, .. } = *stmt {
            late_locals.insert(local);
        }
    }
    let mut loads = 0;
    for (at, stmt) in stmts.iter().enumerate() {
        match *stmt {
            Stmt::Let { local, value } => {
                match &nodes.exprs[value].kind {
                    ExprKind::Load(Element {
                        array: Array::Tensor(_) | Array::Shared(_), ..
                    }) => {
                        loads += 1;
                    }
                    kind if kind.is_effect() => return None,
                    _ => {}
                }
                if nodes.locals[local].mutable || nodes.reads_any(value, &late_locals) {
                    late_locals.insert(local);
                } else {
                    early.insert(at);
                }
            }
            Stmt::Assign { value, .. } if !nodes.exprs[value].kind.is_effect() => {}
            _ => return None,
        }
    }
    let early_loads = stmts.iter().enumerate().filter(|(at, stmt)| match *stmt {
        Stmt::Let { value, .. } => early.contains(at) && nodes.exprs[*value].kind.is_effect(),
        _ => false,
    });
    let is_profitable = (1..=MAX_LOADS).contains(&loads) && early_loads.count() == loads;
    (is_profitable && early.len() < stmts.len()).then_some(early)
}

/// Appends the batches, and a loop over the iterations that are left.
fn append(kernel: &mut Offloaded, stmt: &Stmt, early: &HashSet<usize>, out: &mut Vec<Stmt>) {
    let Stmt::For { var, begin, end, body, .. } = *stmt else { return };
    let ty = kernel.locals[var].ty;
    let stmts = kernel.blocks[body].stmts.clone();
    let name = kernel.locals[var].name.clone();
    let mut new = Substitution::new(kernel);
    let [shift, zero] = [(ScalarType::U32, SHIFT.into()), (ty, 0)]
        .map(|(ty, value)| new.push(ty, ExprKind::Const(Const::from_bits(ty, value))));
    // The bounds are evaluated once.
    let begin = define(&mut new, "begin", ty, begin, out);
    let end = define(&mut new, "end", ty, end, out);
    let runs = new.push(ScalarType::Bool, binary(BinaryOp::Lt, begin, end));
    let count = new.push(ty, binary(BinaryOp::Sub, end, begin));
    let whole = new.push(ty, binary(BinaryOp::Shr, count, shift));
    let kind = ExprKind::Select { cond: runs, then: whole, otherwise: zero };
    let batches = new.push(ty, kind);
    let batches = define(&mut new, "batches", ty, batches, out);

    let batch = new_local(&mut new, "batch", ty);
    let batch_value = new.push(ty, ExprKind::Local(batch));
    let scaled = new.push(ty, binary(BinaryOp::Shl, batch_value, shift));
    let first = new.push(ty, binary(BinaryOp::Add, begin, scaled));
    let (mut loads, mut rest) = (Vec::new(), Vec::new());
    for at in 0..1u64 << SHIFT {
        let at = new.push(ty, ExprKind::Const(Const::from_bits(ty, at)));
        let value = new.push(ty, binary(BinaryOp::Add, first, at));
        let value = define(&mut new, &name, ty, value, &mut loads);
        new.values = HashMap::from([(var, value)]);
        for (position, stmt) in stmts.iter().enumerate() {
            let to = if early.contains(&position) { &mut loads } else { &mut rest };
            match *stmt {
                Stmt::Let { local, value } => {
                    let value = new.value(value);
                    to.push(Stmt::Let { local: new.copied(local), value });
                }
                Stmt::Assign { local, value } => {
                    let value = new.value(value);
                    to.push(Stmt::Assign { local: new.local(local), value });
                }
                _ => {}
            }
        }
    }
    loads.append(&mut rest);
    let scaled = new.push(ty, binary(BinaryOp::Shl, batches, shift));
    let left = new.push(ty, binary(BinaryOp::Add, begin, scaled));
    let batch_body = kernel.blocks.push(Block { stmts: loads });
    for (var, [begin, end], body) in
        [(batch, [zero, batches], batch_body), (var, [left, end], body)]
    {
        out.push(Stmt::For { var, begin, end, body, unroll: Some(1), down: false });
    }
}

fn binary(op: BinaryOp, lhs: ExprId, rhs: ExprId) -> ExprKind {
    ExprKind::Binary { op, lhs, rhs }
}

/// Defines an immutable local, and returns its value.
fn define(
    new: &mut Substitution<'_>,
    name: &str,
    ty: ScalarType,
    value: ExprId,
    out: &mut Vec<Stmt>,
) -> ExprId {
    let local = new_local(new, name, ty);
    out.push(Stmt::Let { local, value });
    new.push(ty, ExprKind::Local(local))
}

fn new_local(new: &mut Substitution<'_>, name: &str, ty: ScalarType) -> LocalId {
    new.kernel.locals.push(crate::Local { name: name.to_owned(), ty, mutable: false })
}
