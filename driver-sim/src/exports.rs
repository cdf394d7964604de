//! The exported functions of the simulated libraries, by name. Both also export the controls of the simulator.

use std::ffi::c_void;

use crate::{control, cuda, hip};

/// The address of a function of the simulated libcuda.
#[must_use]
pub fn cuda_symbol(name: &str) -> Option<*const c_void> {
    find(cuda::rows(), name)
}

/// The functions of the simulated libcuda.
pub fn cuda_symbols() -> impl Iterator<Item = &'static str> {
    cuda::rows().chain(control::rows()).map(|(name, _)| name)
}

/// The address of a function of the simulated libamdhip64.
#[must_use]
pub fn hip_symbol(name: &str) -> Option<*const c_void> {
    find(hip::rows(), name)
}

/// The functions of the simulated libamdhip64.
pub fn hip_symbols() -> impl Iterator<Item = &'static str> {
    hip::rows().chain(control::rows()).map(|(name, _)| name)
}

fn find(
    rows: impl Iterator<Item = (&'static str, *const c_void)>,
    name: &str,
) -> Option<*const c_void> {
    rows.chain(control::rows()).find(|(row, _)| *row == name).map(|(_, address)| address)
}
