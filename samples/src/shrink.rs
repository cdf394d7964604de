//! Shrinks failing kernels while they still fail.

use quadrants_ir::*;

use crate::run::SampleArg;

/// A kernel with arguments.
pub type Sample = (Kernel, Vec<SampleArg>);

/// The number of candidates per batch. Starting a compiler is more expensive than compiling a few more kernels.
const BATCH: usize = 32;
/// The maximum number of batches, which bounds the total time.
const BATCHES: usize = 120;

/// Shrinks a failing sample. `fails` returns the index of a failing sample among its arguments.
pub fn shrink(mut sample: Sample, mut fails: impl FnMut(&[Sample]) -> Option<usize>) -> Sample {
    let mut candidates = smaller(&sample);
    // A candidate that did not fail rarely fails after the next step. So continue after it, and wrap around.
    let (mut at, mut passed) = (0, 0);
    for _ in 0..BATCHES {
        if passed >= candidates.len() {
            break;
        }
        at %= candidates.len();
        let batch = &candidates[at..candidates.len().min(at + BATCH)];
        match fails(batch) {
            Some(found) => {
                sample = batch[found].clone();
                at += found;
                passed = 0;
                candidates = smaller(&sample);
            }
            None => {
                at += batch.len();
                passed += batch.len();
            }
        }
    }
    sample
}

/// All valid samples with one piece removed, largest pieces first.
fn smaller((kernel, args): &Sample) -> Vec<Sample> {
    let mut kernels = Vec::new();
    without_items(kernel, &mut kernels);
    without_statements(kernel, &mut kernels);
    with_simpler_expressions(kernel, &mut kernels);
    kernels.retain(|kernel| verify(kernel).is_ok() && offload(kernel).is_ok());
    let mut samples: Vec<Sample> =
        kernels.into_iter().map(|kernel| (kernel, args.clone())).collect();
    for at in 0..args.len() {
        let mut args = args.clone();
        let zero = |value: &mut Const| *value = Const::from_bits(value.ty(), 0);
        match &mut args[at] {
            SampleArg::Scalar(value) => zero(value),
            SampleArg::Tensor { elements, .. } => elements.iter_mut().for_each(zero),
        }
        samples.push((kernel.clone(), args));
    }
    samples.retain(|sample| weight(sample) < weight(&(kernel.clone(), args.clone())));
    samples
}

fn without_items(kernel: &Kernel, out: &mut Vec<Kernel>) {
    for at in 0..kernel.body.len() {
        let mut less = kernel.clone();
        if let TopStmt::Return(_) = less.body.remove(at) {
            less.results.clear();
        }
        out.push(less);
        if let TopStmt::RegionBlock { body, .. } = &kernel.body[at] {
            for inner in 0..body.len() {
                let mut less = kernel.clone();
                if let TopStmt::RegionBlock { body, .. } = &mut less.body[at] {
                    body.remove(inner);
                }
                out.push(less);
            }
            let mut inlined = kernel.clone();
            inlined.body.splice(at..=at, body.iter().cloned());
            out.push(inlined);
        }
    }
}

fn without_statements(kernel: &Kernel, out: &mut Vec<Kernel>) {
    for block in reached_blocks(kernel) {
        for (at, stmt) in kernel.blocks[block].stmts.iter().enumerate() {
            let mut replace = |with: &[Stmt]| {
                let mut less = kernel.clone();
                less.blocks[block].stmts.splice(at..=at, with.iter().cloned());
                out.push(less);
            };
            replace(&[]);
            for inner in stmt.blocks() {
                replace(&kernel.blocks[inner].stmts);
            }
        }
    }
}

