#![doc = include_str!("../README.md")]
//!
//! A [`Program`] is a device with its default stream and its kernels. Calling a kernel gives a [`Launch`], which is
//! submitted to the thread's current stream or to an explicit one. The [`KernelLauncher`] keeps the contexts of kernels
//! in an address-stable table. A `stream_parallel` region forks from the launch stream and joins it again by events, or
//! is launched as a graph.

mod arguments;
#[cfg(feature = "ndarray")]
mod arrays;
#[doc(hidden)]
pub mod body;
mod capture;
mod device_error;
pub mod dlpack;
mod dlpack_abi;
pub mod dsl;
mod error;
mod foreign;
mod hazards;
mod kernel;
mod kernel_cache;
mod launch;
mod launcher;
mod npy;
mod output;
mod pinned;
mod profile;
mod program;
mod program_registry;
mod region;
mod state;
mod stream;
mod sync;
mod tensor;
mod thread_state;
mod value;
mod variables;

#[cfg(feature = "ndarray")]
pub use arrays::{host_array, host_array_mut};
pub use capture::{Graph, GraphLaunch};
pub use error::{
    BoxError, CounterOverflow, DeviceName, DlpackProblem, Error, ForeignMemoryProblem, Hazard,
    HazardUse, KernelError, KernelErrorCause, NpyProblem, RaceExample, RaceReason, Result,
    ViewProblem,
};
pub use foreign::{ForeignCall, ForeignRead, ForeignWrite};
pub use hazards::Hazards;
pub use kernel_cache::{bundle::ExportedKernels, cache_folder};
pub use launch::{KernelResult, Launch, kernel::Kernel};
pub use launcher::{
    KernelLauncher,
    explain::{Explanation, TaskExplanation},
    region_graph::RegionStatistics,
};
pub use output::{KernelMessage, KernelOutput};
pub use pinned::Pinned;
pub use profile::{
    table::TimelineRow,
    timeline::{
        Arrow, ArrowKind, GraphNode, Span, SpanKind, Timeline, TimelineClock, Track, TrackKind,
    },
};
pub use program::{
    Backend, Opened, ProgramBuilder,
    export::{Export, Exported, Target},
};
pub use quadrants_rhi::Severity;
pub use quadrants_runtime::{
    BundleError, CacheStatistics, CachedImage, ImageLabel, ImageProblem, PoolStatistics,
    SharedError, Watch, cached_images, check_cache_folder,
};
pub use region::Region;
pub use state::{
    StreamManager,
    handles::{Program, Stream},
};
pub use stream::Event;
pub use tensor::{
    Distinct, Tensor,
    raw::{RawComponent, RawTensor},
    slice::{Slice, SliceMut, host, host_mut},
};
pub use value::{
    KernelValue,
    element::Element,
    layout::Layout,
    matrix::Matrix,
    numeric::{Float, Int, Number, Signed},
    vector::Vector,
};

pub use variables::{
    AUTOTUNE_VARIABLE, CACHE_VARIABLE, EXPLAIN_VARIABLE, GRAPHS_VARIABLE, HAZARDS_VARIABLE,
    KERNELS_VARIABLE, TRACE_VARIABLE,
};

pub use half::f16;

pub use quadrants_codegen as codegen;
pub use quadrants_ir as ir;
pub use quadrants_rhi as rhi;

/// What the code that macros emit uses; not part of the stable interface.
#[doc(hidden)]
pub use tensor::kernel_param::TensorIndex;

#[doc(hidden)]
pub mod emit {
    /// Emitted code finds `core` here: a crate may give that name to another one.
    pub use core;

    pub use crate::{
        BoxError, Launch, Tensor,
        arguments::{Arg, ArgList},
        body, dsl, f16,
        kernel::{kernel_def::KernelDef, monomorphizations::Monomorphizations},
        tensor::Scratch,
        value::{KernelValue, constant, element::Element},
    };
    pub use quadrants_ir as ir;
}
