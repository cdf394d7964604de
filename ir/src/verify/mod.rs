//! The verifier: checks the invariants of the IR that every other pass relies on.
//!
//! Before and after offloading it checks that:
//!
//! * ids are in range; operands precede their expression in the arena, so that expressions are acyclic; expressions and
//!   blocks are nested at most [`MAX_DEPTH`] deep; a block that is not empty is used once;
//! * names are ASCII identifiers (code generation renames those that are keywords);
//! * tensors have at most 6 dimensions;
//! * operands and results have the types of their operator; a constant has the type of its expression; conversions are
//!   between numbers or from bool to integer; atomics add numbers, or take the minimum or maximum of integers;
//! * an access has one `u64` index per dimension; stores and atomics are to writable tensors; sites exist and match
//!   their use, with index sites naming the accessed tensor;
//! * a side effect is the whole value of a `Let` or an `Eval`, and the value of an `Eval` has a side effect;
//! * a local is defined once, before its uses, which are in its scope; only mutable locals are assigned, never loop
//!   variables; the body of a parallel loop assigns only its own locals;
//! * loop variables and bounds have integer types; parallel loops and grids of blocks have 1 to 3 dimensions, blocks 1
//!   to 1024 threads;
//! * `Break` is in a serial loop; `Continue` is in a serial loop, a parallel loop or a phase;
//! * block-level code neither writes tensors nor asserts nor prints; phases and shared arrays are only in block-level
//!   code, shared arrays outside loops and, if not dynamic, with at most 48 KiB per block; a phase assigns only its
//!   own locals; shared arrays are accessed only in phases;
//! * arrays are not used as values; a local array is written only by the serial task, parallel loop or phase that
//!   defines it, and has no atomics;
//! * a phase with a collective ends with the collective's input, of the right type, which all threads reach; a result
//!   that differs between threads is read only in phases.
//!
//! Before offloading it also checks that:
//!
//! * `stream_parallel` blocks are numbered from 1 in source order and do not nest; next to them, the top level has only
//!   serial blocks of pure, immutable `Let`s;
//! * `Return` is the last statement if and only if the kernel has a result, and has its types;
//! * there are no temporaries, and no `SetTemp`, `ReduceTemp` or `SetResult`.
//!
//! After offloading it also checks that:
//!
//! * preludes have only `Let`s of pure values and of temporaries;
//! * a loop has a site for its bounds if the host cannot evaluate them;
//! * `SetTemp` and `SetResult` are in serial tasks, `ReduceTemp` in loops, and they have the declared types;
//! * the access list of a task is exactly what its body accesses.

mod exprs;
mod kernel_body;
mod stmts;

use crate::{BlockId, ExprId, ParamId, ScalarType, abi::MAX_SHARED_BYTES};

pub use kernel_body::{verify, verify_offloaded};

/// The maximum nesting depth of expressions and of blocks. It bounds the stack of recursive passes.
pub const MAX_DEPTH: u16 = 512;

/// A violation of the IR's rules.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("kernel `{kernel}` is invalid at {at}: {rule}")]
pub struct VerifyError {
    /// The kernel's name.
    pub kernel: String,
    /// The location in the kernel.
    pub at: IrLocation,
    /// The violated rule.
    pub rule: IrRule,
}

/// A location in a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum IrLocation {
    /// The kernel as a whole.
    Kernel,
    /// A parameter.
    Param(ParamId),
    /// An expression.
    Expr(ExprId),
    /// A statement, by its block and index.
    Stmt(BlockId, usize),
    /// A top-level statement or a task, by its index.
    Top(usize),
}

