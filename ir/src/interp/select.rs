//! Instruction selection: the machine operation for an IR operator and type.

use super::machine::{self, CombineOp, JumpTarget, Op, Reg};
use crate::{AtomicOp, BinaryOp, DivRemOp, MathFn, ReduceOp, ScalarType, UnaryOp};

pub(super) type Unary = fn(Reg, Reg) -> Op;
pub(super) type Binary = fn(Reg, Reg, Reg) -> Op;
pub(super) type Ternary = fn(Reg, Reg, Reg, Reg) -> Op;

/// The three operations of a comparison.
pub(super) struct ComparisonOps {
    pub(super) value: Binary,
    pub(super) jump_if: fn(Reg, Reg, JumpTarget) -> Op,
    pub(super) jump_unless: fn(Reg, Reg, JumpTarget) -> Op,
    /// Whether the operands are swapped.
    pub(super) swap: bool,
}

/// The type of a value as far as the machine distinguishes it.
#[derive(Clone, Copy)]
enum MachineType {
    I32,
    I64,
    U32,
    U64,
    F32,
    F64,
}

/// `bool` is an unsigned number.
const fn machine_type(ty: ScalarType) -> MachineType {
    match ty {
        ScalarType::I32 => MachineType::I32,
        ScalarType::I64 => MachineType::I64,
        ScalarType::Bool
        | ScalarType::U32
        // Narrow types are stored as their bits; they have no arithmetic.
        | ScalarType::I8
        | ScalarType::I16
        | ScalarType::U8
        | ScalarType::U16
        | ScalarType::F16 => MachineType::U32,
        ScalarType::U64 => MachineType::U64,
        ScalarType::F32 => MachineType::F32,
        ScalarType::F64 => MachineType::F64,
    }
}

/// Selects by type, for operations that are the same for both signs.
macro_rules! by_width {
    ($ty:expr, $w32:ident, $w64:ident, $f32:ident, $f64:ident) => {
        match machine_type($ty) {
            MachineType::I32 | MachineType::U32 => Op::$w32,
            MachineType::I64 | MachineType::U64 => Op::$w64,
            MachineType::F32 => Op::$f32,
            MachineType::F64 => Op::$f64,
        }
    };
}

/// Selects by type, for operations that are the same for both unsigned widths.
macro_rules! by_sign {
    ($ty:expr, $i32:ident, $i64:ident, $u:ident, $f32:ident, $f64:ident) => {
        match machine_type($ty) {
            MachineType::I32 => Op::$i32,
            MachineType::I64 => Op::$i64,
            MachineType::U32 | MachineType::U64 => Op::$u,
            MachineType::F32 => Op::$f32,
            MachineType::F64 => Op::$f64,
        }
    };
}

/// Selects by float type.
macro_rules! by_float {
    ($ty:expr, $f32:ident, $f64:ident) => {
        match $ty {
            ScalarType::F32 => Op::$f32,
            _ => Op::$f64,
        }
    };
}

pub(super) fn unary(op: UnaryOp, ty: ScalarType) -> Unary {
    match op {
        UnaryOp::Neg => by_width!(ty, Neg32, Neg64, NegF32, NegF64),
        UnaryOp::Not if ty == ScalarType::Bool => Op::NotBool,
        UnaryOp::Not if ty.size() == 4 => Op::Not32,
        UnaryOp::Not => Op::Not64,
        UnaryOp::CountOnes if ty.size() == 4 => Op::CountOnes32,
        UnaryOp::CountOnes => Op::CountOnes64,
        UnaryOp::LeadingZeros if ty.size() == 4 => Op::LeadingZeros32,
        UnaryOp::LeadingZeros => Op::LeadingZeros64,
        UnaryOp::TrailingZeros if ty.size() == 4 => Op::TrailingZeros32,
        UnaryOp::TrailingZeros => Op::TrailingZeros64,
        UnaryOp::ReverseBits if ty.size() == 4 => Op::ReverseBits32,
        UnaryOp::ReverseBits => Op::ReverseBits64,
    }
}

pub(super) fn binary(op: BinaryOp, ty: ScalarType) -> Binary {
    match op {
        BinaryOp::Add => by_width!(ty, Add32, Add64, AddF32, AddF64),
        BinaryOp::Sub => by_width!(ty, Sub32, Sub64, SubF32, SubF64),
        BinaryOp::Mul => by_width!(ty, Mul32, Mul64, MulF32, MulF64),
        BinaryOp::Div => by_float!(ty, DivF32, DivF64),
        BinaryOp::Rem => by_float!(ty, RemF32, RemF64),
        BinaryOp::And => Op::And,
        BinaryOp::Or => Op::Or,
        BinaryOp::Xor => Op::Xor,
        BinaryOp::Shl if ty.size() == 4 => Op::Shl32,
        BinaryOp::Shl => Op::Shl64,
        BinaryOp::Shr => match machine_type(ty) {
            MachineType::I32 => Op::ShrI32,
            MachineType::I64 => Op::ShrI64,
            MachineType::U32 => Op::ShrU32,
            _ => Op::ShrU64,
        },
        comparison => compare(comparison, ty).value,
    }
}

