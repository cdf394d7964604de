//! Interval arithmetic on integers.

use crate::{BinaryOp, Const, MathFn, ScalarType};

/// The values from `lo` to `hi`, or [`WRAPPED`](Self::WRAPPED).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Interval {
    pub(super) lo: i128,
    pub(super) hi: i128,
}

impl Interval {
    pub(super) fn of_argument(word: u64, ty: ScalarType) -> Self {
        match Const::from_bits(ty, word).as_int() {
            Some(value) => Self::point(value),
            None => Self::of(ty),
        }
    }

    /// A computation that may have overflowed its type, or a value of which nothing is known, not even the type.
    pub(super) const WRAPPED: Self = Self { lo: 1, hi: 0 };
    /// No value, of code that never runs. It counts as wrapped.
    pub(super) const NOTHING: Self = Self { lo: i128::MAX, hi: i128::MIN };
    /// A superset of the values of every type.
    pub(super) const ALL: Self = Self { lo: -(1 << 100), hi: 1 << 100 };
    const FALSE: Self = Self::point(0);
    const TRUE: Self = Self::point(1);
    const BOOL: Self = Self { lo: 0, hi: 1 };

    pub(super) const fn point(value: i128) -> Self {
        Self { lo: value, hi: value }
    }

    /// All values of an integer type or of bool. Float types have no interval, and the result for them is not used.
    pub(super) const fn of(ty: ScalarType) -> Self {
        match ty.int_range() {
            Some((lo, hi)) => Self { lo, hi },
            None => Self::BOOL,
        }
    }

    pub(super) const fn is_wrapped(self) -> bool {
        self.lo > self.hi
    }

    /// The value, if the interval has exactly one.
    pub(super) const fn value(self) -> Option<i128> {
        if self.lo == self.hi { Some(self.lo) } else { None }
    }

    /// Whether values of a 64-bit integer type fit into `i32`.
    pub(super) fn fits(self, ty: ScalarType) -> bool {
        let narrow = Self::of(ScalarType::I32);
        let lo = if ty.is_wide_signed_int() { narrow.lo } else { 0 };
        !self.is_wrapped() && lo <= self.lo && self.hi <= narrow.hi
    }

    /// All values of the type, if this is wrapped.
    pub(super) fn or_all(self, ty: ScalarType) -> Self {
        if self.is_wrapped() { Self::of(ty) } else { self }
    }

    /// The interval of a computation in type `ty`: wrapped if it may overflow.
    fn within(self, ty: ScalarType) -> Self {
        let all = Self::of(ty);
        if self.lo < all.lo || self.hi > all.hi { Self::WRAPPED } else { self }
    }

    /// The values for which the comparison `op` holds with some value of `by`; without an `op`, the values in `by`. The
    /// result may be empty.
    pub(super) fn narrow(self, op: Option<BinaryOp>, by: Self) -> Self {
        let Self { mut lo, mut hi } = self;
        match op {
            Some(BinaryOp::Lt) => hi = hi.min(by.hi - 1),
            Some(BinaryOp::Le) => hi = hi.min(by.hi),
            Some(BinaryOp::Gt) => lo = lo.max(by.lo + 1),
            Some(BinaryOp::Ge) => lo = lo.max(by.lo),
            Some(BinaryOp::Ne) => {
                lo += i128::from(by.value() == Some(lo));
                hi -= i128::from(by.value() == Some(hi));
            }
            _ => (lo, hi) = (lo.max(by.lo), hi.min(by.hi)),
        }
        Self { lo, hi }
    }

