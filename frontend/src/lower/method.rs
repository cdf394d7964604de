//! The methods of numbers. Most are made of the IR's few operations, the way std defines them, so that
//! every backend gives the same bits as rustc's body.

use quadrants_ir::{
    BinaryOp, Const, DivRemOp, ExprId, ExprKind as Ir, MathFn, ScalarType, SiteKind, Stmt, UnaryOp,
};

use super::{Lowerer, Result};
use crate::syntax::{Expr, Span};

/// The methods beside the IR's [functions](MathFn).
const METHODS: [&str; 35] = [
    "wrapping_add",
    "wrapping_sub",
    "wrapping_mul",
    "wrapping_neg",
    "wrapping_shl",
    "wrapping_shr",
    "saturating_add",
    "saturating_sub",
    "rotate_left",
    "rotate_right",
    "count_ones",
    "leading_zeros",
    "trailing_zeros",
    "is_power_of_two",
    "rem_euclid",
    "div_ceil",
    "pow",
    "clamp",
    "signum",
    "abs_diff",
    "unsigned_abs",
    "is_positive",
    "is_negative",
    "recip",
    "fract",
    "copysign",
    "to_radians",
    "to_degrees",
    "is_nan",
    "is_finite",
    "is_infinite",
    "is_sign_negative",
    "is_sign_positive",
    "to_bits",
    "from_bits",
];

/// Whether numbers have the method in kernels.
pub(crate) fn is_method(name: &str) -> bool {
    MathFn::from_name(name).is_some() || METHODS.contains(&name)
}

/// The type of a method's value, where its receiver is a `ty`.
pub(super) fn result_of(name: &str, ty: ScalarType) -> ScalarType {
    match name {
        "count_ones" | "leading_zeros" | "trailing_zeros" => ScalarType::U32,
        "abs_diff" | "unsigned_abs" => unsigned(ty),
        "to_bits" => bits_of(ty),
        "from_bits" if ty.size() == 2 => ScalarType::F16,
        "from_bits" if ty.size() == 8 => ScalarType::F64,
        "from_bits" => ScalarType::F32,
        _ if name.starts_with("is_") => ScalarType::Bool,
        _ => ty,
    }
}

/// The type of a method's arguments, where its receiver is a `ty`.
fn argument_of(name: &str, ty: ScalarType) -> ScalarType {
    match name {
        "powi" => ScalarType::I32,
        "wrapping_shl" | "wrapping_shr" | "rotate_left" | "rotate_right" | "pow" => ScalarType::U32,
        _ => ty,
    }
}

fn unsigned(ty: ScalarType) -> ScalarType {
    match ty {
        ScalarType::I8 => ScalarType::U8,
        ScalarType::I16 => ScalarType::U16,
        ScalarType::I32 => ScalarType::U32,
        ScalarType::I64 => ScalarType::U64,
        _ => ty,
    }
}

/// The integer type of a float type's bits.
fn bits_of(ty: ScalarType) -> ScalarType {
    match ty.size() {
        2 => ScalarType::U16,
        8 => ScalarType::U64,
        _ => ScalarType::U32,
    }
}

/// The methods that `f16` has in kernels beside `to_bits`, `from_bits` and conversions.
fn is_of_f16(name: &str) -> bool {
    matches!(name, "signum" | "copysign") || name.starts_with("is_")
}

