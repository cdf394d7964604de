//! PolyBench 4.2 (Pouchet, Yuki): linear algebra and data mining.

mod atax;
mod bicg;
mod correlation;
mod covariance;
mod doitgen;
mod gemm;
mod gemver;
mod gesummv;
mod gramschmidt;
mod mvt;
mod symm;
mod syr2k;
mod syrk;
mod three_mm;
mod trisolv;
mod trmm;
mod two_mm;

use quadrants_bench::corpus::CaseFn;

pub(crate) const CASES: &[CaseFn] = &[
    gemm::case,
    two_mm::case,
    three_mm::case,
    atax::case,
    bicg::case,
    mvt::case,
    gesummv::case,
    gemver::case,
    syrk::case,
    syr2k::case,
    trmm::case,
    symm::case,
    doitgen::case,
    correlation::case,
    covariance::case,
    trisolv::case,
    gramschmidt::case,
];
