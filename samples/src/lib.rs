//! Test kernels: a builder, sample kernels that together use every part of the IR, a random generator, a shrinker of
//! failing kernels, and functions that run kernels with the interpreter and with the host's C++ compiler.
//!
//! For tests only; no shipped crate depends on it.

#![allow(missing_docs)] // the names of a builder's functions are those of the nodes
#![forbid(unsafe_code)]

pub mod builder;
pub mod case;
pub mod generate;
pub mod host_program;
mod kernels;
pub mod run;
pub mod shrink;
mod statements;
pub mod units;

pub use builder::Builder;
pub use kernels::{all, saxpy, sharing, stencil};
pub use quadrants_ir::ScalarType::{Bool, F32, F64, I32, I64, U32, U64};

/// Whether long tests run at full size: `QUADRANTS_TEST_FULL=1`, as in CI.
#[must_use]
pub fn full_size() -> bool {
    std::env::var_os("QUADRANTS_TEST_FULL").is_some_and(|value| value == "1")
}

/// The number of random cases of a test that has `full` of them [at full size](full_size).
#[must_use]
pub fn sized(full: u64) -> u64 {
    if full_size() { full } else { full / 4 }
}