impl Lowerer {
    pub(super) fn method(
        &mut self,
        receiver: &Expr,
        name: &str,
        args: &[Expr],
        expected: Option<ScalarType>,
        span: Span,
    ) -> Result<ExprId> {
        let ty = match (self.infer(receiver), name, expected) {
            (Some(ty), ..) => ty,
            (None, "from_bits", Some(ScalarType::F64)) => ScalarType::U64,
            (None, "from_bits", Some(ScalarType::F16)) => ScalarType::U16,
            (None, "from_bits", _) => ScalarType::U32,
            (None, name, Some(ty)) if result_of(name, ty) == ty => ty,
            (None, ..) => self.default_type(receiver),
        };
        let mut list = vec![(receiver, ty)];
        list.extend(args.iter().map(|e| (e, argument_of(name, ty))));
        let mut values = self.list(&list)?;
        if !ty.is_narrow() {
            return match self.of_number(name, ty, &values, span)? {
                Some(value) => Ok(value),
                None => Err(self.no_method(ty, name, span)),
            };
        }
        match (name, ty, &values[..]) {
            ("to_bits", ScalarType::F16, &[value]) => {
                return Ok(self.bits_as(value, ScalarType::U16));
            }
            ("from_bits", ScalarType::U16, &[value]) => {
                return Ok(self.bits_as(value, ScalarType::F16));
            }
            (_, ScalarType::F16, _) if !is_of_f16(name) => {
                return Err(self.no_method(ty, name, span));
            }
            _ => {}
        }
        // What is narrow is computed with as its wide type, where that gives the same.
        let wide = ty.wide();
        let bits = 8 * ty.size() as u32;
        for value in &mut values {
            *value = self.widened(*value);
        }
        let all = Const::from_bits(wide, (1 << bits) - 1);
        let value = match name {
            "count_ones" | "leading_zeros" => {
                let all = self.emit.constant(all);
                values[0] = self.op(BinaryOp::And, values[0], all);
                let count = self.of_number(name, wide, &values, span)?;
                match count {
                    Some(count) if name == "leading_zeros" => {
                        let above = self.emit.constant(32 - bits);
                        Some(self.op(BinaryOp::Sub, count, above))
                    }
                    count => count,
                }
            }
            "trailing_zeros" => {
                let end = self.emit.constant(Const::from_bits(wide, 1 << bits));
                values[0] = self.op(BinaryOp::Or, values[0], end);
                self.of_number(name, wide, &values, span)?
            }
            // These are about the type's own width.
            _ if name.starts_with("rotate") || name.starts_with("wrapping_sh") => None,
            _ if name.starts_with("saturating") => match &values[..] {
                [a, b] => {
                    let op = if name.ends_with("add") { BinaryOp::Add } else { BinaryOp::Sub };
                    // Of unsigned ones a difference may be below zero: signed ones hold it.
                    let (a, b) = (*a, *b);
                    let [a, b] = [a, b].map(|v| self.cast_to(v, ScalarType::I32));
                    let value = self.op(op, a, b);
                    let (low, high) = ty.int_range().unwrap_or_default();
                    let [low, high] = [low, high].map(|v| self.emit.constant(v as i32));
                    let value = self.math(MathFn::Max, &[value, low]);
                    let value = self.math(MathFn::Min, &[value, high]);
                    Some(self.cast_to(value, wide))
                }
                _ => None,
            },
            _ => self.of_number(name, wide, &values, span)?,
        };
        let Some(value) = value else { return Err(self.no_method(ty, name, span)) };
        let result = result_of(name, ty);
        if !result.is_narrow() {
            return Ok(value);
        }
        let value = self.cast_to(value, result.wide());
        Ok(self.cast_to(value, result))
    }

    fn no_method(&self, ty: ScalarType, name: &str, span: Span) -> crate::Error {
        self.type_error(span, format!("{ty} has no such method `{name}`"))
    }

    /// The method of a number that is not narrow; none where it has no such method.
    fn of_number(
        &mut self,
        name: &str,
        ty: ScalarType,
        values: &[ExprId],
        span: Span,
    ) -> Result<Option<ExprId>> {
        if let Some(function) = MathFn::from_name(name) {
            let fits = match function {
                MathFn::Abs => ty.is_float() || ty.is_signed_int(),
                MathFn::Min | MathFn::Max => ty.is_float() || ty.is_int(),
                _ => ty.is_float(),
            };
            let fits = fits && values.len() == function.arity();
            return Ok(fits.then(|| self.math_of(ty, function, values.to_vec())));
        }
        if ty.is_float() {
            return Ok(self.of_float(name, ty, values));
        }
        if ty.is_int() { self.of_int(name, ty, values, span) } else { Ok(None) }
    }

