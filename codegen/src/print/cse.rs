//! Expressions with several uses. As trees they can be exponentially larger than in the arena, so
//! that large ones are printed once per statement.

use quadrants_ir::{ExprId, ExprKind, Offloaded};

/// The nodes from which on repeating an expression is worse than a local.
const LARGE: u32 = 12;

/// For each expression, whether it is large and has several uses.
pub(super) fn find(kernel: &Offloaded) -> Vec<bool> {
    let mut uses = vec![0u32; kernel.exprs.len()];
    let mut sizes = vec![1u32; kernel.exprs.len()];
    let mut is_effect = vec![false; kernel.exprs.len()];
    for (id, expr) in kernel.exprs.iter() {
        is_effect[id.index()] = expr.kind.is_effect();
        for operand in operands(&expr.kind) {
            uses[operand.index()] += 1;
            // Operands come before what uses them, so that their size is known.
            sizes[id.index()] = sizes[id.index()].saturating_add(sizes[operand.index()]);
        }
    }
    let shared = |i: usize| uses[i] > 1 && sizes[i] >= LARGE && !is_effect[i];
    (0..uses.len()).map(shared).collect()
}

/// Whether printing `id` needs a local for a shared expression.
pub(super) fn within(shared: &[bool], kernel: &Offloaded, id: ExprId) -> bool {
    shared[id.index()]
        || operands(&kernel.exprs[id].kind).iter().any(|&operand| within(shared, kernel, operand))
}

fn operands(kind: &ExprKind) -> Vec<ExprId> {
    match kind {
        ExprKind::Const(_)
        | ExprKind::Local(_)
        | ExprKind::Param(_)
        | ExprKind::Dim { .. }
        | ExprKind::Temp(_) => Vec::new(),
        ExprKind::Unary { value, .. } | ExprKind::Cast { value } | ExprKind::Bits { value } => {
            vec![*value]
        }
        ExprKind::Binary { lhs, rhs, .. } | ExprKind::DivRem { lhs, rhs, .. } => vec![*lhs, *rhs],
        ExprKind::Math { args, .. } => args.clone(),
        ExprKind::Select { cond, then, otherwise } => vec![*cond, *then, *otherwise],
        ExprKind::Load { index, .. } | ExprKind::SharedLoad { index, .. } => index.clone(),
        ExprKind::Atomic { index, value, .. } | ExprKind::SharedAtomic { index, value, .. } => {
            index.iter().copied().chain([*value]).collect()
        }
    }
}
