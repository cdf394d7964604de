//! Atomic operations: those of the dialect, and functions that loop until a compare-and-exchange succeeds.

use quadrants_ir::{AtomicOp, ScalarType};

use super::{helpers::Helper, task::TaskPrinter};
use crate::Dialect;

impl TaskPrinter<'_> {
    /// An expression that atomically updates the element at `address` and returns the old element.
    pub(super) fn atomic(
        &mut self,
        op: AtomicOp,
        ty: ScalarType,
        address: &str,
        (expected, value): (Option<&str>, &str),
    ) -> String {
        match (op, expected) {
            (AtomicOp::CompareExchange, Some(expected)) => {
                let function = self.helper(Helper::CompareExchange(ty));
                format!("{function}({address}, {expected}, {value})")
            }
            (AtomicOp::Min, _) if ty.is_float() => {
                format!("{}({address}, {value})", self.helper(Helper::AtomicMin(ty)))
            }
            (AtomicOp::Max, _) if ty.is_float() => {
                format!("{}({address}, {value})", self.helper(Helper::AtomicMax(ty)))
            }
            _ if ty == ScalarType::Bool => {
                format!("{}({address}, {value})", self.helper(Helper::AtomicBool(op)))
            }
            _ => self.cx.dialect.atomic(op, ty, address, value),
        }
    }
}

/// The unsigned integer type of the size of a number type.
fn word(ty: ScalarType) -> &'static str {
    if ty.size() == 8 { "u64" } else { "u32" }
}

fn to_word(ty: ScalarType, value: &str) -> String {
    match ty {
        ScalarType::F32 => format!("__float_as_uint({value})"),
        ScalarType::F64 => format!("(u64)__double_as_longlong({value})"),
        _ => format!("({}){value}", word(ty)),
    }
}

fn from_word(ty: ScalarType, value: &str) -> String {
    match ty {
        ScalarType::F32 => format!("__uint_as_float({value})"),
        ScalarType::F64 => format!("__longlong_as_double((i64){value})"),
        _ => format!("({ty}){value}"),
    }
}

/// The definition of a function that stores a value if the element has the expected bits.
pub(super) fn compare_exchange(ty: ScalarType, name: &str, dialect: &dyn Dialect) -> String {
    let (word, wanted, stored) = (word(ty), to_word(ty, "expected"), to_word(ty, "value"));
    let (exchange, old) = (dialect.compare_exchange("at", "seen", "next"), from_word(ty, "seen"));
    format!(
        "static __device__ inline {ty} {name}({ty}* element, {ty} expected, {ty} value) {{\n    \
             {word}* const at = ({word}*)element;\n    \
             {word} seen = {wanted};\n    \
             const {word} next = {stored};\n    \
             {exchange}\n    \
             return {old};\n\
         }}\n"
    )
}

/// The definition of a function that stores what `function` makes of a float and a value. It writes nothing if the
/// float stays, which is the usual case.
pub(super) fn update(ty: ScalarType, name: &str, function: &str, dialect: &dyn Dialect) -> String {
    let (word, old) = (word(ty), from_word(ty, "seen"));
    let next = to_word(ty, &format!("{function}({old}, value)"));
    let exchange = dialect.compare_exchange("at", "seen", "next");
    format!(
        "static __device__ inline {ty} {name}({ty}* element, {ty} value) {{\n    \
             {word}* const at = ({word}*)element;\n    \
             {word} seen = *(volatile {word}*)at;\n    \
             while (true) {{\n        \
                 const {word} before = seen, next = {next};\n        \
                 if (next == before) break;\n        \
                 {exchange}\n        \
                 if (seen == before) break;\n    \
             }}\n    \
             return {old};\n\
         }}\n"
    )
}

/// The definition of a function that combines into a bool: a byte of a word, of which it changes no other byte.
pub(super) fn combine_bool(op: AtomicOp, name: &str, dialect: &dyn Dialect) -> String {
    let bits = match op {
        AtomicOp::And => "value ? ~0u : ~(255u << shift)",
        _ => "(value ? 1u : 0u) << shift",
    };
    let atomic = dialect.atomic(op, ScalarType::U32, "word", "bits");
    format!(
        "static __device__ inline bool {name}(void* element, bool value) {{\n    \
             const u32 shift = 8u * ((u32)(u64)element & 3u);\n    \
             u32* const word = (u32*)((u64)element & ~3ull);\n    \
             const u32 bits = {bits};\n    \
             return (({atomic} >> shift) & 255u) != 0u;\n\
         }}\n"
    )
}
