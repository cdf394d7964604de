//! Thread coarsening: how many iterations of a loop a GPU thread executes together.
//!
//! A thread that issues the loads of several iterations first waits for memory once instead of several times, and
//! iterations that are adjacent in the outermost dimension share loads. Iterations are unordered, so that results do
//! not change.

use std::collections::HashSet;

use crate::{
    BinaryOp, BlockId, ExprId, ExprKind, LocalId, LoopDim, Offloaded, ParamId, ParamKind,
    ScalarType, Stmt, Task,
    visit::{Nodes, Reach},
};

/// The maximum number of statements of a coarsened body. For longer bodies, register pressure costs more than waiting
/// for memory, unless their iterations share loads.
const STATEMENTS_AT_MOST: usize = 24;
/// Bodies up to this length get a larger factor.
const FEW_STATEMENTS: usize = 10;
/// The maximum number of statements of a coarsened body whose iterations share loads.
const SHARING_STATEMENTS_AT_MOST: usize = 160;
/// The number of iterations per thread that share loads.
pub(super) const SHARING_FACTOR: u32 = 6;
/// The maximum number of bytes of one vector load.
const WORD: u32 = 16;

/// The number of iterations per thread, and the load that becomes a vector load.
pub(super) fn coarsening_factor(kernel: &Offloaded, task: &Task) -> (u32, Option<ExprId>) {
    let Some(dims) = task.kind.dims() else { return (1, None) };
    let stmts = &kernel.blocks[task.body].stmts;
    let Some(count) = straight_statements(kernel, task.body) else { return (1, None) };
    if count <= FEW_STATEMENTS
        && let Some((load, factor)) = vector_load(kernel, task, dims)
    {
        return (factor, Some(load));
    }
    let is_load = |value: &ExprId| matches!(kernel.exprs[*value].kind, ExprKind::Load(_));
    let loads = stmts.iter().flat_map(Stmt::exprs).filter(is_load).count();
    if count > STATEMENTS_AT_MOST {
        let shares = count <= SHARING_STATEMENTS_AT_MOST && shares_loads(kernel, task, dims);
        return (if shares { SHARING_FACTOR } else { 1 }, None);
    }
    let branches = stmts.iter().any(|stmt| matches!(stmt, Stmt::If { .. }));
    let factor = match loads {
        0 => 1,
        _ if branches => 4,
        1 if dims.len() == 1 => 8,
        _ if dims.len() > 1 && count <= FEW_STATEMENTS => 8,
        _ => 4,
    };
    (factor, None)
}

/// The number of iterations per thread of a checked loop whose iterations run speculatively. More than four cost more
/// registers than they hide latency.
pub(super) fn speculated_factor(kernel: &Offloaded, task: &Task) -> u32 {
    let stmts = &kernel.blocks[task.body].stmts;
    let is_load = |value: &ExprId| matches!(kernel.exprs[*value].kind, ExprKind::Load(_));
    let loads = stmts.iter().flat_map(Stmt::exprs).any(|value| is_load(&value));
    if loads && stmts.len() <= STATEMENTS_AT_MOST { 4 } else { 1 }
}

/// The number of statements of a block, if iterations can execute all of them side by side: there are no loops and no
/// jumps.
fn straight_statements(kernel: &Offloaded, block: BlockId) -> Option<usize> {
    let counts = kernel.blocks[block].stmts.iter().map(|stmt| match *stmt {
        Stmt::Let { .. }
        | Stmt::Assign { .. }
        | Stmt::Store { .. }
        | Stmt::Eval { .. }
        | Stmt::ReduceTemp { .. } => Some(1),
        Stmt::If { then, otherwise, .. } => {
            let branches = [then, otherwise].map(|block| straight_statements(kernel, block));
            Some(1 + branches[0]? + branches[1]?)
        }
        _ => None,
    });
    counts.sum()
}

/// Whether the body has a serial loop without a fixed trip count at its top level.
pub(super) fn has_uneven_loop(kernel: &Offloaded, task: &Task) -> bool {
    let nodes = Nodes::from(kernel);
    let mut stmts = kernel.blocks[task.body].stmts.iter();
    stmts.any(|stmt| matches!(*stmt, Stmt::Loop { body } if !nodes.runs_once(body)))
}

