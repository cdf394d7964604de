//! Method calls of numbers, with the semantics of std. Narrow types are computed in their wide types.

use quadrants_ir::{
    BinaryOp, Const, ExprId, MathFn, ScalarType, SiteKind, UnaryOp,
    types::{ORDERING, Type},
};

use super::{Lowerer, Result, number::bits_of, scope::Value};
use crate::syntax::{Expr, Span};

pub(super) fn result_type(name: &str, ty: ScalarType) -> ScalarType {
    match name {
        "count_ones" | "count_zeros" | "leading_ones" | "leading_zeros" | "trailing_ones"
        | "trailing_zeros" | "ilog2" => ScalarType::U32,
        "abs_diff" | "unsigned_abs" => ty.unsigned(),
        "to_bits" => bits_of(ty),
        "from_bits" if ty.size() == 2 => ScalarType::F16,
        "from_bits" if ty.size() == 8 => ScalarType::F64,
        "from_bits" => ScalarType::F32,
        _ if name.starts_with("is_") => ScalarType::Bool,
        _ => ty,
    }
}

/// The result type of a method that returns no number, or `None`.
pub(super) const fn composite_type(name: &str, ty: ScalarType) -> Option<Type> {
    const F32: Type = Type::Scalar(ScalarType::F32);
    const F64: Type = Type::Scalar(ScalarType::F64);
    match (name.as_bytes(), ty) {
        (b"sin_cos", ScalarType::F32) => Some(Type::Tuple(&[F32, F32])),
        (b"sin_cos", ScalarType::F64) => Some(Type::Tuple(&[F64, F64])),
        (b"total_cmp", ScalarType::F32 | ScalarType::F64) => Some(ORDERING),
        (b"cmp", _) if !ty.is_float() => Some(ORDERING),
        _ => None,
    }
}

fn argument_type(name: &str, ty: ScalarType) -> ScalarType {
    match name {
        "powi" => ScalarType::I32,
        "wrapping_shl" | "wrapping_shr" | "rotate_left" | "rotate_right" | "pow" => ScalarType::U32,
        _ => ty,
    }
}

/// Whether `f16` has the method in kernels, other than `to_bits` and `from_bits`.
fn is_f16_method(name: &str) -> bool {
    matches!(name, "signum" | "copysign") || name.starts_with("is_")
}

