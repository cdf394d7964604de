//! The operators of expressions, atomics and collectives.

use serde::{Deserialize, Serialize};

use crate::named::named_enum;

/// Operations on one value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum UnaryOp {
    /// Negation; wrapping for integers.
    Neg,
    /// Logical not of bool, bitwise not of integers.
    Not,
    /// The number of one bits of an integer.
    CountOnes,
    /// The number of zero bits above an integer's highest one bit.
    LeadingZeros,
    /// The number of zero bits below an integer's lowest one bit.
    TrailingZeros,
    /// The bits of an integer in reverse order.
    ReverseBits,
}

named_enum! {
    /// Operations on two values. Comparisons yield bool. `Div` and `Rem` are for floats only; integers use
    /// [`ExprKind::DivRem`](crate::ExprKind::DivRem).
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
    enum BinaryOp
    /// The operator in Rust syntax.
    fn symbol {
        Add = "+",
        Sub = "-",
        Mul = "*",
        Div = "/",
        Rem = "%",
        And = "&",
        Or = "|",
        Xor = "^",
        Shl = "<<",
        Shr = ">>",
        Eq = "==",
        Ne = "!=",
        Lt = "<",
        Le = "<=",
        Gt = ">",
        Ge = ">=",
    }
}

impl BinaryOp {
    /// Whether it is a comparison and yields bool.
    #[must_use]
    pub const fn is_comparison(self) -> bool {
        matches!(self, Self::Eq | Self::Ne | Self::Lt | Self::Le | Self::Gt | Self::Ge)
    }
}

/// Integer division and remainder, rounding towards zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum DivRemOp {
    /// `/`
    Div,
    /// `%`
    Rem,
}

named_enum! {
    /// The combining operation of an atomic.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
    enum AtomicOp
    /// The name of the function in kernels.
    fn name {
        /// Wraps for integers.
        Add = "atomic_add",
        /// As [`MathFn::Min`].
        Min = "atomic_min",
        /// As [`MathFn::Max`].
        Max = "atomic_max",
        /// Bitwise and. Like `Or` and `Xor`, for integers and bools.
        And = "atomic_and",
        /// Bitwise or.
        Or = "atomic_or",
        /// Bitwise exclusive or.
        Xor = "atomic_xor",
        /// Stores the operand.
        Exchange = "atomic_exchange",
        /// Stores the operand if the element has the bits of the expected value.
        CompareExchange = "atomic_compare_exchange",
    }
}

impl AtomicOp {
    /// Whether updates may be combined before they reach the element, because their order does not matter.
    #[must_use]
    pub const fn combines(self) -> bool {
        !matches!(self, Self::Exchange | Self::CompareExchange)
    }

    /// Whether the operation is on bits: it supports integers and bools, and no floats.
    #[must_use]
    pub const fn is_bitwise(self) -> bool {
        matches!(self, Self::And | Self::Or | Self::Xor)
    }
}

named_enum! {
    /// Mathematical functions with the semantics of Rust's methods of the same names.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
    enum MathFn
    /// The name of the method in Rust.
    fn name {
        Sqrt = "sqrt",
        Sin = "sin",
        Cos = "cos",
        Tan = "tan",
        Exp = "exp",
        Ln = "ln",
        Powf = "powf",
        /// The second argument is an `i32`.
        Powi = "powi",
        /// Also for signed integers, wrapping.
        Abs = "abs",
        /// Also for integers. For floats, a number is preferred to NaN.
        Min = "min",
        /// Also for integers. For floats, a number is preferred to NaN.
        Max = "max",
        Floor = "floor",
        Ceil = "ceil",
        /// Rounds half away from zero.
        Round = "round",
        MulAdd = "mul_add",
        Atan2 = "atan2",
        Tanh = "tanh",
        Trunc = "trunc",
        Exp2 = "exp2",
        Log2 = "log2",
        Log10 = "log10",
        Cbrt = "cbrt",
        Asin = "asin",
        Acos = "acos",
        Atan = "atan",
        Sinh = "sinh",
        Cosh = "cosh",
        Hypot = "hypot",
        ExpM1 = "exp_m1",
        Ln1p = "ln_1p",
        Asinh = "asinh",
        Acosh = "acosh",
        Atanh = "atanh",
        /// Rounds half to even.
        RoundEven = "round_ties_even",
    }
}

impl MathFn {
    /// The number of arguments.
    #[must_use]
    pub const fn arity(self) -> usize {
        match self {
            Self::MulAdd => 3,
            Self::Powf | Self::Powi | Self::Min | Self::Max | Self::Atan2 | Self::Hypot => 2,
            _ => 1,
        }
    }

    /// The function with this method name in Rust.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|function| function.name() == name)
    }
}

/// The kind of a collective. The module [`collective`](mod@crate::collective) defines the order of evaluation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum CollectiveOp {
    /// Combines the values of all threads into one.
    Reduce(ReduceOp),
    /// A prefix scan: each thread gets the combined value of all threads up to it.
    Scan {
        /// The combining operation.
        op: ReduceOp,
        /// Whether the thread's own value is excluded.
        exclusive: bool,
    },
    /// Each thread gets the value of another lane of its warp.
    Shuffle,
    /// Each thread gets the bools of its warp, as the bits of a `u32`.
    Ballot,
}

/// The combining operation of a reduction or scan.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum ReduceOp {
    /// Addition; wrapping for integers.
    Add,
    /// Minimum. For floats, a number is preferred to NaN.
    Min,
    /// Maximum. For floats, a number is preferred to NaN.
    Max,
    /// Logical and of bools.
    And,
    /// Logical or of bools.
    Or,
}

impl CollectiveOp {
    /// Whether all threads get the same result.
    #[must_use]
    pub const fn is_uniform(self) -> bool {
        matches!(self, Self::Reduce(_))
    }

    /// The name of the method of `Block` in kernels.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reduce(ReduceOp::Add) => "reduce_add",
            Self::Reduce(ReduceOp::Min) => "reduce_min",
            Self::Reduce(ReduceOp::Max) => "reduce_max",
            Self::Reduce(ReduceOp::And) => "all",
            Self::Reduce(ReduceOp::Or) => "any",
            Self::Scan { op: ReduceOp::Min, exclusive: false } => "scan_min",
            Self::Scan { op: ReduceOp::Max, exclusive: false } => "scan_max",
            Self::Scan { exclusive: false, .. } => "scan_add",
            Self::Scan { op: ReduceOp::Min, exclusive: true } => "exclusive_scan_min",
            Self::Scan { op: ReduceOp::Max, exclusive: true } => "exclusive_scan_max",
            Self::Scan { exclusive: true, .. } => "exclusive_scan_add",
            Self::Shuffle => "shuffle",
            Self::Ballot => "ballot",
        }
    }

    /// The operation with this method name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|op| op.name() == name)
    }

    /// All operations.
    pub fn all() -> impl Iterator<Item = Self> {
        use ReduceOp::{Add, And, Max, Min, Or};
        let reductions = [Add, Min, Max, And, Or].map(Self::Reduce);
        let scans = [false, true]
            .into_iter()
            .flat_map(|exclusive| [Add, Min, Max].map(|op| Self::Scan { op, exclusive }));
        reductions.into_iter().chain(scans).chain([Self::Shuffle, Self::Ballot])
    }
}
