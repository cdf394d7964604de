//! The exported functions of libamdhip64.

pub(crate) mod device;
mod graph;
mod memory;
pub(crate) mod module;
mod stream;

use std::ffi::c_void;

/// The address of a function of the simulated libamdhip64.
#[must_use]
pub fn symbol(name: &str) -> Option<*const c_void> {
    rows().find(|(row, _)| *row == name).map(|(_, address)| address)
}

/// The functions of the simulated libamdhip64.
pub fn symbols() -> impl Iterator<Item = &'static str> {
    rows().map(|(name, _)| name)
}

fn rows() -> impl Iterator<Item = (&'static str, *const c_void)> {
    [device::ROWS, memory::ROWS, stream::ROWS, module::ROWS, graph::ROWS]
        .into_iter()
        .flatten()
        .copied()
        .chain(crate::control::rows())
}
