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
mod mm2;
mod mm3;
mod mvt;
mod symm;
mod syr2k;
mod syrk;
mod trisolv;
mod trmm;

use quadrants_bench::corpus::CaseFn;

pub(crate) const CASES: &[CaseFn] = &[
    gemm::case,
    mm2::case,
    mm3::case,
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
