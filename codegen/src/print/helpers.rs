//! The device functions that printed kernels need. Only those that a kernel uses are printed.

use quadrants_ir::{
    AtomicOp, CollectiveOp, ScalarType, UnaryOp,
    abi::{ErrorRecord, MessageBuffer},
};

use super::{atomics, collective_functions as collective, consts, expr::library};
use crate::Dialect;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Helper {
    /// Whether this is the thread that runs a serial task.
    IsFirst,
    /// The index of the thread along a grid axis.
    Thread(char),
    /// The number of threads along a grid axis.
    Threads(char),
    /// The index of the block along a grid axis.
    Block(char),
    /// The number of blocks along a grid axis.
    Blocks(char),
    /// A saturating conversion.
    Cast { from: ScalarType, to: ScalarType },
    /// The wrapping absolute value of a signed integer.
    Abs(ScalarType),
    /// The minimum of two integers.
    Min(ScalarType),
    /// The maximum of two integers.
    Max(ScalarType),
    /// A float to the power of an `i32`.
    Powi(ScalarType),
    /// Bit counting of integers of 32 or 64 bits.
    Bits { op: UnaryOp, ty: ScalarType },
    /// Integer division without undefined behaviour.
    Div(ScalarType),
    /// Integer remainder without undefined behaviour.
    Rem(ScalarType),
    /// Stores a value if the element has the expected bits.
    CompareExchange(ScalarType),
    /// The atomic minimum of floats.
    AtomicMin(ScalarType),
    /// The atomic maximum of floats.
    AtomicMax(ScalarType),
    /// An atomic operation on a bool.
    AtomicBool(AtomicOp),
    /// A collective of a thread block.
    Collective { op: CollectiveOp, ty: ScalarType },
    /// The type of a vector load: 16 bytes.
    Words,
    /// Records a device error.
    Fail,
    /// Takes a slot for a message.
    BeginMessage,
    /// Completes a message.
    EndMessage,
}

impl Helper {
    pub(super) fn name(self) -> String {
        match self {
            Self::IsFirst => "qd_is_first_thread".to_owned(),
            Self::Thread(axis) => format!("qd_thread_{axis}"),
            Self::Threads(axis) => format!("qd_threads_{axis}"),
            Self::Block(axis) => format!("qd_block_{axis}"),
            Self::Blocks(axis) => format!("qd_blocks_{axis}"),
            Self::Cast { from, to } => format!("qd_{to}_from_{from}"),
            Self::Abs(ty) => format!("qd_abs_{ty}"),
            Self::Min(ty) => format!("qd_min_{ty}"),
            Self::Max(ty) => format!("qd_max_{ty}"),
            Self::Powi(ty) => format!("qd_powi_{ty}"),
            Self::Bits { op, ty } => {
                let what = match op {
                    UnaryOp::CountOnes => "count_ones",
                    UnaryOp::LeadingZeros => "leading_zeros",
                    UnaryOp::ReverseBits => "reverse_bits",
                    _ => "trailing_zeros",
                };
                format!("qd_{what}_{ty}")
            }
            Self::Div(ty) => format!("qd_div_{ty}"),
            Self::Rem(ty) => format!("qd_rem_{ty}"),
            Self::CompareExchange(ty) => format!("qd_compare_exchange_{ty}"),
            Self::AtomicMin(ty) => format!("qd_atomic_min_{ty}"),
            Self::AtomicMax(ty) => format!("qd_atomic_max_{ty}"),
            Self::AtomicBool(op) => format!("qd_{}_bool", op.name()),
            Self::Collective { op, ty } => collective::name(op, ty),
            Self::Words => "qd_words".to_owned(),
            Self::Fail => "qd_fail".to_owned(),
            Self::BeginMessage => "qd_begin_message".to_owned(),
            Self::EndMessage => "qd_end_message".to_owned(),
        }
    }

