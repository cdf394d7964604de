//! Facts about two values of one kind, one of each access: tickets, products, operations that are their own inverse.

use super::{Formula, Linear, Terms};

/// The maximum number of pairs of products, of involutions or of tickets that facts are stated about.
const MAX_PAIRS: usize = 24;

impl Terms<'_> {
    /// States the facts about pairs of values.
    pub(super) fn complete(&mut self) {
        self.relate_tickets();
        self.relate_involutions();
        self.relate_products();
    }

    fn relate_tickets(&mut self) {
        let (mut done, mut pairs) = (0, 0);
        // The cells of tickets may depend on further tickets.
        while done < self.tickets.len() {
            let (side, counter, ticket) = self.tickets[done].clone();
            for other in 0..done {
                let (other_side, other_counter, other_ticket) = self.tickets[other].clone();
                let [first, second] = [(side, counter), (other_side, other_counter)];
                let counts =
                    |(side, counter): (usize, usize)| (self.sides[side].is_counter)(counter);
                if side != other_side && counts(first) && counts(second) && pairs < MAX_PAIRS {
                    pairs += 1;
                    self.relate(first, &ticket, second, &other_ticket);
                }
            }
            done += 1;
        }
    }

    /// States that tickets of the same cell reserve different numbers.
    fn relate(
        &mut self,
        (side, counter): (usize, usize),
        ticket: &Linear,
        (other_side, other_counter): (usize, usize),
        other_ticket: &Linear,
    ) -> Option<()> {
        let counter = self.sides[side].program.counters[counter].clone();
        let other = self.sides[other_side].program.counters[other_counter].clone();
        if counter.tensor != other.tensor || counter.ty != other.ty {
            return None;
        }
        let types = [side, other_side].map(|side| self.sides[side].program.index_type);
        let mut cases = Vec::new();
        for (dim, (at, at_other)) in counter.cell.iter().zip(&other.cell).enumerate() {
            let at = self.exact(side, *at, types[0])?;
            let at_other = self.exact(other_side, *at_other, types[1])?;
            if let Some(extent) = counter.extents.get(dim) {
                let extent = self.exact(side, *extent, types[0])?;
                cases.push(Formula::at_most(&extent, &at)?);
                cases.push(Formula::less(&at, &Linear::constant(0))?);
            }
            cases.push(Formula::less(&at, &at_other)?);
            cases.push(Formula::less(&at_other, &at)?);
        }
        let amount = self.exact(side, counter.amount, counter.ty)?;
        let other_amount = self.exact(other_side, other.amount, other.ty)?;
        let distance = other_ticket.sub(ticket)?;
        // Tickets may go past the type's largest value once.
        let size = counter.ty.map(|ty| 1 << (8 * ty.size()));
        for distance in [Some(distance.clone()), distance.add_constant(size.unwrap_or(0))] {
            let distance = distance?;
            let mut order = vec![Formula::at_most(&amount, &distance)?];
            if let Some(size) = size {
                let last = distance.add(&other_amount)?;
                order.push(Formula::at_most(&last, &Linear::constant(size))?);
            }
            cases.push(Formula::All(order));
        }
        if size.is_none() {
            cases.push(Formula::NonNegative(distance.scale(-1)?.sub(&other_amount)?));
        }
        self.system.add(Formula::Any(cases));
        Some(())
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
                let (first, second) = (Linear::var(first), Linear::var(second));
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
                let (x, y) = (Linear::var(x), Linear::var(y));
                let step = factor.map_or_else(|| x.add(&y), |factor| Some(Linear::var(factor)));
                facts.push(increasing([&x, &y], [&first, &second], step.as_ref()));
            }
        }
        facts.into_iter().take(MAX_PAIRS).for_each(|fact| self.system.add(fact));
    }
}

/// `x == y` if and only if `f == g`.
fn equal_together([x, y]: [&Linear; 2], [f, g]: [&Linear; 2]) -> Option<Formula> {
    let mut cases = vec![Formula::All(vec![Formula::equal(x, y)?, Formula::equal(f, g)?])];
    for [x, y] in [[x, y], [y, x]] {
        for [f, g] in [[f, g], [g, f]] {
            cases.push(Formula::All(vec![Formula::less(x, y)?, Formula::less(f, g)?]));
        }
    }
    Some(Formula::Any(cases))
}

/// `x < y` makes `g - f` at least `step`, and so in reverse; `x == y` makes them equal.
fn increasing(
    [x, y]: [&Linear; 2],
    [f, g]: [&Linear; 2],
    step: Option<&Linear>,
) -> Option<Formula> {
    let step = step?;
    let grows = |[x, y]: [&Linear; 2], [f, g]: [&Linear; 2]| {
        Some(Formula::All(vec![Formula::less(x, y)?, Formula::at_most(step, &g.sub(f)?)?]))
    };
    let equal = Formula::All(vec![Formula::equal(x, y)?, Formula::equal(f, g)?]);
    Some(Formula::Any(vec![equal, grows([x, y], [f, g])?, grows([y, x], [g, f])?]))
}
