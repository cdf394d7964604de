//! Value ranges of integers, for printing signed arithmetic: of the counters of loops that a small grid covers, of the
//! variables of serial loops with constant bounds, and of what is computed from these.
//!
//! Signed arithmetic wraps, which C++ does by unsigned types only. Where the result is known to be in range, it is
//! printed in the signed type: then the device compiler may assume that nothing wraps, and adds the constant distances
//! of neighbours, as in `x + 1`, to an address at no cost.

use quadrants_ir::{BinaryOp, ExprId, ExprKind, LocalId, MathFn, ScalarType};

use super::task::TaskPrinter;

/// The smallest and the largest value.
pub(super) type ValueRange = (i64, i64);

/// Counters are below this in the version of a loop for grids that cover it. Such a grid has fewer than 2^20 blocks of
/// at most 2^10 threads.
const COVERED_END: i64 = 1 << 30;

impl TaskPrinter<'_> {
    /// Notes that a local is a counter of a loop that a small grid covers.
    pub(super) fn note_covered_counter(&mut self, local: LocalId) {
        self.ranges.insert(local, (0, COVERED_END - 1));
    }

    /// Notes that a local is a counter of a loop whose bounds the launch has proven to be at most 2^30.
    pub(super) fn note_narrow_counter(&mut self, local: LocalId) {
        let unsigned = !self.kernel.locals[local].ty.is_wide_signed_int();
        let low = if unsigned { 0 } else { -COVERED_END };
        self.ranges.insert(local, (low, COVERED_END - 1));
    }

    /// Notes the range of a serial loop's variable, if the bounds are constant.
    pub(super) fn note_serial_counter(&mut self, var: LocalId, begin: ExprId, end: ExprId) {
        if let (Some((begin, _)), Some((end, _))) = (self.constant(begin), self.constant(end))
            && begin < end
        {
            self.ranges.insert(var, (begin, end - 1));
        }
    }

    /// Notes the range of a local, if that of its value is known.
    pub(super) fn note_definition(&mut self, local: LocalId, value: ExprId) {
        if !self.kernel.locals[local].mutable
            && let Some(range) = self.range_of(value)
        {
            self.ranges.insert(local, range);
        }
    }

    fn constant(&self, value: ExprId) -> Option<ValueRange> {
        match &self.kernel.exprs[value].kind {
            ExprKind::Const(value) => {
                let value = i64::try_from(value.as_int()?).ok()?;
                Some((value, value))
            }
            _ => None,
        }
    }

    /// Forgets all ranges, at the end of the code in which they hold.
    pub(super) fn forget_ranges(&mut self) {
        self.ranges.clear();
        self.known_ranges.clear();
    }

    /// The range of an integer, if it is known and nothing in its computation wraps.
    pub(super) fn range_of(&mut self, id: ExprId) -> Option<ValueRange> {
        // Expressions share operands.
        if let Some(known) = self.known_ranges.get(&id) {
            return *known;
        }
        let range = self.find_range(id);
        self.known_ranges.insert(id, range);
        range
    }

    fn find_range(&mut self, id: ExprId) -> Option<ValueRange> {
        let expr = &self.kernel.exprs[id];
        let (low, high) = match &expr.kind {
            ExprKind::Const(_) => self.constant(id)?,
            ExprKind::Local(local) => *self.ranges.get(local)?,
            ExprKind::Cast { value } => self.range_of(*value)?,
            ExprKind::Binary { op, lhs, rhs } => {
                let ((a, b), (c, d)) = (self.range_of(*lhs)?, self.range_of(*rhs)?);
                match op {
                    BinaryOp::Add => (a.checked_add(c)?, b.checked_add(d)?),
                    BinaryOp::Sub => (a.checked_sub(d)?, b.checked_sub(c)?),
                    BinaryOp::Mul => {
                        let products = [
                            a.checked_mul(c)?,
                            a.checked_mul(d)?,
                            b.checked_mul(c)?,
                            b.checked_mul(d)?,
                        ];
                        (*products.iter().min()?, *products.iter().max()?)
                    }
                    _ => return None,
                }
            }
            ExprKind::Math { function: function @ (MathFn::Min | MathFn::Max), args } => {
                let [first, second] = args[..] else { return None };
                let ((a, b), (c, d)) = (self.range_of(first)?, self.range_of(second)?);
                match function {
                    MathFn::Min => (a.min(c), b.min(d)),
                    _ => (a.max(c), b.max(d)),
                }
            }
            _ => return None,
        };
        let (least, most) = limits(expr.ty)?;
        (low >= least && high <= most).then_some((low, high))
    }
}

/// The smallest and the largest value of an integer type; those of 64-bit types as far as `i64` has them.
fn limits(ty: ScalarType) -> Option<ValueRange> {
    if !ty.is_int() {
        return None;
    }
    let bits = 8 * ty.size() as u32;
    Some(match (ty.is_wide_signed_int(), bits) {
        (true, 64) => (i64::MIN, i64::MAX),
        (true, _) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        (false, 64) => (0, i64::MAX),
        (false, _) => (0, (1 << bits) - 1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_of_the_types() {
        assert_eq!(limits(ScalarType::I32), Some((i32::MIN.into(), i32::MAX.into())));
        assert_eq!(limits(ScalarType::U32), Some((0, u32::MAX.into())));
        assert_eq!(limits(ScalarType::I64), Some((i64::MIN, i64::MAX)));
        assert_eq!(limits(ScalarType::U64), Some((0, i64::MAX)));
        assert_eq!(limits(ScalarType::F32), None);
    }
}
