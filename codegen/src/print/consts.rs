//! Prints constants so that the C++ compiler reads back exactly the same bits.

use quadrants_ir::{AtomicOp, Const, ScalarType};

/// A constant as a C++ expression. Negative ones begin with `-`; those without a literal are in parentheses or a call.
pub(super) fn constant(value: Const) -> String {
    match value.ty() {
        ScalarType::Bool => (value.bits() != 0).to_string(),
        ScalarType::F32 => {
            let float = f32::from_bits(value.bits() as u32);
            if float.is_finite() {
                self::float(ScalarType::F32, f64::from(float))
            } else {
                format!("__uint_as_float({:#x}u)", value.bits())
            }
        }
        ScalarType::F64 => {
            let float = f64::from_bits(value.bits());
            if float.is_finite() {
                self::float(ScalarType::F64, float)
            } else {
                format!("__longlong_as_double((i64){:#x}ull)", value.bits())
            }
        }
        ScalarType::F16 => format!("{:#x} /* {value:?} */", value.bits()),
        ty => int(ty, value.as_int().unwrap_or_default()),
    }
}

/// The identity element of an operation that [combines](AtomicOp::combines). For sums of floats it is negative zero,
/// and for minima and maxima of floats NaN.
pub(super) fn identity(op: AtomicOp, ty: ScalarType) -> String {
    let (low, high) = ty.int_range().unwrap_or_default();
    match op {
        AtomicOp::Add if ty.is_float() => self::float(ty, -0.0),
        AtomicOp::Add | AtomicOp::Exchange | AtomicOp::CompareExchange => zero(ty),
        AtomicOp::Min | AtomicOp::Max if ty == ScalarType::F32 => constant(f32::NAN.into()),
        AtomicOp::Min | AtomicOp::Max if ty.is_float() => constant(f64::NAN.into()),
        AtomicOp::Or | AtomicOp::Xor => zero(ty),
        AtomicOp::And if ty == ScalarType::Bool => constant(true.into()),
        AtomicOp::And if ty.is_wide_signed_int() => int(ty, -1),
        AtomicOp::And => int(ty, high),
        AtomicOp::Min => int(ty, high),
        AtomicOp::Max => int(ty, low),
    }
}

pub(super) fn zero(ty: ScalarType) -> String {
    constant(Const::from_bits(ty, 0))
}

pub(super) fn int(ty: ScalarType, value: i128) -> String {
    let suffix = match ty {
        ScalarType::U32 => "u",
        ScalarType::I64 => "ll",
        ScalarType::U64 => "ull",
        _ => "",
    };
    // C++ parses `-2147483648` as the negation of a number that does not fit into `int`.
    if ty.is_wide_signed_int() && ty.int_range().is_some_and(|(low, _)| low == value) {
        format!("({}{suffix} - 1{suffix})", value + 1)
    } else {
        format!("{value}{suffix}")
    }
}

/// A finite float constant of type `ty`. Short dyadic numbers are printed in decimal, which every compiler reads
/// exactly. All others are printed in hexadecimal, with the decimal number in a comment.
pub(super) fn float(ty: ScalarType, value: f64) -> String {
    let suffix = if ty == ScalarType::F32 { "f" } else { "" };
    if value.abs() < 1e6 && (value * 16.0).fract() == 0.0 {
        return format!("{value:?}{suffix}");
    }
    let is_f32 = ty == ScalarType::F32;
    let decimal = if is_f32 { format!("{:?}", value as f32) } else { format!("{value:?}") };
    format!("{}{suffix} /* {decimal} */", hexadecimal(value))
}

/// A finite, nonzero float in C's hexadecimal notation.
fn hexadecimal(value: f64) -> String {
    const FRACTION_BITS: u32 = 52;
    let bits = value.to_bits();
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let field = (bits >> FRACTION_BITS & 0x7ff) as i32;
    let fraction = bits & ((1 << FRACTION_BITS) - 1);
    let (lead, exponent) = if field == 0 { (0, -1022) } else { (1, field - 1023) };
    let digits = format!("{fraction:013x}");
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    format!("{sign}0x{lead}{point}{digits}p{exponent:+}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_exact() {
        assert_eq!(constant(0.5f32.into()), "0.5f");
        assert_eq!(constant((-0.0f32).into()), "-0.0f");
        assert_eq!(constant(3.0f64.into()), "3.0");
        assert_eq!(constant(0.1f32.into()), "0x1.99999ap-4f /* 0.1 */");
        assert_eq!(constant((-0.1f64).into()), "-0x1.999999999999ap-4 /* -0.1 */");
        assert_eq!(constant(f32::MAX.into()), "0x1.fffffep+127f /* 3.4028235e38 */");
        assert_eq!(constant(f64::from_bits(1).into()), "0x0.0000000000001p-1022 /* 5e-324 */");
        assert_eq!(constant(f32::from_bits(1).into()), "0x1p-149f /* 1e-45 */");
        assert_eq!(constant(f32::INFINITY.into()), "__uint_as_float(0x7f800000u)");
        assert_eq!(
            constant(f64::NEG_INFINITY.into()),
            "__longlong_as_double((i64)0xfff0000000000000ull)"
        );
    }

    #[test]
    fn integers_keep_their_type() {
        assert_eq!(constant((-5i32).into()), "-5");
        assert_eq!(constant(i32::MIN.into()), "(-2147483647 - 1)");
        assert_eq!(constant(i64::MIN.into()), "(-9223372036854775807ll - 1ll)");
        assert_eq!(constant(u64::MAX.into()), "18446744073709551615ull");
        assert_eq!(constant(7u32.into()), "7u");
        assert_eq!(constant(true.into()), "true");
    }
}
