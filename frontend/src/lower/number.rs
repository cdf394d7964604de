//! Built-in methods of numbers as IR operations, defined as in std, so that every backend gives the same bits as the
//! CPU body.

use quadrants_ir::{
    BinaryOp, Const, DivRemOp, ExprId, ExprKind as Ir, MathFn, ScalarType, Site, Stmt, UnaryOp,
};

use super::emit::Emitter;

impl Emitter {
    /// Emits a method of `ty`, which is not narrow; `None` if `ty` has no such method. `site` is its error site.
    pub(super) fn number_method(
        &mut self,
        name: &str,
        ty: ScalarType,
        values: &[ExprId],
        site: &Site,
    ) -> Option<ExprId> {
        if let Some(function) = MathFn::from_name(name) {
            let fits = match function {
                MathFn::Abs => ty.is_float() || ty.is_wide_signed_int(),
                MathFn::Min | MathFn::Max => ty.is_float() || ty.is_int(),
                _ => ty.is_float(),
            };
            let fits = fits && values.len() == function.arity();
            return fits.then(|| self.math(function, values));
        }
        if ty.is_float() {
            return self.float_method(name, ty, values);
        }
        if ty.is_int() { self.int_method(name, ty, values, site) } else { None }
    }

    fn float_method(&mut self, name: &str, ty: ScalarType, values: &[ExprId]) -> Option<ExprId> {
        use BinaryOp::{Div, Gt, Lt, Mul, Ne, Rem, Sub};
        let float = |this: &mut Self, value: f64| match ty {
            ScalarType::F32 => this.constant(value as f32),
            _ => this.constant(value),
        };
        Some(match (name, values) {
            ("recip", &[x]) => {
                let one = float(self, 1.0);
                self.binary(Div, one, x)
            }
            ("fract", &[x]) => {
                let [x, copy] = self.copies(x);
                let whole = self.math(MathFn::Trunc, &[copy]);
                self.binary(Sub, x, whole)
            }
            ("to_radians" | "to_degrees", &[x]) => {
                // The constants of std, each rounded once.
                let factor = match (name, ty) {
                    ("to_radians", ScalarType::F32) => self.constant(1f32.to_radians()),
                    ("to_radians", _) => self.constant(1f64.to_radians()),
                    (_, ScalarType::F32) => self.constant(1f32.to_degrees()),
                    _ => self.constant(1f64.to_degrees()),
                };
                self.binary(Mul, x, factor)
            }
            ("clamp", &[x, low, high]) => {
                let [x, x1] = self.copies(x);
                let [low, low1] = self.copies(low);
                let [high, high1] = self.copies(high);
                let below = self.binary(Lt, x, low);
                let raised = self.select(below, low1, x1);
                let [raised, raised1] = self.copies(raised);
                let above = self.binary(Gt, raised, high);
                self.select(above, high1, raised1)
            }
            ("signum", &[x]) => {
                let [x, x2, x3] = self.copies(x);
                let one = float(self, 1.0);
                let sign = self.copysign(ty, one, x);
                let [x2, copy] = self.copies(x2);
                let nan = self.binary(Ne, x2, copy);
                self.select(nan, x3, sign)
            }
            ("copysign", &[x, sign]) => self.copysign(ty, x, sign),
            ("log", &[x, base]) => {
                let [x, base] = [x, base].map(|value| self.math(MathFn::Ln, &[value]));
                self.binary(Div, x, base)
            }
            ("midpoint", &[a, b]) => self.float_midpoint(ty, a, b),
            ("div_euclid", &[x, by]) => {
                let [x, x1] = self.copies(x);
                let [by, by1, by2] = self.copies(by);
                let quotient = self.binary(Div, x, by);
                let quotient = self.math(MathFn::Trunc, &[quotient]);
                let [quotient, quotient1] = self.copies(quotient);
                let remainder = self.binary(Rem, x1, by1);
                let zero = float(self, 0.0);
                let below = self.binary(Lt, remainder, zero);
                let one = float(self, 1.0);
                let step = self.copysign(ty, one, by2);
                let lowered = self.binary(Sub, quotient, step);
                self.select(below, lowered, quotient1)
            }
            ("rem_euclid", &[x, by]) => {
                let [by, by1] = self.copies(by);
                let remainder = self.binary(Rem, x, by);
                self.not_negative(remainder, by1)
            }
            ("is_nan", &[x]) => {
                let [x, copy] = self.copies(x);
                self.binary(Ne, x, copy)
            }
            ("is_finite" | "is_infinite", &[x]) => {
                let size = self.math(MathFn::Abs, &[x]);
                let infinity = float(self, f64::INFINITY);
                let op = if name == "is_finite" { Lt } else { BinaryOp::Eq };
                self.binary(op, size, infinity)
            }
            ("is_sign_negative" | "is_sign_positive", &[x]) => {
                let bits = bits_of(ty);
                let x = self.bits_as(x, bits);
                let sign = self.constant(Const::from_bits(bits, sign_bit(ty)));
                let op = if name == "is_sign_negative" { BinaryOp::Ge } else { Lt };
                self.binary(op, x, sign)
            }
            ("to_bits", &[x]) => self.bits_as(x, bits_of(ty)),
            _ => return None,
        })
    }