    fn of_float(&mut self, name: &str, ty: ScalarType, values: &[ExprId]) -> Option<ExprId> {
        use BinaryOp::{Div, Gt, Lt, Mul, Ne, Rem, Sub};
        let float = |this: &mut Self, value: f64| match ty {
            ScalarType::F32 => this.emit.constant(value as f32),
            _ => this.emit.constant(value),
        };
        Some(match (name, values) {
            ("recip", &[x]) => {
                let one = float(self, 1.0);
                self.op(Div, one, x)
            }
            ("fract", &[x]) => {
                let [x, again] = self.twice(x);
                let whole = self.math(MathFn::Trunc, &[again]);
                self.op(Sub, x, whole)
            }
            ("to_radians", &[x]) => {
                let factor = match ty {
                    ScalarType::F32 => self.emit.constant(std::f32::consts::PI / 180.0),
                    _ => self.emit.constant(std::f64::consts::PI / 180.0),
                };
                self.op(Mul, x, factor)
            }
            ("to_degrees", &[x]) => {
                // std's own constants, which are rounded once each.
                let factor = match ty {
                    ScalarType::F32 => self.emit.constant(1f32.to_degrees()),
                    _ => self.emit.constant(1f64.to_degrees()),
                };
                self.op(Mul, x, factor)
            }
            ("clamp", &[x, low, high]) => {
                let [x, x1] = self.twice(x);
                let [low, low1] = self.twice(low);
                let [high, high1] = self.twice(high);
                let below = self.op(Lt, x, low);
                let raised = self.select(below, low1, x1);
                let [raised, raised1] = self.twice(raised);
                let above = self.op(Gt, raised, high);
                self.select(above, high1, raised1)
            }
            ("signum", &[x]) => {
                let [x, x1] = self.twice(x);
                let [x2, x3] = self.twice(x1);
                let one = float(self, 1.0);
                let sign = self.copysign(ty, one, x);
                let [x2, again] = self.twice(x2);
                let nan = self.op(Ne, x2, again);
                self.select(nan, x3, sign)
            }
            ("copysign", &[x, sign]) => self.copysign(ty, x, sign),
            ("rem_euclid", &[x, by]) => {
                let [by, by1] = self.twice(by);
                let rest = self.op(Rem, x, by);
                let [rest, rest1] = self.twice(rest);
                let [rest1, rest2] = self.twice(rest1);
                let by = self.math(MathFn::Abs, &[by1]);
                let zero = float(self, 0.0);
                let below = self.op(Lt, rest, zero);
                let raised = self.op(BinaryOp::Add, rest1, by);
                self.select(below, raised, rest2)
            }
            ("is_nan", &[x]) => {
                let [x, again] = self.twice(x);
                self.op(Ne, x, again)
            }
            ("is_finite" | "is_infinite", &[x]) => {
                let size = self.math(MathFn::Abs, &[x]);
                let infinity = float(self, f64::INFINITY);
                let op = if name == "is_finite" { Lt } else { BinaryOp::Eq };
                self.op(op, size, infinity)
            }
            ("is_sign_negative" | "is_sign_positive", &[x]) => {
                let bits = bits_of(ty);
                let x = self.bits_as(x, bits);
                let sign = self.emit.constant(Const::from_bits(bits, sign_bit(ty)));
                let op = if name == "is_sign_negative" { BinaryOp::Ge } else { Lt };
                self.op(op, x, sign)
            }
            ("to_bits", &[x]) => self.bits_as(x, bits_of(ty)),
            _ => return None,
        })
    }

