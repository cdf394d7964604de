//! Facts about two values of one kind, one of each access: tickets, elements that differ, products, operations that are
//! their own inverse.

use super::{
    Constraint, ConstraintBuilder, IntType, LinearExpr, NodeId, SelfInverseOp, TensorRead,
    TensorReadIndex, TicketSource, ValueNode, int_range, widens,
};
use crate::UnaryOp;

/// The maximum number of pairs of values of one kind that facts are stated about.
const MAX_PAIRS: usize = 24;

/// How many values of one kind, and pairs of them, facts are already stated about.
#[derive(Default)]
struct PairProgress {
    done: usize,
    pairs: usize,
}

impl ConstraintBuilder<'_> {
    /// States the facts about pairs of values.
    pub(super) fn complete(&mut self) {
        self.relate_tickets_and_elements();
        self.relate_involutions();
        self.relate_products();
    }

    /// The cells of tickets and the indices of elements may depend on further ones.
    fn relate_tickets_and_elements(&mut self) {
        let (mut tickets, mut elements) = (PairProgress::default(), PairProgress::default());
        while tickets.done < self.tickets.len() || elements.done < self.elements.len() {
            self.relate_tickets(&mut tickets);
            self.relate_elements(&mut elements);
        }
    }

    fn relate_elements(&mut self, PairProgress { done, pairs }: &mut PairProgress) {
        while *done < self.elements.len() {
            let (side, read, value) = self.elements[*done].clone();
            for other in 0..*done {
                let (other_side, other_read, other_value) = self.elements[other].clone();
                if side != other_side && *pairs < MAX_PAIRS {
                    *pairs += 1;
                    self.relate_two_elements(
                        [side, other_side],
                        [read, other_read],
                        [&value, &other_value],
                    );
                }
            }
            *done += 1;
        }
    }

    fn read(&self, side: usize, reading: TensorReadIndex) -> (TensorRead, bool) {
        let graph = self.sides[side].graph;
        match reading {
            TensorReadIndex::Distinct(at) => (graph.distinct[at].clone(), true),
            TensorReadIndex::Any(at) => (graph.reads[at].1.clone(), false),
        }
    }

    /// States that two elements are equal if their indices are, and if all elements differ, only then.
    fn relate_two_elements(
        &mut self,
        sides: [usize; 2],
        reads: [TensorReadIndex; 2],
        [value, other_value]: [&LinearExpr; 2],
    ) -> Option<()> {
        let [(first, all_differ), (second, also)] =
            [0, 1].map(|at| self.read(sides[at], reads[at]));
        if first.tensor != second.tensor || first.ty != second.ty || all_differ != also {
            return None;
        }
        let mut cases = Vec::new();
        let mut same = vec![Constraint::equal(value, other_value)?];
        let differ = [Constraint::less(value, other_value)?, Constraint::less(other_value, value)?];
        for (dim, at) in first.index.iter().zip(&second.index).enumerate() {
            let types = sides.map(|side| self.sides[side].graph.index_type);
            let x = self.exact(sides[0], *at.0, types[0])?;
            let y = self.exact(sides[1], *at.1, types[1])?;
            // Outside of the tensor, all elements are zero.
            let limits = [(&x, &first), (&y, &second)].into_iter().filter(|_| all_differ);
            for (side, (at, read)) in limits.enumerate() {
                if let Some(extent) = read.extents.get(dim) {
                    let extent = self.exact(sides[side], *extent, types[side])?;
                    cases.push(Constraint::at_most(&extent, at)?);
                    cases.push(Constraint::less(at, &LinearExpr::constant(0))?);
                }
            }
            let orders = [Constraint::less(&x, &y)?, Constraint::less(&y, &x)?];
            if !all_differ {
                cases.extend(orders);
                continue;
            }
            same.push(Constraint::equal(&x, &y)?);
            for order in orders {
                cases.extend(
                    differ.clone().map(|differ| Constraint::All(vec![order.clone(), differ])),
                );
            }
        }
        cases.push(Constraint::All(same));
        self.system.add(Constraint::Any(cases));
        Some(())
    }

    fn relate_tickets(&mut self, PairProgress { done, pairs }: &mut PairProgress) {
        while *done < self.tickets.len() {
            let (side, counter, ticket) = self.tickets[*done].clone();
            for other in 0..*done {
                let (other_side, other_counter, other_ticket) = self.tickets[other].clone();
                let [first, second] = [(side, counter), (other_side, other_counter)];
                let counts =
                    |(side, counter): (usize, usize)| (self.sides[side].is_counter)(counter);
                if side != other_side && counts(first) && counts(second) && *pairs < MAX_PAIRS {
                    *pairs += 1;
                    self.relate(first, &ticket, second, &other_ticket);
                }
            }
            *done += 1;
        }
    }

    /// States that tickets of the same cell reserve different numbers.
    fn relate(
        &mut self,
        (side, counter): (usize, usize),
        ticket: &LinearExpr,
        (other_side, other_counter): (usize, usize),
        other_ticket: &LinearExpr,
    ) -> Option<()> {
        let counter = self.sides[side].graph.counters[counter].clone();
        let other = self.sides[other_side].graph.counters[other_counter].clone();
        // Blocks do not share their counters. Within a block, a ticket that one thread draws for all may be the very
        // one that the other side has as its own.
        let differ = if self.is_in_block() {
            !counter.is_of_one_thread && !other.is_of_one_thread
        } else {
            !counter.source.is_of_block()
        };
        if counter.ty != other.ty || !differ {
            return None;
        }
        if let [TicketSource::Scan(_), TicketSource::Scan(_)] = [counter.source, other.source]
            && counter.amount == other.amount
        {
            let tickets = [(side, &counter, ticket), (other_side, &other, other_ticket)];
            return self.relate_prefix_sums(tickets);
        }
        if counter.source != other.source {
            return None;
        }
        let types = [side, other_side].map(|side| self.sides[side].graph.index_type);
        let mut cases = Vec::new();
        for (dim, (at, at_other)) in counter.cell.iter().zip(&other.cell).enumerate() {
            let at = self.exact(side, *at, types[0])?;
            let at_other = self.exact(other_side, *at_other, types[1])?;
            if let Some(extent) = counter.extents.get(dim) {
                let extent = self.exact(side, *extent, types[0])?;
                cases.push(Constraint::at_most(&extent, &at)?);
                cases.push(Constraint::less(&at, &LinearExpr::constant(0))?);
            }
            cases.push(Constraint::less(&at, &at_other)?);
            cases.push(Constraint::less(&at_other, &at)?);
        }
        let amount = self.exact(side, counter.amount, counter.ty)?;
        let other_amount = self.exact(other_side, other.amount, other.ty)?;
        let distance = other_ticket.sub(ticket)?;
        // Tickets may go past the type's largest value once.
        let size = counter.ty.map(|ty| 1 << (8 * ty.size()));
        for distance in [Some(distance.clone()), distance.add_constant(size.unwrap_or(0))] {
            let distance = distance?;
            let mut order = vec![Constraint::at_most(&amount, &distance)?];
            if let Some(size) = size {
                let last = distance.add(&other_amount)?;
                order.push(Constraint::at_most(&last, &LinearExpr::constant(size))?);
            }
            cases.push(Constraint::All(order));
        }
        if size.is_none() {
            cases.push(Constraint::NonNegative(distance.scale(-1)?.sub(&other_amount)?));
        }
        self.system.add(Constraint::Any(cases));
        Some(())
    }

    /// Whether both sides are threads of one block.
    fn is_in_block(&self) -> bool {
        self.is_same_loop && self.sides[0].space.is_in_block()
    }

    fn relate_involutions(&mut self) {
        let all = std::mem::take(&mut self.involutions);
        let of_side = |side: usize| all.iter().filter(move |one| one.0 == side);
        let pairs = of_side(0).flat_map(|a| of_side(1).map(move |b| (a, b)));
        let same = pairs.filter(|(a, b)| a.1 == b.1);
        for ((_, _, [x, result]), (_, _, [y, other_result])) in same.take(MAX_PAIRS) {
            self.system.add(equal_together([x, y], [result, other_result]));
            self.system.add(equal_together([result, y], [other_result, x]));
        }
    }

    fn relate_products(&mut self) {
        let mut products: Vec<_> = self.products.iter().map(|(of, var)| (*of, *var)).collect();
        products.sort_unstable();
        let mut facts = Vec::new();
        for (at, &((a, b), first)) in products.iter().enumerate() {
            for &((c, d), second) in &products[at + 1..] {
                let (first, second) = (LinearExpr::var(first), LinearExpr::var(second));
                // `f * x` and `f * y`, or `x * x` and `y * y`
                let (x, y, factor) = match (a == b && c == d, a == c, a == d, b == c, b == d) {
                    (true, ..) => (a, c, None),
                    (_, true, ..) => (b, d, Some(a)),
                    (_, _, true, ..) => (b, c, Some(a)),
                    (_, _, _, true, _) => (a, d, Some(b)),
                    (_, _, _, _, true) => (a, c, Some(b)),
                    _ => continue,
                };
                let least = match factor {
                    Some(factor) => self.system.bounds(factor).0,
                    None => self.system.bounds(x).0.min(self.system.bounds(y).0),
                };
                if x == y || least < 0 {
                    continue;
                }
                let largest = self.system.bounds(x).1.max(self.system.bounds(y).1);
                let (x, y) = (LinearExpr::var(x), LinearExpr::var(y));
                facts.push(match factor {
                    Some(factor) => {
                        let step = LinearExpr::var(factor);
                        increasing([&x, &y], [&first, &second], &step, None)
                    }
                    None => x.add(&y).and_then(|sum| {
                        increasing([&x, &y], [&first, &second], &sum, Some(largest))
                    }),
                });
            }
        }
        facts.into_iter().take(MAX_PAIRS).for_each(|fact| self.system.add(fact));
    }
}