    fn int_method(
        &mut self,
        name: &str,
        ty: ScalarType,
        values: &[ExprId],
        site: &Site,
    ) -> Option<ExprId> {
        use BinaryOp::{Add, And, Eq, Gt, Le, Lt, Mul, Ne, Or, Shl, Shr, Sub, Xor};
        let int = |this: &mut Self, value: i64| this.constant(Const::from_bits(ty, value as u64));
        let signed = ty.is_wide_signed_int();
        Some(match (name, values) {
            ("wrapping_add", &[a, b]) => self.binary(Add, a, b),
            ("wrapping_sub", &[a, b]) => self.binary(Sub, a, b),
            ("wrapping_mul", &[a, b]) => self.binary(Mul, a, b),
            ("wrapping_neg", &[a]) => {
                let zero = int(self, 0);
                self.binary(Sub, zero, a)
            }
            ("wrapping_shl", &[a, n]) => self.binary(Shl, a, n),
            ("wrapping_shr", &[a, n]) => self.binary(Shr, a, n),
            ("saturating_sub", &[a, b]) if !signed => {
                let [b, copy] = self.copies(b);
                let most = self.math(MathFn::Max, &[a, b]);
                self.binary(Sub, most, copy)
            }
            ("saturating_add", &[a, b]) if !signed => {
                let [a, a1] = self.copies(a);
                let sum = self.binary(Add, a, b);
                let [sum, sum1] = self.copies(sum);
                let wraps = self.binary(Lt, sum, a1);
                let most = int(self, -1);
                self.select(wraps, most, sum1)
            }
            ("saturating_add" | "saturating_sub", &[a, b]) => {
                let adds = name == "saturating_add";
                let [a, a1, a2] = self.copies(a);
                let [b, b1] = self.copies(b);
                let wrapped = self.binary(if adds { Add } else { Sub }, a, b);
                let [wrapped, wrapped1, wrapped2] = self.copies(wrapped);
                // The sign bit of `overflow` is set if the operation overflowed.
                let own = self.binary(Xor, a1, wrapped);
                let with = if adds { wrapped1 } else { self.copy(a2) };
                let other = self.binary(Xor, b1, with);
                let overflow = self.binary(And, own, other);
                self.saturate(ty, [overflow, a2, wrapped2])
            }
            ("rotate_left" | "rotate_right", &[a, n]) => {
                let wide = ty.unsigned();
                let a = self.as_type(a, wide);
                let [a, a1] = self.copies(a);
                let [n, n1] = self.copies(n);
                let width = self.constant(8 * ty.size() as u32);
                let remainder = self.binary(Sub, width, n1);
                let (there, back) = if name == "rotate_left" { (Shl, Shr) } else { (Shr, Shl) };
                let high = self.binary(there, a, n);
                let low = self.binary(back, a1, remainder);
                let value = self.binary(Or, high, low);
                self.as_type(value, ty)
            }
            ("swap_bytes", &[a]) => self.swap_bytes(ty, a),
            ("reverse_bits", &[a]) => self.unary(UnaryOp::ReverseBits, a),
            ("count_ones", &[a]) => self.count(UnaryOp::CountOnes, a),
            ("count_zeros", &[a]) => {
                let zeros = self.unary(UnaryOp::Not, a);
                self.count(UnaryOp::CountOnes, zeros)
            }
            ("leading_ones", &[a]) => {
                let zeros = self.unary(UnaryOp::Not, a);
                self.count(UnaryOp::LeadingZeros, zeros)
            }
            ("trailing_ones", &[a]) => {
                let zeros = self.unary(UnaryOp::Not, a);
                self.count(UnaryOp::TrailingZeros, zeros)
            }
            ("leading_zeros", &[a]) => self.count(UnaryOp::LeadingZeros, a),
            ("trailing_zeros", &[a]) => self.count(UnaryOp::TrailingZeros, a),
            ("is_power_of_two", &[a]) if !signed => {
                let count = self.count(UnaryOp::CountOnes, a);
                let one = self.constant(1u32);
                self.binary(Eq, count, one)
            }
            ("next_power_of_two", &[a]) if !signed => {
                let [a, a1] = self.copies(a);
                let [one, one1, one2, one3] = [1; 4].map(|v| int(self, v));
                let less = self.binary(Sub, a, one);
                let zeros = self.count(UnaryOp::LeadingZeros, less);
                let all = int(self, -1);
                let ones = self.binary(Shr, all, zeros);
                let power = self.binary(Add, ones, one1);
                let small = self.binary(Le, a1, one2);
                self.select(small, one3, power)
            }
            ("is_multiple_of", &[a, b]) if !signed => {
                let [a, a1] = self.copies(a);
                let [b, b1] = self.copies(b);
                // Only zero is a multiple of zero; a remainder by one is zero.
                let one = int(self, 1);
                let by = self.math(MathFn::Max, &[b, one]);
                let remainder = self.division(DivRemOp::Rem, [a, by], site);
                let [zero, zero1] = [0; 2].map(|v| int(self, v));
                let by_zero = self.binary(Eq, b1, zero);
                let remainder = self.select(by_zero, a1, remainder);
                self.binary(Eq, remainder, zero1)
            }
            ("next_multiple_of", &[a, b]) if !signed => {
                let [a, a1] = self.copies(a);
                let [b, b1] = self.copies(b);
                let remainder = self.division(DivRemOp::Rem, [a, b], site);
                let [remainder, remainder1] = self.copies(remainder);
                let [zero, zero1] = [0; 2].map(|v| int(self, v));
                let is_multiple = self.binary(Eq, remainder, zero);
                let rest = self.binary(Sub, b1, remainder1);
                let rest = self.select(is_multiple, zero1, rest);
                self.binary(Add, a1, rest)
            }
            ("div_euclid", &[a, b]) if !signed => self.division(DivRemOp::Div, [a, b], site),
            ("div_euclid", &[a, b]) => {
                let [a, a1] = self.copies(a);
                let [b, b1, b2] = self.copies(b);
                let quotient = self.division(DivRemOp::Div, [a, b], site);
                let [quotient, quotient1] = self.copies(quotient);
                let remainder = self.division(DivRemOp::Rem, [a1, b1], site);
                let [zero, zero1] = [0; 2].map(|v| int(self, v));
                let [one, minus] = [1, -1].map(|v| int(self, v));
                let below = self.binary(Lt, remainder, zero);
                let above = self.binary(Gt, b2, zero1);
                let step = self.select(above, one, minus);
                let lowered = self.binary(Sub, quotient, step);
                self.select(below, lowered, quotient1)
            }
            ("rem_euclid", &[a, b]) => {
                let [b, b1] = self.copies(b);
                let remainder = self.division(DivRemOp::Rem, [a, b], site);
                if !signed {
                    return Some(remainder);
                }
                self.not_negative(remainder, b1)
            }
            ("div_ceil", &[a, b]) if !signed => {
                let [a, a1] = self.copies(a);
                let [b, b1] = self.copies(b);
                let quotient = self.division(DivRemOp::Div, [a, b], site);
                let remainder = self.division(DivRemOp::Rem, [a1, b1], site);
                let zero = int(self, 0);
                let some = self.binary(Ne, remainder, zero);
                let some = self.as_type(some, ty);
                self.binary(Add, quotient, some)
            }
            ("midpoint", &[a, b]) => {
                let [a, a1] = self.copies(a);
                let [b, b1] = self.copies(b);
                let both = self.binary(And, a, b);
                let either = self.binary(Xor, a1, b1);
                let [either, either1] = self.copies(either);
                let count = self.constant(1u32);
                let half = self.binary(Shr, either, count);
                let floor = self.binary(Add, both, half);
                if !signed {
                    return Some(floor);
                }
                // Rounded towards zero.
                let [floor, floor1] = self.copies(floor);
                let [zero, nothing, one] = [0, 0, 1].map(|v| int(self, v));
                let odd = self.binary(And, either1, one);
                let below = self.binary(Lt, floor, zero);
                let up = self.select(below, odd, nothing);
                self.binary(Add, floor1, up)
            }
            ("ilog2", &[a]) => {
                let [a, a1] = self.copies(a);
                let zeros = self.count(UnaryOp::LeadingZeros, a);
                let [top, none] = [8 * ty.size() as u32 - 1, u32::MAX].map(|v| self.constant(v));
                let log = self.binary(Sub, top, zeros);
                let zero = int(self, 0);
                let positive = self.binary(Gt, a1, zero);
                self.select(positive, log, none)
            }
            ("isqrt", &[a]) => self.square_root(ty, a),
            ("pow", &[base, exponent]) => self.power(ty, base, exponent),
            ("clamp", &[x, low, high]) => {
                let raised = self.math(MathFn::Max, &[x, low]);
                self.math(MathFn::Min, &[raised, high])
            }
            ("signum", &[x]) if signed => {
                let [x, x1] = self.copies(x);
                let [zero, zero1, zero2] = [0, 0, 0].map(|v| int(self, v));
                let [one, minus] = [1, -1].map(|v| int(self, v));
                let above = self.binary(Gt, x, zero);
                let below = self.binary(Lt, x1, zero1);
                let minus_or_zero = self.select(below, minus, zero2);
                self.select(above, one, minus_or_zero)
            }
            ("is_positive" | "is_negative", &[x]) if signed => {
                let zero = int(self, 0);
                self.binary(if name == "is_positive" { Gt } else { Lt }, x, zero)
            }
            ("unsigned_abs", &[x]) if signed => {
                let size = self.math(MathFn::Abs, &[x]);
                self.as_type(size, ty.unsigned())
            }
            ("abs_diff", &[a, b]) => {
                let [a, a1, a2] = self.copies(a);
                let [b, b1, b2] = self.copies(b);
                let above = self.binary(Gt, a, b);
                let down = self.binary(Sub, a1, b1);
                let up = self.binary(Sub, b2, a2);
                let value = self.select(above, down, up);
                self.as_type(value, ty.unsigned())
            }
            ("from_bits", &[x]) if !signed => {
                self.bits_as(x, if ty.size() == 8 { ScalarType::F64 } else { ScalarType::F32 })
            }
            _ => return None,
        })
    }

