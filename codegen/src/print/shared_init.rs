//! Shared arrays that need not be cleared, since the threads give their elements values before any is looked at.
//!
//! It is asked of the first phase that uses the array, alone or in a loop that has all its uses, whether one statement in it
//! gives a box of elements values, `tile[[t / 32 + 8 * k, t % 32]] = …`: all threads come to it, in every round of loops
//! with constant bounds, and no two of those touch the same element. As many elements as there are in the box are all of
//! them. What is read anywhere must be within it.

use std::collections::HashMap;

use quadrants_ir::{
    BinaryOp, BlockId, DivRemOp, ExprId, ExprKind, LocalId, Offloaded, Stmt, TaskKind,
    races::{Form, Space, Var, VarKind, apart_in_loop},
};

use super::task::TaskPrinter;

/// All values on the way to an index are at most this, so that no type wraps.
const MOST: i128 = i32::MAX as i128;

/// What a phase's locals are, in the numbers of a thread and of the loops around.
struct Values<'a> {
    kernel: &'a Offloaded,
    space: Space,
    locals: HashMap<LocalId, Form>,
}

/// The first and the last value of each index.
type Extent = Vec<(i128, i128)>;

impl TaskPrinter<'_> {
    /// Whether the elements of an array have values before they are looked at.
    pub(super) fn is_filled_first(&self, array: LocalId, dims: &[u32]) -> bool {
        let task = &self.kernel.tasks[self.task.index()];
        let TaskKind::BlockFor { threads, .. } = task.kind else { return false };
        let filling = Filling { kernel: self.kernel, array, threads };
        let Some(extent) = filling.first_phase(task.body) else { return false };
        let all = |(dim, (first, last)): (&u32, &(i128, i128))| {
            *first <= 0 && i128::from(*dim) <= *last + 1
        };
        dims.iter().zip(&extent).all(all) || filling.is_read_within(&extent, task.body)
    }
}

#[derive(Clone, Copy)]
struct Filling<'a> {
    kernel: &'a Offloaded,
    array: LocalId,
    threads: u32,
}

