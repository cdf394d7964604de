//! Matrix products by cuBLAS beside a kernel.

use quadrants::Arch;
use quadrants_library_examples::{Result, blas::Blas, products};

fn main() -> Result<()> {
    products::run(Arch::Cuda, "cuBLAS", Blas::cublas)
}
