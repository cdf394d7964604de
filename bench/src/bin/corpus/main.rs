//! The benchmark suite: kernels from public benchmark suites, written from their definitions without schedule
//! attributes.
//!
//! `corpus [--backend cpu|cuda] [--filter TEXT] [--samples N] [--small]`. With `--small` the results are compared and
//! nothing is timed.

mod algebra;
mod applications;
mod solvers;

use quadrants_bench::corpus::Corpus;

fn main() -> Result<(), String> {
    Corpus::run_all(&[algebra::CASES, solvers::CASES, applications::CASES].concat())
}
