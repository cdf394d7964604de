//! Dead code elimination (DCE), and removal of locals that are only copied.
//!
//! Removes definitions and assignments of locals that are never read, pure `Eval`s, and branches and `for` loops with
//! empty bodies. It repeats until nothing changes. Side effects and divisions that can fail stay.

use crate::{
    Array, Block, BlockId, Element, ExprId, ExprKind, LocalId, Offloaded, Stmt, UnaryOp,
    visit::{Nodes, Reach},
};

/// The number of reads of each local in a task.
struct Reads {
    seen: Vec<bool>,
    locals: Vec<u32>,
}

pub(super) fn run(kernel: &mut Offloaded, task: usize) {
    loop {
        let reads = Reads::of(kernel, task);
        let (prelude, body) = (kernel.tasks[task].prelude, kernel.tasks[task].body);
        let mut changed = false;
        for block in [prelude, body] {
            changed |= sweep(kernel, block, &reads);
        }
        if !changed {
            return;
        }
    }
}

/// Removes dead statements of a block, innermost blocks first. Returns whether something changed.
fn sweep(kernel: &mut Offloaded, block: BlockId, reads: &Reads) -> bool {
    let mut stmts = std::mem::take(&mut kernel.blocks[block].stmts);
    let mut changed = false;
    for stmt in &mut stmts {
        for inner in stmt.blocks() {
            changed |= sweep(kernel, inner, reads);
        }
        changed |= invert_branch(kernel, stmt);
    }
    let before = stmts.len();
    let nodes = Nodes::from(&*kernel);
    let empty = |block: BlockId| kernel.blocks[block].stmts.is_empty();
    stmts.retain(|stmt| match *stmt {
        Stmt::Let { local, value } | Stmt::Assign { local, value } => {
            reads.locals[local.index()] > 0 || !nodes.is_side_effect_free(value)
        }
        Stmt::Eval { value } => !nodes.is_side_effect_free(value),
        Stmt::If { then, otherwise, .. } => !empty(then) || !empty(otherwise),
        Stmt::For { body, .. } => !empty(body),
        _ => true,
    });
    changed |= stmts.len() < before;
    while let Some((from, to)) = find_copied(kernel, &stmts, reads) {
        let Stmt::Let { value, .. } = stmts[from] else { break };
        if let Stmt::Let { value: taken, .. } = &mut stmts[to] {
            *taken = value;
        }
        stmts.remove(from);
        changed = true;
    }
    kernel.blocks[block] = Block { stmts };
    changed
}

/// Swaps the branches of an `if` with an empty `then` branch and a negated condition.
fn invert_branch(kernel: &Offloaded, stmt: &mut Stmt) -> bool {
    let Stmt::If { cond, then, otherwise } = stmt else { return false };
    let empty = |block: BlockId| kernel.blocks[block].stmts.is_empty();
    match kernel.exprs[*cond].kind {
        ExprKind::Unary { op: UnaryOp::Not, value: opposite }
            if empty(*then) && !empty(*otherwise) =>
        {
            *cond = opposite;
            std::mem::swap(then, otherwise);
            true
        }
        _ => false,
    }
}

/// Finds a definition whose local is read only once, as the whole value of a later definition in the same block, if
/// nothing in between changes what the value reads.
fn find_copied(kernel: &Offloaded, stmts: &[Stmt], reads: &Reads) -> Option<(usize, usize)> {
    let nodes = Nodes::from(kernel);
    stmts.iter().enumerate().find_map(|(to, stmt)| {
        let Stmt::Let { value, .. } = *stmt else { return None };
        let ExprKind::Local(local) = nodes.exprs[value].kind else { return None };
        if reads.locals[local.index()] != 1 || nodes.locals[local].mutable {
            return None;
        }
        let defines = |stmt: &Stmt| matches!(*stmt, Stmt::Let { local: l, .. } if l == local);
        let from = stmts[..to].iter().position(defines)?;
        let Stmt::Let { value, .. } = stmts[from] else { return None };
        (from + 1 == to || can_be_computed_later(nodes, value)).then_some((from, to))
    })
}

/// Whether a value depends on nothing that changes, so that it may be computed later.
fn can_be_computed_later(nodes: Nodes<'_>, value: ExprId) -> bool {
    let mut reach = Reach::new(nodes);
    nodes.reach_expr(value, &mut reach);
    !nodes.exprs[value].kind.is_effect() && !reach.temps && reach.reads_only_immutable(nodes)
}

impl Reads {
    fn of(kernel: &Offloaded, task: usize) -> Self {
        let mut reads =
            Self { seen: vec![false; kernel.exprs.len()], locals: vec![0; kernel.locals.len()] };
        let task = &kernel.tasks[task];
        for dim in task.kind.dims().into_iter().flatten() {
            reads.expr(kernel, dim.begin);
            reads.expr(kernel, dim.end);
        }
        reads.block(kernel, task.prelude);
        reads.block(kernel, task.body);
        reads
    }

    fn block(&mut self, kernel: &Offloaded, block: BlockId) {
        for stmt in &kernel.blocks[block].stmts {
            for value in stmt.exprs() {
                self.expr(kernel, value);
            }
            if let Stmt::Store { element, .. } = stmt {
                self.element(element);
            }
            stmt.extent_locals().for_each(|local| self.local(local));
            for inner in stmt.blocks() {
                self.block(kernel, inner);
            }
        }
    }

    fn local(&mut self, local: LocalId) {
        self.locals[local.index()] += 1;
    }

    fn element(&mut self, element: &Element) {
        if let Array::Shared(array) | Array::Local(array) = element.array {
            self.local(array);
        }
    }

    /// Counts every read of a local. The operands of a shared expression are counted once.
    fn expr(&mut self, kernel: &Offloaded, id: ExprId) {
        let kind = &kernel.exprs[id].kind;
        if let ExprKind::Local(local) = *kind {
            return self.local(local);
        }
        kind.element().into_iter().for_each(|element| self.element(element));
        if !std::mem::replace(&mut self.seen[id.index()], true) {
            for operand in kind.operands() {
                self.expr(kernel, operand);
            }
        }
    }
}
