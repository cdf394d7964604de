//! The kernel IR: what a kernel means, independent of who wrote it and of what runs it.
//!
//! A [`Kernel`] is typed, structured and already free of hidden effects: expressions are pure trees,
//! and what touches memory stands at the root of a statement, in the order written. [`offload`]
//! splits a kernel into [`Task`]s; [`abi`] says how a launch's arguments lie in memory.
//!
//! [`offload`]: fn@offload

#![forbid(unsafe_code)]

pub mod abi;
mod arena;
mod coarsen;
pub mod collective;
mod image;
pub mod interp;
mod kernel;
pub mod launch_analysis;
mod offload;
mod param;
mod print;
pub mod races;
#[doc(hidden)]
pub mod samples;
mod scalar;
mod simplify;
pub mod source;
mod task;
pub mod types;
pub mod verify;
mod visit;

pub use arena::{Arena, Id};
pub use coarsen::Coarsening;
pub use image::{ImageError, SimImage, hash};
pub use kernel::{
    AtomicOp, BinaryOp, Block, BlockFor, BlockId, DivRemOp, Exchange, ExchangeOp, Expr, ExprId,
    ExprKind, GroupId, Kernel, Local, LocalId, LoopDim, MathFn, Options, ParallelFor, ParamId,
    ReduceOp, Site, SiteId, SiteKind, Stmt, TempId, TopStmt, UnaryOp,
};
pub use offload::{OffloadError, offload};
pub use param::{Param, ParamKind};
pub use print::print;
pub use scalar::{Const, ScalarType};
pub use simplify::simplify;
pub use task::{Access, Offloaded, Task, TaskId, TaskKind};
#[doc(inline)]
pub use verify::{VerifyError, verify, verify_offloaded};

/// This crate's version, for the keys of what is made from its kernels.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
