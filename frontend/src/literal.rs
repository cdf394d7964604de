//! Parsing of literals.

use quadrants_ir::{Const, ScalarType};

use crate::syntax::{Expr, ExprKind, LiteralKind, UnaryOp};

pub(crate) fn scalar_suffix(suffix: &str) -> Option<ScalarType> {
    match suffix {
        "usize" => Some(ScalarType::U64),
        "isize" => Some(ScalarType::I64),
        "bool" => None,
        _ => ScalarType::ALL.into_iter().find(|ty| ty.name() == suffix),
    }
}

/// The value of a literal as `ty`, or `None` if the text has no such type. Digits beyond the type's width are
/// dropped: rustc rejects them unless `overflowing_literals` is allowed.
pub(crate) fn parse(kind: LiteralKind, text: &str, ty: ScalarType) -> Option<Const> {
    let digits = text.replace('_', "");
    match ty {
        ScalarType::Bool if kind == LiteralKind::Bool => {
            digits.parse::<bool>().ok().map(Const::from)
        }
        ScalarType::F32 if kind != LiteralKind::Bool => digits.parse::<f32>().ok().map(Const::from),
        ScalarType::F64 if kind != LiteralKind::Bool => digits.parse::<f64>().ok().map(Const::from),
        _ if (ty.is_int() || ty.is_narrow()) && kind == LiteralKind::Int => {
            integer(text).map(|bits| Const::from_bits(ty, bits as u64))
        }
        _ => None,
    }
}

/// The value of an integer literal without its suffix.
pub(crate) fn integer(text: &str) -> Option<u128> {
    let digits = text.replace('_', "");
    let (radix, digits) = match digits.get(..2) {
        Some("0x") => (16, &digits[2..]),
        Some("0o") => (8, &digits[2..]),
        Some("0b") => (2, &digits[2..]),
        _ => (10, digits.as_str()),
    };
    u128::from_str_radix(digits, radix).ok()
}

pub(crate) fn default_type(kind: LiteralKind) -> ScalarType {
    match kind {
        LiteralKind::Bool => ScalarType::Bool,
        LiteralKind::Int => ScalarType::I32,
        LiteralKind::Float => ScalarType::F64,
    }
}

/// Whether rustc infers the type of the literal that is the value of `expr` from a cast of `expr`. It does so through
/// unary operators and blocks, not through binary operators and branches.
pub(crate) fn takes_cast_type(expr: &Expr, ty: ScalarType) -> bool {
    match &expr.kind {
        ExprKind::Literal { kind, suffix: None, .. } => match kind {
            LiteralKind::Int => ty.is_int() || ty.is_narrow(),
            LiteralKind::Float => ty.is_float(),
            LiteralKind::Bool => false,
        },
        ExprKind::Unary { op: UnaryOp::Neg | UnaryOp::Not, value } => takes_cast_type(value, ty),
        ExprKind::Block(block) | ExprKind::Unsafe(block) => {
            block.value.as_ref().is_some_and(|v| takes_cast_type(v, ty))
        }
        _ => false,
    }
}