/// A rule of the IR.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages document the rules
#[non_exhaustive]
pub enum IrRule {
    #[error("`{name}` is not an ASCII identifier")]
    Name { name: String },
    #[error("a tensor must have at most 6 dimensions, not {rank}")]
    TensorRank { rank: u8 },
    #[error("a component of a tensor must have at least one scalar")]
    NoScalars,
    #[error("an id is out of range")]
    IdOutOfRange,
    #[error("an operand must precede its expression in the arena")]
    OperandOrder,
    #[error("expressions and blocks must not be nested more than {MAX_DEPTH} deep")]
    NestedTooDeeply,
    #[error("a block must not be used more than once")]
    BlockUsedTwice,
    #[error("expected type {expected}, found {found}")]
    Type { expected: ScalarType, found: ScalarType },
    #[error("the operation is not defined for {ty}")]
    Operation { ty: ScalarType },
    #[error("expected {expected} arguments, found {found}")]
    Arity { expected: usize, found: usize },
    #[error("{from} cannot be converted to {to}")]
    Cast { from: ScalarType, to: ScalarType },
    #[error("expected {expected} indices, found {found}")]
    Rank { expected: usize, found: usize },
    #[error("a tensor parameter is used as a scalar, or a scalar parameter as a tensor")]
    ParamKind,
    #[error("the tensor is not writable")]
    NotWritable,
    #[error("the site does not match its use")]
    Site,
    #[error("a side effect must be the whole value of a `Let` or an `Eval`")]
    NestedEffect,
    #[error("the value of an `Eval` must have a side effect")]
    NoEffect,
    #[error("local `{name}` is used outside its scope")]
    OutOfScope { name: String },
    #[error("local `{name}` is defined twice")]
    DefinedTwice { name: String },
    #[error("local `{name}` is assigned but is not mutable")]
    NotMutable { name: String },
    #[error("local `{name}` is assigned in a parallel loop or phase but is defined outside it")]
    AssignOutside { name: String },
    #[error(
        "a parallel loop can combine only into mutable locals from outside it, which it does not use otherwise; `{name}` is not one"
    )]
    Combine { name: String },
    #[error("a temporary is combined into outside a parallel loop")]
    CombineOutsideLoop,
    #[error("loop variable `{name}` must be an immutable integer")]
    LoopVariable { name: String },
    #[error("a parallel loop must have 1 to 3 dimensions, not {found}")]
    LoopDims { found: usize },
    #[error("a block must have 1 to 1024 threads, not {found}")]
    BlockSize { found: u32 },
    #[error(
        "in a grid of blocks, stores, assertions, messages and accesses to shared arrays must be in a phase"
    )]
    OutsidePhase,
    #[error("phases and shared arrays must be in block-level code, shared arrays outside loops")]
    OutsideBlock,
    #[error(
        "a shared array must have 1 or 2 nonzero dimensions and no narrow elements; this one has {len} elements of {ty}"
    )]
    SharedArray { len: u32, ty: ScalarType },
    #[error(
        "the extent `{name}` of a shared array must be an immutable `u64` that the host can evaluate before a launch"
    )]
    SharedExtent { name: String },
    #[error("a local array must be immutable and have elements; this one has {len}")]
    LocalArray { len: u32 },
    #[error(
        "the shared arrays of constant length of a block need {bytes} bytes; the maximum is {MAX_SHARED_BYTES}"
    )]
    SharedBytes { bytes: u64 },
    #[error(
        "local `{name}` is an array used as a value, a value used as an array, or an array of another kind; a local array has no atomics"
    )]
    ArrayUse { name: String },
    #[error(
        "a phase with a collective must end with exactly one input, of the type of the collective; only a shuffle has a source lane, a `u64`"
    )]
    CollectiveInput,
    #[error("the result of `{op}` cannot be a local of type {ty}")]
    Collective { op: &'static str, ty: ScalarType },
    #[error("local `{name}` has a different value per thread and must be read in a phase")]
    PerThread { name: String },
    #[error("`break` or `continue` outside a loop")]
    OutsideLoop,
    #[error("`stream_parallel` blocks must be numbered from 1 in source order")]
    RegionBlockNumber,
    #[error("`stream_parallel` blocks must not be nested")]
    RegionBlockNested,
    #[error(
        "next to `stream_parallel` blocks, the top level must have only pure immutable definitions"
    )]
    RegionBlockMixed,
    #[error("a kernel must return if and only if it has a result, as its last statement")]
    Return,
    #[error("temporaries and `SetResult` exist only after offloading")]
    OffloadOnly,
    #[error("a prelude must have only definitions with pure values or temporaries")]
    Prelude,
    #[error("a loop whose bounds the host cannot evaluate must have a site for them")]
    BoundWithoutSite,
    #[error("the access list must match the accesses of the body")]
    AccessListMismatch,
    #[error("temporaries and results must be set in serial tasks")]
    SetOutsideSerial,
}

impl std::fmt::Display for IrLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Kernel => f.write_str("its signature"),
            Self::Param(param) => write!(f, "{param:?}"),
            Self::Expr(expr) => write!(f, "{expr:?}"),
            Self::Stmt(block, at) => write!(f, "{block:?}[{at}]"),
            Self::Top(at) => write!(f, "top[{at}]"),
        }
    }
}