    pub(super) fn definition(self, dialect: &dyn Dialect) -> String {
        let name = self.name();
        match self {
            Self::Words => format!("struct alignas(16) {name} {{\n    u32 parts[4];\n}};\n"),
            Self::Fail => fail(dialect),
            Self::BeginMessage => begin_message(dialect),
            Self::EndMessage => end_message(dialect),
            Self::CompareExchange(ty) => atomics::compare_exchange(ty, &name, dialect),
            Self::AtomicMin(ty) => atomics::update(ty, &name, &library("fmin", ty), dialect),
            Self::AtomicMax(ty) => atomics::update(ty, &name, &library("fmax", ty), dialect),
            Self::AtomicBool(op) => atomics::combine_bool(op, &name, dialect),
            Self::Collective { op, ty } => collective::definition(op, ty, dialect),
            Self::IsFirst => inline(
                "bool",
                &name,
                "",
                "return (blockIdx.x | blockIdx.y | blockIdx.z | threadIdx.x | threadIdx.y | threadIdx.z) == 0u;",
            ),
            Self::Thread(a) => inline(
                "u64",
                &name,
                "",
                &format!("return (u64)blockIdx.{a} * blockDim.{a} + threadIdx.{a};"),
            ),
            Self::Threads(a) => {
                inline("u64", &name, "", &format!("return (u64)gridDim.{a} * blockDim.{a};"))
            }
            Self::Block(a) => inline("u64", &name, "", &format!("return blockIdx.{a};")),
            Self::Blocks(a) => inline("u64", &name, "", &format!("return gridDim.{a};")),
            Self::Cast { from, to } => {
                inline(to.name(), &name, &format!("{} x", from.name()), &cast_body(from, to))
            }
            Self::Abs(ty) => inline(
                ty.name(),
                &name,
                &format!("{ty} x"),
                &format!("return x < 0 ? {} : x;", negated(ty, "x")),
            ),
            Self::Min(ty) => pair(ty, &name, "return a < b ? a : b;"),
            Self::Max(ty) => pair(ty, &name, "return a > b ? a : b;"),
            Self::Div(ty) if ty.is_wide_signed_int() => pair(
                ty,
                &name,
                &format!("return b == 0 ? 0 : b == -1 ? {} : a / b;", negated(ty, "a")),
            ),
            Self::Rem(ty) if ty.is_wide_signed_int() => {
                pair(ty, &name, "return b == 0 || b == -1 ? 0 : a % b;")
            }
            Self::Div(ty) => pair(ty, &name, "return b == 0 ? 0 : a / b;"),
            Self::Rem(ty) => pair(ty, &name, "return b == 0 ? 0 : a % b;"),
            Self::Powi(ty) => powi(ty, &name),
            Self::Bits { op, ty } => {
                let (suffix, wide) = if ty.size() == 8 { ("ll", "i64") } else { ("", "i32") };
                let of = ty.name();
                let body = match op {
                    UnaryOp::CountOnes => {
                        format!("return ({of})__popc{suffix}(({})x);", ty.unsigned().name())
                    }
                    UnaryOp::ReverseBits => {
                        format!("return ({of})__brev{suffix}(({})x);", ty.unsigned().name())
                    }
                    UnaryOp::LeadingZeros => format!("return ({of})__clz{suffix}(({wide})x);"),
                    _ => format!(
                        "return ({of})(x == 0 ? {} : __ffs{suffix}(({wide})x) - 1);",
                        8 * ty.size()
                    ),
                };
                inline(of, &name, &format!("{of} x"), &body)
            }
        }
    }
}

fn inline(result: &str, name: &str, params: &str, body: &str) -> String {
    format!("static __device__ inline {result} {name}({params}) {{ {body} }}\n")
}

fn pair(ty: ScalarType, name: &str, body: &str) -> String {
    inline(ty.name(), name, &format!("{ty} a, {ty} b"), body)
}

/// The wrapping negation of a signed integer.
fn negated(ty: ScalarType, value: &str) -> String {
    let unsigned = ty.unsigned().name();
    format!("({})(0 - ({unsigned}){value})", ty.name())
}

/// Compilers differ in the name of this type, and no header is included, so `f16` is represented by its bits. Rounds to
/// nearest, ties to even.
const F16_FROM_F32: &str = "\
const u32 bits = __float_as_uint(x), sign = bits >> 16 & 0x8000u, m = bits & 0x7fffffffu;
    if (m > 0x7f800000u) return (f16)(sign | 0x7e00u | (m >> 13 & 0x3ffu));
    if (m >= 0x47800000u) return (f16)(sign | 0x7c00u);
    if (m >= 0x38800000u) return (f16)(sign | (m + 0xfffu + (m >> 13 & 1u) - 0x38000000u) >> 13);
    if (m <= 0x33000000u) return (f16)sign;
    const u32 digits = (m & 0x7fffffu) | 0x800000u, shift = 126u - (m >> 23);
    const u32 low = digits >> shift, rest = digits & ((1u << shift) - 1u), middle = 1u << (shift - 1u);
    return (f16)(sign | (low + (rest > middle || (rest == middle && (low & 1u) != 0u) ? 1u : 0u)));";

