//! The kernel itself: parameters, pure expressions, statements with effects, and the top level.
//!
//! Two rules make the rest simple, and the verifier holds them:
//!
//! * **Effects stand at roots.** [`ExprKind::Load`], [`ExprKind::Atomic`] and [`ExprKind::DivRem`]
//!   occur only as the whole value of a [`Stmt::Let`] or [`Stmt::Eval`]. All else is pure, and may
//!   be evaluated any number of times at its statement.
//! * **Every local is defined once**, by the `Let`, loop or serial task that owns it, before its
//!   uses, within scope; only a `mutable` one is ever assigned.

use serde::{Deserialize, Serialize};

use crate::{
    Const, Param, ScalarType,
    arena::{Arena, Id, Tag},
};

/// A kernel as its author wrote it, with all types known.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Kernel {
    /// The function's name: an identifier of both Rust and C.
    pub name: String,
    /// The source file, for messages.
    pub file: String,
    /// The parameters in order.
    pub params: Vec<Param>,
    /// All locals, loop variables included.
    pub locals: Arena<Local>,
    /// All expressions.
    pub exprs: Arena<Expr>,
    /// All blocks.
    pub blocks: Arena<Block>,
    /// The places that can raise a device error.
    pub sites: Vec<Site>,
    /// The top level.
    pub body: Vec<TopStmt>,
    /// The type of the kernel's value, where it has one.
    pub result: Option<ScalarType>,
    /// What the kernel's attribute asks for.
    pub options: Options,
}

/// What a kernel's attribute asks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Options {
    /// Floats may be reassociated (GPU code only).
    pub fast_math: bool,
    /// No contraction of multiply and add: bit-identical `+ - * / sqrt fma` everywhere.
    pub strict: bool,
}

/// A statement at a kernel's top level, or at that of a `stream_parallel` block.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum TopStmt {
    /// Statements in one thread. Locals that its top level defines are visible to what follows.
    Serial(BlockId),
    /// A parallel loop.
    ParallelFor(ParallelFor),
    /// Blocks of threads that share arrays.
    BlockFor(BlockFor),
    /// A `stream_parallel` block; never inside another.
    Group {
        /// Its number, from 1 in source order.
        group: GroupId,
        /// What stands in it.
        body: Vec<TopStmt>,
    },
    /// The kernel's value; only last.
    Return(ExprId),
}

/// A parallel loop over one to three dimensions, the last of them fastest.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ParallelFor {
    /// The dimensions, outermost first.
    pub dims: Vec<LoopDim>,
    /// The body of one iteration.
    pub body: BlockId,
    /// The source line of the loop.
    pub line: u32,
    /// How many threads a GPU's block has, where the author says so: 1 to
    /// [`MAX_BLOCK_SIZE`](crate::abi::MAX_BLOCK_SIZE).
    pub block_size: Option<u32>,
}

/// Blocks of threads, as many as the dimensions have values, which may run in any order.
///
/// The body is what a block does as a whole: its threads compute it alike, and it changes nothing but
/// its own locals. What each thread does by itself stands in the phases, [`Stmt::Each`]; between two of
/// them all threads of a block wait for each other.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BlockFor {
    /// The dimensions of the grid of blocks, outermost first.
    pub dims: Vec<LoopDim>,
    /// How many threads a block has: 1 to [`MAX_BLOCK_SIZE`](crate::abi::MAX_BLOCK_SIZE).
    pub threads: u32,
    /// What a block does.
    pub body: BlockId,
    /// The source line.
    pub line: u32,
}

/// One dimension of a parallel loop: `begin <= var < end`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LoopDim {
    /// The loop variable, immutable, of an integer type.
    pub var: LocalId,
    /// The first value.
    pub begin: ExprId,
    /// The value after the last; at or below `begin`, nothing runs.
    pub end: ExprId,
}

/// A statement list.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Block {
    /// The statements in order.
    pub stmts: Vec<Stmt>,
}

