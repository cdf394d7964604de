#![doc = include_str!("../README.md")]

mod alloc;
mod call;
mod code;
mod context;
mod control;
mod cuda;
mod event;
mod fault;
mod graph;
mod handle;
mod hip;
mod memory;
mod module;
mod op;
mod pointer;
mod queue;
mod report;
mod schedule;
mod state;
mod stream;
mod trace;
mod world;

pub use code::Code;
pub use cuda::{symbol as cuda_symbol, symbols as cuda_symbols};
pub use hip::{symbol as hip_symbol, symbols as hip_symbols};
pub use memory::{FaultKind, Origin};
pub use op::OpKind;
pub use queue::OpId;
pub use report::{Report, ReportKind};
pub use schedule::Schedule;
pub use state::{Creates, Live};
pub use trace::{Trace, TraceRecord};
pub use world::{Claim, World, claim, count, world};
