//! The verifier: the rules that every later step relies on.
//!
//! Everywhere:
//! * ids are in range; an expression's operands come before it in the arena, so there is no cycle,
//!   and nest at most [`MAX_DEPTH`] deep; so do blocks; a block that is not empty stands in one place;
//! * names are ASCII identifiers (generated text sets them apart from keywords by numbers);
//! * tensors have up to 6 dimensions;
//! * operands and results have the types of their operator; a constant has its expression's type;
//!   conversions are between numbers, or from bool to integer; atomics add numbers, and compare integers;
//! * an access has one `u64` index per dimension; stores and atomics are to writable tensors; sites
//!   exist and are of the kind that stands there, an index site of the same tensor;
//! * effects are the whole value of a `Let` or an `Eval`, and nothing else is an `Eval`'s value;
//! * a local is defined once, before its uses, which lie in scope; only mutable ones are assigned,
//!   never loop variables; a parallel loop's body assigns only locals of its own;
//! * loop variables have integer types, and so have the bounds; parallel loops and grids of blocks have 1
//!   to 3 dimensions, and blocks 1 to 1024 threads;
//! * `Break` stands in a serial loop; `Continue` there, in the body of a parallel one, or in a phase;
//! * what a block does as a whole neither writes tensors nor asserts; phases and shared arrays stand in
//!   it alone, the latter outside loops, with 48 KiB at most for each block; a phase assigns only
//!   locals of its own; shared arrays are accessed in phases, and are no values;
//! * a phase with an exchange gives a value to it last, as all its threads do, of the type that the
//!   exchange has; what comes of it for each thread is read in phases alone.
//!
//! Before offloading: groups are numbered from 1 in order and do not nest; where there is one, all
//! else at the top level is serial blocks of pure, immutable `Let`s; `Return` is last, and there
//! exactly where the kernel has a result, whose type it has; no temporaries, no results set.
//!
//! After offloading: preludes hold only `Let`s of pure values and of temporaries; bounds use
//! temporaries exactly where the loop has a site to report them from; `SetTemp` and `SetResult` stand
//! in serial tasks and have the declared types; access lists are exactly what the bodies touch.

mod exprs;
mod kernel_body;
mod stmts;

use crate::{BlockId, ExprId, ParamId, ScalarType};

pub use kernel_body::{verify, verify_offloaded};

/// How deep expressions and blocks may nest, so that walking them needs little stack.
pub const MAX_DEPTH: u16 = 512;

/// A rule of the IR that a kernel breaks.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("kernel `{kernel}` is invalid at {at}: {rule}")]
pub struct VerifyError {
    /// The kernel's name.
    pub kernel: String,
    /// Where in the kernel.
    pub at: Place,
    /// The rule.
    pub rule: Rule,
}

/// A place in a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Place {
    /// The kernel as a whole.
    Kernel,
    /// A parameter.
    Param(ParamId),
    /// An expression.
    Expr(ExprId),
    /// A statement, by its number in its block.
    Stmt(BlockId, usize),
    /// A top-level statement or a task, by its number.
    Top(usize),
}

/// What a kernel must keep to.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[allow(missing_docs)] // each says what it is in its message
#[non_exhaustive]
pub enum Rule {
    #[error("`{name}` is no ASCII identifier")]
    Name { name: String },
    #[error("a tensor has up to 6 dimensions, not {rank}")]
    TensorRank { rank: u8 },
    #[error("a component of a tensor has no scalars")]
    NoScalars,
    #[error("an id is out of range")]
    IdRange,
    #[error("an operand must come before its expression")]
    OperandOrder,
    #[error("nested more than {MAX_DEPTH} deep")]
    Depth,
    #[error("a block stands in two places")]
    BlockShared,
    #[error("the type is {found}, but {expected} is needed")]
    Type { expected: ScalarType, found: ScalarType },
    #[error("the operation does not exist on {ty}")]
    Operation { ty: ScalarType },
    #[error("the function takes {expected} arguments, not {found}")]
    Arity { expected: usize, found: usize },
    #[error("{from} does not convert to {to}")]
    Cast { from: ScalarType, to: ScalarType },
    #[error("the tensor has {expected} dimensions, not {found}")]
    Rank { expected: usize, found: usize },
    #[error("the parameter is a tensor where a scalar is needed, or the reverse")]
    ParamKind,
    #[error("the tensor is not writable")]
    NotWritable,
    #[error("the site is of another kind")]
    Site,
    #[error("an effect stands inside an expression or where a pure value is needed")]
    EffectPlace,
    #[error("a pure value stands where an effect is needed")]
    NoEffect,
    #[error("local `{name}` is used where it is not defined")]
    Undefined { name: String },
    #[error("local `{name}` is defined twice")]
    DefinedTwice { name: String },
    #[error("local `{name}` is assigned but not mutable")]
    NotMutable { name: String },
    #[error("local `{name}` is assigned in a parallel loop that it is not of")]
    AssignOutside { name: String },
    #[error("loop variable `{name}` must be an immutable integer")]
    LoopVariable { name: String },
    #[error("a parallel loop has 1 to 3 dimensions, not {found}")]
    LoopDims { found: usize },
    #[error("a block has 1 to 1024 threads, not {found}")]
    BlockSize { found: u32 },
    #[error("only the threads of a block's phases write, assert and use shared arrays")]
    OutsidePhase,
    #[error("phases and shared arrays stand in what a block does as a whole")]
    OutsideBlock,
    #[error("a shared array of {len} elements of {ty}")]
    Shared { len: u32, ty: ScalarType },
    #[error("shared arrays of {bytes} bytes, where a block has 49152")]
    SharedBytes { bytes: u64 },
    #[error("local `{name}` is a shared array where a value is needed, or the reverse")]
    SharedUse { name: String },
    #[error(
        "an exchange takes what its phase gives last, once: a value of the exchange's type, and of a shuffle a `u64`"
    )]
    Give,
    #[error("`{op}` defines no local of type {ty}")]
    Exchange { op: &'static str, ty: ScalarType },
    #[error("local `{name}` has a value per thread, and is read outside a phase")]
    OfThreads { name: String },
    #[error("a `break` or `continue` stands outside a loop")]
    OutsideLoop,
    #[error("groups are numbered from 1 in order")]
    GroupNumber,
    #[error("groups do not nest")]
    GroupNested,
    #[error("beside groups only pure immutable definitions stand at the top level")]
    GroupMixed,
    #[error("a kernel returns exactly where it has a result, as its last statement")]
    Return,
    #[error("this exists only after offloading")]
    OffloadOnly,
    #[error("a prelude holds only definitions by pure values and temporaries")]
    Prelude,
    #[error("a loop's bounds depend on temporaries exactly where it has a site for them")]
    Bound,
    #[error("the access list is not what the body touches")]
    Accesses,
    #[error("temporaries and results are set in serial tasks only")]
    SetPlace,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Kernel => f.write_str("its head"),
            Self::Param(param) => write!(f, "{param:?}"),
            Self::Expr(expr) => write!(f, "{expr:?}"),
            Self::Stmt(block, at) => write!(f, "{block:?}[{at}]"),
            Self::Top(at) => write!(f, "top[{at}]"),
        }
    }
}