/// `x == y` if and only if `f == g`.
fn equal_together([x, y]: [&LinearExpr; 2], [f, g]: [&LinearExpr; 2]) -> Option<Constraint> {
    let mut cases = vec![Constraint::All(vec![Constraint::equal(x, y)?, Constraint::equal(f, g)?])];
    for [x, y] in [[x, y], [y, x]] {
        for [f, g] in [[f, g], [g, f]] {
            cases.push(Constraint::All(vec![Constraint::less(x, y)?, Constraint::less(f, g)?]));
        }
    }
    Some(Constraint::Any(cases))
}

/// `x < y` makes `g - f` at least `step`, and so in reverse; `x == y` makes them equal. For squares of values that are
/// at most `largest`, also states how much the difference is at most: with `u` and `v` for the distances from
/// `largest`, it is `2 * largest * (v - u) - (v * v - u * u)`, and `v * v - u * u >= u + v`.
fn increasing(
    [x, y]: [&LinearExpr; 2],
    [f, g]: [&LinearExpr; 2],
    step: &LinearExpr,
    largest: Option<i128>,
) -> Option<Constraint> {
    let grows = |[x, y]: [&LinearExpr; 2], [f, g]: [&LinearExpr; 2]| {
        let by = g.sub(f)?;
        let mut all = vec![Constraint::less(x, y)?, Constraint::at_most(step, &by)?];
        let twice = largest.and_then(|largest| largest.checked_mul(2));
        let most = twice.and_then(|twice| {
            y.sub(x)?.scale(twice)?.add(&x.add(y)?)?.add_constant(twice.checked_neg()?)
        });
        all.extend(most.and_then(|most| Constraint::at_most(&by, &most)));
        Some(Constraint::All(all))
    };
    let equal = Constraint::All(vec![Constraint::equal(x, y)?, Constraint::equal(f, g)?]);
    Some(Constraint::Any(vec![equal, grows([x, y], [f, g])?, grows([y, x], [g, f])?]))
}

