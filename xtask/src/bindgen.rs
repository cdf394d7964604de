//! Makes `rhi-amdgpu/src/generated/hip.rs` from HIP's headers.
//!
//! Types and constants only: the functions are the rows of the backend's own table, so that they can be
//! loaded from any library. The output is checked in, since a build must need neither the headers nor
//! libclang; it is made again when a row needs a type that it lacks.

use std::{io, path::Path};

/// What the table's signatures and calls name; all that these use comes with them.
const TYPES: &[&str] = &[
    "hipDeviceArch_t",
    "hipDeviceAttribute_t",
    "hipDeviceProp_t",
    "hipDevice_t",
    "hipDeviceptr_t",
    "hipError_t",
    "hipEvent_t",
    "hipFunction_t",
    "hipGraphExec_t",
    "hipGraphNode_t",
    "hipGraph_t",
    "hipKernelNodeParams",
    "hipMemPoolAttr",
    "hipMemPool_t",
    "hipModule_t",
    "hipStream_t",
];

/// Flags that the headers define as macros.
const CONSTANTS: &[&str] = &[
    "hipEventDefault",
    "hipEventDisableTiming",
    "hipHostMallocMapped",
    "hipHostMallocPortable",
    "hipStreamNonBlocking",
];

/// Why the bindings were not made.
#[derive(Debug)]
pub(crate) enum BindgenError {
    /// The headers were not found or do not parse.
    Headers(bindgen::BindgenError),
    /// The output was not written.
    Write(io::Error),
}

impl std::fmt::Display for BindgenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Headers(e) => write!(f, "HIP's headers could not be read: {e}"),
            Self::Write(e) => write!(f, "the bindings could not be written: {e}"),
        }
    }
}

impl std::error::Error for BindgenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Headers(e) => Some(e),
            Self::Write(e) => Some(e),
        }
    }
}

/// Writes the bindings of the headers in `header_dir` (the folder that has `hip/hip_runtime_api.h`) to
/// `out`. The same headers give the same bytes.
///
/// # Errors
/// Where libclang cannot parse the headers or the file cannot be written.
pub(crate) fn run(header_dir: &Path, out: &Path) -> Result<(), BindgenError> {
    let mut builder = bindgen::Builder::default()
        .header(header_dir.join("hip/hip_runtime_api.h").to_string_lossy())
        .clang_arg(format!("-I{}", header_dir.display()))
        .clang_arg("-D__HIP_PLATFORM_AMD__")
        .ignore_functions()
        // A thousand lines of bit fields that nothing reads.
        .opaque_type("hipDeviceArch_t")
        // A number in a newtype, and no Rust enum: another HIP version has other values.
        .default_enum_style(bindgen::EnumVariation::NewType { is_bitfield: false, is_global: false })
        .generate_comments(false)
        .layout_tests(true)
        .use_core()
        .disable_header_comment()
        .raw_line("// Made by `cargo xtask bindgen` from the headers of HIP 5.2 (ROCm 5.2.3). Do not edit.")
        .formatter(bindgen::Formatter::Prettyplease);
    for name in TYPES {
        builder = builder.allowlist_type(name);
    }
    for name in CONSTANTS {
        builder = builder.allowlist_var(name);
    }
    let bindings = builder.generate().map_err(BindgenError::Headers)?;
    bindings.write_to_file(out).map_err(BindgenError::Write)
}
