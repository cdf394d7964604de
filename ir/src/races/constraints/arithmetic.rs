//! Divisions, bit operations with constants, and products of linear values.

use super::{Constraint, ConstraintBuilder, IntType, LinearExpr, SystemVar, int_range};
use crate::{BinaryOp, races::solve::MAX_VALUE};

impl ConstraintBuilder<'_> {
    /// A bit operation with a constant, by the runs of ones in the constant.
    pub(super) fn masked(
        &mut self,
        op: BinaryOp,
        x: &LinearExpr,
        mask: i128,
    ) -> Option<LinearExpr> {
        // The bits of `x` in the runs, and the runs themselves, in their places.
        let (mut kept, mut ones) = (LinearExpr::constant(0), mask);
        let mut first = 0;
        while ones != 0 {
            let zeros = ones.trailing_zeros();
            (ones, first) = (ones >> zeros, first + zeros);
            let high = self.floored(x, 1 << first)?.0;
            let count = ones.trailing_ones();
            // The ones of a negative constant never end.
            let field = if ones == -1 { high } else { self.floored(&high, 1 << count)?.1 };
            kept = kept.plus(1 << first, &field)?;
            if ones == -1 {
                break;
            }
            (ones, first) = (ones >> count, first + count);
        }
        match op {
            BinaryOp::And => Some(kept),
            BinaryOp::Or => x.sub(&kept)?.add_constant(mask),
            BinaryOp::Xor => x.plus(-2, &kept)?.add_constant(mask),
            _ => None,
        }
    }

    /// A bit operation of two values that are not negative, by the bits that both have: `x | y` is `x + y - (x & y)`, and
    /// `x ^ y` is `x + y - 2 * (x & y)`. So the lowest bit of `x ^ y` is that of the sum.
    pub(super) fn combined_bits(
        &mut self,
        op: BinaryOp,
        ty: IntType,
        [x, y]: [&LinearExpr; 2],
    ) -> Option<LinearExpr> {
        let most = self.system.range(x)?.1.min(self.system.range(y)?.1);
        let both = self.fresh(0, most);
        for operand in [x, y] {
            self.system.add(Constraint::at_most(&both, operand));
        }
        let times = match op {
            BinaryOp::And => return Some(both),
            BinaryOp::Or => 1,
            _ => 2,
        };
        // A variable, because the range of the sum is wider than that of the value.
        let value = self.fresh(0, int_range(ty).1);
        self.system.add(Constraint::equal(&value, &x.add(y)?.plus(-times, &both)?));
        if op == BinaryOp::Or {
            for operand in [x, y] {
                self.system.add(Constraint::at_most(operand, &value));
            }
        }
        Some(value)
    }

    /// The difference `x - y`, if `y` is the remainder of a division of `x`.
    pub(super) fn without_remainder(&self, x: &LinearExpr, y: &LinearExpr) -> Option<LinearExpr> {
        let mut floors = self.floors.iter();
        let ((_, by), (quotient, _)) =
            floors.find(|((dividend, _), (_, remainder))| dividend == x && remainder == y)?;
        quotient.scale(*by)
    }

    /// The quotient, rounded down, and the remainder of a division by a positive constant.
    pub(super) fn floored(&mut self, a: &LinearExpr, by: i128) -> Option<(LinearExpr, LinearExpr)> {
        if by == 1 {
            return Some((a.clone(), LinearExpr::constant(0)));
        }
        let mut high = LinearExpr::constant(a.constant_term().div_euclid(by));
        for &(var, coef) in a.terms() {
            // The remaining coefficient is the smallest one, so that the bounds of the quotient are tight.
            let up = 2 * coef.rem_euclid(by) > by;
            high = high.plus(coef.div_euclid(by) + i128::from(up), &LinearExpr::var(var))?;
        }
        let low = a.plus(-by, &high)?;
        let (lo, hi) = self.system.range(&low)?;
        if lo >= 0 && hi < by {
            return Some((high, low));
        }
        let key = (low.clone(), by);
        if let Some((quotient, remainder)) = self.floors.get(&key) {
            return Some((high.add(quotient)?, remainder.clone()));
        }
        let quotient = self.fresh(lo.div_euclid(by), hi.div_euclid(by));
        let remainder = self.fresh(0, by - 1);
        let whole = remainder.plus(by, &quotient)?;
        self.system.add(Constraint::equal(&low, &whole));
        self.floors.insert(key, (quotient.clone(), remainder.clone()));
        Some((high.add(&quotient)?, remainder))
    }

    /// The quotient, rounded towards zero, and the remainder. A zero divisor gives zeros.
    pub(super) fn truncated(
        &mut self,
        a: &LinearExpr,
        b: &LinearExpr,
    ) -> Option<(LinearExpr, LinearExpr)> {
        let range = self.system.range(a)?;
        if range.0 >= 0
            && let Some(by) = b.value().filter(|by| *by > 0)
        {
            return self.floored(a, by);
        }
        let key = (a.clone(), b.clone());
        if let Some(known) = self.quotients.get(&key) {
            return Some(known.clone());
        }
        let most = range.0.checked_neg()?.max(range.1);
        let by = b.value().filter(|by| *by > 0);
        let most_of = by.map_or([most, most], |by| [most / by, most.min(by - 1)]);
        let [quotient, remainder] = most_of.map(|most| self.fresh(-most, most));
        self.quotients.insert(key, (quotient.clone(), remainder.clone()));
        if let Some(by) = by {
            self.system.add(Constraint::equal(a, &remainder.plus(by, &quotient)?)?);
            let has_sign = |sign: i128| {
                let signed =
                    [a, &remainder].map(|value| value.scale(sign).map(Constraint::NonNegative));
                Some(Constraint::All(signed.into_iter().collect::<Option<_>>()?))
            };
            self.any([has_sign(1), has_sign(-1)]);
        } else if range.0 >= 0 {
            let product = self.product(b, &quotient)?;
            let is_quotient = Constraint::All(vec![
                Constraint::equal(a, &product.add(&remainder)?)?,
                Constraint::NonNegative(quotient.clone()),
                Constraint::NonNegative(remainder.clone()),
                Constraint::less(&remainder, b)?,
            ]);
            // Nothing is stated about negative divisors.
            let other = Constraint::at_most(b, &LinearExpr::constant(0))?;
            self.system.add(Constraint::Any(vec![is_quotient, other]));
        }
        Some((quotient, remainder))
    }

    /// The product of two values, as a sum of products of variables.
    pub(super) fn product(&mut self, a: &LinearExpr, b: &LinearExpr) -> Option<LinearExpr> {
        let [a, b] = self.of_one_variable(a, b)?;
        let (x, y) = (a.constant_term(), b.constant_term());
        let mut product = LinearExpr::constant(x.checked_mul(y)?);
        for &(var, coef) in a.terms() {
            product = product.plus(coef.checked_mul(y)?, &LinearExpr::var(var))?;
        }
        for &(var, coef) in b.terms() {
            product = product.plus(coef.checked_mul(x)?, &LinearExpr::var(var))?;
        }
        for &(v, c) in a.terms() {
            for &(w, d) in b.terms() {
                let of_vars = self.product_of_vars(v.min(w), v.max(w))?;
                product = product.plus(c.checked_mul(d)?, &LinearExpr::var(of_vars))?;
            }
        }
        Some(product)
    }

    /// A product within the range that the ranges of its factors give, which may be smaller than that of its terms.
    pub(super) fn within_corners(
        &mut self,
        product: LinearExpr,
        factors: [&LinearExpr; 2],
    ) -> Option<LinearExpr> {
        let [x, y] = [self.system.range(factors[0])?, self.system.range(factors[1])?];
        let corners = [(x.0, y.0), (x.0, y.1), (x.1, y.0), (x.1, y.1)];
        let corners = corners.map(|(a, b)| a.checked_mul(b));
        let (Some(lo), Some(hi)) = (corners.into_iter().min()?, corners.into_iter().max()?) else {
            return Some(product);
        };
        let range = self.system.range(&product)?;
        if range.0 >= lo && range.1 <= hi {
            return Some(product);
        }
        let value = self.fresh(lo, hi);
        self.system.add(Constraint::equal(&value, &product));
        Some(value)
    }

    /// The factors of a product. If both are multiples of one value of several variables, such as `i` and `i + 1` for
    /// the row `i` of a tile, that value becomes a variable, so that facts about squares apply.
    fn of_one_variable(&mut self, a: &LinearExpr, b: &LinearExpr) -> Option<[LinearExpr; 2]> {
        let whole = a.add_constant(-a.constant_term())?;
        let by = match (a.terms(), b.terms()) {
            ([first, _, ..], [other, ..]) if other.1 % first.1 == 0 => other.1 / first.1,
            _ => return Some([a.clone(), b.clone()]),
        };
        let rest = b.plus(-by, &whole)?;
        if rest.value().is_none() {
            return Some([a.clone(), b.clone()]);
        }
        let var = match self.compounds.get(&whole) {
            Some(var) => *var,
            None => {
                let (lo, hi) = self.system.range(&whole)?;
                let var = self.system.variable(lo, hi);
                self.system.add(Constraint::equal(&LinearExpr::var(var), &whole));
                self.compounds.insert(whole, var);
                var
            }
        };
        let var = LinearExpr::var(var);
        Some([var.add_constant(a.constant_term())?, rest.plus(by, &var)?])
    }

    fn product_of_vars(&mut self, v: SystemVar, w: SystemVar) -> Option<SystemVar> {
        if let Some(product) = self.products.get(&(v, w)) {
            return Some(*product);
        }
        let (x, y) = (self.system.bounds(v), self.system.bounds(w));
        let corners = [
            x.0.checked_mul(y.0)?,
            x.0.checked_mul(y.1)?,
            x.1.checked_mul(y.0)?,
            x.1.checked_mul(y.1)?,
        ];
        let lo = corners.iter().copied().min()?;
        let hi = corners.iter().copied().max()?;
        if lo < -MAX_VALUE || hi > MAX_VALUE {
            return None;
        }
        let product = self.system.variable(if v == w { lo.max(0) } else { lo }, hi);
        self.products.insert((v, w), product);
        // A factor of at least one makes no value smaller.
        for (factor, value) in [(v, w), (w, v)] {
            if self.system.bounds(factor).0 >= 1 && self.system.bounds(value).0 >= 0 {
                let (value, product) = (LinearExpr::var(value), LinearExpr::var(product));
                self.system.add(Constraint::at_most(&value, &product));
            }
        }
        Some(product)
    }
}
