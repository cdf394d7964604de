//! Facts about prefix sums over the threads of a block, about sums over all of them, and about what is stored in shared
//! arrays.
//!
//! No amount is negative, and the sum of all fits the type, so that nothing wraps. Amounts are bounded by those of any
//! thread, whatever holds for the threads of the two accesses.

use super::{
    Constraint, ConstraintBuilder, IntType, LinearExpr, LoopContext, NodeId, TicketSource, range_of,
};
use crate::races::{Counter, Stored, value_graph::int_range};

/// The bounds of the amounts that the threads of a block give.
#[derive(Clone, Copy)]
struct AmountBounds {
    /// The largest amount.
    most: i128,
    /// The number of the last thread.
    last: i128,
}

impl ConstraintBuilder<'_> {
    /// The bounds of the amounts, if their sum cannot wrap.
    fn amounts(
        &mut self,
        side: usize,
        amount: NodeId,
        ty: IntType,
        thread: NodeId,
    ) -> Option<AmountBounds> {
        let index_type = self.sides[side].graph.index_type;
        let thread = self.exact(side, thread, index_type)?;
        let (least, most) = range_of(self.sides[side], amount, ty)?;
        let (first, last) = self.system.range(&thread)?;
        let sum = last.checked_add(1)?.checked_mul(most)?;
        let fits = first >= 0 && least >= 0 && sum <= int_range(ty).1;
        fits.then_some(AmountBounds { most, last })
    }

    /// The value of a node that is the sum of an amount over all threads.
    pub(super) fn total(&mut self, side: usize, id: NodeId, ty: IntType) -> Option<LinearExpr> {
        let totals = &self.sides[side].graph.totals;
        let [amount, _, thread] = *totals.iter().find(|[_, sum, _]| *sum == id)?;
        let AmountBounds { most, last } = self.amounts(side, amount, ty, thread)?;
        Some(self.fresh(0, (last + 1) * most))
    }

    /// The value of a node that is loaded from a shared array: one of those that the task stores there, or zero, plus
    /// what is added to it.
    pub(super) fn stored(&mut self, side: usize, id: NodeId, ty: IntType) -> Option<LinearExpr> {
        let graph = self.sides[side].graph;
        let (_, Stored { values, added }) = graph.stored.iter().find(|(load, _)| *load == id)?;
        let mut range = (0, 0);
        for value in values {
            let (least, most) = range_of(self.sides[side], *value, ty)?;
            range = (range.0.min(least), range.1.max(most));
        }
        for (amount, times) in added {
            let (least, most) = range_of(self.sides[side], *amount, ty)?;
            let sum = most.checked_mul(*times).filter(|_| least >= 0)?;
            range.1 = range.1.checked_add(sum).filter(|sum| *sum <= int_range(ty).1)?;
        }
        Some(self.fresh(range.0, range.1))
    }

    /// States that what a ticket reserves is within the counter's value after all additions, and that the ticket is not
    /// below the counter's first value.
    pub(super) fn limit_by_total(
        &mut self,
        side: usize,
        counter: usize,
        ticket: &LinearExpr,
    ) -> Option<()> {
        let graph = self.sides[side].graph;
        let Counter { ty, amount, .. } = graph.counters[counter];
        let totals = graph.totals_of_counters.iter().filter(|(of, _)| *of == counter);
        for (_, total) in totals {
            // The counter does not wrap if the sum of all amounts is known to fit.
            let stored = self.stored(side, *total, ty)?;
            let (least, _) = self.system.range(&stored)?;
            self.system.add(Constraint::at_most(&LinearExpr::constant(least), ticket));
            let end = ticket.add(&self.exact(side, amount, ty)?)?;
            let total = self.exact(side, *total, ty)?;
            self.system.add(Constraint::at_most(&end, &total));
        }
        Some(())
    }

    /// The value of a prefix sum: at most the number of earlier threads times the largest amount. With the thread's own
    /// amount it is at most the sum over all threads, and less by at most what the later ones can add.
    pub(super) fn prefix_sum(&mut self, side: usize, counter: usize) -> Option<LinearExpr> {
        let LoopContext { graph, .. } = self.sides[side];
        let Counter { source: TicketSource::Scan(_), ty, ref cell, amount, .. } =
            graph.counters[counter]
        else {
            return None;
        };
        let thread_id = *cell.first()?;
        let AmountBounds { most, last } = self.amounts(side, amount, ty, thread_id)?;
        let sum = self.fresh(0, last * most);
        let thread = self.exact(side, thread_id, graph.index_type)?;
        self.system.add(Constraint::at_most(&sum, &thread.scale(most)?));
        let end = sum.add(&self.exact(side, amount, ty)?)?;
        let rest = thread.scale(-1)?.add_constant(last)?.scale(most)?;
        for [_, total, _] in graph.totals.iter().filter(|[of, ..]| *of == amount) {
            let total = self.exact(side, *total, ty)?;
            self.system.add(Constraint::at_most(&end, &total));
            self.system.add(Constraint::at_most(&total, &end.add(&rest)?));
        }
        Some(sum)
    }

    /// States that the prefix sum of a later thread is larger by the amounts of the threads from the earlier one on.
    pub(super) fn relate_prefix_sums(
        &mut self,
        sums: [(usize, &Counter, &LinearExpr); 2],
    ) -> Option<()> {
        let mut of = |(side, counter, sum): (usize, &Counter, &LinearExpr)| {
            let index_type = self.sides[side].graph.index_type;
            let thread_id = *counter.cell.first()?;
            let thread = self.exact(side, thread_id, index_type)?;
            let amount = self.exact(side, counter.amount, counter.ty)?;
            let bounds = self.amounts(side, counter.amount, counter.ty, thread_id)?;
            Some((thread, amount, bounds.most, sum.clone()))
        };
        let [first, second] = [of(sums[0])?, of(sums[1])?];
        type Sum = (LinearExpr, LinearExpr, i128, LinearExpr);
        let grows = |(thread, amount, most, sum): &Sum, (later, _, _, later_sum): &Sum| {
            let distance = later_sum.sub(sum)?;
            let between = later.sub(thread)?.add_constant(-1)?;
            Some(Constraint::All(vec![
                Constraint::less(thread, later)?,
                Constraint::at_most(amount, &distance)?,
                Constraint::at_most(&distance, &between.scale(*most)?.add(amount)?)?,
            ]))
        };
        let same = Constraint::All(vec![
            Constraint::equal(&first.0, &second.0)?,
            Constraint::equal(&first.3, &second.3)?,
        ]);
        let cases = vec![same, grows(&first, &second)?, grows(&second, &first)?];
        self.system.add(Constraint::Any(cases));
        Some(())
    }
}
