//! The kernel as data: parameters, pure expressions, statements with side effects, and the top level.
//!
//! The verifier enforces two rules that keep every other pass simple:
//!
//! * **Side effects only at statement roots.** [`ExprKind::Load`], [`ExprKind::Atomic`] and [`ExprKind::DivRem`] occur
//!   only as the whole value of a [`Stmt::Let`] or [`Stmt::Eval`]. Every other expression is pure and may be evaluated
//!   any number of times at its statement.
//! * **Every local is defined once**, by its `Let`, loop or serial task, before its uses and within scope. Only a
//!   `mutable` local is ever assigned.

use serde::{Deserialize, Serialize};

use crate::{
    AtomicOp, BinaryOp, CollectiveOp, Const, DivRemOp, MathFn, Param, ScalarType, UnaryOp,
    arena::{Arena, Id, Tag},
    format::Format,
};

/// A kernel before offloading, with all types resolved.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Kernel {
    /// The function's name: a valid identifier in Rust and in C.
    pub name: String,
    /// The source file, for error messages.
    pub file: String,
    /// The parameters, in order.
    pub params: Vec<Param>,
    /// All locals, including loop variables.
    pub locals: Arena<Local>,
    /// All expressions.
    pub exprs: Arena<Expr>,
    /// All blocks.
    pub blocks: Arena<Block>,
    /// The source locations that can raise a device error.
    pub sites: Vec<Site>,
    /// The top-level statements.
    pub body: Vec<TopStmt>,
    /// The types of the scalars of the returned value, in order; none if the kernel returns nothing.
    pub results: Vec<ScalarType>,
    /// The options of the kernel's attribute.
    pub options: Options,
}

/// The options of the `#[kernel]` attribute.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Options {
    /// Floats may be reassociated (GPU code only).
    pub fast_math: bool,
    /// No contraction of multiply and add, so that `+ - * / sqrt fma` are bit-identical on every device.
    pub strict: bool,
}

/// A statement at the top level of a kernel or of a `stream_parallel` block.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum TopStmt {
    /// Statements that one thread runs. Locals defined directly in this block are visible to later statements.
    Serial(BlockId),
    /// A parallel loop.
    ParallelFor(ParallelFor),
    /// A grid of thread blocks with shared memory and barriers.
    BlockFor(BlockFor),
    /// A `stream_parallel` block. These do not nest.
    RegionBlock {
        /// The number of the block, from 1 in source order.
        region_block: RegionBlockId,
        /// The statements of the block.
        body: Vec<TopStmt>,
    },
    /// The scalars of the kernel's return value. Must be the last statement.
    Return(Vec<ExprId>),
}

/// A parallel loop over one to three dimensions. The last dimension varies fastest.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ParallelFor {
    /// The dimensions, outermost first.
    pub dims: Vec<LoopDim>,
    /// The body of one iteration.
    pub body: BlockId,
    /// The source line of the loop.
    pub line: u32,
    /// The block size on a GPU, if the user sets it: 1 to [`MAX_BLOCK_SIZE`](crate::abi::MAX_BLOCK_SIZE).
    pub block_size: Option<u32>,
}

/// A grid of thread blocks, one per point of the iteration space, in any order.
///
/// The body is block-level code: all threads of a block compute the same values, and it changes nothing but its own
/// locals. Per-thread code is in phases ([`Stmt::Phase`]). A phase ends with a barrier for all threads of the block.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BlockFor {
    /// The dimensions of the grid of blocks, outermost first.
    pub dims: Vec<LoopDim>,
    /// The number of threads per block: 1 to [`MAX_BLOCK_SIZE`](crate::abi::MAX_BLOCK_SIZE).
    pub threads: u32,
    /// The block-level code.
    pub body: BlockId,
    /// The source line.
    pub line: u32,
}

/// One dimension of a parallel loop: `begin <= var < end`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LoopDim {
    /// The loop variable: immutable, of an integer type.
    pub var: LocalId,
    /// The first value.
    pub begin: ExprId,
    /// One past the last value. If it is at or below `begin`, the loop does not run.
    pub end: ExprId,
}

/// A list of statements.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Block {
    /// The statements, in order.
    pub stmts: Vec<Stmt>,
}

