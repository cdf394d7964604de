//! The CUDA C++ dialect of the C family.

use quadrants_codegen::Dialect;
use quadrants_ir::{AtomicOp, ScalarType};

/// CUDA C++ for devices of compute capability 7.0 and newer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cuda;

impl Dialect for Cuda {
    /// Read-only for the whole grid, so taking its address makes no copy per thread.
    fn argument_qualifier(&self) -> &'static str {
        "__grid_constant__ "
    }

    /// The compiler may move such a read across writes, and it uses the read-only cache.
    fn read_only(&self, element: &str) -> String {
        format!("__ldg(&{element})")
    }

    fn atomic(&self, op: AtomicOp, ty: ScalarType, address: &str, value: &str) -> String {
        let function = match op {
            AtomicOp::Add => "atomicAdd",
            AtomicOp::Min => "atomicMin",
            AtomicOp::Max => "atomicMax",
            AtomicOp::And => "atomicAnd",
            AtomicOp::Or => "atomicOr",
            AtomicOp::Xor => "atomicXor",
            AtomicOp::Exchange | AtomicOp::CompareExchange => "atomicExch",
        };
        let exchanges = op == AtomicOp::Exchange;
        let compares = matches!(op, AtomicOp::Min | AtomicOp::Max);
        // Of the signed 64-bit operations there are only minimum and maximum; in two's complement the others are the
        // same as the unsigned ones.
        if exchanges && ty == ScalarType::F64 {
            let bits = format!("(u64)__double_as_longlong({value})");
            format!("__longlong_as_double((i64){function}((u64*){address}, {bits}))")
        } else if !compares && ty == ScalarType::I64 {
            format!("(i64){function}((u64*){address}, (u64)({value}))")
        } else {
            format!("{function}({address}, {value})")
        }
    }

    fn compare_exchange(&self, address: &str, expected: &str, value: &str) -> String {
        format!("{expected} = atomicCAS({address}, {expected}, {value});")
    }

    fn exchange(&self, address: &str, value: &str) -> String {
        format!("atomicExch({address}, {value})")
    }

    fn shuffle(&self, value: &str, lane: &str) -> String {
        format!("__shfl_sync(0xffffffffu, {value}, (i32){lane}, 32)")
    }

    fn ballot(&self, vote: &str) -> String {
        format!("__ballot_sync(0xffffffffu, {vote})")
    }

    fn system_fence(&self) -> &'static str {
        "__threadfence_system();"
    }
}
