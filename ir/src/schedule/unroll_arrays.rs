//! Full unrolling of serial loops that index small local arrays. The elements of such an array are in registers, so an
//! index that is known only at run time selects among all of them; with a constant index there is nothing to select.
//! Arrays in local memory become registers, too, where all their indices are constant.

use std::collections::HashSet;

use super::substitute::Substitution;
use crate::{
    Array, BlockId, Const, Element, ExprId, ExprKind, LocalId, Offloaded, Stmt,
    constant_tables::{fill_len, tables_of},
    simplify,
    visit::Nodes,
};

/// The maximum number of iterations of a loop that is unrolled.
const MAX_ITERATIONS: i128 = 64;

/// The maximum number of statements of a task after unrolling.
const MAX_TASK_STATEMENTS: usize = 2048;

/// The kernel with these loops unrolled and with constant tables (see [`constant_tables`](crate::constant_tables)) at
/// the start of their tasks, simplified again. None if there is nothing to do.
pub(super) fn run(kernel: &Offloaded) -> Option<Offloaded> {
    let mut out = None;
    for at in 0..kernel.tasks.len() {
        let task = &kernel.tasks[at];
        if !task.kind.is_range_for() || !needs_unrolling(kernel, task.body) {
            continue;
        }
        let changed = out.get_or_insert_with(|| kernel.clone());
        let tables = hoist_tables(changed, at);
        let body = changed.tasks[at].body;
        let copies = Substitution::new(changed);
        if let Some(unrolled) = (Unroller { copies, tables, stmts: 0 }).block(body, false) {
            changed.tasks[at].body = unrolled;
        }
    }
    out.map(|out| simplify(&out))
}

/// Whether a block contains a loop that is to be unrolled.
fn needs_unrolling(kernel: &Offloaded, block: BlockId) -> bool {
    let nodes = Nodes::from(kernel);
    kernel.blocks[block].stmts.iter().any(|stmt| {
        let wanted = match *stmt {
            Stmt::For { var, body, unroll: None | Some(0), .. } => indexes_arrays(nodes, var, body),
            _ => false,
        };
        wanted || stmt.blocks().any(|inner| needs_unrolling(kernel, inner))
    })
}

/// Moves the tables of a task to its start, so that they are defined once. Returns them.
fn hoist_tables(kernel: &mut Offloaded, at: usize) -> HashSet<LocalId> {
    let task = &kernel.tasks[at];
    let body = task.body;
    let tables: HashSet<LocalId> = tables_of((&*kernel).into(), task).into_keys().collect();
    let mut moved = Vec::new();
    take_tables(kernel, body, &tables, &mut moved);
    moved.append(&mut kernel.blocks[body].stmts);
    kernel.blocks[body].stmts = moved;
    tables
}

fn take_tables(
    kernel: &mut Offloaded,
    block: BlockId,
    tables: &HashSet<LocalId>,
    moved: &mut Vec<Stmt>,
) {
    let mut stmts = std::mem::take(&mut kernel.blocks[block].stmts);
    let mut at = 0;
    while at < stmts.len() {
        if matches!(stmts[at], Stmt::Array { array, .. } if tables.contains(&array)) {
            let fill = fill_len((&*kernel).into(), &stmts, at);
            moved.extend(stmts.drain(at..at + 1 + fill));
            continue;
        }
        for inner in stmts[at].blocks().collect::<Vec<_>>() {
            take_tables(kernel, inner, tables, moved);
        }
        at += 1;
    }
    kernel.blocks[block].stmts = stmts;
}

/// Whether the body of a loop has an index of a local array, or a selection, that depends on the loop variable by
/// integer arithmetic.
fn indexes_arrays(nodes: Nodes<'_>, var: LocalId, body: BlockId) -> bool {
    let mut dependent = HashSet::from([var]);
    loop {
        let before = dependent.len();
        add_dependent(nodes, body, false, &mut dependent);
        if dependent.len() == before {
            break;
        }
    }
    let depends = |value: ExprId| depends(nodes, value, &dependent);
    let selects = |value: ExprId| {
        any_expr(nodes, value, &mut |kind| match *kind {
            ExprKind::Select { cond, .. } => depends(cond),
            ExprKind::Load(Element { array: Array::Local(_), ref index, .. }) => {
                index.iter().any(|index| depends(*index))
            }
            _ => false,
        })
    };
    any_stmt(nodes, body, &mut |stmt| {
        let stores = match stmt {
            Stmt::Store { element: Element { array: Array::Local(_), index, .. }, .. } => {
                index.iter().any(|index| depends(*index))
            }
            _ => false,
        };
        stores || stmt.exprs().any(selects)
    })
}

