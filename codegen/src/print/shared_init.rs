//! Finds shared arrays that need no zeroing, because threads initialize all elements that are read before any read.
//!
//! In the first phase that uses the array, alone or in a loop with all its uses, one statement must initialize a box of
//! elements, as in `tile[[t / 32 + 8 * k, t % 32]] = …`. All threads must reach it, in every iteration of enclosing
//! loops with constant bounds, and no two of these stores may have the same index. Then as many stores as the box has
//! elements initialize all of them. All reads must be within the box.

use std::collections::HashMap;

use quadrants_ir::{
    Array, BinaryOp, BlockId, DivRemOp, ExprId, ExprKind, LocalId, Offloaded, SharedExtent, Stmt,
    TaskKind,
    races::{AffineForm, Var, VarKind, VarSpace, disjoint_in_loop},
};

use super::task::TaskPrinter;

/// The maximum of all values that an index is computed from, so that no type overflows.
const MAX_VALUE: i128 = i32::MAX as i128;

/// The values of a phase's locals, as affine forms of the thread index and loop variables.
struct PhaseValues<'a> {
    kernel: &'a Offloaded,
    space: VarSpace,
    locals: HashMap<LocalId, AffineForm>,
}

/// The first and last value of each index.
type IndexRange = Vec<(i128, i128)>;

impl TaskPrinter<'_> {
    pub(super) fn is_initialized_before_use(&self, array: LocalId, dims: &[SharedExtent]) -> bool {
        let task = &self.kernel.tasks[self.task.index()];
        let TaskKind::BlockFor { threads, .. } = task.kind else { return false };
        let array = Array::Shared(array);
        let filling = InitAnalysis { kernel: self.kernel, array, threads };
        let Some(extent) = filling.initialized_by_first_phase(task.body) else { return false };
        let all = |(dim, (first, last)): (&SharedExtent, &(i128, i128))| match dim.constant() {
            Some(dim) => *first <= 0 && i128::from(dim) <= *last + 1,
            None => false,
        };
        dims.iter().zip(&extent).all(all) || filling.all_reads_are_within(&extent, task.body)
    }
}

#[derive(Clone, Copy)]
struct InitAnalysis<'a> {
    kernel: &'a Offloaded,
    array: Array,
    threads: u32,
}

impl<'a> InitAnalysis<'a> {
    fn stmts(self, block: BlockId) -> &'a [Stmt] {
        &self.kernel.blocks[block].stmts
    }

    /// The box that the first phase with a use of the array initializes. The phase is in this block, or in a loop that
    /// has all uses.
    fn initialized_by_first_phase(self, block: BlockId) -> Option<IndexRange> {
        let uses = |stmt: &&Stmt| stmt.blocks().any(|inner| self.uses(inner) > 0);
        match *self.stmts(block).iter().find(uses)? {
            Stmt::Phase { var, body, .. } => {
                let mut values = PhaseValues::of_thread(self.kernel, var, self.threads)?;
                let extent = self.initialized_box(body, &mut values, u64::from(self.threads))?;
                (self.uses(body) == 1).then_some(extent)
            }
            Stmt::For { body, .. } | Stmt::Loop { body } if self.uses(body) == self.uses(block) => {
                self.initialized_by_first_phase(body)
            }
            _ => None,
        }
    }

    /// The box that a phase initializes in statements that all threads reach. `rounds` is the number of executions by
    /// all threads together.
    fn initialized_box(
        self,
        block: BlockId,
        values: &mut PhaseValues<'a>,
        rounds: u64,
    ) -> Option<IndexRange> {
        for stmt in self.stmts(block) {
            match stmt {
                Stmt::Store { element, .. } if element.array == self.array => {
                    return values.box_of(&element.index, rounds);
                }
                Stmt::Let { .. } => values.define(stmt),
                Stmt::Assign { .. } | Stmt::Store { .. } => {}
                Stmt::For { body, .. } if !self.jumps(*body) => {
                    let count = values.enter(stmt)?;
                    return self.initialized_box(*body, values, rounds.checked_mul(count)?);
                }
                // Threads could leave the phase in a branch.
                _ => return None,
            }
        }
        None
    }

    fn jumps(self, block: BlockId) -> bool {
        self.stmts(block).iter().any(|stmt| {
            matches!(stmt, Stmt::Break | Stmt::Continue)
                || stmt.blocks().any(|inner| self.jumps(inner))
        })
    }

    /// Whether all reads of the array in phases are within the box.
    fn all_reads_are_within(self, extent: &IndexRange, block: BlockId) -> bool {
        self.stmts(block).iter().all(|stmt| match *stmt {
            Stmt::Phase { var, body, .. } => PhaseValues::of_thread(self.kernel, var, self.threads)
                .is_some_and(|mut values| self.phase_reads_are_within(extent, body, &mut values)),
            _ => stmt.blocks().all(|inner| self.all_reads_are_within(extent, inner)),
        })
    }

    fn phase_reads_are_within(
        self,
        extent: &IndexRange,
        block: BlockId,
        values: &mut PhaseValues<'a>,
    ) -> bool {
        self.stmts(block).iter().all(|stmt| {
            let within = stmt.exprs().all(|root| match self.index_of(root) {
                Some(index) => values.is_within(index, extent),
                None => true,
            });
            match stmt {
                Stmt::Let { .. } => values.define(stmt),
                // If the bounds of a loop are unknown, so is its variable.
                Stmt::For { .. } => _ = values.enter(stmt),
                _ => {}
            }
            within && stmt.blocks().all(|inner| self.phase_reads_are_within(extent, inner, values))
        })
    }

    /// The index of a side effect that reads the array.
    fn index_of(self, root: ExprId) -> Option<&'a [ExprId]> {
        let element = self.kernel.exprs[root].kind.element()?;
        (element.array == self.array).then_some(&element.index)
    }

    /// The number of statements of a block that access the array.
    fn uses(self, block: BlockId) -> usize {
        let of = |stmt: &Stmt| {
            let stores = matches!(stmt, Stmt::Store { element, .. } if element.array == self.array);
            let reads = stmt.exprs().any(|root| self.index_of(root).is_some());
            let inside: usize = stmt.blocks().map(|inner| self.uses(inner)).sum();
            usize::from(stores || reads) + inside
        };
        self.stmts(block).iter().map(of).sum()
    }
}

