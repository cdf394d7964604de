//! Tables: local arrays of constants that code only reads.

use std::collections::{HashMap, HashSet};

use crate::{
    Array, BlockId, Const, Element, ExprId, ExprKind, LocalId, Offloaded, Stmt, Task, visit::Nodes,
};

/// The local arrays of a task that are filled with constants where they are defined and never written again, with the
/// values of all elements.
#[must_use]
pub fn tables(kernel: &Offloaded, task: &Task) -> HashMap<LocalId, Vec<Const>> {
    tables_of(kernel.into(), task)
}

pub(crate) fn tables_of(nodes: Nodes<'_>, task: &Task) -> HashMap<LocalId, Vec<Const>> {
    let mut found = TableCollector { nodes, tables: HashMap::new(), written: HashSet::new() };
    for (_, expr) in nodes.exprs.iter() {
        if let ExprKind::Atomic { element: Element { array: Array::Local(array), .. }, .. } =
            expr.kind
        {
            found.written.insert(array);
        }
    }
    found.block(task.prelude);
    found.block(task.body);
    let TableCollector { mut tables, written, .. } = found;
    tables.retain(|array, _| !written.contains(array));
    tables
}

/// The number of statements after `at` that fill the array that statement `at` defines with constants.
pub(crate) fn fill_len(nodes: Nodes<'_>, stmts: &[Stmt], at: usize) -> usize {
    let Stmt::Array { array, len } = stmts[at] else { return 0 };
    stmts[at + 1..]
        .iter()
        .take_while(|stmt| stored(nodes, stmt).is_some_and(|(to, at, _)| to == array && at < len))
        .count()
}

struct TableCollector<'k> {
    nodes: Nodes<'k>,
    tables: HashMap<LocalId, Vec<Const>>,
    /// The arrays that are written in another way.
    written: HashSet<LocalId>,
}

impl TableCollector<'_> {
    fn block(&mut self, block: BlockId) {
        let nodes = self.nodes;
        let stmts = &nodes.blocks[block].stmts;
        let mut at = 0;
        while at < stmts.len() {
            match stmts[at] {
                Stmt::Array { array, len } => {
                    let fill = fill_len(nodes, stmts, at);
                    let zero = Const::from_bits(nodes.locals[array].ty, 0);
                    let mut values = vec![zero; len as usize];
                    let fills = stmts[at + 1..at + 1 + fill].iter();
                    for (_, index, value) in fills.filter_map(|stmt| stored(nodes, stmt)) {
                        values[index as usize] = value;
                    }
                    // An array that starts with zeros only is mostly written in another way.
                    if fill > 0 && self.tables.insert(array, values).is_some() {
                        self.written.insert(array);
                    }
                    at += fill;
                }
                Stmt::Store { element: Element { array: Array::Local(array), .. }, .. } => {
                    self.written.insert(array);
                }
                _ => {}
            }
            stmts[at].blocks().for_each(|block| self.block(block));
            at += 1;
        }
    }
}

/// The array, element and value of a store of a constant to a constant element of a local array.
fn stored(nodes: Nodes<'_>, stmt: &Stmt) -> Option<(LocalId, u32, Const)> {
    let Stmt::Store { element: Element { array: Array::Local(array), index, .. }, value } = stmt
    else {
        return None;
    };
    let [index] = index[..] else { return None };
    let at = constant(nodes, index)?.as_int().and_then(|at| u32::try_from(at).ok())?;
    Some((*array, at, constant(nodes, *value)?))
}

fn constant(nodes: Nodes<'_>, value: ExprId) -> Option<Const> {
    match nodes.exprs[value].kind {
        ExprKind::Const(value) => Some(value),
        _ => None,
    }
}
