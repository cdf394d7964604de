//! The device functions that implement collectives, in the order that [`quadrants_ir::collective`] defines.
//!
//! All threads of a block call these functions. Values are exchanged by shuffles within groups of 32 threads, which are
//! parts of a wave if that is wider, and through shared memory across groups.

use quadrants_ir::{CollectiveOp, ReduceOp, ScalarType, collective::WARP};

use super::consts;
use crate::Dialect;

pub(super) fn name(op: CollectiveOp, ty: ScalarType) -> String {
    match op {
        CollectiveOp::Reduce(ReduceOp::And | ReduceOp::Or) | CollectiveOp::Ballot => {
            format!("qd_{}", op.name())
        }
        _ => format!("qd_{}_{ty}", op.name()),
    }
}

pub(super) fn definition(op: CollectiveOp, ty: ScalarType, dialect: &dyn Dialect) -> String {
    let name = name(op, ty);
    match op {
        CollectiveOp::Reduce(op) => reduce(&name, op, ty, dialect),
        CollectiveOp::Scan { op, exclusive } => scan(&name, op, exclusive, ty, dialect),
        CollectiveOp::Shuffle => shuffle(&name, ty, dialect),
        CollectiveOp::Ballot => format!(
            "static __device__ inline u32 {name}(bool vote) {{ return {}; }}\n",
            dialect.ballot("vote")
        ),
    }
}

fn reduce(name: &str, op: ReduceOp, ty: ScalarType, dialect: &dyn Dialect) -> String {
    let word = word(ty);
    let given = from_value(ty, "given");
    let behind = dialect.shuffle("value", "((lane + distance) % 32u)");
    let combined = combined(op, ty, "value", "other");
    let result = to_value(ty, &format!("parts[{WARP}]"));
    format!(
        "static __device__ inline {ty} {name}({ty} given, u32 threads) {{\n    \
             __shared__ {word} parts[{parts}];\n    \
             const u32 thread = threadIdx.x, lane = thread % 32u, warps = (threads + 31u) / 32u;\n    \
             {word} value = {given};\n    \
             for (u32 distance = 16u; distance > 0u; distance /= 2u) {{\n        \
                 const {word} other = {behind};\n        \
                 if (thread + distance < threads) value = {combined};\n    \
             }}\n    \
             if (lane == 0u) parts[thread / 32u] = value;\n    \
             __syncthreads();\n    \
             value = parts[lane < warps ? lane : 0u];\n    \
             for (u32 distance = 16u; distance > 0u; distance /= 2u) {{\n        \
                 const {word} other = {behind};\n        \
                 if (lane + distance < warps) value = {combined};\n    \
             }}\n    \
             if (thread == 0u) parts[{WARP}] = value;\n    \
             __syncthreads();\n    \
             return {result};\n\
         }}\n",
        parts = WARP + 1,
    )
}

fn scan(
    name: &str,
    op: ReduceOp,
    exclusive: bool,
    ty: ScalarType,
    dialect: &dyn Dialect,
) -> String {
    let before = |value: &str| dialect.shuffle(value, "(lane < distance ? lane : lane - distance)");
    let round = |value: &str| {
        let (other, combined) = (before(value), combined(op, ty, "other", value));
        format!(
            "for (u32 distance = 1u; distance < 32u; distance *= 2u) {{\n        \
                 const {ty} other = {other};\n        \
                 if (lane >= distance) {value} = {combined};\n    \
             }}\n"
        )
    };
    let (of_warp, of_warps) = (round("value"), round("total"));
    let all = combined(op, ty, "before", "value");
    let (turned, added) = if exclusive {
        let other = dialect.shuffle("value", "(lane < 1u ? lane : lane - 1u)");
        let none = identity(op, ty);
        (
            format!("    const {ty} other = {other};\n    value = lane == 0u ? {none} : other;\n"),
            format!("lane == 0u ? before : {all}"),
        )
    } else {
        (String::new(), all)
    };
    format!(
        "static __device__ inline {ty} {name}({ty} value, u32 threads) {{\n    \
             __shared__ {ty} parts[{parts}];\n    \
             const u32 thread = threadIdx.x, lane = thread % 32u, warp = thread / 32u, warps = (threads + 31u) / 32u;\n    \
             {of_warp}    \
             if (lane == 31u || thread + 1u == threads) parts[warp] = value;\n    \
             __syncthreads();\n    \
             {ty} total = parts[lane < warps ? lane : 0u];\n    \
             {of_warps}    \
             if (thread < warps) parts[{WARP}u + thread] = total;\n    \
             __syncthreads();\n\
             {turned}    \
             if (warp > 0u) {{\n        \
                 const {ty} before = parts[{WARP}u + warp - 1u];\n        \
                 value = {added};\n    \
             }}\n    \
             return value;\n\
         }}\n",
        parts = 2 * WARP,
    )
}

fn shuffle(name: &str, ty: ScalarType, dialect: &dyn Dialect) -> String {
    let given = from_value(ty, "value");
    let other = dialect.shuffle(&given, "(there ? (u32)from : lane)");
    let taken = to_value(ty, &other);
    format!(
        "static __device__ inline {ty} {name}({ty} value, u64 from, u32 threads) {{\n    \
             const u32 lane = threadIdx.x % 32u;\n    \
             const bool there = from < 32ull && threadIdx.x - lane + from < threads;\n    \
             return {taken};\n\
         }}\n"
    )
}

/// The type in which values are shuffled.
fn word(ty: ScalarType) -> &'static str {
    if ty == ScalarType::Bool { "u32" } else { ty.name() }
}

fn from_value(ty: ScalarType, value: &str) -> String {
    if ty == ScalarType::Bool { format!("(u32){value}") } else { value.to_owned() }
}

fn to_value(ty: ScalarType, word: &str) -> String {
    if ty == ScalarType::Bool { format!("{word} != 0u") } else { word.to_owned() }
}

fn combined(op: ReduceOp, ty: ScalarType, a: &str, b: &str) -> String {
    let suffix = if ty == ScalarType::F32 { "f" } else { "" };
    match op {
        ReduceOp::Add if ty.is_wide_signed_int() => {
            let unsigned = ty.unsigned();
            format!("({ty})(({unsigned}){a} + ({unsigned}){b})")
        }
        ReduceOp::Add => format!("{a} + {b}"),
        ReduceOp::Min if ty.is_float() => format!("fmin{suffix}({a}, {b})"),
        ReduceOp::Max if ty.is_float() => format!("fmax{suffix}({a}, {b})"),
        ReduceOp::Min => format!("{a} < {b} ? {a} : {b}"),
        ReduceOp::Max => format!("{a} > {b} ? {a} : {b}"),
        ReduceOp::And => format!("{a} & {b}"),
        ReduceOp::Or => format!("{a} | {b}"),
    }
}

/// The identity element, for the first thread of an exclusive scan.
fn identity(op: ReduceOp, ty: ScalarType) -> String {
    let (low, high) = ty.int_range().unwrap_or_default();
    let infinity = |sign: f64| match ty {
        ScalarType::F32 => consts::constant((sign as f32 * f32::INFINITY).into()),
        _ => consts::constant((sign * f64::INFINITY).into()),
    };
    match op {
        ReduceOp::Min if ty.is_float() => infinity(1.0),
        ReduceOp::Max if ty.is_float() => infinity(-1.0),
        ReduceOp::Min => consts::int(ty, high),
        ReduceOp::Max => consts::int(ty, low),
        _ => consts::zero(ty),
    }
}
