//! Joint loads: checked loads that follow each other share one branch. If all their indices are in range, which is the
//! usual case, the loads overlap, and the device compiler can combine loads of adjacent scalars into a vector load.
//! Otherwise they run one by one, as written, and report.

use std::collections::HashSet;

use crate::{
    Array, Block, BlockId, ExprId, ExprKind, LocalId, Offloaded, Stmt, task_schedule::TaskSchedule,
    visit::Nodes,
};

/// The most loads with one branch: each is printed twice.
const MAX_LOADS: usize = 16;

/// The groups of loads of a block and the blocks in it, of a task with this schedule.
pub(super) fn find(
    kernel: &Offloaded,
    schedule: &TaskSchedule,
    block: BlockId,
) -> Vec<Vec<ExprId>> {
    let mut groups = Vec::new();
    collect(kernel, schedule, block, &mut groups);
    groups
}

fn collect(
    kernel: &Offloaded,
    schedule: &TaskSchedule,
    block: BlockId,
    groups: &mut Vec<Vec<ExprId>>,
) {
    if schedule.speculated.contains(&block) {
        return;
    }
    let stmts = &kernel.blocks[block].stmts;
    let mut at = 0;
    while at < stmts.len() {
        let (group, next) = group(kernel, &kernel.blocks[block], at);
        if is_profitable(kernel, &group) {
            groups.push(group);
        }
        at = next;
    }
    for inner in stmts.iter().flat_map(Stmt::blocks) {
        collect(kernel, schedule, inner, groups);
    }
}

/// Two loads pay only if they have a check in common. Measured on an H200: a product with a sparse matrix in compressed
/// rows takes 1.05 times as long if the loads of a row's begin and end are joined.
fn is_profitable(kernel: &Offloaded, group: &[ExprId]) -> bool {
    let element = |load: &ExprId| kernel.exprs[*load].kind.element();
    match group {
        [] | [_] => false,
        [a, b] => match (element(a), element(b)) {
            (Some(a), Some(b)) => {
                a.array == b.array && a.index.iter().zip(&b.index).any(|(a, b)| a == b)
            }
            _ => false,
        },
        _ => true,
    }
}

/// The loads from the statement `first` on that can share a branch, and the position after the last one. Definitions
/// without side effects may be between them, if no later index depends on them.
fn group(kernel: &Offloaded, block: &Block, first: usize) -> (Vec<ExprId>, usize) {
    let (mut loads, mut next) = (Vec::new(), first + 1);
    let mut defined: HashSet<LocalId> = HashSet::new();
    for (at, stmt) in block.stmts.iter().enumerate().skip(first) {
        let Stmt::Let { local, value } = *stmt else { break };
        match &kernel.exprs[value].kind {
            ExprKind::Load(element) => {
                let is_checked = matches!(element.array, Array::Tensor(_));
                let nodes = Nodes::from(kernel);
                let depends = element.index.iter().any(|index| nodes.reads_any(*index, &defined));
                if !is_checked || depends || loads.len() == MAX_LOADS {
                    break;
                }
                loads.push(value);
                next = at + 1;
            }
            _ if loads.is_empty() || !Nodes::from(kernel).is_side_effect_free(value) => break,
            _ => {}
        }
        defined.insert(local);
    }
    (loads, next)
}
