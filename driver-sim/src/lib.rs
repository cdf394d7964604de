#![doc = include_str!("../README.md")]

mod activity;
mod clock;
mod code;
mod collectives;
mod context;
mod control;
mod copy_shape;
mod counts;
mod driver_version;
mod entry;
mod event;
mod exports;
mod family;
mod fault;
mod functions;
mod graph;
mod handle;
mod launch;
mod may_access;
mod memory;
mod op;
mod op_id;
mod peer;
mod pointer;
mod queue;
mod race;
mod random;
mod remote;
mod replay;
mod report;
mod schedule;
mod state;
mod stream;
mod timeline;
mod trace;
mod world;
mod world_lease;
mod worlds;

pub use code::Code;
pub use counts::{CreatedCounts, LiveCounts};
pub use driver_version::{CudaVersion, RocmVersion};
pub use exports::{
    collective_symbol, collective_symbols, cuda_symbol, cuda_symbols, cupti_symbol, cupti_symbols,
    hip_symbol, hip_symbols, roctracer_symbol, roctracer_symbols,
};
pub use memory::{AccessKind, InvalidAccess, Origin};
pub use op::OpKind;
pub use op_id::OpId;
pub use race::{Race, RacingOperation};
pub use report::{Report, ReportKind};
pub use schedule::Schedule;
pub use timeline::{ExecutedOp, Timeline};
pub use trace::{Trace, TraceRecord};
pub use world::{World, world};
pub use world_lease::{WorldLease, lease_world};
pub use worlds::count;