    /// `wrapped`, or the limit of the type with the sign of `sign` if the sign bit of `overflow` is set.
    fn saturate(&mut self, ty: ScalarType, [overflow, sign, wrapped]: [ExprId; 3]) -> ExprId {
        let (low, high) = ty.int_range().unwrap_or_default();
        let constant = |this: &mut Self, v: i128| this.constant(Const::from_bits(ty, v as u64));
        let zero = constant(self, 0);
        let overflow = self.binary(BinaryOp::Lt, overflow, zero);
        let zero = constant(self, 0);
        let below = self.binary(BinaryOp::Lt, sign, zero);
        let (low, high) = (constant(self, low), constant(self, high));
        let end = self.select(below, low, high);
        self.select(overflow, end, wrapped)
    }

    /// `base` to the power of `exponent`, by repeated squaring from the lowest bit, as in std.
    fn power(&mut self, ty: ScalarType, base: ExprId, exponent: ExprId) -> ExprId {
        let one = self.constant(Const::from_bits(ty, 1));
        let power = self.define("power", one, true);
        let base = self.define("square", base, true);
        let left = self.define("exponent", exponent, true);
        self.open();
        let [bit, count, zero, nothing] = [1u32, 1, 0, 0].map(|v| self.constant(v));
        let value = self.read(left);
        let odd = self.binary(BinaryOp::And, value, bit);
        let odd = self.binary(BinaryOp::Ne, odd, zero);
        let (a, b) = (self.read(power), self.read(base));
        let value = self.binary(BinaryOp::Mul, a, b);
        self.stmt_if(odd, Stmt::Assign { local: power, value });
        let value = self.read(left);
        let value = self.binary(BinaryOp::Shr, value, count);
        self.assign(left, value);
        let value = self.read(left);
        let done = self.binary(BinaryOp::Eq, value, nothing);
        self.stmt_if(done, Stmt::Break);
        let (a, b) = (self.read(base), self.read(base));
        let value = self.binary(BinaryOp::Mul, a, b);
        self.assign(base, value);
        let body = self.close_block();
        self.stmt(Stmt::Loop { body });
        self.read(power)
    }

