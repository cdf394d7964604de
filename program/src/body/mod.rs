//! The run-time support of CPU bodies: the items that code emitted by `#[kernel]` calls.
//!
//! A CPU body is one generic function, [`Body::run`]. It is instantiated once per instruction level. [`NativeBody`]
//! holds the instances and picks one at run time. Each loop is compiled without and with checks.
//!
//! Everything that needs `unsafe` or `#[target_feature]` is in this module, so that emitted code needs neither. Emitted
//! loops are `#[inline(always)]` closures over index ranges. A function of the chosen level calls them, so they are
//! compiled with that level's instructions.
//!
//! How long a crate of kernels takes to compile depends on what is compiled for each loop. So [`chunking`] calls the
//! loops through `dyn Fn`, and debug builds do not inline the functions with the attribute
//! `cfg_attr(not(debug_assertions), inline(always))`: with them inlined, the workspace's test suite takes a third
//! longer to compile. Arithmetic is `inline` there, so that it is compiled in the user's crate and follows the overflow
//! checks of that crate.
//!
//! The initial values of a body pass through a [`gate`], so that rustc reports each mistake of the user once.

mod accumulate;
mod atomic;
mod body_launch;
mod builtin_methods;
mod check_mode;
mod chunking;
mod cx;
mod element_ref;
mod failure;
mod index;
mod level;
mod method;
mod method_scope;
mod native;
mod not_a_func;
mod parallel;
mod partial;
mod println;
mod probe;
mod reduce;
mod run;
mod scatter;
mod site;
mod stepped_range;
mod strips;
mod thread_block;
mod thread_pool;
mod view;

pub use accumulate::{
    Accumulator, local_add, local_and, local_finish_add, local_finish_and, local_finish_max,
    local_finish_min, local_finish_or, local_finish_xor, local_max, local_min, local_or, local_sub,
    local_total_add, local_total_and, local_total_max, local_total_min, local_total_or,
    local_total_xor, local_xor,
};
pub use atomic::{
    atomic_add, atomic_and, atomic_compare_exchange, atomic_exchange, atomic_max, atomic_min,
    atomic_or, atomic_xor,
};
pub use body_launch::LoopAt;
pub use builtin_methods::{BUILTIN_FUNCTIONS, BUILTIN_METHODS, Builtin, FromFloat, ToFloat};
pub use check_mode::CheckMode;
pub use chunking::ErasedRegionBlock;
pub use cx::{ArgumentReader, Cx, TensorParam, accept, tensor_field};
pub use element_ref::ElementRef;
pub use failure::{
    LOCATION_SITE, clamped, fail, fail_equal, fail_unequal, is_index_error, location_of,
    resolve_site,
};
pub use level::Level;
pub use method::{
    KernelFunction, KernelMethod, KernelTensorMethod, NoMethod, OwnMethod, TypeOfCall,
    ValuesDoNotDeref, call_associated, call_by_type, call_function, call_in_place, call_method,
    equal, function_by_type, function_of, in_func, method_of, reload_receiver, tensor_method_of,
    write_back, write_back_local,
};
pub use method_scope::{MapMethods, in_scope};
pub use native::{Body, NativeBody};
pub use not_a_func::{ByMut, ByRef, ByValue, ByView, NotAFunc};
pub use parallel::{
    Chunk, Estimate, LightIterationCost, LoopInt, Middle, RegionBlock, Weight, loop_cost,
    total_cost,
};
pub use partial::Partial;
pub(crate) use println::{HostMessageList, HostMessages};
pub use println::{
    Printed, PrintedInteger, PrintedNumber, TextArgument, print, printed, printed_integer_type_of,
    printed_number_type_of, printed_type_of,
};
pub use probe::{
    FuncResult, Gate, Gated, Iterated, OpenGate, Probe, Probes, gate, identity, number_type,
    same_function, type_of,
};
pub use reduce::{
    finish_add, finish_and, finish_max, finish_min, finish_or, finish_xor, partial_add,
    partial_and, partial_max, partial_min, partial_or, partial_xor, reduce_add, reduce_and,
    reduce_max, reduce_min, reduce_or, reduce_xor, strips, total_add, total_and, total_max,
    total_min, total_or, total_xor,
};
pub use run::{CheckedParts, Run};
pub use scatter::{
    Scatter, scatter_add, scatter_and, scatter_begin_add, scatter_begin_and, scatter_begin_max,
    scatter_begin_min, scatter_begin_or, scatter_begin_xor, scatter_max, scatter_min, scatter_or,
    scatter_total_add, scatter_total_and, scatter_total_max, scatter_total_min, scatter_total_or,
    scatter_total_xor, scatter_xor,
};
pub use site::{
    ArgumentTypes, CallSite, MethodTable, SiteTable, check_site, element_of, field_of,
    has_operators, identity_of, seen, typed, value_of,
};
pub use stepped_range::{IntRange, SteppedRange};
pub use strips::{
    above, are_successive, at_least, at_most, below, lane_of, lanes, only, optimization_barrier,
    scalar, strip_end, whole_strips, without_ends,
};
pub use thread_block::{SharedArray, ThreadBlock, block_count, block_index, block_weight, grid};
pub use view::{ElementCount, Elements, View, WithCheckMode, index_of, indices_of};

pub use crate::value::{
    HasElement, HasField, UnknownConstant,
    callable::{Callee, Func, Function, HasMethod, HasTensorMethod, Method},
    identity::{Identity, TypePart},
    memory::{AggregateRef, Memory, ScalarMemory, ScalarRef, Strided},
    numeric::{Float, Number},
};
pub use crate::{
    device_error::{Bounded, check, divisor, divisor_of},
    dsl::collective::{Contributions, PerThread},
};

#[cfg(test)]
mod tests;
