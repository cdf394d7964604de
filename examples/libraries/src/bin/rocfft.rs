//! A spectral Poisson solver by rocFFT and a kernel. Never run: it was only compiled.

use quadrants::Arch;
use quadrants_library_examples::{Result, poisson, rocfft::RealGrid};

fn main() -> Result<()> {
    poisson::run(Arch::AmdGpu, "rocFFT", RealGrid::new)
}
