//! A spectral Poisson solver by cuFFT and a kernel.

use quadrants::Arch;
use quadrants_library_examples::{Result, cufft::RealGrid, poisson};

fn main() -> Result<()> {
    poisson::run(Arch::Cuda, "cuFFT", RealGrid::new)
}
