//! Matrix products by hipBLAS beside a kernel. Never run: it was only compiled.

use quadrants::Arch;
use quadrants_library_examples::{Result, blas::Blas, products};

fn main() -> Result<()> {
    products::run(Arch::AmdGpu, "hipBLAS", Blas::hipblas)
}
