//! What a kernel's CPU body runs on: the code that `#[kernel]` emits calls what stands here.
//!
//! A body is one generic function, [`Body::run`]. It is instantiated once per instruction level in the
//! proven form and once, for the baseline, in the checked form; [`NativeBody`] holds the instances and
//! picks one at run time. All that needs `unsafe` or a `#[target_feature]` is here, so that the emitted
//! code needs neither: its loops are `#[inline(always)]` closures over index ranges, which a function
//! of the chosen level calls and therefore compiles with that level's instructions.
//!
//! The values that a body starts from pass a [`gate`], so that a mistake of the author's is reported
//! once, in the words that rustc has for the code as it was written.

mod atomic;
mod collective;
mod cx;
mod failure;
mod host_index;
mod lanes;
mod level;
mod method;
mod native;
mod parallel;
mod place;
mod pool;
mod probe;
mod readings;
mod reduce;
mod site;
mod threads;
mod view;
mod walk;

pub use atomic::{atomic_add, atomic_max, atomic_min};
pub use collective::{Given, PerThread};
pub use cx::{Args, Cx, TensorParam};
pub(crate) use failure::within;
pub use failure::{Bounded, PLACE_SITE, check, clamped, divisor, divisor_of, resolve_site};
pub use lanes::{lane_of, lanes, rounds_apart, whole_strips};
pub use level::Level;
pub use method::{
    Callee, FromFloat, Func, Function, HasMethod, Method, ToFloat, ValuesDoNotDeref, again,
    associated, call, call_on, equal, function, function_of, keep, method_of, put_back,
};
pub use native::{Body, NativeBody};
pub use parallel::{Block, LoopInt, Simple, Task, Weight};
pub(crate) use place::Component;
pub use place::{At, Dense, HasElement, HasField, Memory, Place, Strided, Within};
pub use probe::{
    Form, Gate, Linear, Open, Probe, gate, group_field, linear_type_of, number_type, same,
    same_function, tensor_type, type_of, value_type,
};
pub use readings::{Counted, OfArrays, in_scope};
pub use reduce::{
    Part, finish_add, finish_max, finish_min, part_add, part_max, part_min, reduce_add, reduce_max,
    reduce_min, strips,
};
pub use site::{
    Arguments, CallSite, MethodTable, SiteTable, check_site, identity_of, seen, type_identity,
    typed, with_part,
};
pub use threads::{Shared, Threads, block_in, blocks_of, weight_of_block};
pub use view::{Formed, Places, View};
pub use walk::{Values, Walk};

pub use crate::Number;

#[cfg(test)]
mod tests;
