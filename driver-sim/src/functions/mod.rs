//! The exported functions of libcuda and libamdhip64, in [`collectives`] those of libnccl, in [`cupti`] those of
//! libcupti, and in [`roctracer`] those of libroctracer64. Functions of the drivers that differ in the name alone are
//! defined once.

pub(crate) mod collectives;
mod context;
mod copy_2d;
pub(crate) mod cupti;
pub(crate) mod device;
mod graph;
mod memory;
pub(crate) mod module;
pub(crate) mod roctracer;
mod stream;

use std::ffi::c_void;

use crate::entry::Family;

/// The functions of a driver by name.
pub(crate) fn rows(family: Family) -> impl Iterator<Item = (&'static str, *const c_void)> {
    [
        device::ROWS,
        context::ROWS,
        memory::ROWS,
        copy_2d::ROWS,
        stream::ROWS,
        module::ROWS,
        graph::ROWS,
    ]
    .into_iter()
    .flatten()
    .filter(move |(of, ..)| *of == family)
    .map(|(_, name, address)| (*name, *address))
}