    fn of_int(
        &mut self,
        name: &str,
        ty: ScalarType,
        values: &[ExprId],
        span: Span,
    ) -> Result<Option<ExprId>> {
        use BinaryOp::{Add, And, Eq, Gt, Lt, Mul, Ne, Or, Shl, Shr, Sub, Xor};
        let int =
            |this: &mut Self, value: i64| this.emit.constant(Const::from_bits(ty, value as u64));
        let signed = ty.is_signed_int();
        Ok(Some(match (name, values) {
            ("wrapping_add", &[a, b]) => self.op(Add, a, b),
            ("wrapping_sub", &[a, b]) => self.op(Sub, a, b),
            ("wrapping_mul", &[a, b]) => self.op(Mul, a, b),
            ("wrapping_neg", &[a]) => {
                let zero = int(self, 0);
                self.op(Sub, zero, a)
            }
            ("wrapping_shl", &[a, n]) => self.op(Shl, a, n),
            ("wrapping_shr", &[a, n]) => self.op(Shr, a, n),
            ("saturating_sub", &[a, b]) if !signed => {
                let [b, again] = self.twice(b);
                let most = self.math(MathFn::Max, &[a, b]);
                self.op(Sub, most, again)
            }
            ("saturating_add", &[a, b]) if !signed => {
                let [a, a1] = self.twice(a);
                let sum = self.op(Add, a, b);
                let [sum, sum1] = self.twice(sum);
                let wrapped = self.op(Lt, sum, a1);
                let most = int(self, -1);
                self.select(wrapped, most, sum1)
            }
            ("saturating_add" | "saturating_sub", &[a, b]) => {
                let adds = name == "saturating_add";
                let [a, a1] = self.twice(a);
                let [a1, a2] = self.twice(a1);
                let [b, b1] = self.twice(b);
                let plain = self.op(if adds { Add } else { Sub }, a, b);
                let [plain, plain1] = self.twice(plain);
                let [plain1, plain2] = self.twice(plain1);
                // The sign bit says whether it has overflown: to the sign that `a` has not.
                let own = self.op(Xor, a1, plain);
                let other = if adds {
                    self.op(Xor, b1, plain1)
                } else {
                    let [a2, again] = self.twice(a2);
                    let other = self.op(Xor, b1, again);
                    let over = self.op(And, own, other);
                    return Ok(Some(self.saturated(ty, over, a2, plain2)));
                };
                let over = self.op(And, own, other);
                self.saturated(ty, over, a2, plain2)
            }
            ("rotate_left" | "rotate_right", &[a, n]) => {
                let wide = unsigned(ty);
                let a = self.cast_to(a, wide);
                let [a, a1] = self.twice(a);
                let [n, n1] = self.twice(n);
                let width = self.emit.constant(8 * ty.size() as u32);
                let rest = self.op(Sub, width, n1);
                let (there, back) = if name == "rotate_left" { (Shl, Shr) } else { (Shr, Shl) };
                let high = self.op(there, a, n);
                let low = self.op(back, a1, rest);
                let value = self.op(Or, high, low);
                self.cast_to(value, ty)
            }
            ("count_ones", &[a]) => self.count(UnaryOp::CountOnes, a),
            ("leading_zeros", &[a]) => self.count(UnaryOp::LeadingZeros, a),
            ("trailing_zeros", &[a]) => self.count(UnaryOp::TrailingZeros, a),
            ("is_power_of_two", &[a]) if !signed => {
                let count = self.count(UnaryOp::CountOnes, a);
                let one = self.emit.constant(1u32);
                self.op(Eq, count, one)
            }
            ("rem_euclid", &[a, b]) => {
                let [b, b1] = self.twice(b);
                let site = self.site(SiteKind::DivideByZero, span);
                let kind = Ir::DivRem { op: DivRemOp::Rem, lhs: a, rhs: b, site };
                let rest = self.emit.effect("remainder", ty, kind);
                if !signed {
                    return Ok(Some(rest));
                }
                let [rest, rest1] = self.twice(rest);
                let [rest1, rest2] = self.twice(rest1);
                let by = self.math(MathFn::Abs, &[b1]);
                let zero = int(self, 0);
                let below = self.op(Lt, rest, zero);
                let raised = self.op(Add, rest1, by);
                self.select(below, raised, rest2)
            }
            ("div_ceil", &[a, b]) if !signed => {
                let [a, a1] = self.twice(a);
                let [b, b1] = self.twice(b);
                let site = self.site(SiteKind::DivideByZero, span);
                let kind = Ir::DivRem { op: DivRemOp::Div, lhs: a, rhs: b, site };
                let quotient = self.emit.effect("quotient", ty, kind);
                let site = self.site(SiteKind::DivideByZero, span);
                let kind = Ir::DivRem { op: DivRemOp::Rem, lhs: a1, rhs: b1, site };
                let rest = self.emit.effect("remainder", ty, kind);
                let zero = int(self, 0);
                let some = self.op(Ne, rest, zero);
                let some = self.cast_to(some, ty);
                self.op(Add, quotient, some)
            }
            ("pow", &[base, exponent]) => self.power(ty, base, exponent),
            ("clamp", &[x, low, high]) => {
                let raised = self.math(MathFn::Max, &[x, low]);
                self.math(MathFn::Min, &[raised, high])
            }
            ("signum", &[x]) if signed => {
                let [x, x1] = self.twice(x);
                let [zero, zero1, nothing] = [0, 0, 0].map(|v| int(self, v));
                let [one, minus] = [1, -1].map(|v| int(self, v));
                let above = self.op(Gt, x, zero);
                let below = self.op(Lt, x1, zero1);
                let rest = self.select(below, minus, nothing);
                self.select(above, one, rest)
            }
            ("is_positive" | "is_negative", &[x]) if signed => {
                let zero = int(self, 0);
                self.op(if name == "is_positive" { Gt } else { Lt }, x, zero)
            }
            ("unsigned_abs", &[x]) if signed => {
                let size = self.math(MathFn::Abs, &[x]);
                self.cast_to(size, unsigned(ty))
            }
            ("abs_diff", &[a, b]) => {
                let [a, a1] = self.twice(a);
                let [b, b1] = self.twice(b);
                let [a1, a2] = self.twice(a1);
                let [b1, b2] = self.twice(b1);
                let above = self.op(Gt, a, b);
                let down = self.op(Sub, a1, b1);
                let up = self.op(Sub, b2, a2);
                let value = self.select(above, down, up);
                self.cast_to(value, unsigned(ty))
            }
            ("from_bits", &[x]) if !signed => {
                self.bits_as(x, if ty.size() == 8 { ScalarType::F64 } else { ScalarType::F32 })
            }
            _ => return Ok(None),
        }))
    }