impl ConstraintBuilder<'_> {
    /// The reversal of the bits of a value of unsigned type `ty`, shifted so that `bits` bits remain.
    pub(super) fn reversed(
        &mut self,
        side: usize,
        value: NodeId,
        ty: IntType,
        bits: u32,
    ) -> Option<LinearExpr> {
        let is_unsigned = int_range(ty).0 == 0;
        let most = if is_unsigned { (1 << bits) - 1 } else { int_range(ty).1 };
        let least = if is_unsigned { 0 } else { int_range(ty).0 };
        let result = self.fresh(least, most);
        let value = self.exact(side, value, ty)?;
        let (lo, hi) = self.system.range(&value)?;
        if is_unsigned && lo >= 0 && hi <= most {
            let reversal = SelfInverseOp::ReverseBits(bits);
            self.involutions.push((side, reversal, [value, result.clone()]));
        }
        Some(result)
    }

    /// The type and the operand of a reversal of bits, possibly in a wider type.
    pub(super) fn reversal(
        &self,
        side: usize,
        of: NodeId,
        ty: IntType,
    ) -> Option<(IntType, NodeId)> {
        let nodes = &self.sides[side].graph.nodes;
        match nodes[of as usize] {
            ValueNode::Unary(UnaryOp::ReverseBits, own, value) if own == ty => Some((own, value)),
            ValueNode::Cast { from, to, value }
                if to == ty && widens(from, to) && int_range(from).0 == 0 =>
            {
                match nodes[value as usize] {
                    ValueNode::Unary(UnaryOp::ReverseBits, own, value) if own == from => {
                        Some((own, value))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}
