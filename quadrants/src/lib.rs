#![doc = include_str!("../README.md")]

mod arch;
mod complex;
#[cfg(test)]
mod configuration;
mod distinct;
mod random;

pub use arch::{ARCH_VARIABLE, Arch, BestArch, DeviceChoice, target};
pub use complex::Complex;
pub use distinct::distinct;
pub use quadrants_frontend::builder;
pub use quadrants_macros::{KernelValue, Tensors, func, kernel};
pub use quadrants_program::{
    Backend, BoxError, BundleEntry, BundleError, CACHE_VARIABLE, CacheStatistics, CounterOverflow,
    Distinct, EXPLAIN_VARIABLE, Element, Error, Event, Explanation, Export, Exported,
    ExportedKernels, Float, GRAPHS_VARIABLE, Graph, GraphLaunch, HAZARDS_VARIABLE, Hazard,
    HazardUse, Hazards, Int, KERNELS_VARIABLE, Kernel, KernelError, KernelErrorCause,
    KernelLauncher, KernelMessage, KernelOutput, KernelResult, KernelValue, Launch, Layout, Matrix,
    Number, Opened, PoolStatistics, Program, ProgramBuilder, RaceExample, RaceReason,
    RegionStatistics, Result, Severity, Signed, Slice, SliceMut, Stream, StreamManager, Target,
    TaskExplanation, Tensor, Vector,
    dsl::{
        AtomicAdd, AtomicBits, AtomicExchange, AtomicMinMax, Block, Combine, Grid, PerThread,
        SharedArray, atomic_add, atomic_and, atomic_compare_exchange, atomic_exchange, atomic_max,
        atomic_min, atomic_or, atomic_xor, block_for, ndrange, stream_parallel,
    },
    f16, host, host_mut,
};
pub use random::{Rng, random_normal, random_u32, random_uniform, rng};

pub use quadrants_ir as ir;
pub use quadrants_program::codegen;
pub use quadrants_rhi as rhi;

/// Support for code that the macros emit. Not part of the stable interface.
#[doc(hidden)]
pub mod macro_support {
    pub use quadrants_frontend as frontend;
    pub use quadrants_program::emit::*;
}

/// What rustc's messages about kernels name. Not part of the stable interface.
///
/// Only documentation hides the module: of an item that is hidden always, rustc writes the whole path.
#[cfg_attr(doc, doc(hidden))]
pub mod in_messages {
    pub use quadrants_program::{
        body::{
            ArrayMethods, Elements, Func, FuncResult, HasMethod, Iterated, Linear, Method, Printed,
            PrintedInteger, PrintedNumber, Probe, ResultOf, ResultOfFunction, TensorParam,
            ValuesDoNotDeref, View, call_by_type, call_function, call_method, function_by_type,
            function_of, linear_type_of, method_of, printed_integer_type_of,
            printed_number_type_of, printed_type_of, type_of, typed,
        },
        emit::Arg,
    };
}

/// Runs the examples of the repository's README as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
mod repository_readme {}