    /// `plain`, or the end of the type on the side of `from` where the sign bit of `over` is set.
    fn saturated(&mut self, ty: ScalarType, over: ExprId, from: ExprId, plain: ExprId) -> ExprId {
        let (low, high) = ty.int_range().unwrap_or_default();
        let constant =
            |this: &mut Self, v: i128| this.emit.constant(Const::from_bits(ty, v as u64));
        let zero = constant(self, 0);
        let over = self.op(BinaryOp::Lt, over, zero);
        let zero = constant(self, 0);
        let below = self.op(BinaryOp::Lt, from, zero);
        let (low, high) = (constant(self, low), constant(self, high));
        let end = self.select(below, low, high);
        self.select(over, end, plain)
    }

    /// Squares from the lowest bit of the exponent up, as std does.
    fn power(&mut self, ty: ScalarType, base: ExprId, exponent: ExprId) -> ExprId {
        let one = self.emit.constant(Const::from_bits(ty, 1));
        let power = self.emit.define("power", one, true);
        let base = self.emit.define("square", base, true);
        let left = self.emit.define("exponent", exponent, true);
        self.emit.open();
        let [bit, count, zero, nothing] = [1u32, 1, 0, 0].map(|v| self.emit.constant(v));
        let value = self.emit.read(left);
        let odd = self.op(BinaryOp::And, value, bit);
        let odd = self.op(BinaryOp::Ne, odd, zero);
        let (a, b) = (self.emit.read(power), self.emit.read(base));
        let value = self.op(BinaryOp::Mul, a, b);
        let then = self.emit.block(vec![Stmt::Assign { local: power, value }]);
        let otherwise = self.emit.block(Vec::new());
        self.emit.stmt(Stmt::If { cond: odd, then, otherwise });
        let value = self.emit.read(left);
        let value = self.op(BinaryOp::Shr, value, count);
        self.emit.stmt(Stmt::Assign { local: left, value });
        let value = self.emit.read(left);
        let done = self.op(BinaryOp::Eq, value, nothing);
        let then = self.emit.block(vec![Stmt::Break]);
        let otherwise = self.emit.block(Vec::new());
        self.emit.stmt(Stmt::If { cond: done, then, otherwise });
        let (a, b) = (self.emit.read(base), self.emit.read(base));
        let value = self.op(BinaryOp::Mul, a, b);
        self.emit.stmt(Stmt::Assign { local: base, value });
        let body = self.emit.close_block();
        self.emit.stmt(Stmt::Loop { body });
        self.emit.read(power)
    }

