//! Constant folding. The interpreter's machine evaluates the operation, so that operators are implemented only once.

use super::{
    NoMemory,
    machine::{self, Op, Run},
    select,
};
use crate::{Const, ExprId, ExprKind, MathFn, ScalarType};

/// The register of the result, after those of the operands.
const RESULT: u32 = 3;

/// Folds an expression of type `ty`; `value` returns the constant operands. None if an operand is not constant, if the
/// last bits may differ between devices, or if the result would have the bits of a NaN operand.
pub(crate) fn fold(
    ty: ScalarType,
    kind: &ExprKind,
    value: impl Fn(ExprId) -> Option<Const>,
) -> Option<Const> {
    let operands = kind.operands().map(value).collect::<Option<Vec<_>>>()?;
    let op = operation(ty, kind, &operands)?;
    let mut regs = [0; RESULT as usize + 1];
    for (reg, operand) in regs.iter_mut().zip(&operands) {
        *reg = operand.bits();
    }
    let mut run =
        Run { regs: &mut regs, memory: &mut NoMemory, task: 0, fuel: 0, shared: Vec::new() };
    machine::run(&[op], &mut run).ok()?;
    let result = Const::from_bits(ty, regs[RESULT as usize]);
    match result.as_float() {
        Some(float) if float.is_nan() => computed_nan(ty, kind),
        _ => Some(result),
    }
}

/// The NaN of arithmetic; Rust leaves its sign and payload unspecified. Operations that only move bits preserve a NaN
/// and are not canonicalized.
fn computed_nan(ty: ScalarType, kind: &ExprKind) -> Option<Const> {
    let arithmetic = match kind {
        ExprKind::Binary { .. } => true,
        ExprKind::Math { function, .. } => *function != MathFn::Abs,
        _ => false,
    };
    match ty {
        ScalarType::F32 if arithmetic => Some(Const::from(f32::NAN)),
        ScalarType::F64 if arithmetic => Some(Const::from(f64::NAN)),
        _ => None,
    }
}

fn operation(ty: ScalarType, kind: &ExprKind, operands: &[Const]) -> Option<Op> {
    let of = operands.first()?.ty();
    Some(match *kind {
        ExprKind::Unary { op, .. } => select::unary(op, ty)(RESULT, 0),
        ExprKind::Binary { op, .. } if op.is_comparison() => {
            let compare = select::compare(op, of);
            let (a, b) = if compare.swap { (1, 0) } else { (0, 1) };
            (compare.value)(RESULT, a, b)
        }
        ExprKind::Binary { op, .. } => select::binary(op, ty)(RESULT, 0, 1),
        ExprKind::Math { function, .. } => match function {
            MathFn::Sqrt
            | MathFn::Floor
            | MathFn::Ceil
            | MathFn::Round
            | MathFn::RoundEven
            | MathFn::Trunc
            | MathFn::Abs => select::math1(function, ty)?(RESULT, 0),
            // Not for floats: which NaN is returned is up to the device.
            MathFn::Min | MathFn::Max if ty.is_int() => select::math2(function, ty)(RESULT, 0, 1),
            MathFn::MulAdd => select::fused(ty)(RESULT, 0, 1, 2),
            _ => return None,
        },
        ExprKind::Cast { .. } => select::cast(of, ty).unwrap_or(Op::Move)(RESULT, 0),
        ExprKind::Bits { .. } => Op::Move(RESULT, 0),
        ExprKind::Select { .. } => Op::Select(RESULT, 0, 1, 2),
        ExprKind::DivRem { op, .. } if operands[1].bits() != 0 => {
            select::divide(op, ty)(RESULT, 0, 1, 0)
        }
        _ => return None,
    })
}