    /// The smallest interval that contains both.
    pub(super) fn join(self, other: Self) -> Self {
        Self { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    pub(super) fn neg(self, ty: ScalarType) -> Self {
        Self { lo: -self.hi, hi: -self.lo }.within(ty)
    }

    pub(super) fn not(self, ty: ScalarType) -> Self {
        let all = Self::of(ty);
        // Bitwise not maps the smallest value to the largest and reverses the order.
        Self { lo: all.lo + (all.hi - self.hi), hi: all.lo + (all.hi - self.lo) }
    }

    pub(super) fn abs(self, ty: ScalarType) -> Self {
        if self.lo >= 0 {
            return self;
        }
        let negated = Self { lo: -self.hi, hi: -self.lo };
        if self.hi <= 0 {
            negated.within(ty)
        } else {
            Self { lo: 0, ..negated.join(self) }.within(ty)
        }
    }

    pub(super) fn cast(self, ty: ScalarType) -> Self {
        let all = Self::of(ty);
        if self.lo < all.lo || self.hi > all.hi { all } else { self }
    }

    pub(super) fn select(self, then: Self, otherwise: Self) -> Self {
        match self.value() {
            Some(0) => otherwise,
            Some(_) => then,
            None => then.join(otherwise),
        }
    }

    pub(super) fn limit(function: MathFn, a: Self, b: Self) -> Self {
        match function {
            MathFn::Min => Self { lo: a.lo.min(b.lo), hi: a.hi.min(b.hi) },
            _ => Self { lo: a.lo.max(b.lo), hi: a.hi.max(b.hi) },
        }
    }

    /// A binary operator on operands that have not wrapped. `ty` is the type of the left operand.
    pub(super) fn binary(op: BinaryOp, ty: ScalarType, a: Self, b: Self) -> Self {
        match op {
            BinaryOp::Add => Self { lo: a.lo + b.lo, hi: a.hi + b.hi }.within(ty),
            BinaryOp::Sub => Self { lo: a.lo - b.hi, hi: a.hi - b.lo }.within(ty),
            BinaryOp::Mul => Self::mul(a, b).within(ty),
            BinaryOp::And if ty == ScalarType::Bool => Self::limit(MathFn::Min, a, b),
            BinaryOp::Or if ty == ScalarType::Bool => Self::limit(MathFn::Max, a, b),
            BinaryOp::And => match (a.lo >= 0, b.lo >= 0) {
                (true, true) => Self { lo: 0, hi: a.hi.min(b.hi) },
                (true, false) => Self { lo: 0, hi: a.hi },
                (false, true) => Self { lo: 0, hi: b.hi },
                (false, false) => Self::of(ty),
            },
            BinaryOp::Shl | BinaryOp::Shr => match b.value() {
                Some(count) => {
                    let count = count as u32 & (8 * ty.size() as u32 - 1);
                    if op == BinaryOp::Shr {
                        Self { lo: a.lo >> count, hi: a.hi >> count }
                    } else {
                        Self::mul(a, Self::point(1 << count)).within(ty)
                    }
                }
                None => Self::of(ty),
            },
            BinaryOp::Lt => Self::truth(a.hi < b.lo, a.lo >= b.hi),
            BinaryOp::Le => Self::truth(a.hi <= b.lo, a.lo > b.hi),
            BinaryOp::Gt => Self::truth(a.lo > b.hi, a.hi <= b.lo),
            BinaryOp::Ge => Self::truth(a.lo >= b.hi, a.hi < b.lo),
            BinaryOp::Eq => Self::truth(a == b && a.value().is_some(), a.hi < b.lo || b.hi < a.lo),
            BinaryOp::Ne => Self::truth(a.hi < b.lo || b.hi < a.lo, a == b && a.value().is_some()),
            BinaryOp::Or | BinaryOp::Xor | BinaryOp::Div | BinaryOp::Rem => Self::of(ty),
        }
    }

    /// Integer division. Precise only for a positive divisor.
    pub(super) fn div(ty: ScalarType, a: Self, b: Self) -> Self {
        if b.lo <= 0 {
            return Self::of(ty);
        }
        // A larger divisor moves the quotient towards zero.
        let lo = if a.lo < 0 { a.lo / b.lo } else { a.lo / b.hi };
        let hi = if a.hi < 0 { a.hi / b.hi } else { a.hi / b.lo };
        Self { lo, hi }
    }

    /// Integer remainder. Precise only for a positive divisor.
    pub(super) fn rem(ty: ScalarType, a: Self, b: Self) -> Self {
        if b.lo <= 0 {
            return Self::of(ty);
        }
        if a.lo >= 0 && a.hi < b.lo {
            return a;
        }
        let most = b.hi - 1;
        Self { lo: a.lo.max(-most).min(0), hi: a.hi.min(most).max(0) }
    }

    fn mul(a: Self, b: Self) -> Self {
        let corners = [(a.lo, b.lo), (a.lo, b.hi), (a.hi, b.lo), (a.hi, b.hi)];
        let mut found: Option<Self> = None;
        for (x, y) in corners {
            let Some(product) = x.checked_mul(y) else {
                // Exceeds every type.
                return Self { lo: i128::MIN, hi: i128::MAX };
            };
            let point = Self::point(product);
            found = Some(found.map_or(point, |all| all.join(point)));
        }
        found.unwrap_or(Self::WRAPPED)
    }

    fn truth(surely: bool, never: bool) -> Self {
        match (surely, never) {
            (true, _) => Self::TRUE,
            (_, true) => Self::FALSE,
            _ => Self::BOOL,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All intervals with both ends among a few values near zero and near the limits of `i32`.
    fn intervals() -> Vec<Interval> {
        let ends = [i128::from(i32::MIN), -3, -1, 0, 2, 5, i128::from(i32::MAX)];
        let pair = |lo| ends.into_iter().map(move |hi| Interval { lo, hi });
        ends.into_iter().flat_map(pair).filter(|i| !i.is_wrapped()).collect()
    }

    /// The ends of an interval, and its values near zero.
    fn samples(of: Interval) -> impl Iterator<Item = i32> {
        let near = (-6..=6).chain([of.lo, of.lo + 1, of.hi - 1, of.hi]);
        near.filter(move |v| (of.lo..=of.hi).contains(v)).map(|v| v as i32)
    }

    /// Checks that `found` contains `result`. There is no result if the computation overflowed.
    fn holds(found: Interval, result: Option<i32>, what: &str) {
        let inside = result.is_some_and(|v| (found.lo..=found.hi).contains(&i128::from(v)));
        assert!(found.is_wrapped() || inside, "{what}: {result:?} is not in {found:?}");
    }

    #[test]
    fn intervals_contain_all_results() {
        use BinaryOp::*;
        let ty = ScalarType::I32;
        let mut wrapped = 0;
        for a in intervals() {
            for x in samples(a) {
                holds(a.neg(ty), x.checked_neg(), "neg");
                holds(a.abs(ty), x.checked_abs(), "abs");
                holds(a.not(ty), Some(!x), "not");
                holds(a.cast(ScalarType::U32).cast(ty), Some(x as u32 as i32), "cast");
            }
            for b in intervals() {
                wrapped += u32::from(Interval::binary(Add, ty, a, b).is_wrapped());
                for (x, y) in samples(a).flat_map(|x| samples(b).map(move |y| (x, y))) {
                    let check = |op, result, what| {
                        holds(Interval::binary(op, ty, a, b), result, what);
                    };
                    check(Add, x.checked_add(y), "add");
                    check(Sub, x.checked_sub(y), "sub");
                    check(Mul, x.checked_mul(y), "mul");
                    check(And, Some(x & y), "and");
                    check(Or, Some(x | y), "or");
                    check(Xor, Some(x ^ y), "xor");
                    check(Shr, Some(x.wrapping_shr(y as u32)), "shr");
                    check(Lt, Some(i32::from(x < y)), "lt");
                    check(Le, Some(i32::from(x <= y)), "le");
                    check(Gt, Some(i32::from(x > y)), "gt");
                    check(Ge, Some(i32::from(x >= y)), "ge");
                    check(Eq, Some(i32::from(x == y)), "eq");
                    check(Ne, Some(i32::from(x != y)), "ne");
                    holds(Interval::limit(MathFn::Min, a, b), Some(x.min(y)), "min");
                    holds(Interval::limit(MathFn::Max, a, b), Some(x.max(y)), "max");
                    let div = if y == 0 { 0 } else { x.wrapping_div(y) };
                    let rem = if y == 0 { 0 } else { x.wrapping_rem(y) };
                    holds(Interval::div(ty, a, b), Some(div), "div");
                    holds(Interval::rem(ty, a, b), Some(rem), "rem");
                }
            }
        }
        // A wrapped interval carries no information, so it must be rare.
        assert!(wrapped < 28 * 28 / 2, "{wrapped} sums wrapped");
    }
}
