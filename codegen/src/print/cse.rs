//! Finds common subexpressions. As printed trees, shared expressions could be exponentially larger than in the arena,
//! so large ones are stored in a variable once per statement.

use quadrants_ir::{ExprId, Offloaded};

/// The minimum number of nodes of an expression that is stored in a variable.
const MIN_NODES: u32 = 12;

/// For each expression, whether it is large and has several uses.
pub(super) fn find_shared(kernel: &Offloaded) -> Vec<bool> {
    let mut uses = vec![0u32; kernel.exprs.len()];
    let mut sizes = vec![1u32; kernel.exprs.len()];
    let mut is_effect = vec![false; kernel.exprs.len()];
    for (id, expr) in kernel.exprs.iter() {
        is_effect[id.index()] = expr.kind.is_effect();
        for operand in expr.kind.operands() {
            uses[operand.index()] += 1;
            // Operands precede their users, so their size is known.
            sizes[id.index()] = sizes[id.index()].saturating_add(sizes[operand.index()]);
        }
    }
    let shared = |i: usize| uses[i] > 1 && sizes[i] >= MIN_NODES && !is_effect[i];
    (0..uses.len()).map(shared).collect()
}

/// Whether printing `id` needs a variable for a common subexpression.
pub(super) fn contains_shared(shared: &[bool], kernel: &Offloaded, id: ExprId) -> bool {
    shared[id.index()]
        || kernel.exprs[id].kind.operands().any(|at| contains_shared(shared, kernel, at))
}
