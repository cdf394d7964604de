//! Integer intervals, and what operators do to them.

use crate::{BinaryOp, MathFn, ScalarType};

/// The values from `lo` to `hi`, or [`WRAPPED`](Self::WRAPPED).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Interval {
    pub(super) lo: i128,
    pub(super) hi: i128,
}

impl Interval {
    /// A computation that may have left its type; so has whatever depends on it.
    pub(super) const WRAPPED: Self = Self { lo: 1, hi: 0 };
    const FALSE: Self = Self::point(0);
    const TRUE: Self = Self::point(1);
    const BOOL: Self = Self { lo: 0, hi: 1 };

    pub(super) const fn point(value: i128) -> Self {
        Self { lo: value, hi: value }
    }

    /// All values of an integer type or of bool; of a float type, which has no interval, nothing
    /// that anyone asks for.
    pub(super) const fn of(ty: ScalarType) -> Self {
        match ty.int_range() {
            Some((lo, hi)) => Self { lo, hi },
            None => Self::BOOL,
        }
    }

    pub(super) const fn is_wrapped(self) -> bool {
        self.lo > self.hi
    }

    /// The one value, where there is only one.
    pub(super) const fn value(self) -> Option<i128> {
        if self.lo == self.hi { Some(self.lo) } else { None }
    }

    /// The value of a computation on `ty`, or wrapped where it may leave the type.
    fn within(self, ty: ScalarType) -> Self {
        let all = Self::of(ty);
        if self.lo < all.lo || self.hi > all.hi { Self::WRAPPED } else { self }
    }

    /// The smallest interval with both.
    pub(super) fn join(self, other: Self) -> Self {
        Self { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    pub(super) fn neg(self, ty: ScalarType) -> Self {
        Self { lo: -self.hi, hi: -self.lo }.within(ty)
    }

    pub(super) fn not(self, ty: ScalarType) -> Self {
        let all = Self::of(ty);
        // Bitwise not counts down from the largest value where the smallest counts up.
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

    /// An operator on operands that have not wrapped; `ty` is the left one's type.
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

    /// Integer division; exact only for a positive divisor.
    pub(super) fn div(ty: ScalarType, a: Self, b: Self) -> Self {
        if b.lo <= 0 {
            return Self::of(ty);
        }
        // Division by more brings the quotient nearer to zero.
        let lo = if a.lo < 0 { a.lo / b.lo } else { a.lo / b.hi };
        let hi = if a.hi < 0 { a.hi / b.hi } else { a.hi / b.lo };
        Self { lo, hi }
    }

    /// Integer remainder; exact only for a positive divisor.
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
                // Beyond every type.
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
