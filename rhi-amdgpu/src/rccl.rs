//! Where RCCL is found: the library for collective operations between AMD devices.

use quadrants_rhi::CollectiveLibrary;

/// The environment variable that selects another library than the installed RCCL.
pub const RCCL_VARIABLE: &str = "QUADRANTS_RCCL_LIBRARY";

pub(crate) const RCCL: CollectiveLibrary = CollectiveLibrary {
    name: "RCCL",
    variable: RCCL_VARIABLE,
    roots: &["ROCM_PATH", "HIP_PATH"],
    installations: &[("/opt", "rocm")],
    wheels: &[],
    names: &["librccl.so.1", "librccl.so"],
};