impl<'a> Filling<'a> {
    fn stmts(self, block: BlockId) -> &'a [Stmt] {
        &self.kernel.blocks[block].stmts
    }

    /// What the first phase fills that uses the array, among these statements and in a loop that has all its uses.
    fn first_phase(self, block: BlockId) -> Option<Extent> {
        let uses = |stmt: &&Stmt| stmt.blocks().any(|inner| self.uses(inner) > 0);
        match *self.stmts(block).iter().find(uses)? {
            Stmt::Each { var, body, .. } => {
                let mut values = Values::of_thread(self.kernel, var, self.threads)?;
                let extent = self.filled(body, &mut values, u64::from(self.threads))?;
                (self.uses(body) == 1).then_some(extent)
            }
            Stmt::For { body, .. } | Stmt::Loop { body } if self.uses(body) == self.uses(block) => {
                self.first_phase(body)
            }
            _ => None,
        }
    }

    /// What the statements of a phase fill that all threads come to, `rounds` of all threads together.
    fn filled(self, block: BlockId, values: &mut Values<'a>, rounds: u64) -> Option<Extent> {
        for stmt in self.stmts(block) {
            match stmt {
                Stmt::SharedStore { array, index, .. } if *array == self.array => {
                    return values.box_of(index, rounds);
                }
                Stmt::Let { .. } => values.define(stmt),
                Stmt::Assign { .. } | Stmt::Store { .. } | Stmt::SharedStore { .. } => {}
                Stmt::For { body, .. } if !self.jumps(*body) => {
                    let count = values.enter(stmt)?;
                    return self.filled(*body, values, rounds.checked_mul(count)?);
                }
                // What has branches could leave the phase.
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
    fn is_read_within(self, extent: &Extent, block: BlockId) -> bool {
        self.stmts(block).iter().all(|stmt| match *stmt {
            Stmt::Each { var, body, .. } => Values::of_thread(self.kernel, var, self.threads)
                .is_some_and(|mut values| self.reads_within(extent, body, &mut values)),
            _ => stmt.blocks().all(|inner| self.is_read_within(extent, inner)),
        })
    }

    fn reads_within(self, extent: &Extent, block: BlockId, values: &mut Values<'a>) -> bool {
        self.stmts(block).iter().all(|stmt| {
            let within = stmt.exprs().all(|root| match self.index_of(root) {
                Some(index) => values.is_within(index, extent),
                None => true,
            });
            match stmt {
                Stmt::Let { .. } => values.define(stmt),
                // A loop whose bounds are not known has a variable that is not known.
                Stmt::For { .. } => _ = values.enter(stmt),
                _ => {}
            }
            within && stmt.blocks().all(|inner| self.reads_within(extent, inner, values))
        })
    }

    /// The index of an effect that looks at the array.
    fn index_of(self, root: ExprId) -> Option<&'a [ExprId]> {
        match &self.kernel.exprs[root].kind {
            ExprKind::SharedLoad { array, index, .. }
            | ExprKind::SharedAtomic { array, index, .. }
                if *array == self.array =>
            {
                Some(index)
            }
            _ => None,
        }
    }

    /// How many statements of a block access the array.
    fn uses(self, block: BlockId) -> usize {
        let of = |stmt: &Stmt| {
            let stores = matches!(stmt, Stmt::SharedStore { array, .. } if *array == self.array);
            let reads = stmt.exprs().any(|root| self.index_of(root).is_some());
            let inside: usize = stmt.blocks().map(|inner| self.uses(inner)).sum();
            usize::from(stores || reads) + inside
        };
        self.stmts(block).iter().map(of).sum()
    }
}

impl<'a> Values<'a> {
    fn of_thread(kernel: &'a Offloaded, thread: LocalId, threads: u32) -> Option<Self> {
        let mut values = Self { kernel, space: Space::new(), locals: HashMap::new() };
        values.bind(thread, 0, i128::from(threads) - 1)?;
        Some(values)
    }

    fn bind(&mut self, local: LocalId, first: i128, last: i128) -> Option<()> {
        let at = self.space.push(Var::new(VarKind::Parallel, first, last))?;
        self.locals.insert(local, Form::var(at));
        Some(())
    }

    /// Learns what a statement defines.
    fn define(&mut self, stmt: &Stmt) {
        if let Stmt::Let { local, value } = stmt
            && !self.kernel.locals[*local].mutable
            && let Some(form) = self.form(*value)
        {
            self.locals.insert(*local, form);
        }
    }

    /// Learns a loop's variable, where its bounds are constant and it has rounds: how many.
    fn enter(&mut self, stmt: &Stmt) -> Option<u64> {
        let Stmt::For { var, begin, end, .. } = stmt else { return None };
        let (begin, end) = (self.form(*begin)?.value()?, self.form(*end)?.value()?);
        let count = u64::try_from(end - begin).ok().filter(|count| *count > 0)?;
        self.bind(*var, begin, end - 1)?;
        Some(count)
    }

    /// An integer that is never negative, nor near the end of its type.
    fn form(&mut self, id: ExprId) -> Option<Form> {
        let kernel = self.kernel;
        let expr = &kernel.exprs[id];
        let form = match &expr.kind {
            ExprKind::Const(value) => Form::constant(value.as_int()?),
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
        (first >= 0 && last <= MOST && expr.ty.is_int() && expr.ty.size() >= 4).then_some(form)
    }

    fn forms(&mut self, index: &[ExprId]) -> Option<Vec<Form>> {
        index.iter().map(|at| self.form(*at)).collect()
    }

    /// The box of elements that so many stores fill.
    fn box_of(&mut self, index: &[ExprId], stores: u64) -> Option<Extent> {
        let forms: Vec<_> = self.forms(index)?.into_iter().map(Some).collect();
        if !apart_in_loop(&self.space, &forms, &forms) {
            return None;
        }
        let extent: Extent =
            forms.iter().flatten().map(|form| self.space.range(form)).collect::<Option<_>>()?;
        let all = extent
            .iter()
            .try_fold(1i128, |all, (first, last)| all.checked_mul(last - first + 1))?;
        (all == i128::from(stores)).then_some(extent)
    }

    fn is_within(&mut self, index: &[ExprId], extent: &Extent) -> bool {
        let Some(forms) = self.forms(index) else { return false };
        forms.len() == extent.len()
            && forms.iter().zip(extent).all(|(form, (first, last))| {
                self.space.range(form).is_some_and(|range| range.0 >= *first && range.1 <= *last)
            })
    }
}