fn with_simpler_expressions(kernel: &Kernel, out: &mut Vec<Kernel>) {
    for id in reached_exprs(kernel) {
        let Expr { ty, kind, .. } = &kernel.exprs[id];
        let operands = kind.operands().map(|operand| &kernel.exprs[operand]);
        let same = operands.filter(|operand| operand.ty == *ty).map(|operand| operand.kind.clone());
        let constants = [0, 1].map(|bits| ExprKind::Const(Const::from_bits(*ty, bits)));
        for simpler in constants.into_iter().chain(same) {
            let mut less = kernel.clone();
            less.exprs[id].kind = simpler;
            out.push(less);
        }
    }
}

fn reached_blocks(kernel: &Kernel) -> Vec<BlockId> {
    let mut blocks = Vec::new();
    let mut todo: Vec<&TopStmt> = kernel.body.iter().rev().collect();
    while let Some(stmt) = todo.pop() {
        match stmt {
            TopStmt::Serial(block) => blocks.push(*block),
            TopStmt::ParallelFor(parallel) => blocks.push(parallel.body),
            TopStmt::BlockFor(grid) => blocks.push(grid.body),
            TopStmt::RegionBlock { body, .. } => todo.extend(body.iter().rev()),
            TopStmt::Return(_) => {}
        }
    }
    let mut at = 0;
    while at < blocks.len() {
        blocks.extend(kernel.blocks[blocks[at]].stmts.iter().flat_map(Stmt::blocks));
        at += 1;
    }
    blocks
}

/// Expressions with the largest subtrees first.
fn reached_exprs(kernel: &Kernel) -> Vec<ExprId> {
    let mut seen = vec![false; kernel.exprs.len()];
    let mut todo = roots(kernel);
    while let Some(id) = todo.pop() {
        if !std::mem::replace(&mut seen[id.index()], true) {
            todo.extend(kernel.exprs[id].kind.operands());
        }
    }
    let all = kernel.exprs.iter().map(|(id, _)| id);
    all.rev().filter(|id| seen[id.index()]).collect()
}

fn roots(kernel: &Kernel) -> Vec<ExprId> {
    let blocks = reached_blocks(kernel);
    let stmts = blocks.iter().flat_map(|block| &kernel.blocks[*block].stmts);
    let mut roots: Vec<ExprId> = stmts.flat_map(Stmt::exprs).collect();
    let mut todo: Vec<&TopStmt> = kernel.body.iter().collect();
    while let Some(stmt) = todo.pop() {
        match stmt {
            TopStmt::ParallelFor(ParallelFor { dims, .. })
            | TopStmt::BlockFor(BlockFor { dims, .. }) => {
                roots.extend(dims.iter().flat_map(|dim| [dim.begin, dim.end]));
            }
            TopStmt::RegionBlock { body, .. } => todo.extend(body),
            TopStmt::Return(values) => roots.extend(values),
            TopStmt::Serial(_) => {}
        }
    }
    roots
}

/// A measure that decreases with every step: statements, then expression nodes, then nonzero arguments.
fn weight((kernel, args): &Sample) -> (usize, u64, usize) {
    let blocks = reached_blocks(kernel);
    let stmts = blocks.iter().map(|block| kernel.blocks[*block].stmts.len());
    let mut weights = vec![0u64; kernel.exprs.len()];
    for (id, expr) in kernel.exprs.iter() {
        weights[id.index()] = match &expr.kind {
            ExprKind::Const(value) => 1 + u64::from(value.bits() != 0),
            kind => {
                let below = kind.operands().map(|operand| weights[operand.index()]);
                below.fold(3, u64::saturating_add)
            }
        };
    }
    let exprs =
        roots(kernel).iter().fold(0u64, |sum, root| sum.saturating_add(weights[root.index()]));
    let values = args.iter().map(|arg| match arg {
        SampleArg::Scalar(value) => usize::from(value.bits() != 0),
        SampleArg::Tensor { elements, .. } => {
            elements.iter().filter(|value| value.bits() != 0).count()
        }
    });
    (stmts.sum::<usize>() + kernel.body.len(), exprs, values.sum())
}
