#![doc = include_str!("../README.md")]

mod arch;
mod complex;
#[cfg(test)]
mod configuration;
#[cfg(feature = "cudarc")]
pub mod cudarc;
mod distinct;
mod random;

pub use arch::{ARCH_VARIABLE, Arch, BestArch, DeviceChoice, devices, target};
pub use complex::Complex;
pub use distinct::distinct;
/// Collective operations between devices and processes, by NCCL and RCCL.
#[cfg(feature = "collectives")]
pub use quadrants_collectives as collectives;
pub use quadrants_frontend::builder;
pub use quadrants_macros::{KernelValue, Tensors, func, kernel};
pub use quadrants_program::{
    AUTOTUNE_VARIABLE, Arrow, ArrowKind, Backend, BoxError, BundleError, CACHE_VARIABLE,
    CacheStatistics, CachedImage, CounterOverflow, DeviceName, Distinct, DlpackProblem,
    EXPLAIN_VARIABLE, Element, Error, Event, Explanation, Export, Exported, ExportedKernels, Float,
    ForeignCall, ForeignMemoryProblem, ForeignRead, ForeignWrite, GRAPHS_VARIABLE, Graph,
    GraphLaunch, GraphNode, HAZARDS_VARIABLE, Hazard, HazardUse, Hazards, ImageLabel, ImageProblem,
    Int, KERNELS_VARIABLE, Kernel, KernelError, KernelErrorCause, KernelLauncher, KernelMessage,
    KernelOutput, KernelResult, KernelValue, Launch, Layout, Matrix, NpyProblem, Number, Opened,
    Pinned, PoolStatistics, Program, ProgramBuilder, RaceExample, RaceReason, RawComponent,
    RawTensor, Region, RegionStatistics, Result, Severity, Signed, Slice, SliceMut, Span, SpanKind,
    Stream, StreamManager, TRACE_VARIABLE, Target, TaskExplanation, Tensor, Timeline,
    TimelineClock, TimelineRow, Track, TrackKind, Vector, ViewProblem, cache_folder, cached_images,
    check_cache_folder, dlpack,
    dsl::{
        AtomicAdd, AtomicBits, AtomicExchange, AtomicMinMax, Block, Combine, Grid, PerThread,
        SharedArray, atomic_add, atomic_and, atomic_compare_exchange, atomic_exchange, atomic_max,
        atomic_min, atomic_or, atomic_xor, block_for, ndrange, stream_parallel,
    },
    f16, host, host_mut, reads, writes,
};
#[cfg(feature = "ndarray")]
pub use quadrants_program::{host_array, host_array_mut};
pub use random::{Rng, random_normal, random_u32, random_uniform, rng};

pub use quadrants_ir as ir;
pub use quadrants_program::codegen;
pub use quadrants_rhi as rhi;

/// Support for code that the macros emit. Not part of the stable interface.
#[doc(hidden)]
pub mod macro_support {
    pub use quadrants_frontend as frontend;
    pub use quadrants_macros::resume;
    pub use quadrants_program::emit::*;
}

/// What rustc's messages about kernels name. Not part of the stable interface.
///
/// Only documentation hides the module: of an item that is hidden always, rustc writes the whole path.
#[cfg_attr(doc, doc(hidden))]
pub mod in_messages {
    pub use quadrants_program::{
        TensorIndex,
        body::{
            Elements, Func, FuncResult, HasMethod, HasTensorMethod, Iterated, KernelFunction,
            KernelMethod, KernelTensorMethod, Method, Printed, PrintedInteger, PrintedNumber,
            Probe, TensorParam, ValuesDoNotDeref, View, call_by_type, call_function, call_method,
            function_by_type, function_of, method_of, printed_integer_type_of,
            printed_number_type_of, printed_type_of, tensor_method_of, type_of, typed,
        },
        emit::Arg,
    };
}

/// Runs the examples of the repository's README as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
mod repository_readme {}
