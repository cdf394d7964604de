//! `Ordering`, as its discriminant: -1, 0 or 1.

use quadrants_ir::{BinaryOp, ExprId, ScalarType};

use super::{emit::Emitter, number::bits_of};

impl Emitter {
    /// The order of two numbers of one type: for floats, the total order of std's `total_cmp`.
    pub(super) fn compare(&mut self, a: ExprId, b: ExprId) -> ExprId {
        let [a, b] = [a, b].map(|value| match self.ty(value).is_float() {
            true => self.total_order_key(value),
            false => self.widen(value),
        });
        let ([a, a1], [b, b1]) = (self.copies(a), self.copies(b));
        let greater = self.binary(BinaryOp::Gt, a, b);
        let less = self.binary(BinaryOp::Lt, a1, b1);
        let [greater, less] = [greater, less].map(|is| self.as_type(is, ScalarType::I32));
        self.binary(BinaryOp::Sub, greater, less)
    }

    /// The bits of a float as a signed integer; if it is negative, with all bits but the sign inverted.
    fn total_order_key(&mut self, value: ExprId) -> ExprId {
        let (ty, width) = match bits_of(self.ty(value)) {
            ScalarType::U64 => (ScalarType::I64, 64_u32),
            _ => (ScalarType::I32, 32),
        };
        let bits = self.bits_as(value, ty);
        let [bits, sign] = self.copies(bits);
        let last = self.constant(width - 1);
        let all = self.binary(BinaryOp::Shr, sign, last);
        let unsigned = self.as_type(all, ty.unsigned());
        let one = self.constant(1_u32);
        let others = self.binary(BinaryOp::Shr, unsigned, one);
        let others = self.as_type(others, ty);
        self.binary(BinaryOp::Xor, bits, others)
    }

    /// A method of `Ordering`. `None` if there is none with this name and as many operands.
    pub(super) fn ordering_method(&mut self, name: &str, operands: &[ExprId]) -> Option<ExprId> {
        let op = match (name, operands) {
            ("then", &[first, second]) => {
                let [first, tested] = self.copies(first);
                let zero = self.constant(0_i32);
                let is_equal = self.binary(BinaryOp::Eq, tested, zero);
                return Some(self.select(is_equal, second, first));
            }
            ("reverse", &[value]) => {
                let zero = self.constant(0_i32);
                return Some(self.binary(BinaryOp::Sub, zero, value));
            }
            ("is_eq", [_]) => BinaryOp::Eq,
            ("is_ne", [_]) => BinaryOp::Ne,
            ("is_lt", [_]) => BinaryOp::Lt,
            ("is_gt", [_]) => BinaryOp::Gt,
            ("is_le", [_]) => BinaryOp::Le,
            ("is_ge", [_]) => BinaryOp::Ge,
            _ => return None,
        };
        let zero = self.constant(0_i32);
        Some(self.binary(op, operands[0], zero))
    }
}