    /// A Euclidean remainder from one that has the sign of the dividend.
    fn not_negative(&mut self, remainder: ExprId, by: ExprId) -> ExprId {
        let [remainder, remainder1, remainder2] = self.copies(remainder);
        let by = self.math(MathFn::Abs, &[by]);
        let zero = self.constant(Const::from_bits(self.ty(by), 0));
        let below = self.binary(BinaryOp::Lt, remainder, zero);
        let raised = self.binary(BinaryOp::Add, remainder1, by);
        self.select(below, raised, remainder2)
    }

    /// The largest integer whose square is at most `value`, from its highest bit; 0 if `value` is negative.
    fn square_root(&mut self, ty: ScalarType, value: ExprId) -> ExprId {
        let wide = ty.unsigned();
        let int = |this: &mut Self, value: u64| this.constant(Const::from_bits(wide, value));
        let value = if ty.is_wide_signed_int() {
            let zero = self.constant(Const::from_bits(ty, 0));
            let value = self.math(MathFn::Max, &[value, zero]);
            self.as_type(value, wide)
        } else {
            value
        };
        let rest = self.define("rest", value, true);
        let (zero, top) = (int(self, 0), int(self, 1 << (8 * ty.size() - 2)));
        let root = self.define("root", zero, true);
        let bit = self.define("bit", top, true);
        self.open();
        let (a, b) = (self.read(root), self.read(bit));
        let next = self.binary(BinaryOp::Add, a, b);
        let next = self.define("next", next, false);
        let (value, count) = (self.read(root), self.constant(1u32));
        let value = self.binary(BinaryOp::Shr, value, count);
        self.assign(root, value);
        let (a, b) = (self.read(rest), self.read(next));
        let cond = self.binary(BinaryOp::Ge, a, b);
        self.open();
        let (a, b) = (self.read(rest), self.read(next));
        let value = self.binary(BinaryOp::Sub, a, b);
        self.assign(rest, value);
        let (a, b) = (self.read(root), self.read(bit));
        let value = self.binary(BinaryOp::Add, a, b);
        self.assign(root, value);
        let then = self.close_block();
        let otherwise = self.block(Vec::new());
        self.stmt(Stmt::If { cond, then, otherwise });
        let (value, count) = (self.read(bit), self.constant(2u32));
        let value = self.binary(BinaryOp::Shr, value, count);
        self.assign(bit, value);
        let (value, zero) = (self.read(bit), int(self, 0));
        let done = self.binary(BinaryOp::Eq, value, zero);
        self.stmt_if(done, Stmt::Break);
        let body = self.close_block();
        self.stmt(Stmt::Loop { body });
        let root = self.read(root);
        self.as_type(root, ty)
    }