/// A statement.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Stmt {
    /// Defines a local. The only place of an effect's value.
    Let {
        /// The local.
        local: LocalId,
        /// Its value; may be an effect.
        value: ExprId,
    },
    /// Assigns a mutable local.
    Assign {
        /// The local.
        local: LocalId,
        /// The new value; pure.
        value: ExprId,
    },
    /// Evaluates an effect for its effect.
    Eval {
        /// The effect.
        value: ExprId,
    },
    /// Writes an element.
    Store {
        /// The tensor parameter.
        tensor: ParamId,
        /// One `u64` index per dimension.
        index: Vec<ExprId>,
        /// The element.
        value: ExprId,
        /// Where an index out of range is reported from.
        site: SiteId,
    },
    /// A branch.
    If {
        /// A bool.
        cond: ExprId,
        /// Where it is true.
        then: BlockId,
        /// Where it is false.
        otherwise: BlockId,
    },
    /// A serial loop over `begin <= var < end`; the bounds are evaluated once.
    For {
        /// The loop variable, immutable, of an integer type.
        var: LocalId,
        /// The first value.
        begin: ExprId,
        /// The value after the last.
        end: ExprId,
        /// The body.
        body: BlockId,
        /// How often a compiler is asked to repeat the body in a row: 0 for as often as it runs.
        unroll: Option<u32>,
        /// Whether it runs from the last value down.
        down: bool,
    },
    /// Loops until a `Break`.
    Loop {
        /// The body.
        body: BlockId,
    },
    /// Leaves the innermost `For` or `Loop`.
    Break,
    /// Goes on with the next round of the innermost `For` or `Loop`, or ends the iteration of the
    /// parallel loop, or the thread's phase, where there is none.
    Continue,
    /// Defines an array that the threads of a block share, of zeros. Stands in what a block does as a
    /// whole, outside loops.
    Shared {
        /// The array; of the type of an element.
        array: LocalId,
        /// How many elements it has along each of its one or two dimensions, the last of them fastest.
        dims: Vec<u32>,
    },
    /// A phase of a block: each of its threads runs the body, and waits for the others. Stands in what
    /// a block does as a whole.
    Each {
        /// The thread's number in its block, a `u64`.
        var: LocalId,
        /// What it does.
        body: BlockId,
        /// What becomes of the values that the threads [give](Self::Give) at its end.
        exchange: Option<Exchange>,
    },
    /// What a thread gives to its phase's exchange: last in the body of a phase that has one, which no
    /// thread leaves before.
    Give {
        /// The value; pure.
        value: ExprId,
        /// Of a shuffle: the thread of its warp that it takes a value from, a `u64`; itself where there is
        /// no such thread.
        from: Option<ExprId>,
    },
    /// Writes an element of a shared array; in a phase.
    SharedStore {
        /// The array.
        array: LocalId,
        /// One `u64` per dimension.
        index: Vec<ExprId>,
        /// The element.
        value: ExprId,
        /// Where an index out of range is reported from.
        site: SiteId,
    },
    /// Raises the site's device error where `cond` is false, and ends the iteration.
    Assert {
        /// A bool.
        cond: ExprId,
        /// What is reported.
        site: SiteId,
    },
    /// Writes a temporary of the launch. Made by offloading alone.
    SetTemp {
        /// The temporary.
        temp: TempId,
        /// Its value.
        value: ExprId,
    },
    /// Writes the kernel's result. Made by offloading alone.
    SetResult {
        /// The value.
        value: ExprId,
    },
}

/// What the threads of a block make of one value of each, at the end of a phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Exchange {
    /// How.
    pub op: ExchangeOp,
    /// The local that it defines; immutable. Where threads get values of their own, only phases read it.
    pub local: LocalId,
}

/// How values of a block's threads are exchanged; in which order, [`exchange`](mod@crate::collective) says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum ExchangeOp {
    /// One value of all.
    Reduce(ReduceOp),
    /// For each thread, the value of those up to it, or of those before it.
    Scan {
        /// How two values become one.
        op: ReduceOp,
        /// Whether the thread's own value is left out.
        exclusive: bool,
    },
    /// For each thread, the value of another one of its warp.
    Shuffle,
    /// For each thread, the bools of its warp as bits of a `u32`.
    Ballot,
}

/// How two values become one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum ReduceOp {
    /// The sum of numbers; wrapping of integers.
    Add,
    /// The smaller of two numbers. Of floats the number wins over NaN.
    Min,
    /// The larger of two numbers. Of floats the number wins over NaN.
    Max,
    /// Whether both bools are true.
    And,
    /// Whether one of two bools is true.
    Or,
}

impl ExchangeOp {
    /// Whether all threads get the same value.
    #[must_use]
    pub const fn is_uniform(self) -> bool {
        matches!(self, Self::Reduce(_))
    }

    /// Its name, as a method of a block.
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

    /// The operation that a block's method of this name is.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        use ReduceOp::{Add, And, Max, Min, Or};
        let reductions = [Add, Min, Max, And, Or].map(Self::Reduce);
        let scans = [false, true]
            .into_iter()
            .flat_map(|exclusive| [Add, Min, Max].map(|op| Self::Scan { op, exclusive }));
        let mut all = reductions.into_iter().chain(scans).chain([Self::Shuffle, Self::Ballot]);
        all.find(|op| op.name() == name)
    }
}

/// An expression: its type and what it computes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Expr {
    /// The type of the value.
    pub ty: ScalarType,
    /// What computes it.
    pub kind: ExprKind,
}

