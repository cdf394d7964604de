//! The HIP C++ dialect of the C family.

use quadrants_codegen::Dialect;
use quadrants_ir::{AtomicOp, ScalarType};

/// HIP C++. Atomics are compiler builtins, which support all types and state their scope. The overloads of the HIP
/// header differ between versions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hip;

impl Dialect for Hip {
    fn argument_qualifier(&self) -> &'static str {
        ""
    }

    /// Without it, a function must run with 1024 threads, so that it has at most 128 vector registers on most chips.
    fn block_size_attribute(&self, threads: u32) -> String {
        format!("__attribute__((amdgpu_flat_work_group_size(1, {threads}))) ")
    }

    fn atomic(&self, op: AtomicOp, _: ScalarType, address: &str, value: &str) -> String {
        let function = match op {
            AtomicOp::Add => "__hip_atomic_fetch_add",
            AtomicOp::Min => "__hip_atomic_fetch_min",
            AtomicOp::Max => "__hip_atomic_fetch_max",
            AtomicOp::And => "__hip_atomic_fetch_and",
            AtomicOp::Or => "__hip_atomic_fetch_or",
            AtomicOp::Xor => "__hip_atomic_fetch_xor",
            AtomicOp::Exchange | AtomicOp::CompareExchange => "__hip_atomic_exchange",
        };
        format!("{function}({address}, {value}, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)")
    }

    fn compare_exchange(&self, address: &str, expected: &str, value: &str) -> String {
        format!(
            "__hip_atomic_compare_exchange_strong({address}, &{expected}, {value}, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);"
        )
    }

    fn exchange(&self, address: &str, value: &str) -> String {
        format!(
            "__hip_atomic_exchange({address}, {value}, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)"
        )
    }

    /// In the calling thread's half of a wave of 64 lanes.
    fn shuffle(&self, value: &str, lane: &str) -> String {
        format!("__shfl({value}, (i32){lane}, 32)")
    }

    fn ballot(&self, vote: &str) -> String {
        format!("(u32)(__ballot({vote}) >> (__lane_id() & 32u))")
    }

    fn system_fence(&self) -> &'static str {
        "__threadfence_system();"
    }
}