/// A comparison of operands of type `ty`. `op` must be a comparison.
pub(super) fn compare(op: BinaryOp, ty: ScalarType) -> ComparisonOps {
    macro_rules! made {
        ($value:ident, $jump_if:ident, $jump_unless:ident) => {
            ComparisonOps {
                value: Op::$value,
                jump_if: Op::$jump_if,
                jump_unless: Op::$jump_unless,
                swap: matches!(op, BinaryOp::Gt | BinaryOp::Ge),
            }
        };
    }
    match (op, machine_type(ty)) {
        (BinaryOp::Eq, MachineType::F32) => made!(EqF32, IfEqF32, UnlessEqF32),
        (BinaryOp::Eq, MachineType::F64) => made!(EqF64, IfEqF64, UnlessEqF64),
        (BinaryOp::Eq, _) => made!(Eq, IfEq, UnlessEq),
        (BinaryOp::Ne, MachineType::F32) => made!(NeF32, IfNeF32, UnlessNeF32),
        (BinaryOp::Ne, MachineType::F64) => made!(NeF64, IfNeF64, UnlessNeF64),
        (BinaryOp::Ne, _) => made!(Ne, IfNe, UnlessNe),
        (BinaryOp::Lt | BinaryOp::Gt, MachineType::I32) => made!(LtI32, IfLtI32, UnlessLtI32),
        (BinaryOp::Lt | BinaryOp::Gt, MachineType::I64) => made!(LtI64, IfLtI64, UnlessLtI64),
        (BinaryOp::Lt | BinaryOp::Gt, MachineType::F32) => made!(LtF32, IfLtF32, UnlessLtF32),
        (BinaryOp::Lt | BinaryOp::Gt, MachineType::F64) => made!(LtF64, IfLtF64, UnlessLtF64),
        (BinaryOp::Lt | BinaryOp::Gt, _) => made!(LtU, IfLtU, UnlessLtU),
        (_, MachineType::I32) => made!(LeI32, IfLeI32, UnlessLeI32),
        (_, MachineType::I64) => made!(LeI64, IfLeI64, UnlessLeI64),
        (_, MachineType::F32) => made!(LeF32, IfLeF32, UnlessLeF32),
        (_, MachineType::F64) => made!(LeF64, IfLeF64, UnlessLeF64),
        _ => made!(LeU, IfLeU, UnlessLeU),
    }
}

pub(super) fn math1(function: MathFn, ty: ScalarType) -> Option<Unary> {
    match (function, machine_type(ty)) {
        (MathFn::Abs, MachineType::I32 | MachineType::U32) => Some(Op::AbsI32),
        (MathFn::Abs, MachineType::I64 | MachineType::U64) => Some(Op::AbsI64),
        _ => machine::float_function(function, ty),
    }
}

pub(super) fn math2(function: MathFn, ty: ScalarType) -> Binary {
    match function {
        MathFn::Min => by_sign!(ty, MinI32, MinI64, MinU, MinF32, MinF64),
        MathFn::Max => by_sign!(ty, MaxI32, MaxI64, MaxU, MaxF32, MaxF64),
        MathFn::Powi => by_float!(ty, PowiF32, PowiF64),
        MathFn::Powf => by_float!(ty, PowfF32, PowfF64),
        MathFn::Hypot => by_float!(ty, HypotF32, HypotF64),
        // The remaining function with two arguments is `Atan2`.
        _ => by_float!(ty, Atan2F32, Atan2F64),
    }
}

/// `a * b + c` with one rounding.
pub(super) fn fused(ty: ScalarType) -> Ternary {
    by_float!(ty, FusedF32, FusedF64)
}

/// `a * b + c` with two roundings.
pub(super) fn mul_add(ty: ScalarType) -> Ternary {
    by_width!(ty, MulAdd32, MulAdd64, MulAddF32, MulAddF64)
}

