#![doc = include_str!("../README.md")]
//!
//! A [`Program`] is a device with its default stream and its kernels. Calling a kernel gives a
//! [`Launch`], which goes to the thread's current stream or to an explicit one. The
//! [`KernelLauncher`] keeps what a launch needs in an address-stable table; a `stream_parallel`
//! region forks from the launch stream and joins it again by events.

mod arg;
#[doc(hidden)]
pub mod body;
mod capture;
mod claim;
mod current;
mod def;
mod device;
pub mod dsl;
mod dump;
mod element;
mod error;
mod export;
mod graphs;
mod hazards;
mod host;
mod host_memory;
mod image;
mod instances;
mod kept;
mod kernel;
mod launch;
mod launcher;
mod layout;
mod manager;
mod matrix;
mod number;
mod open;
mod plan;
mod program;
mod recall;
mod record;
mod scratch;
mod short;
mod slice;
mod stream;
mod sync;
mod table;
mod tensor;
mod vector;
mod verdict;
mod workers;

pub use capture::{Graph, GraphLaunch};
pub use device::Device;
pub use element::Element;
pub use error::{BoxError, CounterOverflow, Error, KernelError, KernelErrorCause, Result};
pub use export::{Export, Exported, ExportedKernels, KERNELS_VARIABLE, Target};
pub use graphs::{GRAPHS_VARIABLE, RegionStatistics};
pub use hazards::{HAZARDS_VARIABLE, Hazard, HazardUse, Hazards};
pub use host::{host, host_mut};
pub use kept::CACHE_VARIABLE;
pub use kernel::Kernel;
pub use launch::{KernelResult, Launch};
pub use launcher::KernelLauncher;
pub use layout::Layout;
pub use manager::StreamManager;
pub use matrix::Matrix;
pub use number::{Float, Int, Number, Signed};
pub use program::{Backend, Opened, Program, ProgramBuilder};
pub use quadrants_rhi::Severity;
pub use quadrants_runtime::{CacheStatistics, PackEntry, PackError, PoolStatistics};
pub use slice::{Slice, SliceMut};
pub use stream::{Event, Stream};
pub use tensor::Tensor;
pub use vector::Vector;

pub use half::f16;

pub use quadrants_codegen as codegen;
pub use quadrants_ir as ir;
pub use quadrants_rhi as rhi;

/// What emitted kernels are made of; no part of the stable interface.
#[doc(hidden)]
pub mod emit {
    pub use crate::{
        BoxError, Launch, Tensor,
        arg::{Arg, ArgList},
        body,
        def::KernelDef,
        device::{Device, constant},
        dsl,
        element::Element,
        f16,
        instances::Instances,
    };
    pub use quadrants_ir as ir;
}
