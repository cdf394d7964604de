//! Kernels on many GPU streams, from Rust: CUDA, AMDGPU and CPU from one source.