/// Adds the integers that are computed from dependent ones, or set where a condition is dependent.
fn add_dependent(
    nodes: Nodes<'_>,
    block: BlockId,
    in_branch: bool,
    dependent: &mut HashSet<LocalId>,
) {
    for stmt in &nodes.blocks[block].stmts {
        let mut in_branch = in_branch;
        match *stmt {
            Stmt::Let { local, value } | Stmt::Assign { local, value } => {
                let ty = nodes.locals[local].ty;
                if !ty.is_float() && (in_branch || depends(nodes, value, dependent)) {
                    dependent.insert(local);
                }
            }
            Stmt::If { cond, .. } => in_branch |= depends(nodes, cond, dependent),
            Stmt::For { var, begin, end, .. }
                if depends(nodes, begin, dependent) || depends(nodes, end, dependent) =>
            {
                dependent.insert(var);
            }
            _ => {}
        }
        for inner in stmt.blocks() {
            add_dependent(nodes, inner, in_branch, dependent);
        }
    }
}

/// Whether an integer is computed from dependent ones, without memory and floats.
fn depends(nodes: Nodes<'_>, value: ExprId, dependent: &HashSet<LocalId>) -> bool {
    let expr = &nodes.exprs[value];
    match expr.kind {
        ExprKind::Local(local) => dependent.contains(&local),
        ExprKind::Load(Element { array: Array::Local(_), ref index, .. }) => {
            !expr.ty.is_float() && index.iter().any(|index| depends(nodes, *index, dependent))
        }
        ref kind if expr.ty.is_float() || kind.is_effect() => false,
        ref kind => kind.operands().any(|operand| depends(nodes, operand, dependent)),
    }
}

fn any_expr(nodes: Nodes<'_>, value: ExprId, found: &mut impl FnMut(&ExprKind) -> bool) -> bool {
    let kind = &nodes.exprs[value].kind;
    found(kind) || kind.operands().any(|operand| any_expr(nodes, operand, found))
}

fn any_stmt(nodes: Nodes<'_>, block: BlockId, found: &mut impl FnMut(&Stmt) -> bool) -> bool {
    let mut stmts = nodes.blocks[block].stmts.iter();
    stmts.any(|stmt| found(stmt) || stmt.blocks().any(|inner| any_stmt(nodes, inner, found)))
}

/// Whether `break` or `continue` of the loop itself occurs in its body.
fn leaves_loop(nodes: Nodes<'_>, body: BlockId) -> bool {
    nodes.blocks[body].stmts.iter().any(|stmt| match *stmt {
        Stmt::Break | Stmt::Continue => true,
        Stmt::If { then, otherwise, .. } => {
            leaves_loop(nodes, then) || leaves_loop(nodes, otherwise)
        }
        _ => false,
    })
}

struct Unroller<'k> {
    copies: Substitution<'k>,
    tables: HashSet<LocalId>,
    /// The number of statements so far.
    stmts: usize,
}