/// Whether adjacent iterations of a loop of several dimensions need at most half of the loads of separate ones: most
/// loads are of elements that differ by constants in the outermost dimension.
fn shares_loads(kernel: &Offloaded, task: &Task, dims: &[LoopDim]) -> bool {
    if dims.len() < 2 {
        return false;
    }
    let outer = dims[0].var;
    let written: Vec<ParamId> =
        task.accesses.iter().filter(|at| at.write || at.atomic).map(|at| at.param).collect();
    let (mut all, mut distinct) = (0, HashSet::new());
    for value in kernel.blocks[task.body].stmts.iter().flat_map(Stmt::exprs) {
        let ExprKind::Load(element) = &kernel.exprs[value].kind else { continue };
        let offset = match element.index.split_first() {
            Some((first, rest)) if !rest.iter().any(|at| uses(kernel, *at, outer)) => {
                offset_from(kernel, *first, outer)
            }
            _ => None,
        };
        let (Some(tensor), Some(offset)) = (element.tensor(), offset) else { return false };
        if written.contains(&tensor) {
            return false;
        }
        all += SHARING_FACTOR as usize;
        for copy in 0..i128::from(SHARING_FACTOR) {
            distinct.insert((tensor, offset + copy, &element.index[1..]));
        }
    }
    all > 0 && 2 * distinct.len() <= all
}

/// The constant that is added to `var` in an index.
fn offset_from(kernel: &Offloaded, at: ExprId, var: LocalId) -> Option<i128> {
    let constant = |at: ExprId| match kernel.exprs[at].kind {
        ExprKind::Const(value) => value.as_int(),
        _ => None,
    };
    match kernel.exprs[at].kind {
        ExprKind::Local(local) if local == var => Some(0),
        ExprKind::Cast { value } => offset_from(kernel, value, var),
        ExprKind::Binary { op: BinaryOp::Add, lhs, rhs } => match constant(rhs) {
            Some(added) => Some(offset_from(kernel, lhs, var)? + added),
            None => Some(offset_from(kernel, rhs, var)? + constant(lhs)?),
        },
        ExprKind::Binary { op: BinaryOp::Sub, lhs, rhs } => {
            Some(offset_from(kernel, lhs, var)? - constant(rhs)?)
        }
        _ => None,
    }
}

fn uses(kernel: &Offloaded, value: ExprId, var: LocalId) -> bool {
    match &kernel.exprs[value].kind {
        ExprKind::Local(local) => *local == var,
        kind => kind.operands().any(|at| uses(kernel, at, var)),
    }
}

/// Finds a load that can be vectorized: of narrow elements, indexed by the loop variable alone, which has no other use.
/// Also returns the number of elements in [`WORD`] bytes.
fn vector_load(kernel: &Offloaded, task: &Task, dims: &[LoopDim]) -> Option<(ExprId, u32)> {
    let [dim] = dims else { return None };
    let wide = kernel.locals[dim.var].ty == ScalarType::U64;
    let is_var = |at: ExprId| matches!(kernel.exprs[at].kind, ExprKind::Local(local) if wide && local == dim.var);
    let mut found = None;
    for stmt in &kernel.blocks[task.body].stmts {
        if let Stmt::Let { value, .. } = stmt
            && let ExprKind::Load(element) = &kernel.exprs[*value].kind
            && let Some(tensor) = element.tensor()
            && let ParamKind::Tensor { elem, writable: false, .. } =
                kernel.params[tensor.index()].kind
            && !kernel.params[tensor.index()].strided
            && elem.size() <= 2
            && matches!(element.index[..], [at] if is_var(at))
            && !kernel.sites[element.site.index()].asserted
            && found.is_none()
        {
            found = Some((*value, WORD / elem.size() as u32));
            continue;
        }
        let nodes = Nodes::from(kernel);
        let mut reach = Reach::new(nodes);
        nodes.reach_stmt(stmt, &mut reach);
        if reach.locals[dim.var.index()] {
            return None;
        }
    }
    found
}
