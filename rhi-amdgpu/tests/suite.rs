//! The tests that all GPU backends share, and tests of the AMD backend.

#[path = "../../conformance/fixtures/gpu_backend/mod.rs"]
mod gpu_backend;
#[path = "../../conformance/fixtures/selected.rs"]
mod selected;

#[path = "suite/current.rs"]
mod current;
#[path = "suite/only_hip.rs"]
mod only_hip;

fn is_selected() -> bool {
    selected::is_selected("amdgpu")
}

/// What the shared tests need to know about the backend.
mod backend {
    use quadrants_conformance::AddKernel;
    pub(crate) use quadrants_driver_sim::hip_symbol as simulated_symbol;
    pub(crate) use quadrants_rhi_amdgpu::{
        LIBRARY_VARIABLE, driver, driver_from_path, driver_from_symbols, symbols,
    };

    pub(crate) const NAME: &str = "amdgpu";
    pub(crate) const ARCH_PREFIX: &str = "gfx";
    pub(crate) const OLD_VERSION: (i32, &str) = (40_500_000, "4.5.0");
    /// ROCm 5 reports an invalid device on a machine without one.
    pub(crate) const NO_DEVICE: &[i32] = &[100, 101];
    pub(crate) const OUT_OF_MEMORY: &str = "hipErrorOutOfMemory";
    pub(crate) const ADD_KERNEL_NODE: &[&str] = &["add_kernel_node"];

    /// None: a code object is for one chip only, and these tests have no compiler.
    pub(crate) fn hardware_kernel() -> Option<AddKernel> {
        None
    }
}