impl Unroller<'_> {
    /// Copies a block. `in_copy` if the block is a part of an unrolled body, whose locals are new ones. None if the
    /// result would be too long or a statement cannot be copied.
    fn block(&mut self, block: BlockId, in_copy: bool) -> Option<BlockId> {
        let mut out = Vec::new();
        self.append(block, in_copy, &mut out)?;
        Some(self.copies.kernel.blocks.push(crate::Block { stmts: out }))
    }

    fn append(&mut self, block: BlockId, in_copy: bool, out: &mut Vec<Stmt>) -> Option<()> {
        for stmt in self.copies.kernel.blocks[block].stmts.clone() {
            let before = out.len();
            self.stmt(&stmt, in_copy, out)?;
            self.stmts += usize::from(out.len() > before);
            if self.stmts > MAX_TASK_STATEMENTS {
                return None;
            }
        }
        Some(())
    }

    fn stmt(&mut self, stmt: &Stmt, in_copy: bool, out: &mut Vec<Stmt>) -> Option<()> {
        let new = match *stmt {
            Stmt::For { var, begin, end, body, unroll, down } => {
                let [begin, end] = [begin, end].map(|bound| self.copies.value(bound));
                if unroll.is_none_or(|times| times == 0)
                    && let Some(values) = self.iterations([begin, end], var, body, down)
                {
                    for value in values {
                        let outer = self.copies.values.clone();
                        let ty = self.copies.kernel.locals[var].ty;
                        let constant = Const::from_bits(ty, value as u64);
                        let constant = self.copies.push(ty, ExprKind::Const(constant));
                        self.copies.values.insert(var, constant);
                        self.append(body, true, out)?;
                        self.copies.values = outer;
                    }
                    return Some(());
                }
                let var = if in_copy { self.copies.copied(var) } else { var };
                Stmt::For { var, begin, end, body: self.block(body, in_copy)?, unroll, down }
            }
            Stmt::Loop { body } => Stmt::Loop { body: self.block(body, in_copy)? },
            Stmt::If { cond, then, otherwise } => {
                let cond = self.copies.value(cond);
                if let Some(cond) = self.copies.constant(cond) {
                    let taken = if cond.bits() != 0 { then } else { otherwise };
                    return self.append(taken, in_copy, out);
                }
                let (then, otherwise) =
                    (self.block(then, in_copy)?, self.block(otherwise, in_copy)?);
                Stmt::If { cond, then, otherwise }
            }
            Stmt::Let { local, value } => {
                let value = self.copies.value(value);
                let defined = &self.copies.kernel.locals[local];
                if in_copy && !defined.mutable && self.copies.constant(value).is_some() {
                    self.copies.values.insert(local, value);
                    return Some(());
                }
                Stmt::Let { local: if in_copy { self.copies.copied(local) } else { local }, value }
            }
            Stmt::Assign { local, value } => {
                let (local, value) = (self.copies.local(local), self.copies.value(value));
                if matches!(self.copies.kernel.exprs[value].kind, ExprKind::Local(read) if read == local)
                {
                    return Some(());
                }
                Stmt::Assign { local, value }
            }
            Stmt::Array { array, len } => {
                let is_new = in_copy && !self.tables.contains(&array);
                Stmt::Array { array: if is_new { self.copies.copied(array) } else { array }, len }
            }
            Stmt::Eval { value } => Stmt::Eval { value: self.copies.value(value) },
            Stmt::Store { ref element, value } => {
                let mut element = element.clone();
                for index in &mut element.index {
                    *index = self.copies.value(*index);
                }
                element.array = self.copies.array(element.array);
                Stmt::Store { element, value: self.copies.value(value) }
            }
            Stmt::Assert { cond, site, ref values } => {
                let cond = self.copies.value(cond);
                if self.copies.constant(cond).is_some_and(|cond| cond.bits() != 0) {
                    return Some(());
                }
                let values = values.iter().map(|value| self.copies.value(*value)).collect();
                Stmt::Assert { cond, site, values }
            }
            Stmt::ReduceTemp { temp, op, value } => {
                Stmt::ReduceTemp { temp, op, value: self.copies.value(value) }
            }
            Stmt::Break | Stmt::Continue => stmt.clone(),
            _ if !in_copy => stmt.clone(),
            _ => return None,
        };
        out.push(new);
        Some(())
    }

    /// The values of the variable of a loop that is to be unrolled.
    fn iterations(
        &self,
        [begin, end]: [ExprId; 2],
        var: LocalId,
        body: BlockId,
        down: bool,
    ) -> Option<Vec<i128>> {
        let nodes = Nodes::from(&*self.copies.kernel);
        let [begin, end] =
            [begin, end].map(|bound| self.copies.constant(bound).and_then(Const::as_int));
        let (begin, end) = (begin?, end?);
        let unrolls = end - begin <= MAX_ITERATIONS
            && !leaves_loop(nodes, body)
            && indexes_arrays(nodes, var, body);
        unrolls.then(|| match down {
            true => (begin..end).rev().collect(),
            false => (begin..end).collect(),
        })
    }
}