/// Subnormal numbers have few digits, so their product with a power of two is exact.
const F32_FROM_F16: &str = "\
const u32 sign = (u32)(x & 0x8000) << 16, e = x >> 10 & 0x1f, digits = x & 0x3ff;
    if (e == 31u) return __uint_as_float(sign | 0x7f800000u | digits << 13 | (digits != 0u ? 0x400000u : 0u));
    if (e != 0u) return __uint_as_float(sign | (e + 112u) << 23 | digits << 13);
    return __uint_as_float(sign | __float_as_uint((f32)digits * 0x1p-24f));";

/// Converting a float outside the integer's range is undefined in C++. Rust saturates, and converts NaN to 0.
fn cast_body(from: ScalarType, to: ScalarType) -> String {
    if from == ScalarType::F16 {
        return F32_FROM_F16.to_owned();
    }
    if to == ScalarType::F16 {
        return F16_FROM_F32.to_owned();
    }
    let (low, high) = to.int_range().unwrap_or_default();
    let limit = |value: i128| consts::float(from, value as f64);
    let above = format!("x >= {} ? {}", limit(high + 1), consts::int(to, high));
    if low == 0 {
        format!("return x > {} ? ({above} : ({to})x) : 0;", limit(0))
    } else {
        format!(
            "return {above} : x < {} ? {} : x == x ? ({to})x : 0;",
            limit(low),
            consts::int(to, low)
        )
    }
}

/// Exponentiation by squaring, from the lowest bit of the exponent's magnitude, with the reciprocal last. This is the
/// order of LLVM's `powi`, which Rust uses.
fn powi(ty: ScalarType, name: &str) -> String {
    let one = consts::float(ty, 1.0);
    format!(
        "static __device__ inline {ty} {name}({ty} x, i32 n) {{\n    \
             u32 bits = n < 0 ? 0u - (u32)n : (u32)n;\n    \
             {ty} power = {one};\n    \
             while (true) {{\n        \
                 if ((bits & 1u) != 0u) power *= x;\n        \
                 bits >>= 1;\n        \
                 if (bits == 0u) break;\n        \
                 x *= x;\n    \
             }}\n    \
             return n < 0 ? {one} / power : power;\n\
         }}\n"
    )
}

/// Takes a slot for a message; null if there is no buffer, or if the host has not read the slot's last message.
fn begin_message(dialect: &dyn Dialect) -> String {
    format!(
        "static __device__ __noinline__ qd_message* qd_begin_message(qd_error_record* record, u64 launch, u64 site) {{\n    \
             qd_message_buffer* const buffer = record->messages;\n    \
             if (buffer == 0) return 0;\n    \
             const u64 number = {next};\n    \
             if (number - *(volatile u64*)&buffer->printed >= {count}ull) return 0;\n    \
             qd_message* const message = &buffer->messages[number % {count}ull];\n    \
             message->launch = launch;\n    \
             message->site = site;\n    \
             message->next = number + 1ull;\n    \
             return message;\n\
         }}\n",
        next = dialect.atomic(AtomicOp::Add, ScalarType::U64, "buffer->counter", "1ull"),
        count = MessageBuffer::MESSAGES,
    )
}

/// Completes a message. The host reads its fields after its number is set.
fn end_message(dialect: &dyn Dialect) -> String {
    format!(
        "static __device__ __noinline__ void qd_end_message(qd_message* message) {{\n    \
             {fence}\n    \
             *(volatile u64*)&message->number = message->next;\n\
         }}\n",
        fence = dialect.system_fence(),
    )
}

/// Reports the first error of a launch, unless an earlier error is pending. The host reads the fields after `state` is
/// set to complete.
fn fail(dialect: &dyn Dialect) -> String {
    let count = ErrorRecord::VALUES;
    let names: Vec<String> = (0..count).map(|at| format!("v{at}")).collect();
    let parameters: Vec<String> = names.iter().map(|name| format!("u64 {name} = 0")).collect();
    let (parameters, values) = (parameters.join(", "), names.join(", "));
    format!(
        "static __device__ __noinline__ void qd_fail(qd_error_record* record, u32 site, u64 launch, u32 task, u32 count,\n        \
             {parameters}) {{\n    \
             if (*(volatile u32*)&record->state != {empty}u) return;\n    \
             if ({last} == launch) return;\n    \
             record->site = site;\n    \
             record->launch = launch;\n    \
             record->task = task;\n    \
             record->count = count;\n    \
             const u64 values[{count}] = {{{values}}};\n    \
             for (u32 i = 0; i < {count}; i++) record->values[i] = values[i];\n    \
             {fence}\n    \
             *(volatile u32*)&record->state = {full}u;\n\
         }}\n",
        empty = ErrorRecord::EMPTY,
        last = dialect.exchange("record->claim", "launch"),
        fence = dialect.system_fence(),
        full = ErrorRecord::FULL,
    )
}