    /// Swaps neighbouring groups of bits: of 8 bits, then of twice as many, up to half of the type's.
    fn swap_bytes(&mut self, ty: ScalarType, value: ExprId) -> ExprId {
        let wide = ty.unsigned();
        let mut value = self.as_type(value, wide);
        let mut size = 8;
        while size < 8 * ty.size() as u32 {
            let mask = u64::MAX / ((1 << size) + 1);
            let [low_mask, high_mask] = [mask; 2].map(|v| self.constant(Const::from_bits(wide, v)));
            let [left, right] = [size; 2].map(|v| self.constant(v));
            let [low, high] = self.copies(value);
            let low = self.binary(BinaryOp::And, low, low_mask);
            let low = self.binary(BinaryOp::Shl, low, left);
            let high = self.binary(BinaryOp::Shr, high, right);
            let high = self.binary(BinaryOp::And, high, high_mask);
            value = self.binary(BinaryOp::Or, low, high);
            size *= 2;
        }
        self.as_type(value, ty)
    }

    /// An integer division or remainder, with an error site.
    fn division(&mut self, op: DivRemOp, [lhs, rhs]: [ExprId; 2], site: &Site) -> ExprId {
        let (ty, site) = (self.ty(lhs), self.add_site(site.clone()));
        let name = if op == DivRemOp::Div { "quotient" } else { "remainder" };
        self.effect(name, ty, Ir::DivRem { op, lhs, rhs, site })
    }