/// What an expression computes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum ExprKind {
    /// A constant.
    Const(Const),
    /// The value of a local at the statement.
    Local(LocalId),
    /// A scalar parameter.
    Param(ParamId),
    /// The extent of a tensor parameter along an axis, as `u64`.
    Dim {
        /// The tensor.
        tensor: ParamId,
        /// The axis, from 0.
        axis: u8,
    },
    /// A temporary of the launch. Made by offloading alone.
    Temp(TempId),
    /// An operation on one value of the expression's type.
    Unary {
        /// The operation.
        op: UnaryOp,
        /// The operand.
        value: ExprId,
    },
    /// An operation on two values of one type (for shifts the right one may be of any integer type).
    /// Integers wrap; shift counts are masked to the width.
    Binary {
        /// The operation.
        op: BinaryOp,
        /// The left operand.
        lhs: ExprId,
        /// The right operand.
        rhs: ExprId,
    },
    /// A mathematical function.
    Math {
        /// The function.
        function: MathFn,
        /// Its arguments, [`MathFn::arity`] of them.
        args: Vec<ExprId>,
    },
    /// A conversion to the expression's type with Rust's `as` semantics: float to integer saturates,
    /// NaN is 0; integers truncate or extend.
    Cast {
        /// What is converted.
        value: ExprId,
    },
    /// The bits of a value as one of another type of the same size: `f32::to_bits` and its like.
    Bits {
        /// The value.
        value: ExprId,
    },
    /// `then` where `cond`, else `otherwise`; both may be evaluated.
    Select {
        /// A bool.
        cond: ExprId,
        /// The value where it is true.
        then: ExprId,
        /// The value where it is false.
        otherwise: ExprId,
    },
    /// Effect: reads an element. Out of range in the checked form it gives zero.
    Load {
        /// The tensor parameter.
        tensor: ParamId,
        /// One `u64` index per dimension.
        index: Vec<ExprId>,
        /// Where an index out of range is reported from.
        site: SiteId,
    },
    /// Effect: combines an element with a value atomically and gives the old element.
    Atomic {
        /// The combination.
        op: AtomicOp,
        /// The tensor parameter.
        tensor: ParamId,
        /// One `u64` index per dimension.
        index: Vec<ExprId>,
        /// The value combined in.
        value: ExprId,
        /// Where an index out of range is reported from.
        site: SiteId,
    },
    /// Effect: reads an element of a shared array, in a phase. Out of range in the checked form it gives
    /// zero.
    SharedLoad {
        /// The array.
        array: LocalId,
        /// One `u64` per dimension.
        index: Vec<ExprId>,
        /// Where an index out of range is reported from.
        site: SiteId,
    },
    /// Effect: combines an element of a shared array with a value atomically and gives the old element;
    /// in a phase.
    SharedAtomic {
        /// The combination.
        op: AtomicOp,
        /// The array.
        array: LocalId,
        /// One `u64` per dimension.
        index: Vec<ExprId>,
        /// The value combined in.
        value: ExprId,
        /// Where an index out of range is reported from.
        site: SiteId,
    },
    /// Effect: integer division or remainder. A zero divisor raises the site's error and gives 0;
    /// the overflow of `MIN / -1` wraps.
    DivRem {
        /// Which of the two.
        op: DivRemOp,
        /// The dividend.
        lhs: ExprId,
        /// The divisor.
        rhs: ExprId,
        /// Where a zero divisor is reported from.
        site: SiteId,
    },
}

impl ExprKind {
    /// Whether it touches memory or can raise a device error, and so stands at a statement's root.
    #[must_use]
    pub const fn is_effect(&self) -> bool {
        matches!(
            self,
            Self::Load { .. }
                | Self::Atomic { .. }
                | Self::SharedLoad { .. }
                | Self::SharedAtomic { .. }
                | Self::DivRem { .. }
        )
    }
}

/// Operations on one value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum UnaryOp {
    /// Negation: wrapping on integers.
    Neg,
    /// Logical not on bool, bitwise not on integers.
    Not,
    /// The number of one bits of an integer.
    CountOnes,
    /// The number of zero bits above an integer's highest one bit.
    LeadingZeros,
    /// The number of zero bits below an integer's lowest one bit.
    TrailingZeros,
}

/// Operations on two values. Comparisons give bool. `Div` and `Rem` are of floats alone; integers
/// use [`ExprKind::DivRem`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[allow(missing_docs)] // each is the operator of its name
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl BinaryOp {
    /// Whether it compares, and so gives bool.
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

/// How an atomic combines. The comparison ones are of integers alone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum AtomicOp {
    /// Adds; wrapping on integers.
    Add,
    /// Keeps the smaller.
    Min,
    /// Keeps the larger.
    Max,
}

