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
                MathFn::Abs => ty.is_float() || ty.is_signed_int(),
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
        use BinaryOp::{Add, And, Eq, Gt, Lt, Mul, Ne, Or, Shl, Shr, Sub, Xor};
        let int = |this: &mut Self, value: i64| this.constant(Const::from_bits(ty, value as u64));
        let signed = ty.is_signed_int();
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
            ("count_ones", &[a]) => self.count(UnaryOp::CountOnes, a),
            ("leading_zeros", &[a]) => self.count(UnaryOp::LeadingZeros, a),
            ("trailing_zeros", &[a]) => self.count(UnaryOp::TrailingZeros, a),
            ("is_power_of_two", &[a]) if !signed => {
                let count = self.count(UnaryOp::CountOnes, a);
                let one = self.constant(1u32);
                self.binary(Eq, count, one)
            }
            ("rem_euclid", &[a, b]) => {
                let [b, b1] = self.copies(b);
                let site = self.add_site(site.clone());
                let kind = Ir::DivRem { op: DivRemOp::Rem, lhs: a, rhs: b, site };
                let remainder = self.effect("remainder", ty, kind);
                if !signed {
                    return Some(remainder);
                }
                self.not_negative(remainder, b1)
            }
            ("div_ceil", &[a, b]) if !signed => {
                let [a, a1] = self.copies(a);
                let [b, b1] = self.copies(b);
                let first = self.add_site(site.clone());
                let kind = Ir::DivRem { op: DivRemOp::Div, lhs: a, rhs: b, site: first };
                let quotient = self.effect("quotient", ty, kind);
                let site = self.add_site(site.clone());
                let kind = Ir::DivRem { op: DivRemOp::Rem, lhs: a1, rhs: b1, site };
                let remainder = self.effect("remainder", ty, kind);
                let zero = int(self, 0);
                let some = self.binary(Ne, remainder, zero);
                let some = self.as_type(some, ty);
                self.binary(Add, quotient, some)
            }
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
