//! The exported functions of the simulated libraries, by name. All also export the controls of the simulator.

use std::ffi::c_void;

use crate::{
    control,
    entry::Family,
    functions::{self, collectives, cupti, roctracer},
};

/// The address of a function of the simulated libcuda.
#[must_use]
pub fn cuda_symbol(name: &str) -> Option<*const c_void> {
    find(functions::rows(Family::Cuda), name)
}

/// The functions of the simulated libcuda.
pub fn cuda_symbols() -> impl Iterator<Item = &'static str> {
    functions::rows(Family::Cuda).chain(control::rows()).map(|(name, _)| name)
}

/// The address of a function of the simulated libamdhip64.
#[must_use]
pub fn hip_symbol(name: &str) -> Option<*const c_void> {
    find(functions::rows(Family::Hip), name)
}

/// The functions of the simulated libamdhip64.
pub fn hip_symbols() -> impl Iterator<Item = &'static str> {
    functions::rows(Family::Hip).chain(control::rows()).map(|(name, _)| name)
}

/// The address of a function of the simulated libnccl, whose functions librccl has, too.
#[must_use]
pub fn collective_symbol(name: &str) -> Option<*const c_void> {
    find(collectives::rows(), name)
}

/// The functions of the simulated libnccl.
pub fn collective_symbols() -> impl Iterator<Item = &'static str> {
    collectives::rows().chain(control::rows()).map(|(name, _)| name)
}

/// The address of a function of the simulated libcupti.
#[must_use]
pub fn cupti_symbol(name: &str) -> Option<*const c_void> {
    find(cupti::rows(), name)
}

/// The functions of the simulated libcupti.
pub fn cupti_symbols() -> impl Iterator<Item = &'static str> {
    cupti::rows().chain(control::rows()).map(|(name, _)| name)
}

/// The address of a function of the simulated libroctracer64.
#[must_use]
pub fn roctracer_symbol(name: &str) -> Option<*const c_void> {
    find(roctracer::rows(), name)
}

/// The functions of the simulated libroctracer64.
pub fn roctracer_symbols() -> impl Iterator<Item = &'static str> {
    roctracer::rows().chain(control::rows()).map(|(name, _)| name)
}

fn find(
    rows: impl Iterator<Item = (&'static str, *const c_void)>,
    name: &str,
) -> Option<*const c_void> {
    rows.chain(control::rows()).find(|(row, _)| *row == name).map(|(_, address)| address)
}
