//! Finds loops to run speculatively: checked serial loops that only load and compute. Such a loop runs without error
//! reports first. If an index was out of range, it runs again from the saved initial values, and reports.

use crate::{Array, BlockId, ExprId, ExprKind, LocalId, Offloaded, Stmt, Task};

/// The maximum number of statements of a speculated body, which is printed twice.
const MAX_STATEMENTS: usize = 16;

/// The bodies of the task's loops that can run speculatively.
pub(super) fn loops(kernel: &Offloaded, task: &Task) -> Vec<BlockId> {
    let mut found = Vec::new();
    collect(kernel, task.body, &mut found);
    found
}

fn collect(kernel: &Offloaded, block: BlockId, found: &mut Vec<BlockId>) {
    for stmt in &kernel.blocks[block].stmts {
        match *stmt {
            Stmt::For { var, begin, end, body, unroll: None, down: false }
                if !(is_constant(kernel, begin) && is_constant(kernel, end))
                    && can_speculate(kernel, var, body) =>
            {
                found.push(body);
            }
            _ => stmt.blocks().for_each(|inner| collect(kernel, inner, found)),
        }
    }
}

fn is_constant(kernel: &Offloaded, value: ExprId) -> bool {
    matches!(kernel.exprs[value].kind, ExprKind::Const(_))
}

fn can_speculate(kernel: &Offloaded, var: LocalId, body: BlockId) -> bool {
    let stmts = &kernel.blocks[body].stmts;
    let pure = |stmt: &Stmt| match stmt {
        Stmt::Assign { .. } => true,
        Stmt::Let { value, .. } => match &kernel.exprs[*value].kind {
            ExprKind::Load(element) => !kernel.sites[element.site.index()].asserted,
            ExprKind::DivRem { rhs, .. } => {
                matches!(kernel.exprs[*rhs].kind, ExprKind::Const(by) if by.bits() != 0)
            }
            kind => !kind.is_effect(),
        },
        _ => false,
    };
    let loads = |stmt: &Stmt| match stmt {
        Stmt::Let { value, .. } => match &kernel.exprs[*value].kind {
            ExprKind::Load(element) => {
                !element.index.is_empty() && !matches!(element.array, Array::Local(_))
            }
            _ => false,
        },
        _ => false,
    };
    matches!(kernel.locals[var].ty.size(), 4 | 8)
        && stmts.len() <= MAX_STATEMENTS
        && stmts.iter().all(pure)
        && stmts.iter().any(loads)
}