/// A conversion; none if the register already holds the bits of the new value.
pub(super) fn cast(from: ScalarType, to: ScalarType) -> Option<Unary> {
    use MachineType::*;
    match (from, to) {
        (ScalarType::I8, _) => return Some(Op::Extend8),
        (ScalarType::I16, _) => return Some(Op::Extend16),
        (ScalarType::F16, _) => return Some(Op::F16ToF32),
        (_, ScalarType::F16) => return Some(Op::F32ToF16),
        (_, ScalarType::I8 | ScalarType::U8) => return Some(Op::Truncate8),
        (_, ScalarType::I16 | ScalarType::U16) => return Some(Op::Truncate16),
        _ => {}
    }
    Some(match (machine_type(from), machine_type(to)) {
        (F32, F32) | (F64, F64) => return None,
        (F32, F64) => Op::F32ToF64,
        (F64, F32) => Op::F64ToF32,
        (F32, I32) => Op::F32ToI32,
        (F32, I64) => Op::F32ToI64,
        (F32, U32) => Op::F32ToU32,
        (F32, U64) => Op::F32ToU64,
        (F64, I32) => Op::F64ToI32,
        (F64, I64) => Op::F64ToI64,
        (F64, U32) => Op::F64ToU32,
        (F64, U64) => Op::F64ToU64,
        (I32, F32) => Op::I32ToF32,
        (I32, F64) => Op::I32ToF64,
        (I64, F32) => Op::I64ToF32,
        (I64, F64) => Op::I64ToF64,
        (_, F32) => Op::UToF32,
        (_, F64) => Op::UToF64,
        (I32, I64 | U64) => Op::Extend32,
        (I64 | U64, I32 | U32) => Op::Truncate32,
        _ => return None,
    })
}

pub(super) fn divide(op: DivRemOp, ty: ScalarType) -> fn(Reg, Reg, Reg, u32) -> Op {
    match (op, machine_type(ty)) {
        (DivRemOp::Div, MachineType::I32) => Op::DivI32,
        (DivRemOp::Div, MachineType::I64) => Op::DivI64,
        (DivRemOp::Div, _) => Op::DivU,
        (DivRemOp::Rem, MachineType::I32) => Op::RemI32,
        (DivRemOp::Rem, MachineType::I64) => Op::RemI64,
        (DivRemOp::Rem, _) => Op::RemU,
    }
}

/// The end of an iteration of a loop over values of `ty`.
pub(super) fn next(ty: ScalarType) -> fn(Reg, Reg, JumpTarget) -> Op {
    match ty {
        ScalarType::I32 => Op::NextI32,
        ScalarType::I64 => Op::NextI64,
        _ => Op::NextU,
    }
}

/// The combining operation of a reduction over values of `ty`.
pub(super) fn reduce(op: ReduceOp, ty: ScalarType) -> CombineOp {
    match op {
        ReduceOp::Add => combine(AtomicOp::Add, ty),
        ReduceOp::Min => combine(AtomicOp::Min, ty),
        ReduceOp::Max => combine(AtomicOp::Max, ty),
        ReduceOp::And => CombineOp::And,
        ReduceOp::Or => CombineOp::Or,
    }
}

pub(super) fn combine(op: AtomicOp, ty: ScalarType) -> CombineOp {
    match (op, machine_type(ty)) {
        (AtomicOp::Add, MachineType::I32 | MachineType::U32) => CombineOp::Add32,
        (AtomicOp::Add, MachineType::I64 | MachineType::U64) => CombineOp::Add64,
        (AtomicOp::Add, MachineType::F32) => CombineOp::AddF32,
        (AtomicOp::Add, MachineType::F64) => CombineOp::AddF64,
        (AtomicOp::Min, MachineType::F32) => CombineOp::MinF32,
        (AtomicOp::Min, MachineType::F64) => CombineOp::MinF64,
        (AtomicOp::Max, MachineType::F32) => CombineOp::MaxF32,
        (AtomicOp::Max, MachineType::F64) => CombineOp::MaxF64,
        (AtomicOp::And, _) => by_size(ty, [CombineOp::And, CombineOp::And32, CombineOp::And64]),
        (AtomicOp::Or, _) => by_size(ty, [CombineOp::Or, CombineOp::Or32, CombineOp::Or64]),
        (AtomicOp::Xor, _) => by_size(ty, [CombineOp::Xor, CombineOp::Xor32, CombineOp::Xor64]),
        (AtomicOp::Exchange | AtomicOp::CompareExchange, _) => match ty.size() {
            4 => CombineOp::Replace32,
            _ => CombineOp::Replace64,
        },
        (AtomicOp::Min, MachineType::I32) => CombineOp::MinI32,
        (AtomicOp::Min, MachineType::I64) => CombineOp::MinI64,
        (AtomicOp::Min, MachineType::U32) => CombineOp::MinU32,
        (AtomicOp::Min, _) => CombineOp::MinU64,
        (AtomicOp::Max, MachineType::I32) => CombineOp::MaxI32,
        (AtomicOp::Max, MachineType::I64) => CombineOp::MaxI64,
        (AtomicOp::Max, MachineType::U32) => CombineOp::MaxU32,
        (AtomicOp::Max, _) => CombineOp::MaxU64,
    }
}

/// The variant for a bool, and for integers of 32 and 64 bits.
fn by_size(ty: ScalarType, [bool, four, eight]: [CombineOp; 3]) -> CombineOp {
    match ty.size() {
        1 => bool,
        4 => four,
        _ => eight,
    }
}