/// Mathematical functions, with the meaning of Rust's methods of these names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[allow(missing_docs)] // each is std's method of its name
pub enum MathFn {
    Sqrt,
    Sin,
    Cos,
    Tan,
    Exp,
    Ln,
    Powf,
    /// The second argument is an `i32`.
    Powi,
    /// Also of signed integers, wrapping.
    Abs,
    /// Also of integers. Of floats the number wins over NaN.
    Min,
    /// Also of integers. Of floats the number wins over NaN.
    Max,
    Floor,
    Ceil,
    /// Half away from zero.
    Round,
    MulAdd,
    Atan2,
    Tanh,
    Trunc,
    Exp2,
    Log2,
    Log10,
    Cbrt,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Hypot,
}

impl MathFn {
    /// How many arguments it takes.
    #[must_use]
    pub const fn arity(self) -> usize {
        match self {
            Self::MulAdd => 3,
            Self::Powf | Self::Powi | Self::Min | Self::Max | Self::Atan2 | Self::Hypot => 2,
            _ => 1,
        }
    }

    /// Rust's name of the method.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sqrt => "sqrt",
            Self::Sin => "sin",
            Self::Cos => "cos",
            Self::Tan => "tan",
            Self::Exp => "exp",
            Self::Ln => "ln",
            Self::Powf => "powf",
            Self::Powi => "powi",
            Self::Abs => "abs",
            Self::Min => "min",
            Self::Max => "max",
            Self::Floor => "floor",
            Self::Ceil => "ceil",
            Self::Round => "round",
            Self::MulAdd => "mul_add",
            Self::Atan2 => "atan2",
            Self::Tanh => "tanh",
            Self::Trunc => "trunc",
            Self::Exp2 => "exp2",
            Self::Log2 => "log2",
            Self::Log10 => "log10",
            Self::Cbrt => "cbrt",
            Self::Asin => "asin",
            Self::Acos => "acos",
            Self::Atan => "atan",
            Self::Sinh => "sinh",
            Self::Cosh => "cosh",
            Self::Hypot => "hypot",
        }
    }

    /// The function that Rust's method `name` is.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        use MathFn::*;
        [
            Sqrt, Sin, Cos, Tan, Exp, Ln, Powf, Powi, Abs, Min, Max, Floor, Ceil, Round, MulAdd,
            Atan2, Tanh, Trunc, Exp2, Log2, Log10, Cbrt, Asin, Acos, Atan, Sinh, Cosh, Hypot,
        ]
        .into_iter()
        .find(|f| f.name() == name)
    }
}

/// A local variable.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Local {
    /// Its name in the source, or one that the frontend made. Need not be unique.
    pub name: String,
    /// Its type.
    pub ty: ScalarType,
    /// Whether it is assigned after its definition.
    pub mutable: bool,
}

/// A place in the source that can raise a device error.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Site {
    /// What went wrong there.
    pub kind: SiteKind,
    /// The source file, where it is not the kernel's: of a func of another module.
    pub file: Option<String>,
    /// The line, from 1; 0 where there is no source.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// Whether the author asserts, by `unsafe`, that the access races with no other.
    pub asserted: bool,
}

/// What goes wrong at a site.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum SiteKind {
    /// An index of this tensor is out of range. Values: the index, then the shape.
    Index(ParamId),
    /// An index of this shared array is out of range. Values: the index, then the extents.
    SharedIndex(LocalId),
    /// An `assert!` failed. No values.
    Assert {
        /// Its message, or the text of its condition.
        message: String,
    },
    /// An integer was divided by zero. No values.
    DivideByZero,
    /// The bounds of a parallel loop that only the device knows are beyond
    /// [`MAX_BOUND`](crate::abi::MAX_BOUND). Made by offloading alone. Values: the number of
    /// iterations per dimension.
    Bounds,
}

macro_rules! tags {
    ($($(#[$doc:meta])* $id:ident = $tag:ty, $prefix:literal;)*) => {$(
        $(#[$doc])*
        pub type $id = Id<$tag>;
        impl Tag for $tag {
            const PREFIX: &'static str = $prefix;
        }
    )*};
}

tags! {
    /// The id of a parameter.
    ParamId = Param, "$";
    /// The id of a local.
    LocalId = Local, "%";
    /// The id of an expression.
    ExprId = Expr, "e";
    /// The id of a block.
    BlockId = Block, "b";
    /// The id of a site.
    SiteId = Site, "!";
    /// The id of a `stream_parallel` block; 0 is "none".
    GroupId = Group, "group";
    /// The id of a temporary of the launch.
    TempId = Temp, "t";
}

/// What [`GroupId`] counts.
#[derive(Clone, Copy, Debug)]
pub enum Group {}

/// What [`TempId`] counts.
#[derive(Clone, Copy, Debug)]
pub enum Temp {}

impl GroupId {
    /// Outside every `stream_parallel` block.
    pub const NONE: Self = Self::new(0);
}