/// A statement.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Stmt {
    /// Defines a local. The only statement that can use the value of a side effect.
    Let {
        /// The local.
        local: LocalId,
        /// The value; may have a side effect.
        value: ExprId,
    },
    /// Assigns a mutable local.
    Assign {
        /// The local.
        local: LocalId,
        /// The new value; pure.
        value: ExprId,
    },
    /// Evaluates an expression for its side effect only.
    Eval {
        /// An expression with a side effect.
        value: ExprId,
    },
    /// Writes an element.
    Store {
        /// The element.
        element: Element,
        /// Its new value.
        value: ExprId,
    },
    /// A branch.
    If {
        /// The condition, a bool.
        cond: ExprId,
        /// Runs if the condition is true.
        then: BlockId,
        /// Runs if the condition is false.
        otherwise: BlockId,
    },
    /// A serial loop over `begin <= var < end`. The bounds are evaluated once.
    For {
        /// The loop variable: immutable, of an integer type.
        var: LocalId,
        /// The first value.
        begin: ExprId,
        /// One past the last value.
        end: ExprId,
        /// The body.
        body: BlockId,
        /// The unroll factor requested from the compiler; 0 means full unrolling.
        unroll: Option<u32>,
        /// Whether the loop counts down, from the last value to the first.
        down: bool,
    },
    /// Loops until a `Break`.
    Loop {
        /// The body.
        body: BlockId,
    },
    /// Leaves the innermost `For` or `Loop`.
    Break,
    /// Continues with the next iteration of the innermost `For` or `Loop`. Outside of these it ends the iteration of
    /// the parallel loop, or the phase for this thread.
    Continue,
    /// Defines a zero-initialized array in shared memory. Only in block-level code, outside loops.
    Shared {
        /// The array. The local's type is the element type.
        array: LocalId,
        /// The extents of its one or two dimensions. The last one varies fastest.
        dims: Vec<SharedExtent>,
        /// For a component of an array of aggregates, the number of its scalars per element. If it is above 1, accesses
        /// have another index, which selects one of them.
        scalars: Option<u32>,
    },
    /// Defines a zero-initialized array in the local memory of a thread.
    Array {
        /// The array. The local's type is the element type.
        array: LocalId,
        /// The number of elements.
        len: u32,
    },
    /// A phase: every thread of the block runs the body, then waits at a barrier. Only in block-level code.
    Phase {
        /// The index of the thread in its block, a `u64`.
        var: LocalId,
        /// The code of one thread.
        body: BlockId,
        /// The collective at the end of the phase, over the [inputs](Self::CollectiveInput) of all threads.
        collective: Option<BlockCollective>,
    },
    /// The input of a thread to the collective of its phase. It is the last statement of the phase's body, and no
    /// thread may end the phase before it.
    CollectiveInput {
        /// The value; pure.
        value: ExprId,
        /// For a shuffle only: the lane of the warp to read from, a `u64`. If there is no such lane, the thread gets
        /// its own value.
        from: Option<ExprId>,
    },
    /// If `cond` is false: raises the site's device error and ends the iteration.
    Assert {
        /// The condition, a bool.
        cond: ExprId,
        /// The site of the assertion, which has the text.
        site: SiteId,
        /// The values in the text, all pure: none, or as many as the site has types. For [`SiteKind::ArrayIndex`], the
        /// index: one `u64` per dimension.
        values: Vec<ExprId>,
    },
    /// Side effect: prints a message. It is never removed, repeated or reordered with another one.
    Print {
        /// The site, which has the text.
        site: SiteId,
        /// The iteration, and then the arguments; at most [`MESSAGE_VALUES`](crate::abi::MESSAGE_VALUES), all pure.
        values: Vec<ExprId>,
    },
    /// Atomically combines a value into a local that a serial task defines. Only in a parallel loop that uses the local
    /// for nothing else. Offloading makes it a [`ReduceTemp`](Self::ReduceTemp).
    Reduce {
        /// The local: mutable.
        local: LocalId,
        /// The operation, which [combines](AtomicOp::combines).
        op: AtomicOp,
        /// The value; pure.
        value: ExprId,
    },
    /// Atomically combines a value into a temporary of the launch. Created only by offloading.
    ReduceTemp {
        /// The temporary.
        temp: TempId,
        /// The operation, which [combines](AtomicOp::combines).
        op: AtomicOp,
        /// The value.
        value: ExprId,
    },
    /// Writes a temporary of the launch. Created only by offloading.
    SetTemp {
        /// The temporary.
        temp: TempId,
        /// The new value.
        value: ExprId,
    },
    /// Writes a scalar of the kernel's result. Created only by offloading.
    SetResult {
        /// The number of the scalar.
        at: u32,
        /// The value.
        value: ExprId,
    },
}

