//! The typed intermediate representation (IR) of kernels, and everything that works on it without a device.
//!
//! A [`Kernel`] is typed and structured. Its expressions are pure trees; an operation with a side effect is always the
//! root of a statement, and statements keep source order. [`offload`] splits a kernel into [`Task`]s. [`abi`] defines
//! the memory layout of a launch's arguments.
//!
//! [`offload`]: fn@offload

#![forbid(unsafe_code)]

pub mod abi;
mod arena;
pub mod collective;
mod constant_tables;
pub mod elementary;
mod extents;
pub mod format;
mod image;
pub mod interp;
mod kernel;
pub mod launch_analysis;
mod named;
mod offload;
mod operators;
mod param;
mod print;
pub mod races;
mod scalar;
pub mod schedule;
pub mod shared;
mod simplify;
pub mod source;
mod task;
mod task_schedule;
pub mod types;
pub mod verify;
mod visit;

pub use arena::{Arena, Id};
pub use constant_tables::tables;
pub use image::{ImageError, SimImage, hash};
pub use kernel::{
    Array, Assertion, Block, BlockCollective, BlockFor, BlockId, Comparison, Element, Expr, ExprId,
    ExprKind, Kernel, Local, LocalId, LoopDim, Options, ParallelFor, ParamId, RegionBlockId,
    SharedExtent, Site, SiteId, SiteKind, Stmt, TempId, TopStmt,
};
pub use offload::{OffloadError, offload};
pub use operators::{AtomicOp, BinaryOp, CollectiveOp, DivRemOp, MathFn, ReduceOp, UnaryOp};
pub use param::{Param, ParamKind, element_alignment};
pub use print::print;
pub use scalar::{Const, ExactFloat, ScalarType};
pub use simplify::simplify;
pub use task::{Offloaded, ParamAccess, Task, TaskId, TaskKind};
#[doc(inline)]
pub use verify::{VerifyError, verify, verify_offloaded};

/// The version of this crate. It is part of the cache keys of compiled kernels.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A hash of this crate's sources. It is part of the cache keys of compiled kernels.
pub const SOURCES: &str = env!("QUADRANTS_SOURCES");

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
