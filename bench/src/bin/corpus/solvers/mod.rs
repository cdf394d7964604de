//! PolyBench 4.2 (Pouchet, Yuki): solvers, stencils and dynamic programming; the same of Rodinia 3.1 (Che, Boyer,
//! Meng, Tarjan, Sheaffer, Lee, Skadron); two more stencils.

#![allow(clippy::needless_range_loop)] // kernels index, as devices do

mod adi;
mod cholesky;
mod deriche;
mod durbin;
mod fdtd_2d;
mod floyd_warshall;
mod heat_3d;
mod hotspot;
mod jacobi_1d;
mod jacobi_2d;
mod life;
mod lu;
mod lud;
mod ludcmp;
mod needleman_wunsch;
mod nussinov;
mod pathfinder;
mod seidel_2d;
mod srad;
mod wave;

use quadrants_bench::corpus::CaseFn;

pub(crate) const CASES: &[CaseFn] = &[
    jacobi_1d::case,
    jacobi_2d::case,
    heat_3d::case,
    fdtd_2d::case,
    seidel_2d::case,
    adi::case,
    floyd_warshall::case,
    deriche::case,
    nussinov::case,
    lu::case,
    cholesky::case,
    ludcmp::case,
    durbin::case,
    wave::case,
    life::case,
    pathfinder::case,
    hotspot::case,
    srad::case,
    lud::case,
    needleman_wunsch::case,
];
