//! Questions about the author's syntax (`syn`'s types) that need no state. The syntax tree and the CPU body are made
//! from the same code by the same answers.

mod assertion;
mod calls;
mod exprs;
mod loops;
mod visit;

pub(crate) use assertion::Assert;
pub(crate) use calls::{
    Conversion, atomic_op, borrowed_element, conversion, exchange_of, grid_rank, is_block_for,
    is_ndrange, is_of_type, is_scalar_method, is_shared_array, is_stream_parallel, keeps_receiver,
    phase_of, split_function, without_arguments,
};
pub(crate) use exprs::{
    SCALARS, binary_op, immutable_name, is_assignment, is_constant, is_one_of, is_simple_place,
    is_type_name, member_name, name_of, pattern_ident, place_root, unparenthesized, untyped,
};
pub(crate) use loops::{
    RangeChain, gives_value, is_serial, label_name, loop_label, loop_options, range_chain,
};
pub(crate) use visit::{assigned, each_expr, has_loop, is_loop, jumps, pattern_names};