/// A collective: an operation over one value of each thread of a block, at the end of a phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BlockCollective {
    /// The operation.
    pub op: CollectiveOp,
    /// The local that receives the result; immutable. If the result differs between threads, only phases may read it.
    pub local: LocalId,
}

/// An array of scalars that code accesses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Array {
    /// A tensor parameter.
    Tensor(ParamId),
    /// A shared array of a thread block. Only phases access it.
    Shared(LocalId),
    /// A local array of one dimension. Accesses are not checked: an index is a constant, or a [`Stmt::Assert`] before
    /// the access checks it.
    Local(LocalId),
}

/// An element of an array that an operation accesses.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Element {
    /// The array.
    pub array: Array,
    /// One `u64` index per dimension.
    pub index: Vec<ExprId>,
    /// The site that reports an index out of range.
    pub site: SiteId,
}

/// An expression: its type and its operation.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Expr {
    /// The type of the value.
    pub ty: ScalarType,
    /// The operation.
    pub kind: ExprKind,
    /// Whether a sum, difference or product of type `i32` is known not to overflow where its value is used, so that it
    /// can be printed as signed arithmetic. Only [scheduling](crate::schedule) sets it.
    pub exact: bool,
}

impl Expr {
    /// An expression that wraps where it overflows.
    #[must_use]
    pub const fn new(ty: ScalarType, kind: ExprKind) -> Self {
        Self { ty, kind, exact: false }
    }
}

/// The operation of an expression.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum ExprKind {
    /// A constant.
    Const(Const),
    /// The current value of a local.
    Local(LocalId),
    /// The value of a scalar parameter.
    Param(ParamId),
    /// The extent of a tensor parameter along an axis, as `u64`.
    Dim {
        /// The tensor.
        tensor: ParamId,
        /// The axis, from 0.
        axis: u8,
    },
    /// The value of a temporary of the launch. Created only by offloading.
    Temp(TempId),
    /// An operation on one value of the expression's type.
    Unary {
        /// The operation.
        op: UnaryOp,
        /// The operand.
        value: ExprId,
    },
    /// An operation on two values of one type. The right operand of a shift may be of any integer type. Integers wrap;
    /// shift counts are masked to the width.
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
        /// The arguments; there are [`MathFn::arity`] of them.
        args: Vec<ExprId>,
    },
    /// A conversion to the expression's type with the semantics of Rust's `as`: float to integer saturates and maps NaN
    /// to 0; integers truncate or extend.
    Cast {
        /// The operand.
        value: ExprId,
    },
    /// Reinterprets the bits of a value as another type of the same size, as `f32::to_bits` does.
    Bits {
        /// The operand.
        value: ExprId,
    },
    /// `then` if `cond` is true, else `otherwise`. Both may be evaluated.
    Select {
        /// The condition, a bool.
        cond: ExprId,
        /// The value if the condition is true.
        then: ExprId,
        /// The value if the condition is false.
        otherwise: ExprId,
    },
    /// Side effect: reads an element. Out of range, the checked form yields zero.
    Load(Element),
    /// Side effect: atomically combines a value into an element and returns the old value.
    Atomic {
        /// The combining operation.
        op: AtomicOp,
        /// The element.
        element: Element,
        /// The bits that the element must have; only of [`AtomicOp::CompareExchange`].
        expected: Option<ExprId>,
        /// The operand.
        value: ExprId,
    },
    /// Side effect: integer division or remainder. A zero divisor raises the site's error and yields 0. `MIN / -1`
    /// wraps.
    DivRem {
        /// Division or remainder.
        op: DivRemOp,
        /// The dividend.
        lhs: ExprId,
        /// The divisor.
        rhs: ExprId,
        /// The site that reports a zero divisor.
        site: SiteId,
    },
}

impl Element {
    /// The tensor, unless the array is shared or local.
    #[must_use]
    pub const fn tensor(&self) -> Option<ParamId> {
        match self.array {
            Array::Tensor(tensor) => Some(tensor),
            Array::Shared(_) | Array::Local(_) => None,
        }
    }
}

impl ExprKind {
    /// The element that it reads or combines into.
    #[must_use]
    pub const fn element(&self) -> Option<&Element> {
        match self {
            Self::Load(element) | Self::Atomic { element, .. } => Some(element),
            _ => None,
        }
    }