impl Lowerer {
    /// The bits of a narrow value, of which only the lowest `bits` count, rotated by less than `bits`.
    fn rotated(&mut self, left: bool, value: ExprId, count: ExprId, bits: u32) -> ExprId {
        // As `u32`, zero-extended.
        let value = self.emit.as_type(value, ScalarType::U32);
        let mask = self.emit.constant((1_u32 << bits) - 1);
        let value = self.emit.binary(BinaryOp::And, value, mask);
        let [value, count] = [value, count].map(|part| self.emit.reuse(part));
        let width = self.emit.constant(bits);
        let own = self.emit.copy(count);
        let rest = self.emit.binary(BinaryOp::Sub, width, own);
        let (up, down) = if left { (count, rest) } else { (rest, count) };
        let (first, second) = (self.emit.copy(value), self.emit.copy(value));
        let (up, down) = (self.emit.copy(up), self.emit.copy(down));
        let high = self.emit.binary(BinaryOp::Shl, first, up);
        let low = self.emit.binary(BinaryOp::Shr, second, down);
        self.emit.binary(BinaryOp::Or, high, low)
    }

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
            (None, name, Some(ty)) if result_type(name, ty) == ty => ty,
            (None, ..) => self.default_type(receiver),
        };
        let mut list = vec![(receiver, ty)];
        list.extend(args.iter().map(|e| (e, argument_type(name, ty))));
        let mut values = self.scalars(&list)?;
        let site = self.make_site(SiteKind::DivideByZero, span);
        if !ty.is_narrow() {
            let value = self.emit.number_method(name, ty, &values, &site);
            return value.ok_or_else(|| self.no_method(ty, name, span));
        }
        match (name, ty, &values[..]) {
            ("to_bits", ScalarType::F16, &[value]) => {
                return Ok(self.emit.bits_as(value, ScalarType::U16));
            }
            ("from_bits", ScalarType::U16, &[value]) => {
                return Ok(self.emit.bits_as(value, ScalarType::F16));
            }
            (_, ScalarType::F16, _) if !is_f16_method(name) => {
                return Err(self.no_method(ty, name, span));
            }
            _ => {}
        }
        // Narrow operands are computed in their wide type if the result is the same.
        let wide = ty.wide();
        let bits = 8 * ty.size() as u32;
        for value in &mut values {
            *value = self.emit.widen(*value);
        }
        let all = Const::from_bits(wide, (1 << bits) - 1);
        let of_complement = match name {
            "count_zeros" => Some("count_ones"),
            "leading_ones" => Some("leading_zeros"),
            "trailing_ones" => Some("trailing_zeros"),
            _ => None,
        };
        if of_complement.is_some() {
            values[0] = self.emit.unary(UnaryOp::Not, values[0]);
        }
        let name = of_complement.unwrap_or(name);
        let value = match name {
            "swap_bytes" | "reverse_bits" => {
                values[0] = self.emit.as_type(values[0], ScalarType::U32);
                let value = self.emit.number_method(name, ScalarType::U32, &values, &site);
                value.map(|value| {
                    let below = self.emit.constant(32 - bits);
                    self.emit.binary(BinaryOp::Shr, value, below)
                })
            }
            "count_ones" | "leading_zeros" => {
                let all = self.emit.constant(all);
                values[0] = self.emit.binary(BinaryOp::And, values[0], all);
                let count = self.emit.number_method(name, wide, &values, &site);
                match count {
                    Some(count) if name == "leading_zeros" => {
                        let above = self.emit.constant(32 - bits);
                        Some(self.emit.binary(BinaryOp::Sub, count, above))
                    }
                    count => count,
                }
            }
            "trailing_zeros" => {
                let end = self.emit.constant(Const::from_bits(wide, 1 << bits));
                values[0] = self.emit.binary(BinaryOp::Or, values[0], end);
                self.emit.number_method(name, wide, &values, &site)
            }
            "wrapping_shl" | "wrapping_shr" | "rotate_left" | "rotate_right" => {
                let &[value, count] = &values[..] else {
                    return Err(self.no_method(ty, name, span));
                };
                // The count wraps at the type's width.
                let below = self.emit.constant(bits - 1);
                let count = self.emit.binary(BinaryOp::And, count, below);
                Some(match name {
                    "wrapping_shl" => self.emit.binary(BinaryOp::Shl, value, count),
                    "wrapping_shr" => self.emit.binary(BinaryOp::Shr, value, count),
                    _ => self.rotated(name == "rotate_left", value, count, bits),
                })
            }
            "saturating_add" | "saturating_sub" => match values[..] {
                [a, b] => {
                    let op = match name {
                        "saturating_add" => BinaryOp::Add,
                        _ => BinaryOp::Sub,
                    };
                    // A difference of unsigned operands may be negative.
                    let [a, b] = [a, b].map(|v| self.emit.as_type(v, ScalarType::I32));
                    let value = self.emit.binary(op, a, b);
                    let (low, high) = ty.int_range().unwrap_or_default();
                    let [low, high] = [low, high].map(|v| self.emit.constant(v as i32));
                    let value = self.emit.math(MathFn::Max, &[value, low]);
                    let value = self.emit.math(MathFn::Min, &[value, high]);
                    Some(self.emit.as_type(value, wide))
                }
                _ => None,
            },
            _ => self.emit.number_method(name, wide, &values, &site),
        };
        let Some(value) = value else { return Err(self.no_method(ty, name, span)) };
        let result = result_type(name, ty);
        if !result.is_narrow() {
            return Ok(value);
        }
        let value = self.emit.as_type(value, result.wide());
        Ok(self.emit.as_type(value, result))
    }

    /// Lowers a method of a number with a [`composite_type`].
    pub(super) fn composite_method(
        &mut self,
        receiver: &Expr,
        (scalar, ty): (ScalarType, Type),
        args: &[Expr],
        span: Span,
    ) -> Result<Value> {
        let mut list = vec![(receiver, scalar)];
        list.extend(args.iter().map(|arg| (arg, scalar)));
        let values = self.scalars(&list)?;
        let leaves = match values[..] {
            [x] => {
                let [x, copy] = self.emit.copies(x);
                vec![self.emit.math(MathFn::Sin, &[x]), self.emit.math(MathFn::Cos, &[copy])]
            }
            [a, b] => vec![self.emit.compare(a, b)],
            _ => {
                return Err(
                    self.inconsistent(span, "a method has other arguments in the syntax tree")
                );
            }
        };
        Ok(Value { ty, leaves })
    }

    fn no_method(&self, ty: ScalarType, name: &str, span: Span) -> crate::Error {
        self.type_error(span, format!("kernels have no method `{name}` of {ty}; help: write a `#[func]`, or convert the value with `as`"))
    }
}
