//! Which accesses the race check compares, and which tensors are counters.

use std::collections::{HashMap, HashSet};

use super::program::{Access, Pair, TaskRaces};
use crate::{Array, AtomicOp, BlockId, Element, ExprKind, Offloaded, Stmt, Task, visit::Nodes};

/// A number for each access. Accesses of one element under the same conditions have the same number.
pub(super) fn classes(accesses: &[Access]) -> Vec<usize> {
    let mut numbers = HashMap::new();
    let number = |access: &Access| {
        let next = numbers.len();
        let key = (access.object, access.phase, access.index.clone(), access.guards.clone());
        *numbers.entry(key).or_insert(next)
    };
    accesses.iter().map(number).collect()
}

/// Keeps the first of several pairs of the same classes: a read and a write of one element compare alike.
pub(super) fn without_repetition(pairs: &mut Vec<Pair>, [first, second]: [&[usize]; 2]) {
    let mut seen = HashSet::new();
    pairs.retain(|[a, b]| seen.insert([first[*a], second[*b]]));
}

/// The tensors that a task, and all tasks concurrent with it, access only by atomic additions that are not negative.
pub(super) fn countable(kernel: &Offloaded, task: &Task) -> Vec<bool> {
    let mut countable = vec![true; kernel.params.len()];
    for other in &kernel.tasks {
        if std::ptr::eq(task, other) || task.group != other.group {
            count(kernel.into(), other.body, &mut countable);
        }
    }
    countable
}

fn count(nodes: Nodes<'_>, block: BlockId, countable: &mut [bool]) {
    for stmt in &nodes.blocks[block].stmts {
        if let Stmt::Store { element, .. } = stmt
            && let Some(tensor) = element.tensor()
        {
            countable[tensor.index()] = false;
        }
        for value in stmt.exprs() {
            let kind = &nodes.exprs[value].kind;
            let Some(tensor) = kind.element().and_then(Element::tensor) else { continue };
            let ExprKind::Atomic { op: AtomicOp::Add, value, .. } = *kind else {
                countable[tensor.index()] = false;
                continue;
            };
            let by = &nodes.exprs[value];
            let constant = match by.kind {
                ExprKind::Const(c) => c.as_int(),
                _ => None,
            };
            let is_unsigned = by.ty.int_range().is_some_and(|(lo, _)| lo == 0);
            countable[tensor.index()] &= is_unsigned || constant.is_some_and(|value| value >= 0);
        }
        for inner in stmt.blocks() {
            count(nodes, inner, countable);
        }
    }
}

/// The conflicting pairs of accesses of two concurrent tasks.
pub(super) fn conflicting_pairs(first: &TaskRaces, second: &TaskRaces) -> Vec<Pair> {
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