    /// As in std: in twice the precision if there is one, else by halves where the sum may overflow.
    fn float_midpoint(&mut self, ty: ScalarType, a: ExprId, b: ExprId) -> ExprId {
        use BinaryOp::{Add, And, Le, Mul};
        let float = |this: &mut Self, value: f64| this.constant(value);
        let half = float(self, 0.5);
        if ty != ScalarType::F64 {
            let [a, b] = [a, b].map(|value| self.as_type(value, ScalarType::F64));
            let sum = self.binary(Add, a, b);
            let value = self.binary(Mul, sum, half);
            return self.as_type(value, ty);
        }
        let [a, a1, a2] = self.copies(a);
        let [b, b1, b2] = self.copies(b);
        let [a, b] = [a, b].map(|value| {
            let (size, most) = (self.math(MathFn::Abs, &[value]), float(self, f64::MAX / 2.0));
            self.binary(Le, size, most)
        });
        let small = self.binary(And, a, b);
        let sum = self.binary(Add, a1, b1);
        let near = self.binary(Mul, sum, half);
        let [a, b] = [a2, b2].map(|value| {
            let half = float(self, 0.5);
            self.binary(Mul, value, half)
        });
        let far = self.binary(Add, a, b);
        self.select(small, near, far)
    }

    fn copysign(&mut self, ty: ScalarType, x: ExprId, sign: ExprId) -> ExprId {
        let bits = bits_of(ty);
        let mask = sign_bit(ty);
        let [sign_mask, rest_mask] =
            [mask, !mask].map(|mask| self.constant(Const::from_bits(bits, mask)));
        let (x, sign) = (self.bits_as(x, bits), self.bits_as(sign, bits));
        let sign = self.binary(BinaryOp::And, sign, sign_mask);
        let x = self.binary(BinaryOp::And, x, rest_mask);
        let value = self.binary(BinaryOp::Or, x, sign);
        self.bits_as(value, ty)
    }

    fn count(&mut self, op: UnaryOp, value: ExprId) -> ExprId {
        let count = self.unary(op, value);
        self.as_type(count, ScalarType::U32)
    }

    pub(super) fn bits_as(&mut self, value: ExprId, ty: ScalarType) -> ExprId {
        self.expr(ty, Ir::Bits { value })
    }
}

/// The integer type of a float type's bits.
pub(super) fn bits_of(ty: ScalarType) -> ScalarType {
    match ty.size() {
        2 => ScalarType::U16,
        8 => ScalarType::U64,
        _ => ScalarType::U32,
    }
}

fn sign_bit(ty: ScalarType) -> u64 {
    1 << (8 * ty.size() - 1)
}