    /// Whether it accesses memory or can raise a device error. Such an expression must be the root of a statement.
    #[must_use]
    pub const fn is_effect(&self) -> bool {
        matches!(self, Self::Load(_) | Self::Atomic { .. } | Self::DivRem { .. })
    }
}

/// A local variable.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Local {
    /// The name in the source, or one generated by the frontend. Need not be unique.
    pub name: String,
    /// The type of the local.
    pub ty: ScalarType,
    /// Whether it may be assigned after its definition.
    pub mutable: bool,
}

/// An extent of a shared array.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum SharedExtent {
    /// A constant.
    Constant(u32),
    /// The value of a local that the host can evaluate before a launch: an immutable `u64`, defined at the top level
    /// of the kernel. An array with such an extent is *dynamic*: its memory is part of the launch.
    Local(LocalId),
}

impl SharedExtent {
    /// The number, if it is a constant.
    #[must_use]
    pub const fn constant(self) -> Option<u32> {
        match self {
            Self::Constant(number) => Some(number),
            Self::Local(_) => None,
        }
    }

    /// The local, if it is not a constant.
    #[must_use]
    pub const fn local(self) -> Option<LocalId> {
        match self {
            Self::Constant(_) => None,
            Self::Local(local) => Some(local),
        }
    }
}

impl From<LocalId> for SharedExtent {
    fn from(local: LocalId) -> Self {
        Self::Local(local)
    }
}

impl From<u32> for SharedExtent {
    fn from(number: u32) -> Self {
        Self::Constant(number)
    }
}

/// A source location that can raise a device error or print a message.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Site {
    /// The error that it reports.
    pub kind: SiteKind,
    /// The source file if it is not the kernel's, as for a func of another module.
    pub file: Option<String>,
    /// The line, from 1; 0 if there is no source.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// Whether the user asserts with `unsafe` that the access takes part in no race.
    pub asserted: bool,
}

/// The error or message that a site reports.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum SiteKind {
    /// An index of this array is out of range. Error values: the index, then the shape.
    Index(Array),
    /// An index of a local value, or of an array in an element of a tensor, is out of range. Error values: the index.
    ArrayIndex {
        /// The indexed value, as a path in the source.
        name: String,
        /// The extents of the indexed value.
        shape: Vec<u32>,
    },
    /// An `assert!` failed. Error values: those of [`Stmt::Assert`].
    Assert(Assertion),
    /// An integer was divided by zero. No error values.
    DivideByZero,
    /// `println!`: a message.
    Print {
        /// The text of the message.
        format: Format,
        /// The number of leading values of [`Stmt::Print`] that are the iteration.
        iteration: u32,
        /// The types of all values of [`Stmt::Print`].
        types: Vec<ScalarType>,
    },
    /// The bounds of a parallel loop, computed on the device, exceed [`MAX_BOUND`](crate::abi::MAX_BOUND). Created only
    /// by offloading. Error values: the number of iterations per dimension.
    Bounds,
}

/// What a failed assertion reports.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Assertion {
    /// The message, or the source text of the condition. Empty for a comparison without a message.
    pub message: Format,
    /// The comparison, for `assert_eq!` and `assert_ne!`.
    pub comparison: Option<Comparison>,
    /// The types of the values of [`Stmt::Assert`]; at most
    /// [`ASSERT_VALUES`](crate::abi::ASSERT_VALUES).
    pub types: Vec<ScalarType>,
}

/// The comparison of an `assert_eq!` or `assert_ne!`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Comparison {
    /// Whether the operands must be equal: `assert_eq!`.
    pub equal: bool,
    /// The left operand.
    pub left: Format,
    /// The right operand.
    pub right: Format,
}

impl From<&str> for Assertion {
    fn from(message: &str) -> Self {
        Self { message: Format::text(message), ..Self::default() }
    }
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
    /// The id of a `stream_parallel` block; 0 means "none".
    RegionBlockId = RegionBlock, "group";
    /// The id of a temporary of the launch.
    TempId = Temp, "t";
}

/// The tag type of [`RegionBlockId`].
#[derive(Clone, Copy, Debug)]
pub enum RegionBlock {}

/// The tag type of [`TempId`].
#[derive(Clone, Copy, Debug)]
pub enum Temp {}

impl RegionBlockId {
    /// The id for code outside every `stream_parallel` block.
    pub const NONE: Self = Self::new(0);
}
