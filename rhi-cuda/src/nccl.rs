//! Where NCCL is found: the library for collective operations between CUDA devices.

use quadrants_rhi::CollectiveLibrary;

/// The environment variable that selects another library than the installed NCCL.
pub const NCCL_VARIABLE: &str = "QUADRANTS_NCCL_LIBRARY";

pub(crate) const NCCL: CollectiveLibrary = CollectiveLibrary {
    name: "NCCL",
    variable: NCCL_VARIABLE,
    roots: &["NCCL_HOME", "CUDA_PATH", "CUDA_HOME"],
    installations: &[("/usr/local", "cuda"), ("/opt", "cuda")],
    wheels: &["nvidia/nccl/lib"],
    names: &["libnccl.so.2", "libnccl.so"],
};
