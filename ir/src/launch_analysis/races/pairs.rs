//! Which accesses the race check compares, and which arrays are counters.

use std::collections::{HashMap, HashSet};

use super::{
    check::{AccessPattern, Pair, TaskRaceCheck},
    part::ArrayPart,
};
use crate::{Array, AtomicOp, BlockId, ExprKind, Offloaded, Stmt, Task, visit::Nodes};

/// A number for each access. Accesses of one element under the same conditions have the same number.
pub(super) fn classes(accesses: &[AccessPattern]) -> Vec<usize> {
    let mut numbers = HashMap::new();
    let number = |access: &AccessPattern| {
        let next = numbers.len();
        let key = (access.object, access.phase, access.index.clone(), access.conditions.clone());
        *numbers.entry(key).or_insert(next)
    };
    accesses.iter().map(number).collect()
}

/// Keeps the first of several pairs of the same classes: a read and a write of one element compare alike.
pub(super) fn without_repetition(pairs: &mut Vec<Pair>, [first, second]: [&[usize]; 2]) {
    let mut seen = HashSet::new();
    pairs.retain(|[a, b]| seen.insert([first[*a], second[*b]]));
}

/// The parts of arrays that a task, or a task concurrent with it, does not only access by atomic additions.
pub(super) fn uncountable(kernel: &Offloaded, task: &Task) -> HashSet<ArrayPart> {
    let mut found = HashSet::new();
    for other in &kernel.tasks {
        if std::ptr::eq(task, other) || task.region_block != other.region_block {
            uncountable_in(kernel.into(), other.body, &mut found);
        }
    }
    found
}

/// Adds the parts of arrays that a block changes.
pub(super) fn changed_in(nodes: Nodes<'_>, block: BlockId, found: &mut HashSet<ArrayPart>) {
    for stmt in &nodes.blocks[block].stmts {
        if let Stmt::Store { element, .. } = stmt {
            found.insert(ArrayPart::of(nodes, element));
        }
        for value in stmt.exprs() {
            if let ExprKind::Atomic { element, .. } = &nodes.exprs[value].kind {
                found.insert(ArrayPart::of(nodes, element));
            }
        }
        for inner in stmt.blocks() {
            changed_in(nodes, inner, found);
        }
    }
}

/// Adds the parts of arrays that a block does not only access by atomic additions. The launch checks that no amount is
/// negative.
pub(super) fn uncountable_in(nodes: Nodes<'_>, block: BlockId, found: &mut HashSet<ArrayPart>) {
    for stmt in &nodes.blocks[block].stmts {
        if let Stmt::Store { element, .. } = stmt {
            found.insert(ArrayPart::of(nodes, element));
        }
        for value in stmt.exprs() {
            let kind = &nodes.exprs[value].kind;
            if let Some(element) = kind.element()
                && !matches!(kind, ExprKind::Atomic { op: AtomicOp::Add, .. })
            {
                found.insert(ArrayPart::of(nodes, element));
            }
        }
        for inner in stmt.blocks() {
            uncountable_in(nodes, inner, found);
        }
    }
}

/// The conflicting pairs of accesses of two concurrent tasks.
pub(super) fn conflicting_pairs(first: &TaskRaceCheck, second: &TaskRaceCheck) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (i, a) in first.accesses.iter().enumerate() {
        for (j, b) in second.accesses.iter().enumerate() {
            let tensors = matches!(a.object, Array::Tensor(_));
            if tensors && a.object == b.object && !a.kind.is_compatible_with(b.kind) {
                pairs.push([i, j]);
            }
        }
    }
    pairs
}