    fn copysign(&mut self, ty: ScalarType, x: ExprId, sign: ExprId) -> ExprId {
        let bits = bits_of(ty);
        let mask = sign_bit(ty);
        let [sign_mask, rest_mask] =
            [mask, !mask].map(|mask| self.emit.constant(Const::from_bits(bits, mask)));
        let (x, sign) = (self.bits_as(x, bits), self.bits_as(sign, bits));
        let sign = self.op(BinaryOp::And, sign, sign_mask);
        let x = self.op(BinaryOp::And, x, rest_mask);
        let value = self.op(BinaryOp::Or, x, sign);
        self.bits_as(value, ty)
    }

    /// A count of bits, as `u32`.
    fn count(&mut self, op: UnaryOp, value: ExprId) -> ExprId {
        let ty = self.emit.ty(value);
        let count = self.emit.expr(ty, Ir::Unary { op, value });
        self.cast_to(count, ScalarType::U32)
    }

    /// A value to use in two places.
    fn twice(&mut self, value: ExprId) -> [ExprId; 2] {
        let value = self.emit.fix(value);
        let again = self.emit.again(value);
        [value, again]
    }

    fn op(&mut self, op: BinaryOp, lhs: ExprId, rhs: ExprId) -> ExprId {
        let ty = if op.is_comparison() { ScalarType::Bool } else { self.emit.ty(lhs) };
        self.emit.expr(ty, Ir::Binary { op, lhs, rhs })
    }

    fn math(&mut self, function: MathFn, args: &[ExprId]) -> ExprId {
        let ty = self.emit.ty(args[0]);
        self.math_of(ty, function, args.to_vec())
    }

    fn math_of(&mut self, ty: ScalarType, function: MathFn, args: Vec<ExprId>) -> ExprId {
        self.emit.expr(ty, Ir::Math { function, args })
    }

    fn select(&mut self, cond: ExprId, then: ExprId, otherwise: ExprId) -> ExprId {
        let ty = self.emit.ty(then);
        self.emit.expr(ty, Ir::Select { cond, then, otherwise })
    }

    fn bits_as(&mut self, value: ExprId, ty: ScalarType) -> ExprId {
        self.emit.expr(ty, Ir::Bits { value })
    }

    /// The value cast, unless it is of the type.
    pub(super) fn cast_to(&mut self, value: ExprId, ty: ScalarType) -> ExprId {
        if self.emit.ty(value) == ty { value } else { self.emit.expr(ty, Ir::Cast { value }) }
    }

    /// A value as its wide type.
    pub(super) fn widened(&mut self, value: ExprId) -> ExprId {
        let wide = self.emit.ty(value).wide();
        self.cast_to(value, wide)
    }
}

fn sign_bit(ty: ScalarType) -> u64 {
    1 << (8 * ty.size() - 1)
}
