//! Finds reductions and privatized tensors.
//!
//! A reduction is a loop whose iterations all combine into one element, as in `atomic_add(&mut sum[0], x)`, and do not
//! use that tensor otherwise, or into a local of the kernel, as in `sum += x`. A tensor is privatized if all iterations
//! combine integers into it and do not use it otherwise, as in a histogram.
//!
//! Both reorder the combinations, as atomics do anyway. Sums of floats are not reordered in strict kernels.

use std::collections::HashMap;

use super::{Privatized, Reduction, ReductionTarget};
use crate::{
    Array, AtomicOp, BlockId, Element, ExprId, ExprKind, Offloaded, ParamId, ParamKind, ScalarType,
    SiteId, Stmt, Task, TempId, visit::Nodes,
};

/// The maximum number of reductions of a loop; each needs shared memory.
const MAX_REDUCTIONS: usize = 4;

/// How a loop uses a tensor.
enum TensorUse {
    Reduced(AtomicOp, Vec<ExprId>, ScalarType, SiteId),
    Privatized(AtomicOp, ScalarType),
    Other,
}

pub(super) fn find(kernel: &Offloaded, task: &Task) -> (Vec<Reduction>, Option<Privatized>) {
    let (mut reductions, mut privatized) = (Vec::new(), None);
    let mut add = |target, op, ty: ScalarType, site| {
        let ordered = ty.is_float() && op == AtomicOp::Add && kernel.options.strict;
        if !ordered && reductions.len() < MAX_REDUCTIONS {
            reductions.push(Reduction { target, op, ty, site });
        }
    };
    let mut temps = Vec::new();
    collect_temps(kernel, task.body, &mut temps);
    for (temp, op) in temps {
        add(ReductionTarget::Temp(temp), op, kernel.temps[temp.index()], None);
    }
    let mut uses = HashMap::new();
    collect(kernel, task.body, &mut uses);
    for tensor in task.accesses.iter().map(|access| access.param) {
        match uses.remove(&tensor) {
            Some(TensorUse::Reduced(op, index, ty, site)) => {
                add(ReductionTarget::Element(tensor, index), op, ty, Some(site));
            }
            Some(TensorUse::Privatized(op, ty)) if privatized.is_none() => {
                privatized = Some(Privatized { tensor, op, ty });
            }
            _ => {}
        }
    }
    (reductions, privatized)
}

/// The temporaries that a loop combines into, and the operation of each.
fn collect_temps(kernel: &Offloaded, block: BlockId, temps: &mut Vec<(TempId, AtomicOp)>) {
    for stmt in &kernel.blocks[block].stmts {
        if let Stmt::ReduceTemp { temp, op, .. } = *stmt
            && !temps.contains(&(temp, op))
        {
            temps.push((temp, op));
        }
        for inner in stmt.blocks() {
            collect_temps(kernel, inner, temps);
        }
    }
}

fn collect(kernel: &Offloaded, block: BlockId, uses: &mut HashMap<ParamId, TensorUse>) {
    for stmt in &kernel.blocks[block].stmts {
        if let Stmt::Store { element, .. } = stmt
            && let Some(tensor) = element.tensor()
        {
            uses.insert(tensor, TensorUse::Other);
        }
        for value in stmt.exprs() {
            let kind = &kernel.exprs[value].kind;
            let Some(Element { array: Array::Tensor(tensor), index, site }) = kind.element() else {
                continue;
            };
            let ExprKind::Atomic { op, .. } = kind else {
                uses.insert(*tensor, TensorUse::Other);
                continue;
            };
            let wanted = !matches!(stmt, Stmt::Eval { .. });
            let ty = kernel.exprs[value].ty;
            let here = if wanted || !op.combines() {
                TensorUse::Other
            } else if index.iter().all(|at| Nodes::from(kernel).is_constant(*at)) {
                TensorUse::Reduced(*op, index.clone(), ty, *site)
            } else if is_privatizable(kernel, *tensor, ty) {
                TensorUse::Privatized(*op, ty)
            } else {
                TensorUse::Other
            };
            let both = match (uses.remove(tensor), here) {
                (None, here) => here,
                (
                    Some(TensorUse::Reduced(first, at, ty, site)),
                    TensorUse::Reduced(op, index, ..),
                ) if first == op && same(kernel, &at, &index) => {
                    TensorUse::Reduced(first, at, ty, site)
                }
                (Some(TensorUse::Privatized(first, ty)), TensorUse::Privatized(op, _))
                    if first == op =>
                {
                    TensorUse::Privatized(first, ty)
                }
                _ => TensorUse::Other,
            };
            uses.insert(*tensor, both);
        }
        for inner in stmt.blocks() {
            collect(kernel, inner, uses);
        }
    }
}

fn is_privatizable(kernel: &Offloaded, tensor: ParamId, ty: ScalarType) -> bool {
    let param = &kernel.params[tensor.index()];
    matches!(param.kind, ParamKind::Tensor { rank: 1, .. })
        && !param.strided
        && matches!(ty, ScalarType::I32 | ScalarType::U32)
}

fn same(kernel: &Offloaded, a: &[ExprId], b: &[ExprId]) -> bool {
    a.iter().zip(b).all(|(a, b)| kernel.exprs[*a].kind == kernel.exprs[*b].kind)
}
