//! Finds what to run speculatively: checked serial loops that only load and compute, and checked iterations that load,
//! compute, and then store. They run without error reports first. If an index was out of range, such a loop runs again
//! from the saved initial values, and reports; such an iteration has stored nothing, and runs again.

use crate::{Array, BlockId, ExprKind, LocalId, Offloaded, Stmt, Task, visit::Nodes};

/// The maximum number of statements of a speculated body, which is printed twice.
const MAX_SPECULATED_STATEMENTS: usize = 48;

/// The maximum number of statements of a speculative iteration, which is printed twice.
const MAX_ITERATION_STATEMENTS: usize = 256;

/// The bodies of the task's loops that can run speculatively.
pub(super) fn loops(kernel: &Offloaded, task: &Task) -> Vec<BlockId> {
    let mut found = Vec::new();
    collect(kernel, task.body, &mut found);
    found
}

fn collect(kernel: &Offloaded, block: BlockId, found: &mut Vec<BlockId>) {
    let nodes = Nodes::from(kernel);
    for stmt in &kernel.blocks[block].stmts {
        match *stmt {
            Stmt::For { var, begin, end, body, unroll: None, down: false }
                if !(nodes.is_constant(begin) && nodes.is_constant(end))
                    && can_speculate(kernel, var, body) =>
            {
                found.push(body);
            }
            _ => stmt.blocks().for_each(|inner| collect(kernel, inner, found)),
        }
    }
}

/// The statements of an iteration before its first store to a tensor, and the others.
#[must_use]
pub fn split_at_stores(stmts: &[Stmt]) -> (&[Stmt], &[Stmt]) {
    let is_store = |stmt: &Stmt| match stmt {
        Stmt::Store { element, .. } => element.tensor().is_some(),
        _ => false,
    };
    stmts.split_at(stmts.iter().position(is_store).unwrap_or(stmts.len()))
}

/// The statements of an iteration before its stores, if it ends with stores, whose conflicts no user excludes.
fn before_stores<'k>(kernel: &'k Offloaded, task: &Task) -> Option<&'k [Stmt]> {
    let (before, stores) = split_at_stores(&kernel.blocks[task.body].stmts);
    let can_store = |stmt: &Stmt| match stmt {
        Stmt::Store { element, .. } => {
            element.tensor().is_some() && !kernel.sites[element.site.index()].asserted
        }
        _ => false,
    };
    (!stores.is_empty() && stores.iter().all(can_store)).then_some(before)
}

/// Whether the iterations of a task can run speculatively: definitions without side effects, and then stores.
pub(super) fn can_speculate_iterations(kernel: &Offloaded, task: &Task) -> bool {
    let is_definition = |stmt: &Stmt| match stmt {
        Stmt::Let { value, .. } => {
            !matches!(&kernel.exprs[*value].kind, ExprKind::Load(element) if element.tensor().is_none())
        }
        _ => false,
    };
    before_stores(kernel, task).is_some_and(|before| {
        before.iter().all(|stmt| is_definition(stmt) && is_pure(kernel, stmt))
    })
}

/// Whether the iterations of a task with loops or conditions can run speculatively: code without side effects, in which
/// every loop ends, and then stores.
pub(super) fn has_speculative_iterations(kernel: &Offloaded, task: &Task) -> bool {
    statements(kernel, task.body) <= MAX_ITERATION_STATEMENTS
        && before_stores(kernel, task).is_some_and(|before| {
            before.iter().all(|stmt| can_repeat(kernel, stmt))
                && before.iter().any(|stmt| loads_tensor(kernel, stmt))
        })
}

/// Whether a block has conditions, also in the blocks in it.
pub(super) fn has_conditions(kernel: &Offloaded, block: BlockId) -> bool {
    kernel.blocks[block].stmts.iter().any(|stmt| {
        matches!(stmt, Stmt::If { .. }) || stmt.blocks().any(|inner| has_conditions(kernel, inner))
    })
}

/// Whether a statement has no effects besides reports, ends, and may load other elements instead.
fn can_repeat(kernel: &Offloaded, stmt: &Stmt) -> bool {
    let can_repeat_all =
        |block: BlockId| kernel.blocks[block].stmts.iter().all(|stmt| can_repeat(kernel, stmt));
    match stmt {
        Stmt::Let { value, .. } => match &kernel.exprs[*value].kind {
            ExprKind::Load(element) => !kernel.sites[element.site.index()].asserted,
            kind => !matches!(kind, ExprKind::Atomic { .. }),
        },
        Stmt::Assign { .. } | Stmt::Array { .. } => true,
        Stmt::Store { element, .. } => matches!(element.array, Array::Local(_)),
        Stmt::If { cond, .. } => {
            Nodes::from(kernel).is_side_effect_free(*cond) && stmt.blocks().all(can_repeat_all)
        }
        Stmt::For { .. } => stmt.blocks().all(can_repeat_all),
        _ => false,
    }
}

fn loads_tensor(kernel: &Offloaded, stmt: &Stmt) -> bool {
    let is_load = match stmt {
        Stmt::Let { value, .. } => match &kernel.exprs[*value].kind {
            ExprKind::Load(element) => element.tensor().is_some(),
            _ => false,
        },
        _ => false,
    };
    let loads =
        |block: BlockId| kernel.blocks[block].stmts.iter().any(|stmt| loads_tensor(kernel, stmt));
    is_load || stmt.blocks().any(loads)
}

/// Whether a statement has no side effects, and its loads may be replaced by loads of any other valid element.
fn is_pure(kernel: &Offloaded, stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Assign { .. } => true,
        Stmt::Let { value, .. } => match &kernel.exprs[*value].kind {
            ExprKind::Load(element) => !kernel.sites[element.site.index()].asserted,
            _ => Nodes::from(kernel).is_side_effect_free(*value),
        },
        _ => false,
    }
}

fn can_speculate(kernel: &Offloaded, var: LocalId, body: BlockId) -> bool {
    let stmts = &kernel.blocks[body].stmts;
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
        && statements(kernel, body) <= MAX_SPECULATED_STATEMENTS
        && stmts.iter().all(|stmt| is_pure(kernel, stmt) || is_choice(kernel, stmt))
        && stmts.iter().any(loads)
}

/// Whether a statement chooses between blocks that only compute: they load nothing that would have to be checked.
fn is_choice(kernel: &Offloaded, stmt: &Stmt) -> bool {
    let Stmt::If { cond, then, otherwise } = *stmt else { return false };
    let is_load = |stmt: &Stmt| match stmt {
        Stmt::Let { value, .. } => matches!(kernel.exprs[*value].kind, ExprKind::Load(_)),
        _ => false,
    };
    let computes = |block: BlockId| {
        kernel.blocks[block]
            .stmts
            .iter()
            .all(|stmt| !is_load(stmt) && is_pure(kernel, stmt) || is_choice(kernel, stmt))
    };
    Nodes::from(kernel).is_side_effect_free(cond) && computes(then) && computes(otherwise)
}

/// The number of statements of a block and the blocks in it.
fn statements(kernel: &Offloaded, block: BlockId) -> usize {
    let stmts = &kernel.blocks[block].stmts;
    let inner = stmts.iter().flat_map(Stmt::blocks).map(|inner| statements(kernel, inner));
    stmts.len() + inner.sum::<usize>()
}
