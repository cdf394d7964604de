//! The exported functions of libamdhip64.

pub(crate) mod device;
mod graph;
mod memory;
pub(crate) mod module;
mod stream;

use std::ffi::c_void;

/// The functions by name.
pub(crate) fn rows() -> impl Iterator<Item = (&'static str, *const c_void)> {
    [device::ROWS, memory::ROWS, stream::ROWS, module::ROWS, graph::ROWS]
        .into_iter()
        .flatten()
        .copied()
}