impl<'a> PhaseValues<'a> {
    fn of_thread(kernel: &'a Offloaded, thread: LocalId, threads: u32) -> Option<Self> {
        let mut values = Self { kernel, space: VarSpace::new(), locals: HashMap::new() };
        values.bind(thread, 0, i128::from(threads) - 1)?;
        Some(values)
    }

    fn bind(&mut self, local: LocalId, first: i128, last: i128) -> Option<()> {
        let at = self.space.push(Var::new(VarKind::Parallel, first, last))?;
        self.locals.insert(local, AffineForm::var(at));
        Some(())
    }

    /// Records the value of a definition.
    fn define(&mut self, stmt: &Stmt) {
        if let Stmt::Let { local, value } = stmt
            && !self.kernel.locals[*local].mutable
            && let Some(form) = self.form(*value)
        {
            self.locals.insert(*local, form);
        }
    }

    /// Records the variable of a loop with constant bounds and at least one iteration, and returns the number of
    /// iterations.
    fn enter(&mut self, stmt: &Stmt) -> Option<u64> {
        let Stmt::For { var, begin, end, .. } = stmt else { return None };
        let (begin, end) = (self.form(*begin)?.value()?, self.form(*end)?.value()?);
        let count = u64::try_from(end - begin).ok().filter(|count| *count > 0)?;
        self.bind(*var, begin, end - 1)?;
        Some(count)
    }

    /// The affine form of an integer that is not negative and cannot overflow its type.
    fn form(&mut self, id: ExprId) -> Option<AffineForm> {
        let kernel = self.kernel;
        let expr = &kernel.exprs[id];
        let form = match &expr.kind {
            ExprKind::Const(value) => AffineForm::constant(value.as_int()?),
            ExprKind::Local(local) => *self.locals.get(local)?,
            ExprKind::Cast { value } if expr.ty.is_int() && expr.ty.size() >= 4 => {
                self.form(*value)?
            }
            ExprKind::Binary { op, lhs, rhs } => {
                let (lhs, rhs) = (self.form(*lhs)?, self.form(*rhs)?);
                match op {
                    BinaryOp::Add => lhs.add(rhs)?,
                    BinaryOp::Sub => lhs.sub(rhs)?,
                    BinaryOp::Mul => lhs.mul(rhs)?,
                    _ => return None,
                }
            }
            ExprKind::DivRem { op, lhs, rhs, .. } => {
                let (lhs, rhs) = (self.form(*lhs)?, self.form(*rhs)?);
                let (quotient, remainder) = self.space.div_rem(lhs, rhs.value()?)?;
                match op {
                    DivRemOp::Div => quotient,
                    DivRemOp::Rem => remainder,
                }
            }
            _ => return None,
        };
        let (first, last) = self.space.range(&form)?;
        (first >= 0 && last <= MAX_VALUE && expr.ty.is_int() && expr.ty.size() >= 4).then_some(form)
    }

    fn forms(&mut self, index: &[ExprId]) -> Option<Vec<AffineForm>> {
        index.iter().map(|at| self.form(*at)).collect()
    }

    /// The box of elements that this number of stores initializes, if no two of them have the same index.
    fn box_of(&mut self, index: &[ExprId], stores: u64) -> Option<IndexRange> {
        let forms: Vec<_> = self.forms(index)?.into_iter().map(Some).collect();
        if !disjoint_in_loop(&self.space, &forms, &forms) {
            return None;
        }
        let extent: IndexRange =
            forms.iter().flatten().map(|form| self.space.range(form)).collect::<Option<_>>()?;
        let all = extent
            .iter()
            .try_fold(1i128, |all, (first, last)| all.checked_mul(last - first + 1))?;
        (all == i128::from(stores)).then_some(extent)
    }

    fn is_within(&mut self, index: &[ExprId], extent: &IndexRange) -> bool {
        let Some(forms) = self.forms(index) else { return false };
        forms.len() == extent.len()
            && forms.iter().zip(extent).all(|(form, (first, last))| {
                self.space.range(form).is_some_and(|range| range.0 >= *first && range.1 <= *last)
            })
    }
}
