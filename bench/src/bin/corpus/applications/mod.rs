//! Kernels from Rodinia, SHOC, Parboil and HeCBench, and well-known ones beside them.

mod backprop;
mod bfs;
mod bilateral;
mod black_scholes;
mod blur;
mod cfd;
mod compaction;
mod convolution;
mod fft;
mod gray;
mod histogram;
mod kmeans;
mod knapsack;
mod lavamd;
mod lbm;
mod md;
mod md5;
mod median;
mod monte_carlo;
mod mri_q;
mod nearest;
mod particle_filter;
mod prefix_sum;
mod solve8;
mod spmv_csr;
mod spmv_ell;
mod transpose;

use quadrants_bench::corpus::CaseFn;

pub(crate) const CASES: &[CaseFn] = &[
    bfs::case,
    kmeans::case,
    backprop::case,
    cfd::case,
    lavamd::case,
    particle_filter::case,
    mri_q::case,
    lbm::case,
    md::case,
    fft::case,
    spmv_ell::case,
    spmv_csr::case,
    black_scholes::case,
    monte_carlo::case,
    median::case,
    bilateral::case,
    convolution::case,
    prefix_sum::case,
    solve8::case,
    blur::case,
    histogram::case,
    compaction::case,
    nearest::case,
    md5::case,
    transpose::case,
    gray::case,
    knapsack::case,
];
